"""What becomes of older entries when newer sentences are said."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.memory.__main__ import DATA
from bench.memory.ended_pairs import EndedPair, PairOutcome, confusions, count_outcomes, end_pairs, read_pairs
from distill.language_model.endpoint import Endpoint, EndpointSettings


def pair(older: str, newer: str, relation: str) -> EndedPair:
    return EndedPair(older=older, newer=newer, role="user", relation=relation, lang="en")


BACKUPS = pair("Backups are kept for 30 days.", "Backups are kept for 90 days now, not 30.", "replaced")
PIANO = pair("Hana wants to sell the piano.", "a school took it, finally", "resolved")

MODEL = """\
import json, re, sys
prompt = sys.stdin.read()
entry = re.search(r"(\\S+): \\S+ Hana wants", prompt)[1]
turn = re.search(r"\\[(m\\d)\\] user \\S+ a school", prompt)[1]
print(json.dumps({"operations": [{"op": "resolve", "entry": entry,
    "cites": [{"turn": turn, "quote": "a school took it"}]}]}))
"""


def test_an_older_entry_ends_in_a_closed_home_or_stands() -> None:
    outcomes = list(end_pairs([BACKUPS, PIANO]))
    assert [(outcome.pair.relation, outcome.fate) for outcome in outcomes if outcome.said] == [
        ("replaced", "replaced"), ("resolved", "standing"),
    ]  # fmt: skip


def test_a_model_ends_what_shares_no_word(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    endpoint = Endpoint(settings=EndpointSettings(kind="command"), command=f"{sys.executable} {tmp_path / 'model.py'}")
    outcomes = list(end_pairs([BACKUPS, PIANO], endpoint=endpoint))
    assert ("resolved", "resolved") in confusions(outcomes)


def test_pairs_about_one_thing_stand_in_different_homes() -> None:
    outcomes = list(end_pairs([BACKUPS, pair("Backups are kept for 30 days.", "Backups were late.", "different")]))
    assert all(outcome.said for outcome in outcomes)
    assert len(outcomes) == 2


def test_an_ending_of_an_entry_that_nobody_spoke_of_is_wrong() -> None:
    counts = count_outcomes([
        PairOutcome(pair=BACKUPS, fate="replaced", said=True),
        PairOutcome(pair=BACKUPS, fate="replaced", said=False),
        PairOutcome(pair=PIANO, fate="replaced", said=True),
    ])  # fmt: skip
    assert (counts["en", "replaced"].gold, counts["en", "replaced"].found, counts["en", "replaced"].right) == (1, 3, 1)
    assert (counts["all", "any"].gold, counts["all", "any"].right) == (2, 2)


def test_the_labelled_pairs_can_be_read() -> None:
    assert [len(read_pairs(DATA / name)) for name in ("pairs.unseen.jsonl", "heldout/pairs.jsonl")] == [160, 160]
