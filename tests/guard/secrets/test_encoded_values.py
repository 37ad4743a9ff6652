"""Encoded values are secrets where a credential's name stands beside them, or where they look like nothing else."""

from __future__ import annotations

import pytest

from guard import screen


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("the admin password in base64: TGlnaHRob3VzZSE0NDI=", "TGlnaHRob3VzZSE0NDI="),
        ("la contraseña en hexadecimal: 4369676172726123417a756c3330", "4369676172726123417a756c3330"),
        ("пароль от камеры в хексе: 4f626c616b6f2d32323038", "4f626c616b6f2d32323038"),
        ("wifi password as entities: &#66;&#108;&#117;&#101;&#35;&#53;&#56;", "&#66;&#108;&#117;&#101;&#35;&#53;&#56;"),
        ("echo SGVkZ2Vob2dfVmlvbGluXzE5ODY= | base64 -d | cryptsetup open /dev/sdb1 vault -", "SGVkZ2Vob2df"),
        ('token = "".join(["xoq-4417", "ZbTnRw", "81kLpe", "yV0s"])', "ZbTnRw"),
        ("export AWS_SECRET_ACCESS_KEY=q7Vn2KxUe0TtLw9R\\\nbJm4ZcYp83HsGd6a\\\nFo1W5iXk", "bJm4ZcYp83HsGd6a"),
    ],
)  # fmt: skip
def test_an_encoded_secret_is_redacted_whole(text: str, run: str) -> None:
    verdict = screen(text, "user", "memory")
    assert run not in verdict.text
    assert {finding.layer for finding in verdict.findings} == {"secret"}


@pytest.mark.parametrize(
    "text",
    [
        "the fixture decodes to hello world: aGVsbG8gd29ybGQ=",
        'print("saved " + "to " + "disk")',
        "the redirect is https://host.example/?next=%2Faccount%2Fsettings",
        'msg = "Dear " + "customer" + ", welcome";',
        "./configure --prefix=/usr \\\n  --with-ssl",
        "color: #a1b2c3; background: url(data:image/png;base64,iVBORw0KGgo=)",
        "the caf%C3%A9 page loads",
    ],
)
def test_what_code_encodes_and_joins_otherwise_passes(text: str) -> None:
    assert screen(text, "user", "memory").text == text


def test_a_published_token_stays_published_when_a_part_of_it_is_decoded() -> None:
    text = "mapboxgl.accessToken = 'pk.eyJ1IjoiZmVybm1hcHMiLCJhIjoiNHIyZzQ4dXl3bTNwc3poOHRnMGo4bGE5aSJ9.BsY3Lrtmyc1T'"
    assert screen(text, "user", "memory").text == text
