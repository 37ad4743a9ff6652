"""Screening time is linear in the length of a text."""

import time

import pytest

from guard import screen

HOSTILE = [
    "a", "A1b2", "://a:", "a@", "a.", "eyJ", "eyJaaaaaaaaaaaa.", "-----BEGIN RSA PRIVATE" + " KEY-----",
    "password", "password is ", "token: a1B2c3 ", "api key ", "密码是 ", "ignore all previous ",
    "ignore all previous instructions. ", "send your password ", "1 ", "4111 1111 ", "+1", "phone 1",
    "<private>", "<private></private>", "[INST]", "<|aa|>", '"', "'a ", "`a", "a\u200b", "\u200d", "\u202e",
    "\u05d0\u2066", "\U000e0041", "a\ufe01", "\x00", "\x1b[", "\ud800", "аa", "把密码", "GB82 WEST ", "ghp_",
    "curl $(", "%41", "a1a", "r3v1", "i g n ", "{[(", "\"a\"==", "please send ", ". ", "1. ", "scheme://user:pass@",
    "scheme://user:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xt", "kind: Secret\n a: QUJDREVG\n", "0 ", "0-",
    "раyраl ", "a\u200e",
    "\n## a", "```\n", "a_b_c_", "secret=a_a_a_a_a_a_a_a_a_a_a!", "door code ", "the code of the door ",
    "pin a1b2c3 ", "passphrase is ab cd ", "abandon ", "recovery codes 1a2b-3c4d ", "\\u0041", "&#65;", "a=", "=41",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkrLw",
]  # fmt: skip


def seconds(unit: str, length: int) -> float:
    text = (unit * (length // len(unit) + 1))[:length]
    begun = time.process_time()
    screen(text, "tool", "memory")
    return time.process_time() - begun


@pytest.mark.parametrize("mark", ["\u200b", "\x00", "\x1b[0m", "\u202e", "a\ufe01"])
def test_a_flood_of_invisible_characters_is_removed_and_the_rest_stays(mark: str) -> None:
    words = [f"w{number} " for number in range(3_000)]
    verdict = screen(mark.join(words), "user", "daily")
    assert verdict.text == mark.rstrip("\u200b\x00\u202e\ufe01\x1b[0m").join(words)
    assert screen(verdict.text, "user", "daily").text == verdict.text


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", HOSTILE, ids=ascii)
def test_time_grows_with_length(unit: str) -> None:
    small = min(seconds(unit, 8_000), seconds(unit, 8_000))
    # Linear growth is 8, quadratic growth is 64. The constant allows for clock and machine noise.
    limit = 24 * small + 0.2
    assert seconds(unit, 64_000) < limit or seconds(unit, 64_000) < limit  # the better of two, if it takes two
