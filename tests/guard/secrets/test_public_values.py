"""Resource names, publishable keys and published examples are no secrets."""

import pytest

from guard import screen

PUBLIC = [
    "SecretArn: arn:aws:secretsmanager:us-east-1:210987654321:secret:billing/stripe-8fJk2L",
    "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
    "NEXT_PUBLIC_STRIPE_KEY=pk_" + "live_51HG7dKJ8s9dkLmN4oPqRsTuVwXyZ0a1b2c3d4e5f",
    '<script src="https://maps.googleapis.com/maps/api/js?key=AIzaSyB41DRUbKWJHPxaFjMAwdrzWzbVKartNGg">',
    'Sentry.init({ dsn: "https://4f1c2d3e5a6b7c8d9e0f1a2b3c4d5e6f@o12345.ingest.us.sentry.io/6789" })',
    "DB_PASSWORD=${DB_PASSWORD:?missing}",
    'secret_id = "projects/acme-prod-1234/secrets/api-key/versions/3"',
    "tokenizer: o200k_base",
    "amqp://guest:guest@rabbitmq:5672/",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_a_published_value_passes(text: str) -> None:
    assert screen(text, "user", "memory").text == text


def test_a_secret_beside_a_published_value_is_redacted() -> None:
    text = "pk_" + "live_51HG7dKJ8s9dkLmN4oPqR and sk_" + "live_51HG7dKJ8s9dkLmN4oPqRsTuVwXyZ0a1b2c3d4e5f"
    assert "sk_" + "live" not in screen(text, "user", "memory").text


@pytest.mark.parametrize(
    "text",
    [
        "RECAPTCHA_SITE_KEY: 6LfT3nQpAAAAAJx0mB5r1GdV9aLZ0c2kUeYhWn7s", "OAUTH_CLIENT_ID=Iv23liT9qWb4ZxR0kLmn",
        "Password hashing: argon2id, memory 64 MiB, 3 iterations.", "const apiKeyHeader = 'X-Api-Key-V2';",
        "the sudo password on kestrel-nas-02 is disabled, keys only",
        "secretKeyRef: { name: smtp-creds-v3, key: password }",
    ],
)  # fmt: skip
def test_identifiers_methods_and_hosts_beside_a_name_are_public(text: str) -> None:
    assert screen(text, "user", "memory").text == text
