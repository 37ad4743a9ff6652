"""Recovery codes below or beside a line that names them."""

import pytest

from guard import screen

LISTS = [
    "GitHub recovery codes:\n3f9a2-8bd01\n77c1e-0a4f2\n9d3b0-e61c7",
    "My Google backup codes: 4821 9930, 1174 6625, 9083 2217",
    "Wiederherstellungscodes für Mastodon:\n- 48210933\n- 11746625\n- 90832217",
    "codes de secours du compte : KX7D-2PQ9, M3TT-88ZA",
    "Apple recovery key: 4KTX-9M2P-QQ7H-ZA81-LL3D-0RV5-77YB",
    "备用验证码:83920114 55820931 77120394",
    "kody zapasowe: 8391 0284, 1129 4483",
]


@pytest.mark.parametrize("text", LISTS)
def test_recovery_codes_are_redacted(text: str) -> None:
    screened = screen(text, "user", "memory").text
    assert "[REDACTED:recovery_code]" in screened
    assert not any(map(str.isdigit, screened))


@pytest.mark.parametrize(
    "text",
    [
        "Please generate ten backup codes and print them on 2024-05-01 at the office in room 1204.",
        "Recovery codes were rotated for 12 accounts; see ticket OPS-4821 and OPS-4822 and OPS-4823.",
        "one-time codes expire after 300 seconds and 5 attempts",
    ],
)
def test_talk_about_recovery_codes_passes(text: str) -> None:
    assert screen(text, "user", "memory").text == text
