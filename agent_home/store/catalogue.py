"""The two generated context files: a line for each document in ``Knowledge/`` and in ``Projects/``.

They are functions of those folders and are rewritten whole. Text that a person wants to keep belongs elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import resources
from itertools import islice
from pathlib import Path

from .. import storage
from ..documents.document import parse
from ..errors import DocumentInvalid
from ..home import Home
from ..screening.service import ScreeningService
from .gateway import Transaction

__all__ = ["refresh", "render"]

_FILES = {"KNOWLEDGE.md": "Knowledge", "PROJECTS.md": "Projects"}
#: A catalogue is an overview. Further documents are only counted.
MAX_LINES = 200
_TITLE_CHARS = 100


def refresh(edits: Transaction) -> None:
    """Rewrite both files for the folders as they are, as part of a transaction. A correct file stays untouched."""
    for file in _FILES:
        if (edits.home.root / file).exists():
            edits.write(file, render(edits.home, file))


def render(home: Home, file: str) -> str:
    """Return the text of ``KNOWLEDGE.md`` or ``PROJECTS.md`` for the folders as they are.

    A document is named only when everybody who may see this file may see the document as well, and the guard does not
    hold its name back.
    """
    folder = _FILES[file]
    readers = home.manifest.audiences.get(file, frozenset())
    lines = _lines(home, folder, readers)
    screening = ScreeningService(home)
    shown = list(islice(_with_clean_names(screening, lines), MAX_LINES))
    screening.keep_clean()
    if more := sum(1 for _ in lines):
        shown.append(f"- and {more} more; `memory search --in {folder.lower()}` finds them")
    head = resources.files("agent_home.template").joinpath(file).read_text(encoding="utf-8")
    return head.rstrip() + "\n" + ("\n" + "\n".join(shown) + "\n" if shown else "")


def _with_clean_names(screening: ScreeningService, lines: Iterator[tuple[str, Path]]) -> Iterator[str]:
    """Yield the line of each document whose name readers may be shown."""
    for relative, path in lines:
        if not screening.findings_in_name(relative):
            yield f"- `{relative}` {_title(path)}".rstrip()


def _lines(home: Home, folder: str, readers: Collection[str]) -> Iterator[tuple[str, Path]]:
    """Yield the documents by their paths in the home."""
    for path in home.files(folder, "**/*.md"):
        relative = home.relative(path)
        hidden = any(part.startswith(".") for part in Path(relative).parts) or not relative.isprintable()
        if not hidden and all(home.may_read(relative, audience) for audience in readers):
            yield relative, path


def _title(path: Path) -> str:
    """Return the first heading of the file, or its first line."""
    try:
        blocks = parse(storage.read_text(path)).blocks
    except DocumentInvalid:
        return "(not UTF-8)"
    except OSError:
        return "(not readable)"
    heading = next((block.title for block in blocks if block.kind == "heading"), "")
    first = next((block.raw for block in blocks if block.kind not in {"blank", "front"}), "")
    return " ".join((heading or first.strip().splitlines()[0] if first else "").split())[:_TITLE_CHARS]
