"""Topics that recur in a second session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from distill.closing_result import Closed
from distill.entries.promotion import find_candidates
from distill.entries.recurrence import find_recurring, read_recent_logs, standing_log_lines
from distill.settings import DistillSettings
from distill.summary.extraction import Item

NOW = datetime(2026, 11, 20, 18, tzinfo=UTC)
Talk = Callable[..., list[Message]]

LOG = """# 2026-11-19

## 09:00 Printers (s-1a2b3c)

Session: `one` messages 1-4, bytes 0-400

### Topics

warranty, toner

### Facts

- The printer on the third floor takes Kestrel toner (one#m2)
- The gap is 8 % (one#m3)
  State: corrected later in this session
- The web shop lists Kestrel toner for the printer at ¥40 (one#m4)
  Origin: web

### Deliverables

- Deleted the old printer queue (one#m5)
  Evidence: contradicted; printers.toml is still at HEAD
"""


def fact(text: str, source: str = "two#m1") -> Item:
    return Item(kind="fact", text=text, sources=(source,), role="user", ts="2026-11-20T14:00:00")


def test_log_lines_exclude_corrected_and_contradicted_ones() -> None:
    assert [(line.text, line.session, line.sources, line.origin) for line in standing_log_lines(LOG)] == [
        ("warranty, toner", "one", (), "agent"),
        ("The printer on the third floor takes Kestrel toner", "one", ("one#m2",), "agent"),
        ("The web shop lists Kestrel toner for the printer at ¥40", "one", ("one#m4",), "web"),
    ]


def test_recurring_topic_has_its_sources_and_least_trusted_origin() -> None:
    again = fact("Kestrel toner for the printer is sold out")
    found = find_recurring([again, fact("The canteen closes at three")], [LOG], "two", most=5)
    assert list(found) == [again]
    assert (found[again].sessions, found[again].sources) == (("one",), ("one#m2", "one#m4"))
    assert found[again].origin == "web"


def test_topic_of_the_same_session_does_not_recur() -> None:
    assert not find_recurring([fact("Kestrel toner for the printer is sold out")], [LOG], "one", most=5)


def test_common_words_make_no_topic() -> None:
    rows = "".join(f"- the weekly review went over item{n} (one#m{n})\n" for n in range(30))
    log = f"# 2026-11-19\n\n## 09:00 x (s-1a2b3c)\n\nSession: `one` messages 1-4, bytes 0-400\n\n### Facts\n\n{rows}"
    assert not find_recurring([fact("the weekly review went over the kestrel migration freeze")], [log], "two", most=5)


def test_chinese_topics_recur() -> None:
    log = LOG.replace("The printer on the third floor takes Kestrel toner", "三楼打印机要换原装硒鼓")
    assert find_recurring([fact("打印机的原装硒鼓缺货")], [log], "two", most=5)


def test_most_similar_facts_are_kept_up_to_the_limit() -> None:
    close_one, far = fact("The printer on the third floor takes Kestrel toner"), fact("Kestrel toner is out, order ink")
    assert list(find_recurring([far, close_one], [LOG], "two", most=1)) == [close_one]


def say(home: Home, session: str, day: str, *rows: tuple[str, str]) -> list[Message]:
    now = datetime.fromisoformat(f"{day}T18:00:00+00:00")
    messages = [
        Message(session=session, id=f"m{n}", ts=f"{day}T14:{n:02d}:00+00:00", role=role, content=content)
        for n, (role, content) in enumerate(rows, 1)
    ]
    transcript.append(home, session, messages, actor="test", now=now)
    return messages


def closed(
    home: Home, session: str, day: str, *rows: tuple[str, str], settings: DistillSettings | None = None
) -> Closed:
    say(home, session, day, *rows)
    return close(home, session, now=datetime.fromisoformat(f"{day}T18:00:00+00:00"), settings=settings)


def memory(home: Home) -> list[Entry]:
    return list(parse(storage.read_text(home.root / MEMORY)).entries())


def test_recurring_topic_alone_earns_no_entry_and_no_source(home: Home) -> None:
    for session, day in (("one", "2026-11-10"), ("two", "2026-11-12")):
        closed(home, session, day, ("assistant", "The Kestrel toner of the printer costs ¥4,000 a year."))
    assert memory(home) == []
    closed(home, "three", "2026-11-13", ("user", "The Kestrel licence costs ¥4,000 a year."))
    (entry,) = memory(home)
    assert (entry.prefix, entry.fields["Sources"]) == ("RC", "three#m1")


def test_recurring_setting_makes_a_section_wait_for_a_second_session(home: Home) -> None:
    waiting = DistillSettings(recurring=("Lessons Learned",))
    lesson = ("assistant", "Lesson: check the Kestrel budget state in the middle of the quarter.")
    assert closed(home, "one", "2026-11-10", lesson, settings=waiting).entries == ()
    decision = ("user", "Decision: the Kestrel contract goes to legal.")
    assert len(closed(home, "two", "2026-11-11", lesson, decision, settings=waiting).entries) == 2


def test_fact_that_repeats_a_lesson_earns_no_second_entry() -> None:
    lesson = Item(kind="lesson", text="check the Kestrel budget", sources=("two#m1",), role="user")
    again = replace(fact("Lesson: check the Kestrel budget."), lasting=True)
    other = fact("The Kestrel budget is ¥4,000")
    found = find_candidates([lesson, again, other], {}, {}, "2026-11-20")
    assert [candidate.item.kind for candidate in found] == ["lesson"]
    found = find_candidates([lesson, again, replace(other, lasting=True)], {}, {}, "2026-11-20")
    assert [candidate.item.kind for candidate in found] == ["lesson", "fact"]


def test_decision_of_a_later_session_supersedes_the_older_one(home: Home) -> None:
    closed(home, "one", "2026-11-10", ("user", "Decision: we deploy billing on Mondays."))
    later = closed(home, "two", "2026-11-12", ("user", "Decision: we deploy billing on Thursdays instead of Mondays."))
    newer, older = memory(home)
    assert superseded_by([newer, older]) == {older.id: newer.id}
    assert [(link.older, link.newer) for link in later.superseded] == [(older.id, newer.id)]


def test_only_logs_of_the_recurrence_window_are_read(home: Home) -> None:
    for back in range(60):
        day = f"{NOW - timedelta(days=back):%Y-%m-%d}"
        path = home.root / f"DailyActivity/{day}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {day}\n", encoding="utf-8")
    found: Sequence[str] = read_recent_logs(home, "2026-11-20", 30)
    assert len(found) == 30
    assert (found[0], found[-1]) == ("# 2026-10-22\n", "# 2026-11-20\n")
