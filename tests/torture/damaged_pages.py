"""Zero every page of a search index in turn: the prompt comes, finds the same, and the index heals."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from agent_home.home import Home
from assembler.prompt import Request, assemble
from assembler.recalled.searcher import HomeSearcher
from recall.index.sync import sync
from recall.index.verify import verify
from recall.settings import RecallSettings

from .report import Finding, Report
from .scenarios import NOW, make, tell

__all__ = ["damage_pages"]

Progress = Callable[[str, int, int], None]
_SESSIONS, _TURNS = 10, 20
QUESTION, ANSWER = "At how many bar does the pump run?", "40 bar"


def damage_pages(folder: Path, *, every: int = 1, first: int = 1, progress: Progress = lambda *_: None) -> Report:
    """Zero every *every*-th page of a small index from *first* on, one at a time, and ask for a prompt each time."""
    home = make(folder / "pages")
    for number in range(_SESSIONS):
        said = [f"The crane {number * 7} stands at quay {number}, part {part}." for part in range(_TURNS)]
        tell(home, f"more-{number}", number % 24, said)
    sync(home, RecallSettings(), None)
    database = home.index
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    whole = database.read_bytes()
    report = Report("index: one page zeroed")
    for start in range(size * (first - 1), len(whole), size * every):
        _replace(database, whole[:start] + bytes(size) + whole[start + size :])
        report.add(_wrong(home, f"page {start // size}"))
        progress(report.name, start // size + 1, len(whole) // size)
    shutil.rmtree(home.root)
    return report


def _replace(database: Path, content: bytes) -> None:
    for path in database.parent.glob("index.db*"):
        path.unlink()
    database.write_bytes(content)


def _wrong(home: Home, trial: str) -> Iterator[Finding]:
    try:
        searcher = HomeSearcher(home, None)
        receipt = assemble(home, Request(now=NOW, message=QUESTION), searcher)
        if ANSWER not in receipt.text:
            yield Finding(trial, "prompt", f"the answer is missing ({'; '.join(receipt.degraded)})")
        verify(home, RecallSettings())  # finds damage that the question did not touch
        sync(home, RecallSettings(), None)
        verified = verify(home, RecallSettings())
    except Exception as error:
        yield Finding(trial, "prompt", f"{type(error).__name__}: {error}")
        return
    if not verified.ok:
        yield Finding(trial, "corrupt", f"the index does not heal: {verified.differences[0]}")
