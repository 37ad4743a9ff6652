"""Fit texts into the columns of a terminal. A wide character takes two columns, and an accent that combines takes none.

A text is a sequence of spans: pieces of text, each with a style. ``render.write_spans`` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from guard.lazy_regex import lazy_regex

__all__ = ["Span", "Style", "cells", "cut_inside", "fitted", "padded", "styled", "wrapped", "wrapped_spans"]

Style = Literal["plain", "strong", "faint", "added", "removed", "warning"]
Span = tuple[str, Style]

#: A run of blanks or a run of other characters.
_WORD = lazy_regex(r"\s+|\S+", re.UNICODE)


def cells(text: str) -> int:
    """Return how many columns *text* takes.

    >>> cells("tea"), cells("茶")
    (3, 2)
    """
    if text.replace("…", "").isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fitted(text: str, most: int) -> str:
    """Return *text* in at most *most* columns, with an ellipsis where it was cut.

    >>> fitted("one two three", 8), fitted("one two", 8)
    ('one two…', 'one two')
    """
    if cells(text) <= most:
        return text
    return f"{_chopped(text, max(most - 1, 1))[0].rstrip()}…"


def cut_inside(text: str, most: int) -> str:
    """Return *text* in at most *most* columns, with an ellipsis in its middle where it was cut.

    >>> cut_inside("sessions/one-two-three#m1", 15)
    'session…hree#m1'
    """
    if cells(text) <= most:
        return text
    tail = _chopped(text[::-1], most // 2)[0][::-1]
    return f"{_chopped(text, max(most - 1 - cells(tail), 1))[0]}…{tail}"


def styled(lines: Iterable[str], style: Style = "plain", *, indent: int = 0) -> Iterator[list[Span]]:
    """Yield each of *lines* as spans of one style, behind *indent* blanks."""
    for line in lines:
        yield [(" " * indent + line, style)]


def padded(text: str, width: int) -> str:
    """Return *text* cut or filled with blanks to exactly *width* columns.

    >>> padded("茶", 4) + "|"
    '茶  |'
    """
    cut = fitted(text, width)
    return cut + " " * (width - cells(cut))


def wrapped(text: str, width: int) -> list[str]:
    """Return *text* in lines of at most *width* columns, broken between words where that is possible.

    >>> wrapped("one two three", 8)
    ['one two', 'three']
    """
    lines = wrapped_spans([(text, "plain")], width)
    return ["".join(piece for piece, _ in line) for line in lines]


def wrapped_spans(spans: Sequence[Span], width: int) -> list[list[Span]]:
    """Return *spans* in lines of at most *width* columns. A word longer than that is broken."""
    lines: list[list[Span]] = [[]]
    used = 0
    for piece, style in _pieces(spans, width):
        blank = piece.isspace()
        size = cells(piece)
        if piece == "\n" or (used and used + size > width):
            lines.append([])
            used = 0
        if blank and not used and (len(lines) > 1 or piece == "\n"):
            continue  # no line begins with the blank at which it was broken
        lines[-1].append((piece, style))
        used += size
    return [_without_end(line) for line in lines]


def _pieces(spans: Sequence[Span], width: int) -> Iterator[Span]:
    """Yield words, blanks and line ends one by one, none wider than *width*."""
    for text, style in spans:
        for number, line in enumerate(text.split("\n")):
            if number:
                yield "\n", style
            for match in _WORD.finditer(line):
                word = match[0]
                yield from ((part, style) for part in ([word] if cells(word) <= width else _chopped(word, width)))


def _without_end(line: list[Span]) -> list[Span]:
    while line and line[-1][0].isspace():
        line.pop()
    return line


def _chopped(text: str, width: int) -> list[str]:
    if text.isascii():
        return [text[at : at + width] for at in range(0, len(text), width)]
    from rich.cells import chop_cells

    return chop_cells(text, width)
