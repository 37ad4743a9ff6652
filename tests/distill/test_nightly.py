"""A nightly run does all steps once, a second run changes nothing, and a failed step does not stop the others."""

from __future__ import annotations

import importlib
import subprocess
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from agent_home import storage
from agent_home.documents import check
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.errors import HomeError, Locked
from agent_home.git import packing
from agent_home.home import MEMORY, Home
from agent_home.lock import hold
from agent_home.outputs.store import store_output
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from distill.close import close, unclosed
from distill.nightly import distill_home
from recall.hot_state.home_key import ensure_key
from recall.hot_state.output_pointers import point_to
from tests.own_redis import OwnRedis

if TYPE_CHECKING:
    from .conftest import Talk

MODULE = importlib.import_module("distill.nightly")


def head(home: Home) -> str:
    command = ["git", "-C", str(home.root), "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def status(home: Home) -> str:
    command = ["git", "-C", str(home.root), "status", "--porcelain"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def memory(home: Home) -> list[Entry]:
    return list(parse(storage.read_text(home.root / MEMORY)).entries())


def say(home: Home, talk: Talk, session: str, *rows: tuple[str, str], day: str = "2026-11-20") -> None:
    messages = talk(*rows, session=session, day=day)
    transcript.append(home, session, messages, actor="test", now=datetime.fromisoformat(f"{day}T15:00:00+00:00"))


def add(home: Home, entry: Entry, section: str, now: datetime, path: str = MEMORY) -> None:
    with transaction(home, actor="test", message=f"Add {entry.id}", now=now) as edits:
        edits.write(path, edits.read(path).with_entry(section, entry))


@pytest.fixture
def busy(home: Home, talk: Talk, now: datetime) -> Home:
    """A home with two open sessions, an old lesson and two equal entries."""
    say(home, talk, "one", ("user", "Decision: the release ships on Monday."))
    say(home, talk, "two", ("user", "Decision: the index stays in SQLite."))
    add(home, Entry(id="LL-0001", date="2026-06-01", title="An old lesson"), "Lessons Learned", now)
    for number, day in ((1, "2026-11-01"), (2, "2026-11-02")):
        same = Entry(id=f"KD-000{number}", date=day, title="Backups go to the second site.",
                     fields={"Sources": f"s{number}#m1"})  # fmt: skip
        add(home, same, "Key Decisions", now)
    return home


def test_a_run_closes_merges_archives_and_reports_in_commits(busy: Home, now: datetime) -> None:
    night = distill_home(busy, now=now)
    assert night.sessions == ("one", "two")
    assert len(night.added) == 2
    assert [(link.older, link.newer) for link in night.merged] == [("KD-0002", "KD-0001")]
    assert [one.id for one in night.archived] == ["LL-0001"]
    assert night.failed == []
    assert unclosed(busy) == []
    assert status(busy) == ""
    assert check.problems(busy) == []
    report = storage.read_text(busy.root / night.report)
    assert "- sessions closed: 2: " in report
    assert "- archived: 1: LL-0001" in report


def test_a_second_run_changes_nothing(busy: Home, now: datetime) -> None:
    first = distill_home(busy, now=now)
    before = head(busy)
    again = distill_home(busy, now=now + timedelta(hours=1))
    assert again.idle
    assert (again.commits, again.report) == ([], first.report)
    assert head(busy) == before


def test_a_dry_run_reports_ids_and_reasons_and_changes_nothing(busy: Home, now: datetime) -> None:
    before = head(busy)
    night = distill_home(busy, now=now, apply=False)
    assert head(busy) == before
    assert unclosed(busy) == ["one", "two"] == list(night.sessions)
    assert [link.older for link in night.merged] == ["KD-0002"]
    assert [(one.id, one.reason) for one in night.archived] == [("LL-0001", "never referred to in 173 days")]
    assert (night.report, night.commits) == ("", [])
    assert status(busy) == ""


def test_the_report_has_no_text_of_memory(busy: Home, now: datetime) -> None:
    report = storage.read_text(busy.root / distill_home(busy, now=now).report).casefold()
    assert not any(word in report for word in ("monday", "sqlite", "backups", "old lesson"))


def test_two_runs_of_one_day_are_two_sections_of_the_report(busy: Home, talk: Talk, now: datetime) -> None:
    distill_home(busy, now=now)
    say(busy, talk, "three", ("user", "Decision: call legal first."))
    night = distill_home(busy, now=now + timedelta(hours=2))
    assert [s.title[:15] for s in parse(storage.read_text(busy.root / night.report)).sections()] == [
        "09:00 Distilled", "11:00 Distilled",
    ]  # fmt: skip


def test_a_failed_step_is_reported_and_the_others_run(
    busy: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise HomeError("git did not answer")

    monkeypatch.setattr(MODULE, "verify", failing)
    night = distill_home(busy, now=now)
    assert [(one.session, one.error) for one in night.failed] == [("step verify", "git did not answer")]
    assert (len(night.sessions), len(night.archived)) == (2, 1)
    assert "- failed: 1" in storage.read_text(busy.root / night.report)


def test_a_second_simultaneous_run_is_refused(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "hold", lambda path: hold(path, timeout_s=0.05))
    with hold(home.machine / "nightly.lock"), pytest.raises(Locked):
        distill_home(home, now=now)


def test_an_entry_archived_on_one_machine_and_changed_on_another_is_settled(home: Home, now: datetime) -> None:
    live = Entry(id="LL-0001", date="2026-11-01", title="A lesson", fields={"Sources": "a#m1, b#m1"})
    add(home, live, "Lessons Learned", now)
    archived = live.changed(fields={"Sources": "a#m1", "Evidence": "verified, commit 3f9c2e1"})
    path = "Archive/MEMORY-2026-11.md"
    (home.root / path).write_text(f"# Archive\n\n## Lessons Learned\n\n{archived.render()}")
    assert check.problems(home) == []
    night = distill_home(home, now=now)
    assert night.settled == ("LL-0001",)
    (entry,) = memory(home)
    assert dict(entry.fields) == {"Sources": "a#m1, b#m1", "Evidence": "verified, commit 3f9c2e1"}
    assert "LL-0001" not in storage.read_text(home.root / path)
    assert distill_home(home, now=now).idle


def test_entries_of_different_machines_are_superseded(home: Home, now: datetime) -> None:
    add(home, Entry(id="KD-0001", date="2026-11-01", title="We deploy billing on Monday."), "Key Decisions", now)
    newer = Entry(id="KD-0002", date="2026-11-10", title="We deploy billing on Thursday instead of Monday.")
    add(home, newer, "Key Decisions", now)
    night = distill_home(home, now=now)
    assert [(link.older, link.newer) for link in night.superseded] == [("KD-0001", "KD-0002")]
    assert {entry.id: entry.fields.get("Superseded-By") for entry in memory(home)} == {
        "KD-0001": "KD-0002", "KD-0002": None,
    }  # fmt: skip


def test_a_run_after_a_killed_one_finishes_it(busy: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill a run between two steps, the only place between transactions."""
    close(busy, "one", now=now)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(MODULE, "archive", killed)
        with pytest.raises(KeyboardInterrupt):
            distill_home(busy, now=now)
    assert [one.id for one in distill_home(busy, now=now).archived] == ["LL-0001"]
    assert distill_home(busy, now=now).idle


def test_a_run_that_archives_many_leaves_nothing_for_a_second_run(home: Home, now: datetime) -> None:
    """Let many entries have one word, so that it becomes rare when most of them are archived."""
    with transaction(home, actor="test", message="Add", now=now) as edits:
        pairs = []
        for number in range(50):
            text = f"Before we deploy cedar on Monday or Thursday, look at gate{number:02d}."
            pairs.append(("Lessons Learned", Entry(id=edits.new_id("LL", text), date="2026-05-01", title=text)))
        for day, text in ((1, "We deploy cedar on Monday."), (2, "We deploy cedar on Thursday instead of Monday.")):
            entry = Entry(id=f"KD-000{day}", date=f"2026-11-0{day}", title=text)
            pairs.append(("Key Decisions", entry))
        edits.write(MEMORY, edits.read(MEMORY).with_entries(pairs))
    night = distill_home(home, now=now)
    assert len(night.archived) == 50
    assert [(link.older, link.newer) for link in night.superseded] == [("KD-0001", "KD-0002")]
    assert distill_home(home, now=now).idle


def test_a_run_packs_the_repository_and_a_dry_run_says_so(
    busy: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "LEAST_LOOSE", 20)
    planned = distill_home(busy, now=now, apply=False)
    assert "loose objects" in planned.packed
    assert packing.inspect(busy).packs == 0
    assert "now 0 loose objects" in distill_home(busy, now=now).packed
    assert packing.inspect(busy).packs == 1
    assert distill_home(busy, now=now).packed == ""


def test_a_run_that_cannot_pack_is_no_failed_run(busy: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LEAST_LOOSE", 20)
    with hold(busy.machine / "packing.lock"):
        done = distill_home(busy, now=now)
    assert done.failed == []
    assert done.packed.startswith("not packed: ")


def test_references_to_old_outputs_leave_redis(home: Home, now: datetime, own_redis: OwnRedis) -> None:
    old = store_output(home, [b"8 passed\n"], now=now - timedelta(days=60))
    new = store_output(home, [b"9 passed\n"], now=now)
    for output in (old, new):
        point_to(home, output)
    distill_home(home, now=now, apply=False)
    assert own_redis.client.dbsize() == 2
    distill_home(home, now=now, apply=True)
    assert list(own_redis.client.scan_iter()) == [ensure_key(home).output(new.id).encode()]
