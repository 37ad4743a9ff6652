"""The store of a home's index, as a search and a sync know it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from agent_home.home import Home

from .reader import IndexReader
from .sqlite.reader import SqliteReader, reading_again, reading_index
from .store_choice import chosen_namespace

__all__ = ["IndexStore", "SqliteStore", "index_store"]


class IndexStore(Protocol):
    """Place of the index of one home. Each method may be called by any thread."""

    def reading(self, *, searching: bool = True) -> AbstractContextManager[IndexReader | None]:
        """Hold one state of the index, or ``None`` when there is no index yet.

        Without *searching*, the block counts as no search of this process.

        Raises:
            IndexUnreadable: the index cannot be read now.
        """

    def reading_again(self) -> AbstractContextManager[IndexReader | None]:
        """Hold a state of the index in another thread of the same search.

        Raises:
            IndexUnreadable: see :meth:`reading`.
        """


class SqliteStore:
    """The index in the file of *home*."""

    def __init__(self, home: Home) -> None:
        self._home = home

    @contextmanager
    def reading(self, *, searching: bool = True) -> Iterator[SqliteReader | None]:
        """Hold one state of the index, if this machine made it."""
        with reading_index(self._home, searching=searching) as reader:
            yield reader

    @contextmanager
    def reading_again(self) -> Iterator[SqliteReader | None]:
        """Hold a state of the index in another thread of the same search."""
        with reading_again(self._home) as reader:
            yield reader


def index_store(home: Home) -> IndexStore:
    """Return the store of the index of *home* on this machine."""
    namespace = chosen_namespace(home)
    if not namespace:
        return SqliteStore(home)
    from .postgresql.store import PostgresqlStore

    return PostgresqlStore(namespace)
