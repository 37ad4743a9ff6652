"""Regret rate: the share of archived entries that were wanted again."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime

from agent_home.home import Home
from distill.entries.citation import cite, restore
from distill.entries.decay import archive
from distill.entries.regret import Regret, measure_regret

from ..aged import keep

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def archive_some(home: Home, *ids: str) -> str:
    for entry_id in ids:
        keep(home, entry_id, "2026-08-01")
    commit = archive(home, now=NOW, apply=True).commit
    assert commit is not None
    return commit


def test_regret_is_zero_without_archiving(home: Home) -> None:
    keep(home, "LL-0001", "2026-11-01")
    cite(home, ["LL-0001"], now=NOW)
    assert (measure_regret(home.root), measure_regret(home.root).rate) == (Regret(), 0.0)


def test_restored_and_cited_entries_count_as_wanted(home: Home) -> None:
    archive_some(home, "LL-0001", "LL-0002", "LL-0003", "RC-0001")
    assert measure_regret(home.root) == Regret(archived=4, wanted=0)
    restore(home, "LL-0002", now=NOW)
    cite(home, ["RC-0001"], now=NOW)
    found = archive(home, now=NOW).regret
    assert (found, found.rate) == (Regret(archived=4, wanted=2), 0.5)


def test_second_citation_counts_once_and_second_archiving_twice(home: Home) -> None:
    archive_some(home, "LL-0001")
    cite(home, ["LL-0001"], now=NOW)
    cite(home, ["LL-0001"], now=datetime(2026, 11, 22, tzinfo=UTC))
    assert measure_regret(home.root) == Regret(archived=1, wanted=1)
    later = datetime(2027, 6, 1, tzinfo=UTC)
    archive(home, now=later, apply=True)
    assert measure_regret(home.root) == Regret(archived=2, wanted=1)
    restore(home, "LL-0001", now=later)
    assert measure_regret(home.root) == Regret(archived=2, wanted=2)


def test_reverting_an_archiving_in_git_counts_as_wanted(home: Home) -> None:
    commit = archive_some(home, "LL-0001")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", str(home.root), *identity, "revert", "--no-edit", commit], check=True)
    assert measure_regret(home.root) == Regret(archived=1, wanted=1)


def test_citation_before_archiving_does_not_count(home: Home) -> None:
    keep(home, "LL-0001", "2026-01-01")
    cite(home, ["LL-0001"], now=datetime(2026, 2, 1, tzinfo=UTC))
    archive(home, now=NOW, apply=True)
    assert measure_regret(home.root) == Regret(archived=1, wanted=0)


def test_edit_within_the_archive_is_no_archiving(home: Home) -> None:
    archive_some(home, "LL-0001")
    path = home.root / "Archive/MEMORY-2026-11.md"
    path.write_text(path.read_text().replace("title of LL-0001", "a better title"))
    archive_some(home, "LL-0002")
    assert measure_regret(home.root) == Regret(archived=2, wanted=0)
