"""Errors of recall. Every message names the problem, the place and the next step.

``RecallError``
├── ``IndexUnusable``      the index file cannot be opened, and no new one can be made
│   └── ``IndexLocked``    another program holds the index locked
├── ``IndexStale``         the index holds another model's vectors
└── ``ModelError``         the embedding model is not usable
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["IndexLocked", "IndexStale", "IndexUnusable", "ModelError", "RecallError"]


class RecallError(Exception):
    """Root of this package's errors."""


class IndexUnusable(RecallError):
    """The index cannot be opened, and setting it aside did not help."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"the index {path} is unusable and could not be rebuilt: {problem}. Check the disk and permissions there"
        )
        self.path, self.problem = path, problem


class IndexLocked(IndexUnusable):
    """Another program holds the index locked."""

    def __init__(self, path: Path) -> None:
        RecallError.__init__(
            self,
            f"another program holds the index {path} locked. End that program, or try again when it is done",
        )
        self.path, self.problem = path, "it is locked"


class IndexStale(RecallError):
    """The index holds the vectors of another embedding model."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"the index was built with {found}, the settings ask for {expected}. Run `memory reindex`")
        self.found, self.expected = found, expected


class ModelError(RecallError):
    """The embedding model is absent, damaged or another one than the settings name."""
