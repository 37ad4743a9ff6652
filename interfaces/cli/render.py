"""Own how commands write to a terminal: every text goes through ``agent_home.visible``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from agent_home.visible import visible, visible_json, visible_line

from .columns import Span, Style, cells, padded
from .surroundings import surroundings

__all__ = [
    "clear_progress",
    "line_width",
    "shortened",
    "shows_progress",
    "with_colours",
    "write_json",
    "write_line",
    "write_progress",
    "write_spans",
    "write_text",
]

_MAX_TITLE_CHARS = 60
#: Columns of lines for a file or another program, and the least and the most that lines for a terminal take.
_USUAL_COLUMNS, _FEWEST_COLUMNS, _MOST_COLUMNS = 80, 40, 120
#: Appearance of each style, as ``click.style`` takes it. None of them says anything that the text does not say.
_APPEARANCE: Mapping[Style, Mapping[str, Any]] = {
    "plain": {},
    "strong": {"bold": True},
    "faint": {"dim": True},
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
    "warning": {"fg": "yellow"},
}


class _ProgressLine:
    """The columns that the line of progress takes on the terminal, 0 without one."""

    columns = 0


_PROGRESS = _ProgressLine()


def write_line(text: str, *, error: bool = False) -> None:
    """Print *text* in one line, on standard error with *error*."""
    clear_progress()
    given = surroundings()
    click.echo(visible_line(text), file=given.err if error else given.out)


def write_spans(spans: Sequence[Span], *, error: bool = False, newline: bool = True) -> None:
    """Print *spans* in one line, with colours where the stream is a terminal that shows them."""
    clear_progress()
    given = surroundings()
    coloured = with_colours(error=error)
    shown = (
        click.style(visible_line(text), **_APPEARANCE[style]) if coloured and style != "plain" else visible_line(text)
        for text, style in spans
    )
    click.echo("".join(shown), file=given.err if error else given.out, nl=newline, color=coloured)


def line_width(*, error: bool = False) -> int:
    """Return how many columns a line takes at most: those of the terminal within limits, and 80 without a terminal."""
    columns = surroundings().columns(error=error) or _USUAL_COLUMNS
    return min(max(columns, _FEWEST_COLUMNS), _MOST_COLUMNS)


def with_colours(*, error: bool = False) -> bool:
    """Return whether standard output, or with *error* standard error, gets colours: it is a terminal that has them.

    ``NO_COLOR`` with any value, ``TERM=dumb`` and ``--no-color`` switch them off.
    """
    given = surroundings()
    context = click.get_current_context(silent=True)
    if context is not None and context.color is False:
        return False
    if given.environ.get("NO_COLOR") or given.environ.get("TERM", "") == "dumb":
        return False
    return bool(given.columns(error=error))


def shows_progress() -> bool:
    """Return whether somebody sees progress: standard error is a terminal of this process."""
    given = surroundings()
    return given.terminals is None and given.columns(error=True) > 0


def write_progress(text: str) -> None:
    """Print *text* on standard error in place of the progress before it."""
    shown = visible_line(text)
    click.echo(f"\r{padded(shown, max(cells(shown), _PROGRESS.columns))}", file=surroundings().err, nl=False)
    _PROGRESS.columns = cells(shown)


def clear_progress() -> None:
    """Remove the line of progress from the terminal, if there is one. Every other line does so first."""
    if _PROGRESS.columns:
        click.echo(f"\r{' ' * _PROGRESS.columns}\r", file=surroundings().err, nl=False)
        _PROGRESS.columns = 0


def write_text(text: str) -> None:
    """Print *text*, which may have several lines."""
    clear_progress()
    click.echo(visible(text), file=surroundings().out)


def write_json(data: Any, *, indent: int | None = None) -> None:
    """Print *data* as one JSON document."""
    clear_progress()
    click.echo(visible_json(data, indent=indent), file=surroundings().out)


def shortened(title: str, most_chars: int = _MAX_TITLE_CHARS) -> str:
    """Return *title* in at most *most_chars* characters, with an ellipsis where it was cut."""
    return title if len(title) <= most_chars else f"{title[: most_chars - 1].rstrip()}…"
