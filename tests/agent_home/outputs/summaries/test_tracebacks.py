"""Crashes in four languages."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary

SumUp = Callable[..., OutputSummary]


def test_the_last_exception_of_a_chain_is_told(sum_up: SumUp, output: Callable[[str], str]) -> None:
    (failure,) = sum_up(output("first/python_chained")).failures
    assert failure.message == "RuntimeError: bad settings: '{broken'"


def test_the_innermost_frame_of_the_project_is_the_place(sum_up: SumUp, output: Callable[[str], str]) -> None:
    assert sum_up(output("first/python_plain")).failures[0].place == "/src/crash/plain.py:3"
    assert sum_up(output("first/java_crash")).failures[0].place == "Crash.java:2"


def test_an_error_without_a_stack_is_text(sum_up: SumUp) -> None:
    assert sum_up("TypeError: no\nand on\nwith\nother\nthings").kind == "text"


def test_prose_behind_the_name_of_an_error_is_no_stack(sum_up: SumUp) -> None:
    assert sum_up("KeyError: no entry has that id.\n    at the end\n    at least").kind == "text"


def test_a_crash_behind_passing_tests_does_not_hide_them(sum_up: SumUp) -> None:
    text = '1 passed in 0.1s\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1'
    assert sum_up(text).kind == "pytest"


def test_an_exception_without_a_message_has_its_name(sum_up: SumUp) -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 7, in f\nKeyboardInterrupt'
    assert sum_up(text).headline == "KeyboardInterrupt at a.py:7"
