"""Render tables as text or Markdown, put them into a page of the docs, and name the machine of a run.

A page holds a table between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``. Only the text between the markers is
replaced.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["DOCS", "aligned", "machine", "markdown", "put", "stamp"]

DOCS = Path(__file__).parents[2] / "docs"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, align: str = "") -> str:
    """Return a Markdown table. *align* has ``l`` or ``r`` for each column, and ``l`` where it is shorter."""
    rule = ["---:" if side == "r" else "---" for side in align.ljust(len(head), "l")]
    return "\n".join([_piped(head), f"|{'|'.join(rule)}|", *map(_piped, rows)])


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the same table for a terminal: the first column on the left, the others on the right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def put(page: Path, tables: Mapping[str, str]) -> None:
    """Replace what stands between the markers of each table in *page*.

    Raises:
        SystemExit: the page lacks a pair of markers; nothing is written then.
    """
    text = page.read_text("utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        if end not in rest:
            raise SystemExit(f"{page.name} has no {begin} ... {end}; put both lines back")
        text = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    page.write_text(text, "utf-8")


def machine() -> str:
    """Return the processor, cores and interpreter in a few words."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def stamp(command: str) -> str:
    """Return one line of Markdown with the day, the command and the machine of a run."""
    return f"Run of {datetime.now(UTC):%Y-%m-%d}: `{command}`, on {machine()}."


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
