"""Let a person change a text in the editor that $VISUAL or $EDITOR names."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["edited"]

_RULER = "# ------------------------ >8 ------------------------"
_NOTE = (
    f"{_RULER}\n"
    "# Everything from the line above on is ignored.\n"
    "# The text of {name} is one statement: its lines are joined.\n"
    "# If you leave it unchanged, or remove it, nothing happens.\n"
)


def edited(name: str, text: str) -> str:
    """Return *text* as a person changed it in the editor, and an empty string if they left it or removed it.

    The text stands in a temporary file that only this user may read, and that is removed afterwards.

    Raises:
        ClickException: the editor could not be started, or failed.
    """
    given = text.strip("\n")
    with _interrupts_for_the_editor():
        changed = click.edit(f"{given}\n\n{_NOTE.format(name=name)}", extension=".md")
    kept = (changed or "").split(_RULER, 1)[0].strip()
    return "" if kept == given.strip() else kept


@contextmanager
def _interrupts_for_the_editor() -> Iterator[None]:
    """Leave Ctrl-C to the editor: the terminal sends its signal to both, and the session would end below the editor."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)  # a program that is started does not inherit it
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
