"""The summary of a saved output names what the tool said: the kind, the counts and every failure."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.outputs.summaries import OutputSummariser, OutputSummary
from agent_home.tokens import count_tokens

SumUp = Callable[..., OutputSummary]
DATA = Path(__file__).parent / "data"
#: What each saved output says: the counts are those of the tool, the failures those of the project that was run.
TRUTH: dict[str, dict[str, Any]] = json.loads((DATA / "truth.json").read_text(encoding="utf-8"))
#: A timestamp in front of a row belongs to the table. Some outputs have something in front already.
TOOLS = [
    name
    for name, told in TRUTH.items()
    if told["kind"] != "csv" and not name.endswith(("_minified", "_ci_xdist", "_compose"))
]

#: Beginnings of lines that some shape wants, so that random texts reach every reader.
_STARTS = (
    "FAILED a.py::t - x", "ERROR a.py", "=== FAILURES ===", "=== short test summary info ===", "___ test_a ___",
    "E   x", "======================================================================", "FAIL: test (a.B)",
    "Ran 3 tests in 0.1s", "OK", "FAIL ./a.test.js", "  ● a › b", "Tests: 1 failed, 2 total", " FAIL  a.ts > b",
    " RUN  v1", "--- FAIL: TestA/b (0.0s)", "# a/b [a/b.test]", "panic: x", "FAIL\ta/b\t0.1s",
    "{\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"--- FAIL: A (0.1s)\\n\"}", "test a ... FAILED",
    "---- a stdout ----", "thread 'a' panicked at a.rs:1:2:", "error[E0308]: x", " --> a.rs:1:2",
    "a.c:1:2: error: x [-Wy]", "a.ts(1,2): error TS1: x", "::error file=a,line=1::x", "make: *** [a] Error 1",
    "/a/b.js", "  1:2  error  x  y", "F401 [*] x", "a.py:", "   1:1  F401 x", "Traceback (most recent call last):",
    '  File "a.py", line 1, in f', "ValueError: x", "TypeError: x", "    at f (a.js:1:2)",
    "  | Traceback (most recent call last):", "{", "[", '  "a": 1,', "}", '{"level": "error", "msg": 1}', "a,b,c",
    '1,"x', "a\tb", "diff --git a/x b/x", "@@ -1,2 +1,2 @@", "+a", "-b",
    'h - - [28/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 500 1', "1 failed in 1s",
)  # fmt: skip
_WANTED = st.tuples(st.sampled_from(_STARTS), st.text(max_size=9)).map("".join)
_LINES = st.lists(st.one_of(st.text(max_size=60), st.sampled_from(_STARTS), _WANTED), max_size=40)


@pytest.mark.parametrize("name", TRUTH)
def test_a_saved_output_is_told_as_it_was(name: str, sum_up: SumUp, output: Callable[[str], str]) -> None:
    summary = sum_up(output(name))
    told = TRUTH[name]
    assert (summary.kind, summary.headline) == (told["kind"], told["headline"])
    assert [[one.name, one.place] for one in summary.failures] == told["failures"]


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize(
    "before", ["2026-11-28T16:52:57.3767690Z ", "[16:52:57] ", "web-1  | ", "\x1b[1m\x1b[38;5;12m"]
)
def test_timestamps_names_of_containers_and_colours_change_nothing(
    name: str, before: str, sum_up: SumUp, output: Callable[[str], str]
) -> None:
    summary = sum_up([before + line for line in output(name).split("\n")])
    assert (summary.kind, summary.headline) == (TRUTH[name]["kind"], TRUTH[name]["headline"])


@pytest.mark.parametrize("name", TRUTH)
def test_every_failure_is_on_its_line(name: str, sum_up: SumUp, output: Callable[[str], str]) -> None:
    lines = output(name).split("\n")
    for failure in sum_up(lines).failures:
        assert 1 <= failure.line <= len(lines)
        assert lines[failure.line - 1].strip()


def test_the_other_shapes_of_a_mixed_output_are_named(sum_up: SumUp, output: Callable[[str], str]) -> None:
    summary = sum_up(output("first/gcc") + "\n" + output("first/pytest_plain"), max_tokens=400)
    assert summary.kind == "pytest"
    assert "also compiler: 2 errors, 5 warnings in main.c" in summary.text


def test_an_empty_output_has_no_line(sum_up: SumUp) -> None:
    summary = sum_up([])
    assert (summary.kind, summary.headline, summary.lines, summary.failures) == ("text", "0 lines", 0, ())


def test_a_line_of_ten_megabytes_is_looked_at_in_part(sum_up: SumUp) -> None:
    summary = sum_up(["x" * 10_000_000, "\x1b]0;" * 2_000_000, "1 failed in 0.1s"])
    assert (summary.lines, summary.kind) == (3, "pytest")


@pytest.mark.parametrize(
    "line",
    [
        "FAILED tests/test_a.py::test_{} - assert {}",
        "a{}.c:{}:1: error: x",
        "TypeError: {} {}",
        "--- FAIL: Test{} (0.{}s)",
        "test a{} ... FAILED {}",
        '{{"level": "error", "msg": "{} {}"}}',
        "  ● a{} › b{}",
        "Traceback (most recent call last): {} {}",
        "E{} [*] {}",
        "=== RUN   Test{}{}",
        '203.0.113.{} - - [28/Nov/2026:10:00:00 +0000] "GET /{} HTTP/1.1" 500 1',
    ],
)
@pytest.mark.parametrize("length", [50, 1_800])
def test_a_long_output_stays_small(line: str, length: int) -> None:
    summariser = OutputSummariser()
    tracemalloc.start()
    try:
        for number in range(3_000):
            summariser.add(line.format(number, "y" * length))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 3_000_000
    summary = summariser.result()
    assert len(summary.failures) <= 200
    assert sys.getsizeof(summary.text) < 20_000


@pytest.mark.parametrize("start", ["", "FAILED a.py::b", "a.py:1: error: ", "test ", "  at ", "--- FAIL: ", "::error "])
@pytest.mark.parametrize("unit", ["a", "a:", " ", "\xa0", "::", "[", " - ", "1:", "(1): ", "error ", "_ ", "\x1b["])
def test_no_line_takes_long(start: str, unit: str) -> None:
    """Each line takes half a millisecond at most, and one with steps in the square of its length some 20."""
    summariser = OutputSummariser()
    times = []
    for _ in range(3):
        began = time.process_time()
        summariser.add((start + unit * 2_000)[:1_990] + " x%]")
        times.append(time.process_time() - began)
    assert min(times) < 0.01


@given(_LINES, st.integers(0, 300))
def test_any_text_is_summed_up_within_the_budget(lines: list[str], max_tokens: int) -> None:
    summariser = OutputSummariser(max_tokens=max_tokens)
    for line in lines:
        summariser.add(line)
    summary = summariser.result()
    assert count_tokens(summary.text) <= max_tokens
    assert summary.text == "" or summary.text.endswith("\n")
    assert "\n" not in summary.headline
    assert summary.lines == len(lines)
    assert all(1 <= one.line <= len(lines) for one in summary.failures)
    assert summary == summariser.result()


@given(_LINES, st.sets(st.integers(0, 40)))
def test_results_on_the_way_change_nothing(lines: list[str], asked: set[int]) -> None:
    quiet, curious = OutputSummariser(), OutputSummariser()
    for number, line in enumerate(lines):
        quiet.add(line)
        curious.add(line)
        if number in asked:
            curious.result()
    assert quiet.result() == curious.result()
