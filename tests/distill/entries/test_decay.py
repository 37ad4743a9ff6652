"""Archiving of unused entries and old daily logs, without losses."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_home import storage
from agent_home.documents import daily_log
from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.references import Reference, note
from distill.close import close
from distill.entries.citation import cite
from distill.entries.decay import archive
from distill.settings import DistillSettings
from recall.index.sync import sync
from recall.search.hybrid import SearchResult, search
from recall.settings import RecallSettings
from tests.doomed import ForkServer

from ..aged import archived_ids, keep, live_ids, put

if TYPE_CHECKING:
    from ..conftest import Talk

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
OLD = "2026-08-01"  # 112 days before


def candidates(home: Home, now: datetime = NOW) -> dict[str, str]:
    return {candidate.id: candidate.reason for candidate in archive(home, now=now).candidates}


def search_archive(home: Home, words: str) -> SearchResult:
    """Search the archive for *words*."""
    sync(home, RecallSettings(), None)
    return search(home, words, settings=RecallSettings(), layers=["archive"], mode="lexical", now=NOW)


def commits(home: Home) -> int:
    command = ["git", "-C", str(home.root), "rev-list", "--count", "HEAD"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_old_entries_of_ageing_sections_are_archived(home: Home) -> None:
    for entry_id in ("LL-0001", "RC-0001", "SP-0001", "CO-0001", "KD-0001", "OT-0001"):
        keep(home, entry_id, OLD)
    found = archive(home, now=NOW)
    assert [candidate.id for candidate in found.candidates] == ["LL-0001", "RC-0001"]
    assert [(c.section, c.age_days, c.last_reference) for c in found.candidates] == [
        ("Lessons Learned", 112, ""),
        ("Recent Context", 112, ""),
    ]
    assert found.candidates[0].reason == "never referred to in 112 days"


def test_a_dry_run_changes_nothing(home: Home) -> None:
    keep(home, "LL-0001", OLD)
    before = (commits(home), storage.read_text(home.root / "MEMORY.md"))
    assert archive(home, now=NOW).commit is None
    assert (commits(home), storage.read_text(home.root / "MEMORY.md")) == before
    assert not list((home.root / "Archive").glob("**/*.md"))


@pytest.mark.parametrize(("days", "leaves"), [(89, False), (90, True)])
def test_entry_is_archived_on_the_ninetieth_day(home: Home, days: int, leaves: bool) -> None:
    keep(home, "LL-0001", f"{NOW - timedelta(days=days):%Y-%m-%d}")
    assert bool(candidates(home)) is leaves


def test_archive_age_is_a_setting(home: Home) -> None:
    keep(home, "LL-0001", "2026-11-01")
    assert archive(home, now=NOW, settings=DistillSettings(archive_after_days=20)).candidates
    with pytest.raises(ValueError, match="archive-after-days is 0"):
        DistillSettings(archive_after_days=0)


def test_age_counts_from_the_last_reference(home: Home) -> None:
    keep(home, "LL-0001", "2026-01-01")
    cite(home, ["LL-0001"], now=datetime(2026, 2, 1, tzinfo=UTC))
    (candidate,) = archive(home, now=NOW).candidates
    assert (candidate.age_days, candidate.last_reference[:10]) == (293, "2026-02-01")
    assert candidate.reason == "last referred to 293 days ago"
    cite(home, ["LL-0001"], now=NOW - timedelta(days=89))
    assert candidates(home) == {}


def test_resolved_threads_and_superseded_decisions_are_archived(home: Home) -> None:
    keep(home, "OT-0001", OLD, fields={"State": "resolved 2026-08-03"})
    keep(home, "OT-0002", OLD, fields={"State": "waits for legal"})
    keep(home, "KD-0001", OLD, fields={"Superseded-By": "KD-0009"})
    keep(home, "KD-0002", OLD)
    keep(home, "KD-0003", OLD, fields={"Supersedes": "KD-0002"})
    assert candidates(home) == {
        "OT-0001": "resolved",
        "KD-0001": "superseded by KD-0009; never referred to in 112 days",
        "KD-0002": "superseded by KD-0003; never referred to in 112 days",
    }


def test_resolved_retracted_and_expired_entries_are_archived_at_once(home: Home) -> None:
    today = f"{NOW:%Y-%m-%d}"
    keep(home, "OT-0001", today, fields={"State": "resolved 2026-11-21, s#m1"})
    keep(home, "RC-0001", today, fields={"State": "retracted 2026-11-21, s#m1"})
    keep(home, "RC-0002", today, fields={"Until": "2026-11-20"})
    keep(home, "RC-0003", today, fields={"Until": today})
    assert candidates(home) == {"OT-0001": "resolved", "RC-0001": "retracted", "RC-0002": "held until 2026-11-20"}


def test_facts_about_the_user_do_not_age_out(home: Home) -> None:
    keep(home, "RC-0001", OLD, body="My son Leo has a severe peanut allergy")
    keep(home, "RC-0002", OLD, body="我女儿对花生过敏")
    keep(home, "RC-0003", OLD, body="The build takes four minutes")
    keep(home, "RC-0004", OLD, body="My son Leo has a severe peanut allergy", fields={"Origin": "tool"})
    assert set(candidates(home)) == {"RC-0003", "RC-0004"}


@pytest.mark.parametrize("why", ["yes", "the board asked for it", "until 2030"])
def test_protected_entry_is_not_archived(home: Home, why: str) -> None:
    keep(home, "LL-0001", OLD, fields={"Protected": why})
    keep(home, "LL-0002", OLD, fields={"Protected": "no"})
    assert list(candidates(home)) == ["LL-0002"]


def test_entries_without_a_date_or_from_the_future_never_age(home: Home) -> None:
    keep(home, "LL-0001", "")
    keep(home, "LL-0002", "2027-01-01")
    assert candidates(home) == {}


def test_archiving_moves_the_exact_text_in_one_commit(home: Home) -> None:
    first = keep(home, "LL-0001", OLD, body="正文 with `code`", fields={"Sources": "a#m1", "Origin": "user"})
    keep(home, "LL-0002", "2026-08-02")
    keep(home, "LL-0003", "2026-11-01")
    keep(home, "RC-0001", OLD)
    before = commits(home)
    done = archive(home, now=NOW, apply=True)
    assert commits(home) == before + 1
    assert done.commit is not None
    assert live_ids(home) == ["LL-0003"]
    assert archived_ids(home) == ["LL-0002", "LL-0001", "RC-0001"]
    text = storage.read_text(home.root / "Archive/MEMORY-2026-11.md")
    assert first.render() in text
    assert [section.title for section in parse(text).sections()] == ["Lessons Learned", "Recent Context"]
    assert problems(home) == []


def test_archiving_twice_moves_nothing_and_a_later_run_extends_the_months_file(home: Home) -> None:
    keep(home, "LL-0001", OLD)
    archive(home, now=NOW, apply=True)
    assert archive(home, now=NOW, apply=True).commit is None
    keep(home, "LL-0002", "2026-08-20")
    archive(home, now=datetime(2026, 11, 29, tzinfo=UTC), apply=True)
    assert archived_ids(home) == ["LL-0002", "LL-0001"]
    assert problems(home) == []


def test_archived_entry_is_found_by_its_words(home: Home) -> None:
    keep(home, "LL-0001", OLD, title="The zeppelin needs helium")
    archive(home, now=NOW, apply=True)
    found = search_archive(home, "zeppelin")
    assert found.hits[0].source == "Archive/MEMORY-2026-11.md#LL-0001"


def test_id_of_an_archived_entry_is_not_reused(home: Home) -> None:
    with transaction(home, actor="test", message="Add", now=NOW) as edits:
        taken = edits.new_id("LL", "seed")
    keep(home, taken, OLD)
    archive(home, now=NOW, apply=True)
    with transaction(home, actor="test", message="Add", now=NOW) as edits:
        assert edits.new_id("LL", "seed") != taken


def test_archiving_moves_text_that_the_guard_would_quarantine(home: Home) -> None:
    secret = "AKIA" + "Z7QX2M4N5P6R8S3T"
    path = home.root / "MEMORY.md"
    line = f"- **[LL-0001] {OLD} The old key** - it was {secret}\n"
    path.write_text(storage.read_text(path).replace("## Lessons Learned\n\n", f"## Lessons Learned\n\n{line}\n"))
    subprocess.run(["git", "-C", str(home.root), "-c", "user.name=a", "-c", "user.email=a@example.com", "commit",
                    "--quiet", "--no-verify", "-am", "by hand"], check=True)  # fmt: skip
    assert archive(home, now=NOW, apply=True).commit
    assert line in storage.read_text(home.root / "Archive/MEMORY-2026-11.md")
    assert secret not in storage.read_text(path)


def test_entry_in_memory_and_archive_keeps_one_copy(home: Home) -> None:
    keep(home, "LL-0001", OLD)
    keep(home, "LL-0002", "2026-11-01")
    with transaction(home, actor="test", message="Copy", now=NOW) as edits:
        edits.write("Archive/MEMORY-2026-10.md", "# Archive\n\n" + edits.text("MEMORY.md").partition("\n\n")[2])
    assert problems(home) == []  # an identical copy may be an unfinished move
    assert archive(home, now=NOW).settled == ("LL-0002", "LL-0001")
    archive(home, now=NOW, apply=True)
    assert (live_ids(home), archived_ids(home)) == (["LL-0002"], ["LL-0001"])
    assert archive(home, now=NOW, apply=True).commit is None


def test_different_texts_under_one_id_stay_under_two_ids(home: Home) -> None:
    keep(home, "LL-0001", "2026-11-01")
    with transaction(home, actor="test", message="Copy", now=NOW) as edits:
        edits.write("Archive/MEMORY-2026-11.md", "# A\n\n## Lessons Learned\n\n- **[LL-0001] 2026-01-01 another**\n")
    assert [problem.rule for problem in problems(home)] == ["duplicate-id"]
    assert archive(home, now=NOW).settled == ("LL-0001",)
    archive(home, now=NOW, apply=True)
    assert problems(home) == []
    (archived,) = parse(storage.read_text(home.root / "Archive/MEMORY-2026-11.md")).entries()
    assert (archived.title, archived.fields) == ("another", {"Superseded-By": "LL-0001"})
    assert live_ids(home) == ["LL-0001"]
    assert archive(home, now=NOW, apply=True).commit is None


def say(home: Home, talk: Talk, session: str, day: str, now: datetime, first: int = 1) -> None:
    words = f"Decision: ship {session} on Monday, part {first}."
    transcript.append(home, session, talk(("user", words), session=session, day=day, first=first), actor="t", now=now)


def test_old_daily_log_of_closed_sessions_is_archived(home: Home, talk: Talk) -> None:
    say(home, talk, "one", OLD, NOW)
    close(home, "one", now=NOW)
    say(home, talk, "two", "2026-11-20", NOW)
    close(home, "two", now=NOW)
    text = storage.read_text(home.root / f"DailyActivity/{OLD}.md")
    assert archive(home, now=NOW).daily == (f"DailyActivity/{OLD}.md",)
    archive(home, now=NOW, apply=True)
    assert storage.read_text(home.root / f"Archive/DailyActivity/{OLD}.md") == text
    assert [path.stem for path in home.daily.glob("*.md")] == ["2026-11-20"]
    assert problems(home) == []


def test_watermark_of_an_archived_day_still_counts(home: Home, talk: Talk) -> None:
    say(home, talk, "one", OLD, NOW)
    close(home, "one", now=NOW)
    archive(home, now=NOW, apply=True)
    (home.machine / "closings.jsonl").unlink()
    quiet = close(home, "one", now=NOW)
    assert (quiet.commit, quiet.daily) == (None, f"Archive/DailyActivity/{OLD}.md")
    assert [closing.archived for closing in daily_log.closings(home)] == [True]


def test_day_with_an_open_session_or_a_foreign_section_stays(home: Home, talk: Talk) -> None:
    say(home, talk, "one", OLD, NOW)
    close(home, "one", now=NOW)
    say(home, talk, "one", "2026-11-20", NOW, first=2)  # its session goes on
    assert archive(home, now=NOW).daily == ()
    close(home, "one", now=NOW)
    say(home, talk, "two", OLD, NOW)  # another session of that day is not closed
    assert archive(home, now=NOW).daily == ()
    close(home, "two", now=NOW)
    path = home.root / f"DailyActivity/{OLD}.md"
    whole = storage.read_text(path)
    path.write_text(f"{whole}\n## Afternoon\n\nA note by hand.\n")  # a section that covers nothing
    assert archive(home, now=NOW).daily == ()
    path.write_text(whole)
    assert archive(home, now=NOW).daily == (f"DailyActivity/{OLD}.md",)


def test_late_part_of_a_day_joins_the_archived_part(home: Home, talk: Talk) -> None:
    for session in ("one", "two"):
        say(home, talk, session, OLD, NOW)
        close(home, session, now=NOW)
        archive(home, now=NOW, apply=True)
    text = storage.read_text(home.root / f"Archive/DailyActivity/{OLD}.md")
    assert [closing.session for closing in daily_log.parse_closings(text, OLD)] == ["one", "two"]
    assert text.count(f"# {OLD}\n") == 1
    assert not (home.root / f"DailyActivity/{OLD}.md").exists()


def test_archived_day_is_found_by_its_words(home: Home, talk: Talk) -> None:
    say(home, talk, "zeppelin", OLD, NOW)
    close(home, "zeppelin", now=NOW)
    archive(home, now=NOW, apply=True)
    found = search_archive(home, "zeppelin")
    assert any(hit.source.startswith("Archive/DailyActivity/") for hit in found.hits)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    entries=st.lists(
        st.tuples(st.sampled_from(["LL", "RC", "KD", "SP"]), st.integers(0, 300), st.none() | st.integers(0, 200)),
        max_size=8,
    )
)
def test_archiving_loses_no_entry_and_moves_only_old_ones(
    tmp_path_factory: pytest.TempPathFactory, make_home: Callable[[Path], Home],
    entries: list[tuple[str, int, int | None]],
) -> None:  # fmt: skip
    home = make_home(tmp_path_factory.mktemp("home"))
    is_old: dict[str, bool] = {}
    with transaction(home, actor="test", message="Keep and cite", now=NOW) as edits:
        for number, (prefix, age, cited) in enumerate(entries):
            entry_id = f"{prefix}-{number:04d}"
            put(edits, entry_id, f"{NOW - timedelta(days=age):%Y-%m-%d}")
            ages = [age]
            if cited is not None:
                ages.append(cited)
                ts = (NOW - timedelta(days=cited)).isoformat()
                note(edits, [Reference(ts=ts, id=entry_id, by="pipeline")])
            is_old[entry_id] = prefix in {"LL", "RC"} and min(ages) >= 90
    archive(home, now=NOW, apply=True)
    assert {entry_id for entry_id, leaves in is_old.items() if leaves} == set(archived_ids(home))
    assert sorted(live_ids(home) + archived_ids(home)) == sorted(is_old)
    assert problems(home) == []


#: Script that archives and kills itself between the two renames: the archive is written, MEMORY.md is not.
KILLED_RUN = """
import sys
from datetime import datetime
from pathlib import Path
from agent_home import storage
from agent_home.home import Home
from distill.entries.decay import archive
from tests.doomed import dying
dying(storage, "replace", when=lambda staged, path: path.parent.name == "Archive")()
archive(Home(Path(sys.argv[1])), now=datetime.fromisoformat(sys.argv[2]), apply=True)
"""


def test_run_after_a_kill_between_archive_and_memory_finishes_the_move(home: Home, forks: ForkServer) -> None:
    keep(home, "LL-0001", OLD)
    keep(home, "LL-0002", "2026-11-01")
    killed = forks.run(KILLED_RUN, str(home.root), NOW.isoformat())
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (live_ids(home), archived_ids(home)) == (["LL-0002", "LL-0001"], ["LL-0001"])
    assert problems(home) == []
    before = commits(home)  # without the move, which is committed behind the files
    archive(home, now=NOW, apply=True)
    assert (live_ids(home), archived_ids(home)) == (["LL-0002"], ["LL-0001"])
    assert commits(home) == before + 1
    assert problems(home) == []


def test_killed_move_is_finished_without_its_redo_record(home: Home, forks: ForkServer) -> None:
    keep(home, "LL-0001", OLD)
    killed = forks.run(KILLED_RUN, str(home.root), NOW.isoformat())
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (home.machine / "redo.json").unlink()
    done = archive(home, now=NOW, apply=True)
    assert (done.settled, live_ids(home), archived_ids(home)) == (("LL-0001",), [], ["LL-0001"])
    assert problems(home) == []
