"""The tables of the index in PostgreSQL, as numbered migrations.

A namespace is the index of one home. It may have several generations, of which one is live: a rebuild fills a new one
beside it. Rows name their generation (``index_id``), and large tables are partitioned by its hash, so a search reads
one partition. Words are ``tsvector`` made of our own hashes (``.lexemes``). PostgreSQL's own parser sees no text.
"""

from __future__ import annotations

from typing import LiteralString

from ...postgres.connections import Connection
from ...postgres.migrations import migrate

__all__ = ["PARTITIONED", "TABLES", "require_tables"]

COMPONENT = "index"
#: Tables whose rows belong to a generation, large ones last.
PARTITIONED: tuple[LiteralString, ...] = (
    "index_vocabulary", "index_windows", "index_words", "index_vectors", "index_passages",
)  # fmt: skip
TABLES: tuple[LiteralString, ...] = ("index_descriptions", "index_files", *PARTITIONED)

_FIRST: LiteralString = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE index_generations(
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace TEXT NOT NULL,
    live BOOLEAN NOT NULL DEFAULT false,
    version BIGINT NOT NULL DEFAULT 0,
    passages BIGINT NOT NULL DEFAULT 0,
    text_words BIGINT NOT NULL DEFAULT 0,
    all_words BIGINT NOT NULL DEFAULT 0,
    filled_files BIGINT NOT NULL DEFAULT 0,
    made TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX index_generations_live ON index_generations(namespace) WHERE live;
CREATE INDEX index_generations_by_namespace ON index_generations(namespace);
CREATE TABLE index_descriptions(
    index_id BIGINT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (index_id, key)
);
CREATE TABLE index_files(
    index_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    layer TEXT NOT NULL,
    session TEXT NOT NULL,
    sha256 BYTEA NOT NULL,
    mtime_ns BIGINT NOT NULL,
    size BIGINT NOT NULL,
    skipped TEXT NOT NULL,
    passages BIGINT NOT NULL DEFAULT 0,
    text_words BIGINT NOT NULL DEFAULT 0,
    all_words BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (index_id, id)
);
CREATE UNIQUE INDEX index_files_by_path ON index_files(index_id, md5(path));
CREATE TABLE index_passages(
    index_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    file BIGINT NOT NULL,
    layer SMALLINT NOT NULL,
    embedded SMALLINT NOT NULL,
    windowed SMALLINT NOT NULL,
    ordinal INTEGER NOT NULL,
    part INTEGER NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    session TEXT NOT NULL,
    message TEXT NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    ts TEXT NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    meaning TEXT NOT NULL,
    content_digest BYTEA NOT NULL,
    meaning_digest BYTEA NOT NULL,
    PRIMARY KEY (index_id, id)
) PARTITION BY HASH (index_id);
CREATE INDEX index_passages_by_file ON index_passages(index_id, file, ordinal);
CREATE INDEX index_passages_by_source ON index_passages(index_id, md5(source));
CREATE INDEX index_passages_by_meaning ON index_passages(index_id, meaning_digest);
CREATE INDEX index_passages_without_vector ON index_passages(index_id, layer, file) WHERE embedded = 0;
CREATE INDEX index_passages_without_window ON index_passages(index_id, file, ordinal) WHERE windowed = 0;
CREATE TABLE index_words(
    index_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    file BIGINT NOT NULL,
    layer SMALLINT NOT NULL,
    length INTEGER NOT NULL,
    body TSVECTOR NOT NULL,
    PRIMARY KEY (index_id, id)
) PARTITION BY HASH (index_id);
ALTER TABLE index_words ALTER COLUMN body SET STORAGE MAIN;
CREATE INDEX index_words_by_word ON index_words USING gin (body);
CREATE INDEX index_words_by_file ON index_words(index_id, file);
CREATE TABLE index_vocabulary(
    index_id BIGINT NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    in_text INTEGER NOT NULL,
    in_heading INTEGER NOT NULL,
    PRIMARY KEY (index_id, term)
) PARTITION BY HASH (index_id);
CREATE TABLE index_windows(
    index_id BIGINT NOT NULL,
    file BIGINT NOT NULL,
    number INTEGER NOT NULL,
    leaves BYTEA NOT NULL,
    words BYTEA NOT NULL,
    heads BYTEA NOT NULL,
    PRIMARY KEY (index_id, file, number)
) PARTITION BY HASH (index_id);
ALTER TABLE index_windows ALTER COLUMN leaves SET STORAGE MAIN;
ALTER TABLE index_windows ALTER COLUMN words SET STORAGE MAIN;
ALTER TABLE index_windows ALTER COLUMN heads SET STORAGE MAIN;
CREATE TABLE index_vectors(
    index_id BIGINT NOT NULL,
    passage BIGINT NOT NULL,
    file BIGINT NOT NULL,
    layer SMALLINT NOT NULL,
    dimension SMALLINT NOT NULL,
    vector halfvec NOT NULL,
    turn_window halfvec,
    PRIMARY KEY (index_id, passage)
) PARTITION BY HASH (index_id);
CREATE INDEX index_vectors_by_file ON index_vectors(index_id, file);
DO $$
DECLARE big TEXT;
BEGIN
    FOREACH big IN ARRAY ARRAY['passages', 'words', 'vocabulary', 'windows', 'vectors'] LOOP
        FOR part IN 0..7 LOOP
            EXECUTE format(
                'CREATE TABLE index_%1$s_%2$s PARTITION OF index_%1$s FOR VALUES WITH (MODULUS 8, REMAINDER %2$s)'
                ' WITH (autovacuum_vacuum_scale_factor = 0.05)',
                big, part
            );
            IF big IN ('words', 'windows', 'vectors') THEN
                EXECUTE format('ALTER TABLE index_%s_%s SET (toast_tuple_target = 8160)', big, part);
            END IF;
        END LOOP;
    END LOOP;
END $$;
"""
MIGRATIONS: tuple[LiteralString, ...] = (_FIRST,)


def require_tables(conn: Connection) -> None:
    """Make the tables that the database lacks. A process looks once.

    Raises:
        DatabaseTooNew: a newer version of this program made them.
    """
    migrate(conn, COMPONENT, MIGRATIONS)
