"""Test how a waiting text is laid out: what it changes, what speaks for it, and what a summary leaves out."""

from __future__ import annotations

from dataclasses import replace

from agent_home.store.lineage import CitedTurn
from distill.review.grounds import EvidenceCommit, Grounds
from distill.review.queue import ReviewItem
from interfaces.cli.columns import cells
from interfaces.cli.review_session.item_view import ItemView, Layout, details, summary

ITEM = ReviewItem(
    id="KD-0001", kind="proposal", path="MEMORY.md", section="Key Decisions", text="", evidence="", origin="user",
    risk="low", actor="close", session="s-1",
)  # fmt: skip
COMMIT = EvidenceCommit(
    short="3f9c2e1", subject="api: limit the rate", files=tuple(f"src/part{n}.py" for n in range(9))
)
TURNS = tuple(
    CitedTurn(source=f"s-1#m{n}", found=True, ts="2026-11-20T10:00:00", role="user", text=f"We limit it. {n} " * 40)
    for n in range(5)
)
NARROW = Layout(width=60, marked=True)


def text(view: ItemView) -> str:
    lines = ["".join(piece for piece, _ in line) for line in view.lines]
    assert max(map(cells, lines)) <= 60
    return "\n".join(lines)


def test_the_words_that_would_change_are_marked() -> None:
    grounds = Grounds(statement="The beds are of larch", replaces="The beds are of cedar")
    asked = replace(ITEM, ends="supersede", reason="KD-0001 is perhaps superseded: of larch")
    shown = text(summary(asked, grounds, NARROW))
    assert "KD-0001 would be superseded:\n  The beds are of [-cedar-]{+larch+}\n" in shown
    assert "waits      KD-0001 is perhaps superseded: of larch" in shown
    coloured = summary(asked, grounds, Layout(width=60, marked=False))
    assert ("cedar", "removed") in [span for line in coloured.lines for span in line]
    resolved = text(summary(replace(ITEM, ends="resolve"), Grounds(statement="Buy soil", replaces="Buy soil"), NARROW))
    assert "KD-0001 would be marked as resolved:\n  Buy soil\n" in resolved


def test_a_summary_names_the_commit_and_turns_and_counts_the_rest() -> None:
    grounds = Grounds(statement="The rate is limited", evidence="verified, commit 3f9c2e1", commit=COMMIT, turns=TURNS)
    short = text(summary(ITEM, grounds, NARROW))
    assert "commit     3f9c2e1 api: limit the rate" in short
    assert "part2.py and 6 more" in " ".join(short.split())
    assert short.count("said in") == 3
    assert "and 2 more turns: d" in short
    long = text(details(ITEM, grounds, ["--- a/M", "+++ b/M", "@@", "-old", "+new"], NARROW))
    assert "part8.py" in long
    assert long.count("said in") == 5
    assert "~ [-old-]{+new+}" in long


def test_a_turn_names_its_speaker_behind_the_role() -> None:
    turn = replace(TURNS[0], role="participant", name="Kim")
    shown = text(summary(ITEM, Grounds(statement="The rate is limited", turns=(turn,)), NARROW))
    assert 'participant "Kim"' in shown


def test_a_long_text_is_cut_in_a_summary_alone() -> None:
    grounds = Grounds(statement="\n".join(f"line {number}" for number in range(40)))
    short, long = summary(ITEM, grounds, NARROW), details(ITEM, grounds, (), NARROW)
    assert (short.complete, long.complete) == (False, True)
    assert "… 28 more lines: d" in text(short)
    assert "line 39" not in text(short)
    assert "line 39" in text(long)


def test_a_text_without_turns_names_its_writer() -> None:
    shown = text(summary(replace(ITEM, kind="quarantine", speaker="Ana"), Grounds(statement="x"), NARROW))
    assert 'from       user "Ana", session s-1, written by close' in shown
