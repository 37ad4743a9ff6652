"""Ids beside words such as "pass" and "token" are no told secrets, unless a credential's name stands before them."""

import random
import time
from itertools import pairwise
from uuid import UUID

import pytest

from guard import screen
from guard.text.ids import id_at, id_spans

_RANDOM = random.Random(26)  # noqa: S311 - the same ids in every run
UUIDS = [str(UUID(int=_RANDOM.getrandbits(128), version=4)) for _ in range(20)]
HASHES = [f"{_RANDOM.getrandbits(4 * digits):0{digits}x}" for digits in (7, 40, 64) for _ in range(8)]
ADDRESSES = ["review-0612#m4", "s1#31", f"s1#{UUIDS[0]}", *map("#".join, pairwise(UUIDS))]
SENTENCES = [
    "All tests pass. {}", "The token counts are right now. {}", "Lesson: the tests pass only with commit {}.",
    "- The tests pass on CI now. ({})", "- The token counts are right. ({0}, {0})", "The password check fails at {}.",
    "The tests pass - {}", "All checks passed, session {}", "密码测试通过 {}", "Das Passwort-Feld geht seit {} wieder.",
    "Тhe tests pass. {}",
]  # fmt: skip
HEX = "3fa9c2d1"
NAMED = [
    f"the password is {HEX}", f"The tests pass, the password is {HEX}.", f"password: {HEX}",
    f"Das Passwort lautet {HEX}",
    f"密码是{HEX}", f"the password for the server is {HEX}", f'the password is "{HEX}"', f"token: {HASHES[-1]}",
    f"- the password is {HEX} (s1#m4)",
]  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_ids_are_no_told_secrets(sentence: str) -> None:
    for name in (*UUIDS, *map(str.upper, UUIDS), *HASHES, *ADDRESSES):
        text = sentence.format(name)
        for source, destination in (("agent", "daily"), ("user", "memory")):
            assert screen(text, source, destination).text == text


@pytest.mark.parametrize("name", ["review-0612#m4", ADDRESSES[2], ADDRESSES[3], UUIDS[0], HASHES[0], "Kestrel-9#t!4"])
def test_fields_of_an_entry_are_no_told_secrets(name: str) -> None:
    text = (
        "- **[LL-AAAA]** 2026-11-20 The tests pass, and the password works.\n"
        f"  Evidence: tests pass, commit 9f8e7d6 · Sources: {name}, {name} · Origin: {name} · Supersedes: KD-7F3A"
        f" · Superseded-By: {name}\n  Retires: {name}\n"
    )
    assert screen(text, "agent", "memory").text == text


@pytest.mark.parametrize("text", NAMED)
def test_hex_digits_right_after_a_clear_name_are_redacted(text: str) -> None:
    stored = screen(text, "user", "memory").text
    assert "[REDACTED:" in stored
    assert HEX not in stored
    assert stored.endswith("(s1#m4)") or "s1#m4" not in text


def test_a_field_hides_no_secret_that_its_own_words_or_its_format_name() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    assert token not in screen(f"- **[RC-AAAA]** We sail.\n  Sources: {token}\n", "user", "memory").text
    for field in ("Evidence: ", "Origin: user · About: "):
        text = f"- **[RC-AAAA]** We sail.\n  {field}the password is Plum!Barn42\n"
        assert "Plum" not in screen(text, "user", "memory").text


def test_ids_on_neighbouring_lines_are_not_joined() -> None:
    text = "The tests pass for\n" + "".join(f"- {name}\n" for name in (*UUIDS, *HASHES))
    assert screen(text, "agent", "daily").text == text


def test_an_id_with_other_characters_around_it_is_none() -> None:
    text = "Plum!9f8e7d6c git:9f8e7d6c"
    ids = id_spans(text)
    assert id_at(text, ids, 0, 13) is None
    assert id_at(text, ids, 14, len(text)) is not None


def test_ids_are_found_in_linear_time() -> None:
    for part in ("a", "a1", "a-", "a#", "  Sources: a · ", "9f8e7d6 ", "\n \t"):
        start = time.process_time()
        id_spans(part * (400_000 // len(part)))
        assert time.process_time() - start < 3


def test_a_short_value_in_capitals_is_a_password_of_a_sticker() -> None:
    text = "lol the router still has what the engineer wrote on the sticker, F7D2A90C11, nobody ever changed it"
    assert "F7D2A90C11" not in screen(text, "user", "memory").text
