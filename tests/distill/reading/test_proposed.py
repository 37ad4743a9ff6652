"""An answer of a model is parsed strictly: what is not of the agreed form is left out with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.reading.proposed import Citation, ProposedOperation, parse_answer

CITES = [{"turn": "m1", "quote": "a quote"}]


def answer(*rows: Any) -> str:
    return json.dumps({"operations": list(rows)})


def test_operations_are_parsed_also_inside_a_code_fence() -> None:
    row = {"op": "add", "type": "thread", "text": "Call  Ana.", "cites": CITES}
    parsed = parse_answer(f"```json\n{answer(row, {'op': 'nothing'})}\n```")
    citation = Citation(turn="m1", quote="a quote")
    assert parsed == ([ProposedOperation(act="add", kind="open_thread", text="Call Ana.", citations=(citation,))], [])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("add", "not an object"),
        ({"op": "delete", "cites": CITES}, "unknown op 'delete'"),
        ({"op": ["add"], "cites": CITES}, "unknown op"),
        ({"op": "add", "type": "gossip", "text": "x y", "cites": CITES}, "unknown type"),
        ({"op": "add", "type": "fact", "text": 7, "cites": CITES}, "must be texts"),
        ({"op": "add", "type": "fact", "text": "", "cites": CITES}, "one line"),
        ({"op": "add", "type": "fact", "text": "a\n- **[KD-0001]** b", "cites": CITES}, "one line"),
        ({"op": "add", "type": "fact", "text": "x y", "cites": []}, "cites no turn"),
        ({"op": "add", "type": "fact", "text": "x y", "cites": [{"turn": "m1"}]}, "a turn and a quote"),
        ({"op": "add", "type": "fact", "text": "x y", "cites": [{"turn": "m1", "quote": " "}]}, "a turn and a quote"),
        ({"op": "resolve", "cites": CITES}, "entry is missing"),
    ],
)
def test_a_row_of_another_form_is_left_out_with_the_reason(row: Any, reason: str) -> None:
    parsed = parse_answer(answer(row))
    assert parsed is not None
    assert parsed[0] == []
    assert reason in parsed[1][0]


@pytest.mark.parametrize("text", ["", "Sure!", "[]", '{"operations": {}}', '{"other": []}', "{" * 50_000])
def test_another_answer_is_no_answer(text: str) -> None:
    assert parse_answer(text) is None


KEYS = st.sampled_from(["op", "type", "text", "entry", "cites", "turn", "quote"])
LEAVES = st.none() | st.integers() | st.text(max_size=8)


@given(
    st.recursive(
        LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
    )
)
def test_no_json_breaks_the_parser(value: Any) -> None:
    assert parse_answer(json.dumps({"operations": [value]})) is not None
