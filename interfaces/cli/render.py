"""Own how commands write to a terminal: every text goes through ``agent_home.visible``."""

from __future__ import annotations

from typing import Any

import click

from agent_home.visible import visible, visible_json, visible_line

from .surroundings import surroundings

__all__ = ["shortened", "write_json", "write_line", "write_progress", "write_text"]

_MAX_TITLE_CHARS = 60


def write_line(text: str, *, error: bool = False) -> None:
    """Print *text* in one line, on standard error with *error*."""
    given = surroundings()
    click.echo(visible_line(text), file=given.err if error else given.out)


def write_progress(text: str, *, done: bool) -> None:
    """Print *text* on standard error in place of the progress before it. When *done*, the line ends."""
    click.echo(f"\r{visible_line(text)}", file=surroundings().err, nl=done)


def write_text(text: str) -> None:
    """Print *text*, which may have several lines."""
    click.echo(visible(text), file=surroundings().out)


def write_json(data: Any, *, indent: int | None = None) -> None:
    """Print *data* as one JSON document."""
    click.echo(visible_json(data, indent=indent), file=surroundings().out)


def shortened(title: str, most_chars: int = _MAX_TITLE_CHARS) -> str:
    """Return *title* in at most *most_chars* characters, with an ellipsis where it was cut."""
    return title if len(title) <= most_chars else f"{title[: most_chars - 1].rstrip()}…"
