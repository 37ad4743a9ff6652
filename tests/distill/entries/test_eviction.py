"""Eviction of entries from ``MEMORY.md`` and its sections over their size limits."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home import storage
from agent_home.documents.entry import SECTIONS, Entry
from agent_home.home import Home
from distill.entries.citation import cite
from distill.entries.decay import archive
from distill.entries.eviction import EntryUse, Eviction, select_evictions
from distill.settings import DistillSettings

from ..aged import archived_ids, keep, live_ids

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()
ROOMY = 10**9


def lesson(number: int, prefix: str = "LL", **fields: str) -> Entry:
    return Entry(id=f"{prefix}-{number:04d}", date="2026-11-01", title=f"lesson {number}", fields=fields)


def uses_of(entries: list[Entry], **uses: EntryUse) -> dict[str, EntryUse]:
    """Return the use of each entry by id. The number of an entry is its last day of use, unless *uses* names it."""
    days = {entry.id: EntryUse(since=date(2026, 1, 1) + timedelta(days=int(entry.id[3:]))) for entry in entries}
    return days | {entry_id.replace("_", "-"): use for entry_id, use in uses.items()}


def evict(entries: list[Entry], size: int, uses: dict[str, EntryUse] | None = None, tokens: int = ROOMY) -> Eviction:
    sizes = {rule.prefix: size for rule in SECTIONS}
    return select_evictions(entries, uses or uses_of(entries), sizes=sizes, memory_tokens=tokens, frame_tokens=0)


def ids(found: Eviction) -> list[str]:
    return [entry.id for entry, _ in found.entries]


def test_oldest_entries_are_evicted_until_the_section_fits() -> None:
    found = evict([lesson(n) for n in (5, 1, 4, 2, 3)], 3)
    assert ids(found) == ["LL-0001", "LL-0002"]
    assert found.entries[0][1] == "its section holds 5 entries, the limit is 3"
    assert found.crowded == ()


def test_references_and_evidence_keep_entries_of_equal_age_longer() -> None:
    entries = [lesson(1), lesson(2, Evidence="verified, commit 3f9c2e1"), lesson(3)]
    day = date(2026, 8, 1)
    uses = {
        "LL-0001": EntryUse(since=day, references=2), "LL-0002": EntryUse(since=day), "LL-0003": EntryUse(since=day),
    }  # fmt: skip
    assert ids(evict(entries, 1, uses)) == ["LL-0003", "LL-0002"]


def test_settled_entry_is_evicted_before_an_older_one() -> None:
    entries = [lesson(1), lesson(2)]
    assert ids(evict(entries, 1, uses_of(entries, LL_0002=EntryUse(since=TODAY, settled=True)))) == ["LL-0002"]


def test_protected_recent_and_undated_entries_are_never_evicted() -> None:
    entries = [lesson(1, Protected="yes"), lesson(2), lesson(3), lesson(4)]
    uses = uses_of(entries, LL_0002=EntryUse(since=TODAY, recent=True), LL_0003=EntryUse(since=None))
    found = evict(entries, 1, uses)
    assert ids(found) == ["LL-0004"]
    assert found.crowded == ("Lessons Learned holds 3 entries, the limit is 1",)


@pytest.mark.parametrize("prefix", ["SP", "CO", "KD", "OT"])
def test_crowded_sections_that_never_age_are_reported(prefix: str) -> None:
    found = evict([lesson(n, prefix) for n in range(4)], 2)
    assert found.entries == ()
    assert len(found.crowded) == 1


def test_superseded_decisions_and_resolved_threads_are_evicted() -> None:
    entries = [lesson(n, "KD") for n in range(3)] + [lesson(n, "OT") for n in range(3)]
    settled = EntryUse(since=date(2026, 10, 1), settled=True)
    assert ids(evict(entries, 2, uses_of(entries, KD_0001=settled, OT_0002=settled))) == ["KD-0001", "OT-0002"]


def test_words_of_a_tool_are_evicted_before_equally_old_ones() -> None:
    entries = [lesson(1, Origin="tool"), lesson(2)]
    uses = dict.fromkeys(("LL-0001", "LL-0002"), EntryUse(since=date(2026, 10, 1)))
    assert ids(evict(list(reversed(entries)), 1, uses)) == ["LL-0001"]


def test_lasting_facts_are_never_evicted() -> None:
    entries = [lesson(1, "RC"), lesson(2, "RC")]
    found = evict(entries, 1, uses_of(entries, RC_0001=EntryUse(since=date(2026, 1, 1), lasting=True)))
    assert ids(found) == ["RC-0002"]


def test_young_entries_stay_while_memory_has_room(home: Home) -> None:
    added = [keep(home, f"LL-{n:04d}", "2026-11-01") for n in range(160)]
    assert archive(home, now=NOW).candidates == ()
    assert len(added) == 160


def test_memory_over_its_token_limit_evicts_the_oldest() -> None:
    entries = [lesson(n) for n in range(10)]
    found = evict(entries, ROOMY, tokens=60)
    assert ids(found) == [f"LL-{n:04d}" for n in range(len(found.entries))]
    assert 0 < len(found.entries) < 10
    assert found.entries[0][1].endswith("limit is 60")


@given(st.lists(st.sampled_from(["LL", "RC", "KD", "SP"]), max_size=30), st.integers(1, 8), st.integers(1, 400))
def test_no_entry_is_evicted_without_need(prefixes: list[str], size: int, tokens: int) -> None:
    entries = [lesson(n, prefix) for n, prefix in enumerate(prefixes)]
    found = evict(entries, size, tokens=tokens)
    evicted = set(ids(found))
    staying = [entry for entry in entries if entry.id not in evicted]
    assert evict(staying, size, tokens=tokens).entries == ()
    assert all(entry.prefix in {"LL", "RC"} for entry, _ in found.entries)
    if found.entries:
        last, _ = found.entries[-1]
        assert ids(evict([*staying, last], size, tokens=tokens)) == [last.id]


def test_archiving_a_full_section_moves_complete_entries_only(home: Home) -> None:
    added = [
        keep(home, f"LL-{n:04d}", f"2026-11-{n + 1:02d}", body="why", fields={"Sources": f"s{n}#1"}) for n in range(6)
    ]
    cite(home, ["LL-0000"], now=NOW)
    settings = DistillSettings(room={"Lessons Learned": 3})
    planned = archive(home, now=NOW, settings=settings)
    assert {candidate.id: candidate.rule for candidate in planned.candidates} == dict.fromkeys(
        ["LL-0001", "LL-0002", "LL-0003"], "room"
    )
    assert live_ids(home) == [entry.id for entry in reversed(added)]
    done = archive(home, now=NOW, settings=settings, apply=True)
    assert done.candidates == planned.candidates
    assert live_ids(home) == ["LL-0005", "LL-0004", "LL-0000"]
    assert sorted(archived_ids(home)) == ["LL-0001", "LL-0002", "LL-0003"]
    archived = storage.read_text(home.root / "Archive/MEMORY-2026-11.md")
    assert all(added[n].render() in archived for n in (1, 2, 3))
    assert archive(home, now=NOW, settings=settings, apply=True).commit is None
