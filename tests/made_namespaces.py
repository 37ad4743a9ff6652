"""Namespaces with names of their own in a database that tests share, and what is read from their rows."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, LiteralString

from interfaces.api import AgentNamespace, open_namespace
from recall.namespaces.settings import NamespaceSettings
from recall.postgres.connections import connection
from tests.recall.hashing_embedder import HashingEmbedder

__all__ = ["NOW", "made_name", "made_namespace", "query", "summaries", "talk"]

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
_EMBEDDER = HashingEmbedder(dimension=384)


def made_name(word: str = "ns") -> str:
    """Return a name that no other test uses."""
    return f"{word}-{uuid.uuid4().hex}"


def made_namespace(
    url: str, name: str = "", *, embedder: HashingEmbedder | None = _EMBEDDER, **settings: Any
) -> AgentNamespace:
    """Return a namespace whose vectors are hashes of words. Without *embedder*, words are all that it has."""
    from recall.embedding.embedder import NoEmbedder
    from recall.embedding.model import ModelLocation

    location = ModelLocation(name="none", folder=None, onnx=None, origin="none", ready=False, detail="no model")
    none = NoEmbedder(reason="no model", location=location)
    return open_namespace(
        url, name or made_name(), settings=NamespaceSettings(**settings), embedder=lambda: embedder or none
    )


def talk(namespace: AgentNamespace, *texts: str, **given: Any) -> None:
    """Record what a user says, each text as an exchange, and read it."""
    for text in texts:
        namespace.record(text, now=NOW, **given)
    namespace.process(now=NOW)


def query(url: str, statement: LiteralString, *values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, none for one that gives no rows."""
    with connection(url) as conn:
        done = conn.execute(statement, values)
        return done.fetchall() if done.description is not None else []


def summaries(url: str, namespace: AgentNamespace, *, live: bool = True) -> Sequence[str]:
    """Return the texts of the memories of a namespace, in the order in which they were made."""
    rows = query(
        url,
        "SELECT summary FROM agent_memory.long_term_memory m JOIN agent_memory.namespaces n ON n.id = m.namespace "
        "WHERE n.name = %s AND (NOT %s OR superseded_by IS NULL AND merged_into IS NULL) ORDER BY m.id",
        namespace.name, live,
    )  # fmt: skip
    return [text for (text,) in rows]
