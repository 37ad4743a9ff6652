"""The HNSW indexes of large generations.

Comparing all vectors of a small generation takes less time than an index of them would cost its writers. A large one
gets an index of its own for each kind of vector. So no search reads another namespace's vectors, and an index ends with
its generation.
"""

from __future__ import annotations

from typing import Any, LiteralString

from ...postgres.connections import Connection

__all__ = ["COMPARED_ONE_BY_ONE", "VECTOR_COLUMNS", "drop_vector_indexes", "has_vector_indexes", "make_vector_indexes"]

VECTOR_COLUMNS: tuple[LiteralString, ...] = ("vector", "turn_window")
#: Passages of a generation up to which all of its vectors are compared.
COMPARED_ONE_BY_ONE = 30_000
#: Largest dimension that an index of half-precision vectors takes.
_LARGEST_DIMENSION = 4_000
#: Bytes for each vector while an index is made, besides two for each coordinate. With less, PostgreSQL is far slower.
_BYTES_BESIDES = 400
_LEAST_KB, _MOST_KB = 65_536, 4_000_000
_VALID: LiteralString = """
SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = ANY(%s) AND i.indisvalid
"""
_MAKE = """
CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw (({column}::halfvec({dimension})) halfvec_cosine_ops)
WHERE index_id = {generation}
"""


def has_vector_indexes(conn: Connection, generation: int) -> bool:
    """Return whether both kinds of vector of a generation can be found through an index."""
    found = conn.execute(_VALID, (_names(generation),)).fetchone()
    return found is not None and found[0] == len(VECTOR_COLUMNS)


def make_vector_indexes(conn: Connection, generation: int, passages: int, dimension: int) -> None:
    """Make the indexes of a generation, beside the work of others. Call it outside a transaction.

    One that a killed process left unfinished is made again. A generation without vectors gets none.
    """
    found = conn.execute(
        "SELECT tableoid::regclass::text FROM index_vectors WHERE index_id = %s LIMIT 1", (generation,)
    ).fetchone()
    if found is None or dimension > _LARGEST_DIMENSION:
        conn.rollback()
        return
    drop_vector_indexes(conn, generation)
    conn.autocommit = True
    try:
        needed = passages * (2 * dimension + _BYTES_BESIDES) // 1024
        memory = str(min(max(needed, _LEAST_KB), _MOST_KB))
        conn.execute("SELECT set_config('maintenance_work_mem', %s, false)", (memory,))
        for column, name in zip(VECTOR_COLUMNS, _names(generation), strict=True):
            statement: Any = _MAKE.format(
                name=name,
                table=found[0],
                column=column,
                dimension=int(dimension),
                generation=int(generation),
            )
            conn.execute(statement)
        conn.execute("RESET maintenance_work_mem")
    finally:
        conn.autocommit = False


def drop_vector_indexes(conn: Connection, generation: int) -> None:
    """Drop the indexes of a generation that are there, beside the work of others. Call it outside a transaction.

    A plain ``DROP INDEX`` would let the searches of all homes in the same partition wait until its transaction ends.
    """
    there = conn.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s)", (_names(generation),)).fetchall()
    conn.commit()
    if not there:
        return
    conn.autocommit = True
    try:
        for (name,) in there:
            statement: Any = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
            conn.execute(statement)
    finally:
        conn.autocommit = False


def _names(generation: int) -> list[str]:
    return [f"index_vectors_{column}_of_{int(generation)}" for column in VECTOR_COLUMNS]
