"""Files that a person hid from git, which then takes them for unchanged whatever is on the disk.

A sparse checkout also removes them from the disk. A write that trusts git would take such a file for empty, and commit
that. So files are compared with the blobs of HEAD, and a write that would rest on a hidden file is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import HistoryError
from ..home import Home
from ..settings import MANIFEST
from . import history
from .history import Hiding

__all__ = ["HiddenFile", "hidden_memory", "refuse_hidden"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenFile:
    """A file that git hides, the *command* that ends it, and what is on the disk in comparison with HEAD."""

    path: str
    command: str
    state: str
    differs: bool


def hidden_memory(home: Home) -> list[HiddenFile]:
    """Return the hidden files of memory, ordered by path. Those that are as in HEAD are among them."""
    marks = {path: mark for path, mark in history.hidden(home.root).items() if _is_memory(path)}
    return list(_described(home, marks)) if marks else []


def refuse_hidden(home: Home, paths: Sequence[str]) -> None:
    """Stop a write that rests on *paths*, whose files on the disk differ from HEAD, if git hides one of them.

    Raises:
        HistoryError: it does. Memory is in HEAD, and the error has the command that brings the file back.
    """
    marks = history.hidden(home.root, paths) if paths else {}
    first = next((file for file in _described(home, marks) if file.differs), None)
    if first is not None:
        more = f", and {len(marks) - 1} more" if len(marks) > 1 else ""
        raise HistoryError(
            f"{first.path} {first.state}, and git hides that{more}. Nothing was written, because the write would drop"
            f" what HEAD has of it. Run {first.command} in {home.root}, and try again"
        )


def _described(home: Home, marks: Mapping[str, Hiding]) -> Iterable[HiddenFile]:
    blobs = history.committed_blobs(home.root, list(marks)) if marks else {}
    is_sparse = "skip-worktree" in marks.values() and history.configured(home.root, "core.sparseCheckout") == "true"
    for path, mark in sorted(marks.items()):
        if path not in blobs:
            continue
        file = home.root / path
        same = history.is_blob(file, blobs[path])
        state = "is as in HEAD" if same else "differs from HEAD" if file.exists() else "is not on the disk"
        command = "`git sparse-checkout disable`" if is_sparse and mark == "skip-worktree" else ""
        yield HiddenFile(
            path=path, command=command or f"`git update-index --no-{mark} {path}`", state=state, differs=not same
        )


def _is_memory(path: str) -> bool:
    return path.endswith(".md") or path.startswith("ledger/") or path == MANIFEST
