"""Own reports of commits of public repositories, each with a false twin, and the repositories at these commits.

The sentences are our own. The repositories are not part of the program: a folder holds clones or bare git directories,
named as the reports name them. ``development`` and ``unseen`` are for development. ``heldout`` was written from the
commits alone, before the code ran on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .history import git

__all__ = ["SETS", "TRAINED", "CommitReport", "ReportSet", "at_commit", "borrowed", "read_reports", "reports"]

ReportSet = Literal["development", "unseen", "heldout"]
SETS: tuple[ReportSet, ...] = ("development", "unseen", "heldout")
#: Sets that the models are trained on.
TRAINED: tuple[ReportSet, ...] = ("development", "unseen")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitReport:
    """A *true* report of *commit* in *repo*, and a *false* one that differs in what *altered* names."""

    id: str
    repo: str
    commit: str
    lang: str
    altered: str
    true: str
    false: str


def reports(name: ReportSet) -> list[CommitReport]:
    """Return the reports of one set, in file order."""
    return read_reports(Path(__file__).parent / f"commits.{name}.jsonl")


def read_reports(path: Path) -> list[CommitReport]:
    """Return the reports of a file, in file order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [CommitReport(**json.loads(line)) for line in lines if line.strip()]


def borrowed(source: Path, root: Path) -> Path:
    """Make an empty repository in the new folder *root* that borrows the objects of *source*, a clone or bare one."""
    objects = source / "objects" if (source / "objects").is_dir() else source / ".git" / "objects"
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{objects.resolve()}\n", encoding="utf-8")
    return root


@contextmanager
def at_commit(root: Path, commit: str) -> Iterator[float]:
    """Check *commit* out as the end of main, and give its time in seconds since the epoch."""
    git(root, "update-ref", "refs/heads/main", git(root, "rev-parse", f"{commit}^{{commit}}"))
    git(root, "reset", "--quiet", "--hard")
    yield float(git(root, "log", "-1", "--format=%ct", commit))
