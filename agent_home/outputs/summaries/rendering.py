"""The text of a summary within a budget of tokens, cut between lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_home.tokens import count_tokens

from .findings import OutputFailure, ShapeFindings, counted

__all__ = ["render"]

#: Shares of the budget: failures and notes leave room for the first and last lines.
_FAILURES_SHARE, _HEAD_SHARE = 0.75, 0.35
_LONGEST_LINE = 160


def render(
    found: ShapeFindings, others: Sequence[str], head: Sequence[str], tail: Sequence[str], *, max_tokens: int
) -> str:
    """Return headline, failures, notes, and first and last lines, in at most *max_tokens* tokens.

    Args:
        found: what the output is.
        others: headlines of further shapes in the output.
        head: the first lines.
        tail: the last lines, none of them in *head*.
        max_tokens: the budget. A headline that does not fit is cut.
    """
    text = _Text(max_tokens)
    if not text.add(found.headline, cut=True):
        return text.joined()
    room = int(text.room * _FAILURES_SHARE)
    _add_failures(text, found, most=text.room - room)
    for line in (*(f"also {other}" for other in others), *found.notes):
        if text.room * 2 < max_tokens * (1 - _FAILURES_SHARE) or not text.add(_line(line)):
            break
    first, spare = [], text.room * _HEAD_SHARE
    for line in head:
        spare -= count_tokens(_line(line) + "\n")
        if spare < 0:
            break
        first.append(_line(line))
    _add_block(text, "first lines:", first)
    last: list[str] = []
    spare = text.room - count_tokens("last lines:\n")
    for line in reversed(tail):
        spare -= count_tokens(_line(line) + "\n")
        if spare < 0:
            break
        last.insert(0, _line(line))
    _add_block(text, "last lines:", last)
    return text.joined()


class _Text:
    """Lines whose tokens are counted one by one: the sum is never smaller than the count of the whole."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._lines: list[str] = []

    def add(self, line: str, *, cut: bool = False) -> bool:
        cost = count_tokens(line + "\n")
        while cut and cost > self.room and len(line) > 8:
            line = line[: int(len(line) * 0.8)].rstrip() + "…"
            cost = count_tokens(line + "\n")
        if cost > self.room:
            return False
        self.room -= cost
        self._lines.append(line + "\n")
        return True

    def joined(self) -> str:
        return "".join(self._lines)


def _add_failures(text: _Text, found: ShapeFindings, *, most: int) -> None:
    """Add failures until *most* tokens are left, then say how many more there are."""
    shown = 0
    for failure in found.failures:
        line = _line(_told(failure))
        more = f"{found.failed - shown - 1} more failures\n"
        if count_tokens(line + "\n") + count_tokens(more) > text.room - most or not text.add(line):
            break
        shown += 1
    left = max(found.failed, len(found.failures)) - shown
    if left > 0 and found.kind != "text":
        text.add(f"{counted(left, 'more failure')}" if shown else f"{counted(left, 'failure')} not shown")
    elif left > 0:
        text.add(f"{counted(left, 'more line')} like that" if left > 1 else "1 more line like that")


def _told(failure: OutputFailure) -> str:
    place = f" {failure.place}" if failure.place and failure.place not in failure.name else ""
    message = f": {failure.message}" if failure.message else ""
    name = "" if failure.name == f"line {failure.line}" else f"{failure.name}{place}{message}"
    return f"line {failure.line}: {name or failure.message}"


def _add_block(text: _Text, title: str, lines: Iterable[str]) -> None:
    lines = list(lines)
    if lines and text.add(title):
        for line in lines:
            if not text.add(line):
                break


def _line(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
