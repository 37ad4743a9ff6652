"""What closings cover: messages by their digests, and bytes by the daily log and by this machine's record."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agent_home.documents import daily_log
from agent_home.documents.daily_log import Closing, anchor_of
from agent_home.git import history
from agent_home.home import Home
from agent_home.store import closings, transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message, Turn


def made(session: str, start: int, end: int) -> Closing:
    return Closing(session=session, date="2026-11-20", time="10:00", title="T", first=1, last=2, start=start, end=end)


def file(home: Home, *sections: str) -> None:
    path = home.root / daily_log.daily_path("2026-11-20")
    path.parent.mkdir(exist_ok=True)
    path.write_text("# 2026-11-20\n\n" + "\n".join(sections), encoding="utf-8")


def test_the_larger_watermark_counts(home: Home, now: datetime) -> None:
    file(home, *(daily_log.render_closing(made(name, 0, 50), "- x") for name in ("a", "b")))
    closings.record(home, made("a", 0, 80), "c0ffee", now)
    closings.record(home, made("a", 0, 70), "c0ffee", now)
    closings.record(home, made("b", 0, 10), None, now)
    closed = closings.closed_parts(home)
    assert [closed.end_of(name) for name in ("a", "b", "never")] == [80, 50, 0]
    assert closings.closed_parts(home, recorded=False).end_of("a") == 50
    assert closings.closed_parts(home, "2026-11-21").end_of("b") == 10


@pytest.mark.parametrize("session", ["a\nb", "`c`", "50%", "lone \ud800", "会话"])
def test_any_name_is_found_again_in_both(home: Home, session: str, now: datetime) -> None:
    file(home, daily_log.render_closing(made(session, 0, 50), "- x"))
    assert closings.closed_parts(home).end_of(session) == 50
    closings.record(home, made(session, 50, 90), None, now)
    assert closings.closed_parts(home).end_of(session) == 90


def test_a_name_that_the_guard_took_away_is_known_by_its_anchor(home: Home) -> None:
    section = daily_log.render_closing(made("secret", 7, 50), "- x").replace("`secret`", "`[REDACTED:credential]`")
    file(home, section)
    assert anchor_of("secret", 7) in section
    closed = closings.closed_parts(home)
    assert [closed.end_of(name) for name in ("secret", "other", "[REDACTED:credential]")] == [50, 0, 0]


@pytest.mark.parametrize("gone", ["git", "the newest commit"])
def test_what_is_closed_is_known_without_git(
    home: Home, monkeypatch: pytest.MonkeyPatch, now: datetime, gone: str
) -> None:
    closings.record(home, made("a", 0, 80), history.head(home.root), now)
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("USER.md", "# Newer\n")
    head = history.head(home.root)
    if gone == "git":
        monkeypatch.setenv("PATH", "")
    else:
        (home.root / ".git" / "objects" / head[:2] / head[2:]).unlink()
    assert closings.closed_parts(home).end_of("a") == 80


def test_lines_that_are_no_record_are_passed_over(home: Home, now: datetime) -> None:
    closings.record(home, made("a", 0, 80), None, now)
    with (home.machine / "closings.jsonl").open("ab") as record:
        record.write(b'[]\n{"session": "a"}\n\xff\n{"session": "a", "end": "900"}\n{"session": "a", "end": 9')
    assert closings.closed_parts(home).end_of("a") == 80
    closings.record(home, made("a", 80, 90), None, now)
    assert closings.closed_parts(home).end_of("a") == 90


def said(home: Home, session: str, *days: str) -> None:
    messages = [
        Message(session=session, id=f"m{number}", ts=f"{day}T10:00:00+00:00" if day else "", content="x")
        for number, day in enumerate(days)
    ]
    transcript.append(home, session, messages, actor="test", now=datetime(2026, 11, 20, tzinfo=UTC))


def test_open_sessions_are_those_with_turns_that_nothing_covers_oldest_first(home: Home, now: datetime) -> None:
    for session, day in (
        ("late", "2026-11-20"),
        ("early", "2026-11-18"),
        ("done", "2026-11-19"),
        ("old", "2026-11-20"),
    ):
        said(home, session, day)
    sizes = {one.session: one.size for one in transcript.sessions(home)}
    closings.record(home, made("done", 0, sizes["done"]), "c0ffee", now)
    file(home, daily_log.render_closing(made("old", 0, sizes["old"]), "- closed on another machine"))
    assert [session for session, _ in closings.open_sessions(home)] == ["early", "late"]
    said(home, "done", "2026-11-19", "2026-11-20")
    assert [(session, [turn.message.id for turn in turns]) for session, turns in closings.open_sessions(home)] == [
        ("early", ["m0"]), ("done", ["m1"]), ("late", ["m0"]),
    ]  # fmt: skip


@pytest.mark.parametrize("messages", [1, 3])
def test_a_transcript_that_was_emptied_hides_no_later_message(home: Home, now: datetime, messages: int) -> None:
    """The bytes that were closed are those of other messages now, whether there are fewer of them or more."""
    said(home, "chat", "2026-11-20", "2026-11-20")
    (one,) = transcript.sessions(home)
    closings.record(home, made("chat", 0, one.size), "c0ffee", now)
    assert closings.open_sessions(home) == []
    one.path.write_bytes(b"")
    new = [Message(session="chat", id=f"new-{number}", content="y" * 37) for number in range(messages)]
    transcript.append(home, "chat", new, actor="test", now=now)
    assert [
        [turn.message.id for turn in closings.closed_parts(home).fresh(session, turns)]
        for session, turns in closings.open_sessions(home)
    ] == [[message.id for message in new]]


def test_what_this_machine_closed_is_known_without_reading_a_daily_log(
    home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(home, "done", "2026-11-20")
    (one,) = transcript.sessions(home)
    closings.record(home, made("done", 0, one.size), "c0ffee", now)
    monkeypatch.setattr(closings, "daily_files", None)
    assert closings.open_sessions(home) == []


def test_only_days_are_read_under_which_what_is_open_can_be_filed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = closings.closed_parts

    def watched(home: Home, since: str) -> closings.ClosedParts:
        asked.append(since)
        return real(home, since)

    monkeypatch.setattr(closings, "closed_parts", watched)
    said(home, "one", "2026-11-20")
    assert [session for session, _ in closings.open_sessions(home)] == ["one"]
    said(home, "timeless", "")
    assert len(closings.open_sessions(home)) == 2
    assert asked == ["2026-11-18", ""]


def noted(home: Home, closing: Closing, *messages: Message, now: datetime) -> None:
    """Write the section of *closing* and the row that names *messages*, as a pull from another machine brings them."""
    turns = [Turn(message=message, start=0, end=0) for message in messages]
    with transaction(home, actor="close", message="Close", now=now) as edits:
        edits.write(closing.path, f"# {closing.date}\n\n{daily_log.render_closing(closing, '- x')}")
        closings.note(edits, closing, turns)


def test_a_closing_of_another_machine_covers_the_messages_that_it_names_and_no_bytes(home: Home, now: datetime) -> None:
    said(home, "chat", "2026-11-20", "2026-11-20", "2026-11-20")
    (file,) = transcript.sessions(home)
    turns = transcript.read(file.path)
    elsewhere = [turns[1].message, replace(turns[2].message, content="said to the other machine")]
    noted(home, made("chat", 0, 10_000), *elsewhere, now=now)
    assert closings.closed_parts(home).fresh("chat", turns) == [turns[0], turns[2]]
    ((_, waiting),) = closings.open_sessions(home)
    assert waiting == [turns[0], turns[2]]


def test_a_row_without_its_section_covers_nothing(home: Home, now: datetime) -> None:
    said(home, "chat", "2026-11-20")
    (file,) = transcript.sessions(home)
    turns = transcript.read(file.path)
    closing = made("chat", 0, 90)
    noted(home, closing, turns[0].message, now=now)
    (home.root / closing.path).write_text("# 2026-11-20\n", "utf-8")
    assert closings.closed_parts(home).fresh("chat", turns) == turns


def test_lines_of_the_ledger_that_are_no_rows_are_passed_over(home: Home, now: datetime) -> None:
    said(home, "chat", "2026-11-20")
    (file,) = transcript.sessions(home)
    turns = transcript.read(file.path)
    noted(home, made("chat", 0, 90), turns[0].message, now=now)
    with (home.root / "ledger" / "closings-2026-11-20.jsonl").open("a") as ledger:
        ledger.write('[]\n{"closing": 7}\n{"closing": "2026-11-20#s-1", "messages": 5}\nnothing\n')
    assert closings.closed_parts(home).fresh("chat", turns) == []


def test_the_ledger_of_a_month_is_read_too(home: Home, now: datetime) -> None:
    said(home, "chat", "2026-11-20")
    (file,) = transcript.sessions(home)
    turns = transcript.read(file.path)
    noted(home, made("chat", 0, 90), turns[0].message, now=now)
    day = home.root / "ledger" / "closings-2026-11-20.jsonl"
    day.rename(day.with_name("closings-2026-11.jsonl"))
    assert closings.closed_parts(home, "2026-11-19").fresh("chat", turns) == []
    assert closings.closed_parts(home, "2026-12-01").fresh("chat", turns) != []


def test_of_the_record_only_the_lines_of_the_sessions_asked_about_count(home: Home) -> None:
    home.machine.mkdir(exist_ok=True)
    rows = ['{"session": "a", "end": 5}', '{"session": "b\\u00e9", "end": 6}', '{"end": 7, "session": "c"}']
    (home.machine / "closings.jsonl").write_text("\n".join(rows) + "\n")
    found = closings.closed_parts(home, sessions=["bé"])
    assert [found.end_of(name) for name in ("a", "bé", "c")] == [0, 6, 7]  # a line of another form is not passed over


def test_a_digest_names_session_id_and_words_and_holds_no_digit() -> None:
    message = Message(session="s", id="m1", content="Monday")
    others = [replace(message, **change) for change in ({"session": "t"}, {"id": "m2"}, {"content": "Tuesday"})]
    digests = {closings.message_digest(one) for one in (message, replace(message, ts="2026-11-20"), *others)}
    assert len(digests) == 4
    assert all(len(digest) == 8 and digest.isalpha() for digest in digests)
