"""A writer copies one vector of each text, however many passages say the same."""

from __future__ import annotations

import uuid
from typing import LiteralString

from recall.index.postgresql.store import PostgresqlStore, new_generation

_PASSAGES: LiteralString = """
INSERT INTO index_passages
SELECT %(index)s, n, 1, 1, %(embedded)s, 1, n, 0, 's#' || n, 's', 'm', 'user', '', '', '', 'ok', 'ok', '', 'ok'::bytea
FROM generate_series(1, 4000) AS n
"""
_VECTORS: LiteralString = """
INSERT INTO index_vectors SELECT %(index)s, n, 1, 1, 2, '[1,-2]'::halfvec, NULL FROM generate_series(1, 4000) AS n
"""


def test_the_same_text_in_very_many_passages_is_not_compared_with_itself(database_url: str) -> None:
    """Every pair of 4 000 passages is 16 million rows, for which the server takes a minute."""
    store = PostgresqlStore(uuid.uuid4().hex, database_url)
    with store.writing(1.0) as conn:
        old, new = (new_generation(conn, store.namespace, live=live) for live in (True, False))
        conn.execute(_PASSAGES, {"index": old.generation, "embedded": 1})
        conn.execute(_VECTORS, {"index": old.generation})
        conn.execute(_PASSAGES, {"index": new.generation, "embedded": 0})
        conn.execute("SET LOCAL statement_timeout = 4000")
        assert old.vectors_of([b"ok", b"ok", b"other"]) == {b"ok": b"\x01\xfe"}
        assert new.copy_vectors(old.generation, 2) == 4000
        assert new.count_pending() == 0
        conn.rollback()
