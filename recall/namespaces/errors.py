"""Errors of namespaces.

``RecallError``
├── ``NamespaceRefused``   a name, a share or a message cannot be what it is
└── ``NoSuchNamespace``    no namespace has that name
    └── ``NoSuchMemory``   a namespace has no such memory
"""

from __future__ import annotations

from ..errors import RecallError

__all__ = ["NamespaceRefused", "NoSuchMemory", "NoSuchNamespace"]


class NamespaceRefused(RecallError):
    """A name, a share or a message cannot be what it is."""


class NoSuchNamespace(RecallError):
    """No namespace has that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no namespace {name!r}. `memory namespaces list` shows them")
        self.name = name


class NoSuchMemory(NoSuchNamespace):
    """A namespace has no such memory."""

    def __init__(self, name: str, memory: int) -> None:
        RecallError.__init__(self, f"the namespace {name!r} has no memory {memory} of that kind")
        self.name, self.memory = name, memory
