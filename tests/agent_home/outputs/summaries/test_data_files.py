"""Documents and lines of JSON, and tables."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agent_home.outputs.summaries import OutputSummary

SumUp = Callable[..., OutputSummary]


@pytest.mark.parametrize("indent", [None, 1, 4, "\t"])
def test_keys_and_items_of_a_document_are_counted(indent: int | str | None, sum_up: SumUp) -> None:
    item = {"a": [1, {"b": "x, y"}], "c": {}}
    assert sum_up(json.dumps([item] * 7, indent=indent)).headline == "JSON array of 7 items"
    assert sum_up(json.dumps(item, indent=indent)).headline == "JSON object with 2 keys: a, c"


def test_a_document_that_breaks_off_is_not_complete(sum_up: SumUp) -> None:
    assert sum_up('{\n  "a": 1,\n  "b": [').headline == "JSON object with 2 keys: a, b, not complete"


def test_text_behind_a_document_makes_it_text(sum_up: SumUp) -> None:
    assert sum_up('{"a": 1}\nand more').kind == "text"


def test_errors_in_lines_of_json_are_failures(sum_up: SumUp) -> None:
    summary = sum_up('{"level": "info", "msg": "a"}\n{"level": "ERROR", "msg": "disk\\nfull"}')
    assert summary.headline == "2 JSON objects, one a line (level, msg): 1 info, 1 error"
    assert [(one.message, one.line) for one in summary.failures] == [("disk full", 2)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_rows_and_columns_are_counted(delimiter: str, sum_up: SumUp) -> None:
    rows = [delimiter.join(("day", "sum", "note"))] + [delimiter.join(("mo", str(n), '"a, b"')) for n in range(9)]
    assert sum_up(rows).headline == "9 rows, 3 columns: day, sum, note"


def test_a_table_of_numbers_has_no_header(sum_up: SumUp) -> None:
    assert sum_up(["1,ann,3", "2,bob,4", "3,eve,5"]).headline == "3 rows, 3 columns; first row: 1, ann, 3"
    assert sum_up(["16\tdocs/a.md", "20\tdocs/b.md"] * 9).kind == "text"


def test_a_cell_may_have_several_lines(sum_up: SumUp) -> None:
    assert sum_up('a,b,c\n1,"x\ny, z\nw",3\n4,5,6').headline == "2 rows, 3 columns: a, b, c"


@pytest.mark.parametrize("line", ["Well, this is prose", "2026-11-28 10:00:00,123 INFO up", "a,,b"])
def test_prose_and_logs_are_no_table(line: str, sum_up: SumUp) -> None:
    assert sum_up([line] * 30).kind == "text"
