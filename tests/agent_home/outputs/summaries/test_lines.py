"""Lines as their tool wrote them."""

from __future__ import annotations

import pytest

from agent_home.outputs.summaries.lines import plain, unprefixed


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("\x1b[38;5;12mok\x1b[0m", "ok"),
        ("\x1b]8;;https://x.example\x07link\x1b]8;;\x07", "link"),
        ("\x1b_bk;t=17\x07ok", "ok"),
        ("10 %\r50 %\r100 %\r", "100 %"),
        ("a\x00b\x07\u202e", "ab"),
        ("a\tb", "a\tb"),
    ],
)
def test_only_what_a_person_sees_is_left(line: str, seen: str) -> None:
    assert plain(line) == seen


@pytest.mark.parametrize(
    "before",
    ["2026-11-28T16:52:57.3767690Z ", "2026-11-28 16:52:57,123 ", "[2026-11-28T16:52:57Z] ", "[16:52:57] ", "web-1  | ",
     "build\tRun tests\t2026-11-28T16:52:57.37Z ", "2026-11-28T16:52:57.3Z 01O ", "app | 2026-11-28T16:52:57Z "],
)  # fmt: skip
def test_what_a_service_puts_in_front_is_removed(before: str) -> None:
    assert unprefixed(before + "  x: 1") == "  x: 1"
