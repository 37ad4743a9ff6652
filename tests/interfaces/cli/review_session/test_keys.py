"""Test how keys are read from a terminal, and what Ctrl-C does during a decision."""

from __future__ import annotations

import signal

import pytest

from tests.pseudo_terminal import PseudoTerminal

DECISION = """
import subprocess, sys, time
from interfaces.cli.review_session.keys import uninterrupted
try:
    with uninterrupted():
        print("begun", flush=True)
        done = subprocess.run([sys.executable, "-c", "import time; time.sleep(0.5)"])
        print("ended with", done.returncode, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
QUESTION = """
import time
from interfaces.cli.review_session.keys import press
print("busy", flush=True)
time.sleep(0.5)
try:
    print(repr(press(lambda: print("key? ", end="", flush=True))))
except EOFError:
    print("end")
"""


@pytest.mark.parametrize("by", ["key", "signal"])
def test_an_interrupt_waits_for_the_end_of_a_decision(by: str) -> None:
    with PseudoTerminal(script=DECISION) as terminal:
        terminal.wait_for("begun")
        if by == "key":
            terminal.press("\x03", after="")
        else:
            terminal.process.send_signal(signal.SIGINT)
        assert terminal.end().strip().splitlines() == ["ended with 0", "interrupted"]


def test_a_decision_without_an_interrupt_just_ends() -> None:
    with PseudoTerminal(script=DECISION) as terminal:
        assert terminal.end().splitlines() == ["begun", "ended with 0"]


def test_a_key_that_was_typed_ahead_is_dropped() -> None:
    with PseudoTerminal(script=QUESTION) as terminal:
        terminal.press("a", after="busy")
        terminal.press("R", after="key? ")
        assert terminal.end().endswith("'r'\n")


def test_an_arrow_is_no_letter() -> None:
    with PseudoTerminal(script=QUESTION) as terminal:
        terminal.press("\x1b[A", after="key? ")
        assert terminal.end().endswith("'\\x1b[a'\n")
