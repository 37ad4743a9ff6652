"""Verification that the index is a function of the files: read every file again and compare all stored values."""

from __future__ import annotations

from agent_home.home import Home

from ..settings import RecallSettings
from .store_choice import chosen_namespace
from .verification import IndexVerification

__all__ = ["IndexVerification", "verify"]


def verify(home: Home, settings: RecallSettings) -> IndexVerification:
    """Compare the index with the files. The function reads one consistent state and waits for no other process.

    Raises:
        ServerUnavailable, NoServer, DatabaseFailed: the index is in PostgreSQL, which does not answer.
    """
    if namespace := chosen_namespace(home):
        from .postgresql.store import PostgresqlStore
        from .postgresql.verify import verify_namespace

        return verify_namespace(home, PostgresqlStore(namespace), settings)
    from .sqlite.verify import verify_file

    return verify_file(home, settings)
