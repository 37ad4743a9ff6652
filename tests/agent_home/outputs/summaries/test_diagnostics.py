"""Compilers and linters with one message a line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent_home.outputs.summaries import OutputSummary

SumUp = Callable[..., OutputSummary]


@pytest.mark.parametrize(
    ("line", "kind", "name", "place", "message"),
    [
        ("src/a.c:3:5: fatal error: x.h: No such file", "compiler", "error", "src/a.c:3:5", "x.h: No such file"),
        ("Program.cs(5,13): error CS0103: no name 'x'", "compiler", "CS0103", "Program.cs:5:13", "no name 'x'"),
        (r"C:\src\a.cpp(12): error C2065: 'x'", "compiler", "C2065", r"C:\src\a.cpp:12", "'x'"),
        ("[ERROR] /src/A.java:[4,12] no symbol", "compiler", "error", "/src/A.java:4:12", "no symbol"),
        ("e: file:///src/A.kt:3:4 unresolved x", "compiler", "error", "/src/A.kt:3:4", "unresolved x"),
        ("src/app.ts:1:7 - error TS2322: Type", "compiler", "TS2322", "src/app.ts:1:7", "Type"),
        ("/usr/bin/ld: a.c:(.text+0xf): undefined reference to `f'", "compiler", "link", "a.c:(.text+0xf)",
         "undefined reference to `f'"),
        ("a.py:5: error: Wrong return  [return-value]", "linter", "return-value", "a.py:5", "Wrong return"),
        ("  /src/a.py:7:12 - error: x is not defined (reportUndefined)", "linter", "reportUndefined", "/src/a.py:7:12",
         "x is not defined"),
        ("a.py:1:1: F401 'os' imported but unused", "linter", "F401", "a.py:1:1", "'os' imported but unused"),
        ("a.py:1:0: C0114: Missing docstring (missing)", "linter", "C0114", "a.py:1:0", "Missing docstring (missing)"),
        ("main.go:5:2: ineffectual x (ineffassign)", "linter", "ineffassign", "main.go:5:2", "ineffectual x"),
        ("::error file=a.py,line=3,col=7::F401 unused", "linter", "F401", "a.py:3:7", "unused"),
    ],
)  # fmt: skip
def test_one_message_is_enough(line: str, kind: str, name: str, place: str, message: str, sum_up: SumUp) -> None:
    summary = sum_up(["building", line])
    assert summary.kind == kind
    assert [(one.name, one.place, one.message, one.line) for one in summary.failures] == [(name, place, message, 2)]


def test_only_warnings_are_no_failure(sum_up: SumUp) -> None:
    summary = sum_up("a.c:1:2: warning: unused variable 'x' [-Wunused-variable]\na.sh:3:5: note: Quote this [SC2086]")
    assert (summary.headline, summary.failures) == ("1 warning in a.c (unused-variable)", ())


def test_the_target_that_make_gave_up_is_told(sum_up: SumUp, output: Callable[[str], str]) -> None:
    assert sum_up(output("first/make")).headline.endswith("; make stopped at util")


def test_addresses_and_times_are_no_places(sum_up: SumUp) -> None:
    assert sum_up(["http://localhost:8080:1: up", "10:00:00: started", "host:80: open"] * 3).kind == "text"
