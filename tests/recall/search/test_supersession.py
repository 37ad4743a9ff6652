"""Entries stand below what supersedes them, whatever their words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.index.sync import SyncReport
from recall.search.hybrid import MODES, SearchResult
from recall.search.supersession import STEP, order_superseded, superseding_ids

Write = Callable[[str, str], Path]
Update = Callable[[], SyncReport]
Sources = Callable[..., list[str]]

OLD = "- **[KD-2M0Q] 2026-03-01 The ledger export runs on Postgres** - the ledger export needs Postgres.\n"
NEW = "- **[KD-7F3A] 2026-11-20 SQLite replaced the old database** - one file is enough for every export we have.\n"
OTHER = "- **[LL-0001] 2026-05-05 Ledger export** - check the ledger export by hand.\n"


def entry(name: str, **fields: str) -> str:
    return f"- **[{name}] Title** - body\n" + "".join(
        f"  {key.replace('_', '-')}: {value}\n" for key, value in fields.items()
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("old", "new"),
    [(OLD, NEW + "  Supersedes: KD-2M0Q\n"), (OLD + "  Superseded-By: KD-7F3A\n", NEW)],
    ids=["newer", "older"],
)
@pytest.mark.parametrize("archived", [False, True])
def test_a_superseded_entry_follows_its_successor(
    write: Write, update: Update, sources: Sources, old: str, new: str, archived: bool, mode: str
) -> None:
    """Ask in the words of the old decision. The new one has few of them."""
    write("MEMORY.md", f"# Memory\n\n## Key Decisions\n\n{new}{'' if archived else old}\n## Lessons Learned\n\n{OTHER}")
    if archived:
        write("Archive/MEMORY-2026-11.md", f"# Archive\n\n## Key Decisions\n\n{old}")
    update()
    older = "Archive/MEMORY-2026-11.md#KD-2M0Q" if archived else "MEMORY.md#KD-2M0Q"
    found = sources("ledger export Postgres", mode=mode)
    assert found.index(older) == found.index("MEMORY.md#KD-7F3A") + 1
    if mode == "lexical":
        assert found[0] == "MEMORY.md#KD-7F3A"


@pytest.mark.parametrize("chain", [False, True])
def test_a_turn_that_says_the_same_lifts_no_superseded_entry_over_its_successor(
    write: Write, update: Update, say: Callable[..., Path], ask: Callable[..., SearchResult], chain: bool
) -> None:
    """The turn is the best hit, and the superseded entry stands for it."""
    said = "When does Priya work? Priya works on Tuesdays and Thursdays."
    say("s1", said, "Noted.", "Does Priya work near the river?")
    old = f"- **[RC-0001]** 2026-03-01 {said}\n"
    over = "- **[RC-0002]** 2026-04-01 Priya is in on Fridays.\n  Supersedes: RC-0001\n"
    new = f"- **[RC-0003]** 2026-11-20 Her days are Mondays now.\n  Supersedes: RC-000{2 if chain else 1}\n"
    write("MEMORY.md", f"# Memory\n\n## Recent Context\n\n{new}{over if chain else ''}{old}")
    update()
    hits = ask("when does Priya work", mode="lexical", duplicates="collapse").hits
    wanted = ["RC-0003", *(["RC-0002"] if chain else []), "RC-0001"]
    assert [hit.source.partition("#")[2] for hit in hits[: len(wanted)]] == wanted
    assert [source.partition("#")[0] for source in hits[len(wanted) - 1].also] == ["s1"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_unrelated_entries_keep_their_order(
    write: Write, update: Update, sources: Sources, ask: Callable[..., SearchResult]
) -> None:
    write("MEMORY.md", f"# Memory\n\n## Key Decisions\n\n{NEW}{OLD}\n## Lessons Learned\n\n{OTHER}")
    update()
    assert sources("ledger export Postgres", mode="lexical")[0] == "MEMORY.md#KD-2M0Q"
    assert "supersession" not in ask("ledger export Postgres").hits[0].parts


def test_a_superseded_entry_brings_its_successor_that_has_no_word_of_the_query(
    write: Write, update: Update, sources: Sources
) -> None:
    filler = "".join(f"- **[LL-{number:04}] Filler {number}** - nothing about it.\n" for number in range(40))
    write("MEMORY.md", f"# Memory\n\n## Key Decisions\n\n{OLD}\n## Lessons Learned\n\n{filler}")
    new = "- **[KD-7F3A] 2026-11-20 Moved** - all of it.\n  Supersedes: KD-2M0Q\n"
    write("EVOLUTION.md", f"# Evolution\n\n## Key Decisions\n\n{new}")
    update()
    assert sources("Postgres ledger", mode="lexical")[:2] == ["EVOLUTION.md#KD-7F3A", "MEMORY.md#KD-2M0Q"]
    assert sources("Postgres ledger", mode="lexical", exclude=["EVOLUTION.md"])[0] == "MEMORY.md#KD-2M0Q"


def test_either_entry_may_name_the_other_and_several_ids_are_read() -> None:
    assert superseding_ids([entry("KD-0002", Supersedes="KD-0001, LL-0009")]) == {
        "KD-0001": {"KD-0002"},
        "LL-0009": {"KD-0002"},
    }
    assert superseding_ids([entry("KD-0001", Superseded_By="KD-0002")]) == {"KD-0001": {"KD-0002"}}
    assert superseding_ids(["- no entry\n  Supersedes: KD-0001\n"]) == {}


def test_a_circle_is_ignored_and_links_outside_it_count() -> None:
    circle = [entry("KD-0001", Supersedes="KD-0002"), entry("KD-0002", Supersedes="KD-0001, KD-0003")]
    assert superseding_ids(circle) == {"KD-0003": {"KD-0002"}}
    assert superseding_ids([entry("KD-0001", Supersedes="KD-0001")]) == {}


def test_a_chain_stands_newest_first_even_over_an_entry_that_was_not_found() -> None:
    newer = {"A": {"B"}, "B": {"C"}, "C": {"D"}}
    scores = order_superseded({"A": 0.9, "B": 0.5, "D": 0.1}, newer)
    assert scores["D"] == 0.9
    assert scores["D"] > scores["B"] > scores["A"]


names = st.sampled_from("ABCDEFG")


@given(
    scores=st.dictionaries(names, st.integers(0, 2000).map(lambda number: number / 1000), min_size=1),
    pairs=st.lists(st.tuples(names, names).filter(lambda pair: pair[0] < pair[1]), max_size=12),
)
def test_no_entry_stands_above_its_successor_and_the_best_place_is_kept(
    scores: dict[str, float], pairs: list[tuple[str, str]]
) -> None:
    newer: dict[str, set[str]] = {}
    for older, over in pairs:
        newer.setdefault(older, set()).add(over)
    moved = order_superseded(scores, newer)
    assert moved.keys() == scores.keys()
    assert max(moved.values()) == pytest.approx(max(scores.values()))
    for older, over in pairs:
        if older in moved and over in moved:
            assert moved[older] <= moved[over] - STEP + 1e-9
    for name, score in scores.items():
        if all(name not in pair for pair in pairs):
            assert moved[name] == pytest.approx(score)
