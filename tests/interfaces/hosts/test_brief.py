"""The brief of a session: under the host's limit, cut at lines, and left out again when the session is imported."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home.home import Home
from agent_home.imports import strip_injected
from interfaces.hosts.brief import brief, recall
from interfaces.hosts.captured import OpenSession, write_open

SENTENCES = {
    "en": "The importer number {} waits for the ledger of the harbour before it begins its nightly run.",
    "zh": "第{}号导入程序在开始夜间运行之前会等待港口的账本，然后再发送报告给会计。",
}


def remembering(home: Home, language: str, count: int) -> None:
    entries = "".join(
        f"- **[LL-{number:04d}]** 2026-11-01 {SENTENCES[language].format(number)}\n  Origin: user\n"
        for number in range(count)
    )
    text = (home.root / "MEMORY.md").read_text("utf-8")
    (home.root / "MEMORY.md").write_text(
        text.replace("## Lessons Learned\n", f"## Lessons Learned\n\n{entries}"), "utf-8"
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("most", [2_000, 9_500, 24_000])
def test_a_brief_stays_under_the_limit(home: Home, now: datetime, language: str, most: int) -> None:
    for count in (0, 40, 900):
        remembering(home, language, count)
        text = brief(home, session="s", most_chars=most, now=now)
        assert len(text) <= most
        assert text.startswith("<agent-home>\n")
        assert text.endswith("\n</agent-home>")
        assert "memory search WORDS" in text


def test_a_large_memory_uses_most_of_the_room(home: Home, now: datetime) -> None:
    remembering(home, "en", 900)
    assert len(brief(home, session="s", most_chars=9_500, now=now)) > 6_000


def test_a_brief_is_left_out_of_what_was_said(home: Home, now: datetime) -> None:
    remembering(home, "en", 40)
    said = f"{brief(home, session='s', most_chars=9_500, now=now)}\n\nWhich database do we use?"
    assert strip_injected(said)[0].strip() == "Which database do we use?"


def test_sessions_that_cannot_be_saved_stand_on_top(home: Home, now: datetime) -> None:
    lost = OpenSession(
        host="codex", session="s1", transcript="/t", cwd="/", at=now.timestamp(), failures=3, problem="the disk is full"
    )
    write_open(home.root, {"codex\0s1": lost}, now.timestamp())
    text = brief(home, session="s", most_chars=9_500, now=now)
    assert "could not be saved: the disk is full" in text.splitlines()[1]
    write_open(home.root, {}, now.timestamp())
    assert "could not be saved" not in brief(home, session="s", most_chars=9_500, now=now)


def test_nothing_is_recalled_of_nothing(home: Home, now: datetime) -> None:
    assert recall(home, "Which database do we use?", session="s", most_chars=4_000, now=now) == ""
