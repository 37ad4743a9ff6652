"""Secrets are found by format, by name and in prose. Text about secrets passes."""

import pytest

from guard import Action, Verdict, screen

# Fake credentials are assembled, so that no scanner takes this file for a leak.
TAIL = "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ"
HEX = "0123456789abcdef" * 4

FORMATS = {
    "aws": "AKIA" + "2E7XQPLMNB5RTYUC",
    "github": "ghp_" + TAIL,
    "github oauth": "gho_" + TAIL,
    "github server": "ghs_" + TAIL,
    "github fine-grained": "github_pat_" + "11ABCDEFG0" + TAIL + "_" + TAIL,
    "gitlab": "glpat-" + TAIL[:20],
    "openai": "sk-" + TAIL,
    "openai project": "sk-proj-" + TAIL,
    "anthropic": "sk-ant-" + "api03-" + TAIL,
    "slack": "xoxb-" + "123456789012-" + TAIL[:24],
    "slack webhook": "https://hooks.slack.com/services/" + "T0123ABCD/B0123ABCD/" + TAIL[:24],
    "google": "AIza" + "Sy" + TAIL[:33],
    "stripe": "sk_" + "live_" + TAIL[:24],
    "npm": "npm_" + TAIL,
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + TAIL + TAIL,
    "sendgrid": "SG." + TAIL[:22] + "." + TAIL + "1234567",
    "twilio": "SK" + HEX[:32],
    "hugging face": "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0" + "." + TAIL,
}


def redacted(text: str) -> Verdict:
    verdict = screen(text, "user", "memory")
    assert verdict.action is Action.REDACT, verdict
    return verdict


@pytest.mark.parametrize("name", FORMATS)
def test_a_known_format_is_replaced_and_the_words_around_it_stay(name: str) -> None:
    secret = FORMATS[name]
    verdict = redacted(f"- the deploy uses {secret}, see notes")
    assert TAIL[:12] not in verdict.text
    assert HEX[:16] not in verdict.text
    assert verdict.text.startswith("- the deploy uses ")
    assert verdict.text.endswith(", see notes")
    assert [finding.layer for finding in verdict.findings] == ["secret"]


def test_a_format_is_found_next_to_chinese_letters() -> None:
    assert "ghp_" not in redacted("密钥" + FORMATS["github"] + "请保管").text


def test_a_private_key_is_replaced_as_a_whole_block() -> None:
    body = "\n".join([TAIL + TAIL[:28]] * 3)
    block = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + body + "\n-----END RSA PRIVATE" + " KEY-----"
    assert redacted(f"before\n{block}\nafter").text == "before\n[REDACTED:private_key]\nafter"


def test_a_private_key_without_a_footer_ends_with_its_last_line() -> None:
    block = "-----BEGIN PRIVATE" + " KEY-----\n" + TAIL + "\n" + TAIL
    assert redacted(f"{block}\n\nThen we went home.").text == "[REDACTED:private_key]\n\nThen we went home."


def test_only_the_password_of_url_credentials_is_replaced() -> None:
    verdict = redacted("db at postgres://app:" + "s3cr3t-Pa55" + "@db.internal:5432/app")
    assert verdict.text == "db at postgres://app:[REDACTED:url_password]@db.internal:5432/app"


def test_a_url_password_with_an_at_sign_is_replaced_completely() -> None:
    assert "w0rd" not in redacted("redis://:" + "p@ssw0rd" + "@cache:6379").text


def test_only_the_token_of_an_authorization_header_is_replaced() -> None:
    verdict = redacted("curl -H 'Authorization: Bearer " + TAIL + "' https://api.internal")
    assert verdict.text == "curl -H 'Authorization: Bearer [REDACTED:bearer_token]' https://api.internal"


@pytest.mark.parametrize(
    "text",
    [
        "api_key = '{}'",
        'API_KEY="{}"',
        "client-secret: {}",
        "export SERVICE_TOKEN={}",
        '{{"access_token": "{}"}}',
        "密钥: {}",
        "令牌是{}",
    ],
)
def test_a_value_assigned_to_a_name_for_secrets_is_replaced(text: str) -> None:
    secret = "q7Zx" + "93kLmW" + "0pTv5RbY"
    verdict = redacted(text.format(secret))
    assert secret not in verdict.text
    assert "[REDACTED:" in verdict.text


@pytest.mark.parametrize(
    "text",
    [
        "my password is {}",
        "The password for the NAS was {}, change it",
        "password: {}",
        "pwd={}",
        'DB_PASSWORD="{}"',
        "密码是{}",
        "我的密码:{}。",
        "登录口令为 {}",
    ],
)
def test_a_password_in_prose_or_settings_is_replaced(text: str) -> None:
    password = "hunter" + "2Gx!"
    assert password not in redacted(text.format(password)).text


@pytest.mark.parametrize(
    "text",
    [
        "token: ${CI_JOB_TOKEN}",
        'api_key=os.environ["SERVICE_API_KEY_1"]',
        "password: <set in vault>",
        "api_key = YOUR_API_KEY_HERE",
        "secret: xxxxxxxxxxxxxxxxxxxx",
        "password = changeme",
        "curl -H 'Authorization: Bearer $TOKEN' https://staging.internal",
        "The secret to good tests is isolation",
        "The password is required and was reset yesterday",
        "密码是必填的",
        "密码: string",
        "Token budget per turn is 8000 tokens, max_tokens: 128000",
        "password = get_password(user)",
        "password = db.Column(db.String(120), nullable=False)",
        "token = self.config.token1",
        "postgres://user:password@localhost/app and https://user:${PASS}@host",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-learn-contrib-project-2024-notes",
        "https://images.internal/xoxo-1.jpg",
    ],
)
def test_text_about_secrets_passes(text: str) -> None:
    assert screen(text, "user", "memory") == Verdict(action=Action.ALLOW, text=text)


def test_a_key_split_by_zero_width_characters_is_found_in_the_raw_text() -> None:
    key = FORMATS["aws"]
    text = f"key {key[:7]}\u200b{key[7:]} end"
    verdict = redacted(text)
    assert verdict.text == "key [REDACTED:aws_key] end"
    (found,) = [finding for finding in verdict.findings if finding.layer == "secret"]
    assert (found.start, found.end) == (4, len(text) - 4)


def test_a_key_in_full_width_letters_is_found() -> None:
    wide = "".join(chr(ord(character) + 0xFEE0) for character in FORMATS["aws"])
    assert redacted(f"键 {wide} 完").text == "键 [REDACTED:aws_key] 完"


def test_a_finding_never_holds_the_secret() -> None:
    verdict = redacted("use " + FORMATS["github"])
    assert TAIL not in repr(verdict)


def test_all_secrets_of_a_text_are_replaced() -> None:
    text = "\n".join(f"{name}: {secret}" for name, secret in FORMATS.items())
    verdict = redacted(text)
    assert verdict.text.count("[REDACTED:") == len(FORMATS)
    assert TAIL[:12] not in verdict.text
