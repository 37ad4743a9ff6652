"""A correction or a result that a session tells changes the entries of earlier ones."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import superseded_by
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close, close_all
from distill.entries.carried import stated_text
from distill.nightly import distill_home
from distill.review.queue import accept, waiting
from distill.statements.dated_words import without_dates
from distill.statements.operation import Operation

if TYPE_CHECKING:
    from distill.summary.extraction import Summary

    from .conftest import Repo, Talk

MODULE = importlib.import_module("distill.close")


def keep(home: Home, messages: Sequence[Message], now: datetime) -> None:
    transcript.append(home, messages[0].session, messages, actor="test", now=now)


def memory(home: Home) -> str:
    return storage.read_text(home.root / "MEMORY.md")


def test_a_superseded_entry_is_not_reported_as_perhaps_ended_too(
    home: Home, talk: Talk, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(home, talk(("user", "Decision: we use PostgreSQL for orders."), session="one"), now)
    (older,) = close(home, "one", now=now).entries

    def unsure(summary: Summary, messages: Sequence[Message], *_: object, **__: object) -> Summary:
        perhaps = Operation(kind="retract", target=older.id, sources=(messages[0].source,), text="", unsure=True)
        return replace(summary, operations=(perhaps,))

    monkeypatch.setattr(MODULE, "with_endings", unsure)
    later = talk(("user", "Decision: we use MySQL for orders, not PostgreSQL."), session="two", day="2026-11-21")
    keep(home, later, now)
    closed = close(home, "two", now=now)
    assert [link.older for link in closed.superseded] == [older.id]
    assert closed.changed == ()


def test_the_same_decision_in_two_sessions_is_one_entry_with_both_sources(
    home: Home, talk: Talk, now: datetime
) -> None:
    for name in ("one", "two"):
        keep(home, talk(("user", "Decision: ship on Monday."), session=name), now)
    first, second = close_all(home, now=now).closed
    assert (len(first.entries), second.entries) == (1, ())
    assert second.merged[0].id == first.entries[0].id
    (entry,) = parse(memory(home)).section_entries("Key Decisions")
    assert entry.fields["Sources"] == "one#m1, two#m1"


def test_a_correction_of_the_agent_is_the_users_and_the_agent_cannot_overrule_it(
    home: Home, talk: Talk, now: datetime
) -> None:
    rows = (("assistant", "The queue limit is 5000 jobs per second."), ("user", "No, the queue limit is 800."))
    keep(home, talk(*rows, session="one"), now)
    (entry,) = close(home, "one", now=now).entries
    assert (entry.origin, entry.sources) == ("user", ("one#m1", "one#m2"))
    overruled = ("assistant", "Correction: the queue limit is 5000 jobs per second.")
    keep(home, talk(overruled, session="two", day="2026-11-21"), now)
    closed = close(home, "two", now=now)
    assert (closed.superseded, closed.entries) == ((), ())
    assert [proposed.text for proposed in closed.proposed] == ["the queue limit is 5000 jobs per second."]
    assert "5000 jobs per second.\n  Sources: two" not in memory(home)


def test_a_redacted_value_ends_replaces_and_states_nothing(home: Home, talk: Talk, now: datetime) -> None:
    keep(
        home,
        talk(("user", "Decision: the deploy key of the shop is [REDACTED:github_token] until May."), session="one"),
        now,
    )
    close(home, "one", now=now)
    rows = (
        ("user", "We do not use the deploy key of the shop [REDACTED:aws_key] until May any more."),
        ("user", "Decision: the deploy key of the shop is now [REDACTED:aws_key] until June."),
        ("user", "Remember that my phone is [REDACTED:phone]."),
    )
    keep(home, talk(*rows, session="two", day="2026-11-21"), now)
    closed = close(home, "two", now=now)
    assert closed.superseded == ()
    assert [change for change in closed.changed if change.applied] == []
    assert "[REDACTED:phone]" not in memory(home)


def test_a_correction_of_a_correction_replaces_the_users_own(home: Home, talk: Talk, now: datetime) -> None:
    rows = (
        ("user", "No, the queue limit is 800 jobs per second, not 5000."),
        ("assistant", "OK, 800 jobs per second it is."),
        ("user", "wait, actually 800 was per minute and not per second"),
        ("assistant", "Ok, 800 jobs per minute."),
    )
    keep(home, talk(*rows), now)
    closed = close(home, "fc-1", now=now)
    entries = {entry.title: entry for entry in parse(memory(home)).entries()}
    older, newer = (next(e for title, e in entries.items() if part in title) for part in ("5000", "per minute and"))
    assert older.fields["Superseded-By"] == newer.id
    assert [link.older for link in closed.superseded] == [older.id]


@pytest.mark.parametrize("session", ["fc-1", "fc-2"])
def test_a_correction_of_one_value_keeps_the_rest_of_the_entry(
    session: str, home: Home, talk: Talk, now: datetime
) -> None:
    older = "My doctor is Dr. Peeters and my appointment is on 20 November at 9:15."
    keep(home, talk(("user", older), day="2026-11-18"), now)
    if session != "fc-1":
        close(home, "fc-1", now=now)
    keep(home, talk(("user", "The appointment is at 9:45, not 9:15."), session=session, first=5), now)
    close(home, session, now=now)
    entries = list(parse(memory(home)).entries())
    live = [entry.text for entry in entries if entry.id not in superseded_by(entries)]
    assert [text for text in live if "9:" in text] == [
        "User: My doctor is Dr. Peeters and my appointment is on 20 November at 9:45."
    ]


def test_a_self_correction_in_a_turn_gives_the_last_value(home: Home, talk: Talk, now: datetime) -> None:
    keep(home, talk(("user", "The plumber comes on Thursday at 8. Sorry, Friday.")), now)
    (entry,) = close(home, "fc-1", now=now).entries
    assert without_dates(entry.text) == "The plumber comes on Friday at 8."


def test_a_corrected_conclusion_outlives_the_correction_before_it(home: Home, talk: Talk, now: datetime) -> None:
    rows = (
        ("user", "更正一下:Corvid 这单不是 APX 的,而是 NORDA 的,金额 ¥1.2M 没错。"),
        ("assistant", "结论:本季度 gap 为 -6.6 %,MEAGS 风险最大(-12 %),其次 APX(-7 %)和 NORDA(-4 %)。"),
    )
    keep(home, talk(*rows), now)
    assert close(home, "fc-1", now=now).superseded == ()
    distill_home(home, now=now + timedelta(days=1))
    (entry,) = parse(memory(home)).section_entries("Recent Context")
    assert "Superseded-By" not in entry.fields


def test_a_denied_quantity_corrects_the_agent_in_one_entry(home: Home, talk: Talk, now: datetime) -> None:
    rows = (
        ("assistant", "Conclusion: the test suite takes 12 minutes."),
        ("user", "No, it takes 9 minutes."),
        ("assistant", "结论:队列上限是 5000。"),
        ("user", "不对,队列上限是 800。"),
        ("assistant", "更正:队列上限是 800。"),
    )
    keep(home, talk(*rows), now)
    found = {entry.text: entry for entry in close(home, "fc-1", now=now).entries}
    assert [entry.section for entry in found.values()] == ["Corrections and root causes"] * 2
    assert {entry.origin for entry in found.values()} == {"user"}
    assert "the test suite takes 12 minutes." not in found


def test_a_decision_that_the_assistant_repeats_is_the_users(home: Home, talk: Talk, now: datetime) -> None:
    keep(home, talk(("user", "We choose Novatex as supplier for the fabrics."), session="one", day="2026-11-19"), now)
    close(home, "one", now=now)
    said = "We changed the supplier, not Novatex any more but Textilka."
    repeated = "Decision: the supplier is Textilka instead of Novatex."
    keep(home, talk(("user", said), ("assistant", repeated), session="two"), now)
    close(home, "two", now=now)
    (entry,) = (e for e in parse(memory(home)).entries() if "Textilka" in e.title)
    assert entry.title == said
    assert (entry.fields["Origin"], entry.fields["Sources"]) == ("user", "two#m1, two#m2")


def test_a_decision_that_the_assistant_turns_round_is_its_own(home: Home, talk: Talk, now: datetime) -> None:
    rows = (
        ("user", "We changed the supplier, not Textilka any more but Novatex."),
        ("assistant", "Decision: the supplier is Textilka instead of Novatex."),
        ("user", "Should we move the launch to Thursday?"),
        ("assistant", "Decision: the launch moves to Thursday."),
    )
    keep(home, talk(*rows), now)
    origins = {entry.text: entry.origin for entry in close(home, "fc-1", now=now).entries}
    assert origins["the supplier is Textilka instead of Novatex."] == "agent"
    assert origins["the launch moves to Thursday (2026-11-26)."] == "agent"


def test_what_both_say_stays_the_users_and_a_stranger_still_lowers_it(home: Home, talk: Talk, now: datetime) -> None:
    keep(home, talk(("user", "Decision: ship on Monday."), session="one"), now)
    close(home, "one", now=now)
    keep(home, talk(("assistant", "Decision: ship on Monday."), session="two"), now)
    close(home, "two", now=now)
    (entry,) = parse(memory(home)).section_entries("Key Decisions")
    assert (entry.fields["Origin"], entry.fields["Sources"]) == ("user", "one#m1, two#m1")


def test_a_later_session_resolves_a_thread_in_its_own_commit(home: Home, talk: Talk, now: datetime) -> None:
    keep(home, talk(("user", "Open: send the Q3 deck to Ana"), session="one"), now)
    (entry,) = close(home, "one", now=now).entries
    keep(home, talk(("user", "Morning!"), ("user", "Done: sent the Q3 deck to Ana"), session="two"), now)
    closed = close(home, "two", now=now)
    assert [(changed.id, changed.kind, changed.applied) for changed in closed.changed] == [(entry.id, "resolve", True)]
    (resolved,) = parse(memory(home)).section_entries("Open Threads")
    assert resolved.fields["State"].startswith("resolved ")
    assert "two#m2" in resolved.fields["State"]
    assert close(home, "two", now=now).changed == ()
    keep(home, talk(("user", "Open: send the Q3 deck to Ana"), session="three"), now)
    (again,) = close(home, "three", now=now).entries
    assert again.id != entry.id, "a resolved thread that is opened again is a new one"


@pytest.mark.parametrize(
    "said", ["I was wrong, the contract is not sent to Jana yet.", "我说错了,合同还没发给 Jana,contract 要再等等。"]
)
def test_what_is_not_done_yet_ends_no_thread(home: Home, talk: Talk, now: datetime, said: str) -> None:
    keep(home, talk(("user", "Todo: send the contract to Jana."), session="one"), now)
    close(home, "one", now=now)
    keep(home, talk(("user", said), session="two", day="2026-11-21"), now)
    close(home, "two", now=now)
    (thread,) = (e for e in parse(memory(home)).section_entries("Open Threads") if "send the contract" in e.text)
    assert not thread.retired


def test_a_tool_resolves_nothing(home: Home, talk: Talk, now: datetime) -> None:
    keep(home, talk(("user", "Open: send the Q3 deck to Ana"), session="one"), now)
    close(home, "one", now=now)
    said = "Done: sent the Q3 deck to Ana"
    keep(home, talk(("tool", said), ("assistant", said), session="two"), now)
    close(home, "two", now=now)
    (thread,) = parse(memory(home)).section_entries("Open Threads")
    assert not thread.retired


def test_a_correction_retires_the_claim_and_git_cannot_refuse_it(
    home: Home, talk: Talk, now: datetime, make_repo: Callable[[str], Repo]
) -> None:
    repo = make_repo("work")
    fix = repo.commit("Fix the login bug", {"login.py": "x = 2\n"}, "2026-11-20T14:01:30+00:00")
    keep(home, talk(("user", f"Conclusion: commit {fix} fixed the login bug."), cwd=str(repo.root), session="one"), now)
    (claim,) = close(home, "one", now=now).entries
    said = f"Correction: I was wrong, commit {fix} did not fix the login bug."
    keep(home, talk(("user", "Morning!"), ("user", said), cwd=str(repo.root), session="two"), now)
    closed = close(home, "two", now=now)
    assert [entry.section for entry in closed.entries] == ["Corrections and root causes"]
    document = parse(memory(home))
    (older,) = document.section_entries("Recent Context")
    assert older.id == claim.id
    assert older.retired or older.fields.get("Superseded-By") == closed.entries[0].id
    assert len(document.section_entries("Corrections and root causes")) == 1


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("我女儿朵朵对芒果过敏,周三要上舞蹈课,四点半去接。", "朵朵的舞蹈课改到周四了", ("对芒果过敏", "四点半去接")),
        ("妈妈对青霉素过敏,周三去医院复查。", "妈妈的复查改到周四了。", ("对青霉素过敏", "周四")),
        ("小宝不能吃花生,每天三点放学。", "小宝现在四点半放学。", ("不能吃花生", "四点半放学")),
        ("我住在成都,在医院当护士。", "我搬到重庆了。", ("在医院当护士", "搬到重庆")),
        ("I live in Lyon and I work as a nurse.", "I moved to Paris.", ("I work as a nurse. I moved to Paris.",)),
    ],
)
def test_a_changed_clause_takes_no_other_one_with_it(
    home: Home, talk: Talk, now: datetime, first: str, second: str, kept: tuple[str, ...]
) -> None:
    keep(home, talk(("user", first), session="a", day="2026-11-18"), now)
    close(home, "a", now=now)
    keep(home, talk(("user", second), session="b"), now)
    close(home, "b", now=now)
    for asked in waiting(home, now):
        accept(home, asked, person="Mara", now=now)
    entries = list(parse(memory(home)).entries())
    (live,) = [entry for entry in entries if entry.id not in superseded_by(entries)]
    assert [words for words in kept if words not in stated_text(live)] == [], live.text
    assert not any("nurse" in line or "过敏" in line for line in live.detail.splitlines())


def test_a_finished_task_leaves_the_other_one_of_its_entry_open(home: Home, talk: Talk, now: datetime) -> None:
    told = "TODO: order the roof tiles and book the plumber for the kitchen."
    keep(home, talk(("user", told), session="a", day="2026-11-18"), now)
    close(home, "a", now=now)
    keep(home, talk(("user", "Done: ordered the roof tiles."), session="b"), now)
    (changed,) = close(home, "b", now=now).changed
    assert (changed.kind, changed.text) == ("revise", "book the plumber for the kitchen.")
    assert changed.detail == "ended: order the roof tiles"
    (left,) = parse(memory(home)).entries()
    assert (left.title, left.retired) == ("book the plumber for the kitchen.", False)


@pytest.mark.parametrize("reverse", [False, True])
def test_two_parts_of_one_entry_that_a_session_replaces_are_both_gone(
    home: Home, talk: Talk, now: datetime, *, reverse: bool
) -> None:
    keep(home, talk(("user", "I'm vegetarian and I live in Leipzig."), session="one"), now)
    (older,) = close(home, "one", now=now).entries
    said = ["Actually I'm no longer vegetarian, I eat fish now.", "We moved to Dresden last week, by the way."]
    turns = [("user", text) for text in (said[::-1] if reverse else said)]
    later = now + timedelta(days=4)
    keep(home, talk(*turns, session="two"), later)
    close(home, "two", now=later)
    entries = list(parse(memory(home)).entries())
    replaced = superseded_by(entries)
    live = [without_dates(stated_text(entry)) for entry in entries if entry.id not in replaced]
    assert older.id in replaced
    assert sorted(live) == [
        "User: Actually I'm no longer vegetarian, I eat fish now.",
        "User: We moved to Dresden last week, by the way.",
    ]


def test_a_decision_whose_value_a_later_session_rejects_is_asked_about(home: Home, talk: Talk, now: datetime) -> None:
    keep(home, talk(("user", "Let's go with Kafka for the event bus, RabbitMQ can't replay."), session="one"), now)
    (older,) = close(home, "one", now=now).entries
    later = now + timedelta(days=2)
    against = "We decided against Kafka: we use NATS JetStream instead, ops already runs it."
    keep(home, talk(("user", against), session="two"), later)
    close(home, "two", now=later)
    (question,) = waiting(home, now)
    assert question.id == older.id
    accept(home, question, person="Mara", now=later)
    entries = list(parse(memory(home)).entries())
    assert superseded_by(entries).keys() == {older.id}
