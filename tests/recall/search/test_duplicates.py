"""Hits that say the same are grouped, and the preferred layer represents them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.index.sync import SyncReport
from recall.search.duplicates import group_duplicates, passage_content, representative
from recall.search.hybrid import SearchResult

LONG = "the nightly export of the ledger runs at two in the morning on the second server in the north wing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    source: str = "s#1"
    layer: str = "sessions"
    text: str = LONG
    ts: str = ""
    name: str = "Ada"
    role: str = "user"


def same(first: Found, second: Found) -> bool:
    return passage_content(first).repeats(passage_content(second))


TURN = Found()
ENTRY = replace(
    TURN,
    layer="memory",
    text=f"- **[KD-7F3A] 2026-11-20 The nightly export** - {LONG[19:]}\n  Evidence: verified, commit 3f9c2e1d",
)


class TestSayingTheSame:
    @pytest.mark.parametrize(
        "other",
        [
            LONG,
            LONG.upper() + "!!",
            LONG.replace(" ", "\n"),
            LONG + " today",
        ],
    )
    def test_case_punctuation_white_space_and_one_word_of_many_do_not_matter(self, other: str) -> None:
        assert same(TURN, replace(TURN, text=other))

    @pytest.mark.parametrize(
        "other",
        [
            LONG.replace("two", "three o'clock and not two"),
            LONG + " not",
            LONG + " 2",
            LONG.replace("runs", "never runs"),
            "in the north wing on the second server the nightly export of the ledger runs at two in the morning",
            LONG.partition(" of ")[0],
        ],
    )
    def test_a_negation_a_number_the_order_and_the_length_matter(self, other: str) -> None:
        assert not same(TURN, replace(TURN, text=other))

    def test_markup_of_entries_and_log_lines_does_not_matter(self) -> None:
        log = replace(TURN, layer="daily", text=f"- {LONG} (fc-1#m4, fc-1#m6)\n  Evidence: unchecked")
        assert same(TURN, ENTRY)
        assert same(ENTRY, log)

    def test_equal_turns_of_two_speakers_are_no_duplicates(self) -> None:
        assert not same(TURN, replace(TURN, name="Ben"))
        assert same(replace(TURN, name="Ben"), ENTRY)

    def test_a_few_words_are_no_statement(self) -> None:
        assert not same(replace(TURN, text="Thanks a lot!"), replace(TURN, text="Thanks a lot!"))

    @pytest.mark.parametrize(
        ("other", "is_same"), [("缺口主要来自三个推迟的项目。", True), ("缺口不来自三个推迟的项目", False)]
    )
    def test_chinese_is_compared_by_its_characters(self, other: str, is_same: bool) -> None:
        assert same(replace(TURN, text="缺口主要来自三个推迟的项目"), replace(TURN, text=other)) is is_same


class TestChoosing:
    def test_the_representative_is_chosen_by_layer(self) -> None:
        layers = ["archive", "outputs", "sessions", "daily", "knowledge", "memory"]
        group = [replace(TURN, layer=layer, source=layer) for layer in layers]
        for last in range(len(layers), 0, -1):
            assert representative(group[:last]).layer == layers[last - 1]

    def test_within_a_layer_the_newest_then_the_first_address_represents(self) -> None:
        group = [
            replace(TURN, source=s, ts=ts) for s, ts in (("a", "2026-01-01"), ("c", "2026-02-01"), ("b", "2026-02-01"))
        ]
        assert representative(group).source == "b"

    @given(
        words=st.lists(st.sampled_from([LONG, LONG + " 2", "thanks", ENTRY.text, ""]), max_size=12), k=st.integers(0, 6)
    )
    def test_every_hit_is_in_one_group_and_groups_are_in_order(self, words: list[str], k: int) -> None:
        hits = [replace(TURN, source=str(number), text=text) for number, text in enumerate(words)]
        groups = group_duplicates(iter(hits), k)
        assert len(groups) <= k
        members = [hit for group in groups for hit in group]
        assert len(members) == len({hit.source for hit in members})
        firsts = [int(group[0].source) for group in groups]
        assert firsts == sorted(firsts)
        assert all(same(group[0], hit) for group in groups for hit in group[1:])
        if len(groups) < k:
            assert len(members) == len(hits)


def test_a_search_names_duplicates_and_shows_them_on_request(
    say: Callable[..., Path],
    write: Callable[[str, str], Path],
    update: Callable[[], SyncReport],
    ask: Callable[..., SearchResult],
) -> None:
    say("s1", LONG, "good to know", LONG, "yes")
    write("MEMORY.md", f"# Memory\n\n## Key Decisions\n\n{ENTRY.text}\n")
    write(
        "Archive/MEMORY-2026-01.md",
        f"## Lessons Learned\n\n- **[LL-0001] 2026-01-02 The nightly export** - {LONG[19:]}\n",
    )
    update()
    shown = ask("nightly export ledger", mode="lexical").hits
    assert {hit.source for hit in shown if "ledger" in hit.text} == {
        "s1#m1", "s1#m3", "MEMORY.md#KD-7F3A", "Archive/MEMORY-2026-01.md#LL-0001",
    }  # fmt: skip
    assert all(hit.also == () for hit in shown)
    first, *rest = ask("nightly export ledger", mode="lexical", duplicates="collapse").hits
    assert first.source == "MEMORY.md#KD-7F3A"
    assert first.score == shown[0].score
    assert set(first.also) == {"s1#m1", "s1#m3", "Archive/MEMORY-2026-01.md#LL-0001"}
    assert not [hit for hit in rest if "ledger" in hit.text]
    with pytest.raises(ValueError, match="duplicates is 'hide'"):
        ask("x", duplicates="hide")


def test_collapsing_still_returns_as_many_hits_as_requested(
    say: Callable[..., Path], update: Callable[[], SyncReport], ask: Callable[..., SearchResult]
) -> None:
    for number in range(8):
        say(f"s{number}", LONG, f"the export number{number} of the ledger went to shelf{number} yesterday evening")
    update()
    hits = ask("nightly export ledger", mode="lexical", duplicates="collapse", k=5).hits
    assert len(hits) == 5
    assert len({hit.text for hit in hits}) == 5
