"""Own the tables of namespaces in PostgreSQL, in the schema ``agent_memory``, and how they are opened.

Every row belongs to one namespace, by its number. The large tables are partitioned by a hash of it, and every query
names it, so a query reads one partition of each. All tables refer to ``namespaces``, so deleting a namespace deletes
everything of it.

``chat_history`` is the log. Its rows are written once. What still has to be read from them stands in
``pending_messages``. All other tables are made from the log, but for shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

from ..postgres.connections import Connection, DatabaseFailed, connection
from ..postgres.migrations import migrate
from ..servers import DATABASE_VARIABLE, ServerUnavailable

__all__ = ["DIMENSION", "database", "part_of"]

#: Length of a vector.
DIMENSION = 384
_COMPONENT = "namespaces"
#: Partitions of a large table.
_PARTITIONS: LiteralString = "16"

# `merged` rows hold the text of several others, their `parts`, which point back with `merged_into`.
_TABLES: LiteralString = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA IF NOT EXISTS agent_memory;
CREATE TABLE agent_memory.namespaces(
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    appearance TEXT COLLATE "C" NOT NULL UNIQUE,
    version BIGINT NOT NULL DEFAULT 0,
    made TIMESTAMPTZ NOT NULL,
    promoted TIMESTAMPTZ,
    promote_after TIMESTAMPTZ,
    new_messages INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX namespaces_by_promotion ON agent_memory.namespaces(promote_after) WHERE promote_after IS NOT NULL;
CREATE TABLE agent_memory.shares(
    reader BIGINT NOT NULL REFERENCES agent_memory.namespaces ON DELETE CASCADE,
    owner BIGINT NOT NULL REFERENCES agent_memory.namespaces ON DELETE CASCADE,
    made TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (reader, owner), CHECK (reader <> owner)
);
CREATE INDEX shares_by_owner ON agent_memory.shares(owner);
CREATE TABLE agent_memory.embedding_models(
    id SMALLINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE
);
CREATE SEQUENCE agent_memory.message_numbers;
CREATE TABLE agent_memory.chat_history(
    namespace BIGINT NOT NULL REFERENCES agent_memory.namespaces ON DELETE CASCADE,
    id BIGINT NOT NULL,
    session TEXT NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    source TEXT NOT NULL,
    user_name TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    user_input TEXT NOT NULL,
    ai_output TEXT NOT NULL,
    said TIMESTAMPTZ NOT NULL,
    utc_offset_s INTEGER NOT NULL,
    recorded TIMESTAMPTZ NOT NULL,
    digest BYTEA NOT NULL,
    entities TEXT[] NOT NULL,
    held TEXT NOT NULL,
    PRIMARY KEY (namespace, id), UNIQUE (namespace, message_id)
) PARTITION BY HASH (namespace);
CREATE INDEX chat_history_by_session ON agent_memory.chat_history(namespace, session, id);
CREATE INDEX chat_history_by_time ON agent_memory.chat_history(namespace, said);
CREATE TABLE agent_memory.pending_messages(
    namespace BIGINT NOT NULL,
    message BIGINT NOT NULL,
    PRIMARY KEY (namespace, message),
    FOREIGN KEY (namespace, message) REFERENCES agent_memory.chat_history ON DELETE CASCADE
);
CREATE SEQUENCE agent_memory.memory_numbers;
CREATE TABLE agent_memory.long_term_memory(
    namespace BIGINT NOT NULL REFERENCES agent_memory.namespaces ON DELETE CASCADE,
    id BIGINT NOT NULL DEFAULT nextval('agent_memory.memory_numbers'),
    session TEXT NOT NULL,
    category TEXT NOT NULL,
    role TEXT NOT NULL,
    source TEXT NOT NULL,
    summary TEXT NOT NULL,
    words TSVECTOR NOT NULL,
    importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
    retention_type TEXT NOT NULL DEFAULT 'long_term' CHECK (retention_type IN ('long_term', 'archived')),
    said TIMESTAMPTZ NOT NULL,
    made TIMESTAMPTZ NOT NULL,
    messages BIGINT[] NOT NULL,
    parts BIGINT[],
    merged_into BIGINT,
    superseded_by BIGINT,
    model SMALLINT,
    embedding HALFVEC(384),
    PRIMARY KEY (namespace, id)
) PARTITION BY HASH (namespace);
CREATE TABLE agent_memory.memory_entities(
    namespace BIGINT NOT NULL,
    entity TEXT COLLATE "C" NOT NULL,
    memory BIGINT NOT NULL,
    PRIMARY KEY (namespace, memory, entity),
    FOREIGN KEY (namespace, memory) REFERENCES agent_memory.long_term_memory ON DELETE CASCADE
) PARTITION BY HASH (namespace);
CREATE TABLE agent_memory.memory_relationships(
    namespace BIGINT NOT NULL,
    memory BIGINT NOT NULL,
    other BIGINT NOT NULL,
    strength DOUBLE PRECISION NOT NULL CHECK (strength BETWEEN 0 AND 1),
    PRIMARY KEY (namespace, memory, other), CHECK (memory < other),
    FOREIGN KEY (namespace, memory) REFERENCES agent_memory.long_term_memory ON DELETE CASCADE,
    FOREIGN KEY (namespace, other) REFERENCES agent_memory.long_term_memory ON DELETE CASCADE
) PARTITION BY HASH (namespace);
CREATE INDEX memory_relationships_by_other ON agent_memory.memory_relationships(namespace, other);
CREATE TABLE agent_memory.short_term_memory(
    namespace BIGINT NOT NULL,
    memory BIGINT NOT NULL,
    importance DOUBLE PRECISION NOT NULL,
    recency_score DOUBLE PRECISION NOT NULL,
    frequency_score INTEGER NOT NULL,
    reason TEXT NOT NULL,
    promoted TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (namespace, memory),
    FOREIGN KEY (namespace, memory) REFERENCES agent_memory.long_term_memory ON DELETE CASCADE
);
"""
# A memory stays in one place with its vector and its words, so that comparing them reads nothing else.
_PARTITION: LiteralString = (
    """
DO $$
DECLARE parent TEXT;
BEGIN
    FOREACH parent IN ARRAY
        ARRAY['chat_history', 'long_term_memory', 'memory_entities', 'memory_relationships']
    LOOP
        FOR part IN 0 .. """
    + _PARTITIONS
    + """ - 1 LOOP
            EXECUTE format('CREATE TABLE agent_memory.%I PARTITION OF agent_memory.%I FOR VALUES WITH (MODULUS """
    + _PARTITIONS
    + """, REMAINDER %s) WITH (toast_tuple_target = 8160)', parent || '_' || part, parent, part);
        END LOOP;
    END LOOP;
END $$
"""
)
_MIGRATIONS: tuple[LiteralString, ...] = (_TABLES + _PARTITION,)


@contextmanager
def database(url: str, *, patient: bool = False) -> Iterator[Connection]:
    """Yield a connection to the tables at *url*, and make the tables first where they lack.

    The transaction is committed at the end, and undone by an exception. What was acknowledged is on the disk. A server
    that stalls for a minute counts as one that does not answer. A *patient* caller waits longer for a statement, as
    long as the server takes other connections.

    Raises:
        NoServer: *url* is empty, or the extra ``postgresql`` is not installed.
        ServerUnavailable: the server does not answer, or stopped. Whether the block was kept is unknown.
        DatabaseFailed: the server answered with an error that the block did not catch.
    """
    try:
        with connection(url, patient=patient) as conn:
            migrate(conn, _COMPONENT, _MIGRATIONS)
            yield conn
    except ServerUnavailable as error:
        if DATABASE_VARIABLE in error.problem:
            raise
        problem = f"{error.problem}. Start it, or correct {DATABASE_VARIABLE}"
        raise ServerUnavailable(error.server, error.address or url, problem) from error


@contextmanager
def part_of(conn: Connection) -> Iterator[None]:
    """Run a part of a transaction that may fail alone: an exception undoes this part, and the rest goes on.

    Raises:
        DatabaseFailed: the server answered with an error. It names the kind alone, because its text may hold rows.
    """
    import psycopg

    try:
        with conn.transaction():
            yield
    except psycopg.Error as error:
        if conn.broken:
            raise
        raise DatabaseFailed(f"{type(error).__name__} ({error.sqlstate or 'no code'})") from error
