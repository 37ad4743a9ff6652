"""The two legs of a search: what the words find, and what the vectors find.

Each has its own deadline and its own connection; what is not done by then is named and left out. Neither ranks: they
say which passages are worth looking at, and hand over the numbers that ranking needs.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from . import schema
from .backlog import staleness
from .embedding import Embedder, NoEmbedder
from .index import LAYER_CODES
from .ranking import Nearest, Term
from .settings import RecallSettings
from .stems import Stemmer, code
from .terms import Question

__all__ = ["Late", "Scope", "Vectors", "Words", "begin_vectors", "look_for_words", "since"]

_SESSIONS = LAYER_CODES["sessions"]
#: vec0 refuses more.
_MOST_NEAREST = 4096
#: A model reads a few hundred tokens; the rest of a pasted page is not worth cutting into tokens.
_EMBEDDED_CHARS = 8_000
#: Words of the index that one prefix stands for; a single character can begin thousands.
_MOST_BEGUN = 200


@dataclass(frozen=True, slots=True)
class Scope:
    """Which passages may be found: *layers* by code, *files* as a JSON list of ids; ``None`` means all."""

    layers: tuple[int, ...] | None = None
    files: str | None = None


@dataclass(slots=True, kw_only=True)
class Words:
    """Passages by BM25, files by BM25, and the question's terms with their rarity."""

    passages: dict[int, float] = field(default_factory=dict)
    groups: dict[int, float] = field(default_factory=dict)
    terms: tuple[Term, ...] = ()
    mean_words: float = 1.0
    problem: str = ""
    ms: float = 0.0


@dataclass(slots=True, kw_only=True)
class Vectors:
    """What is nearest; ``None`` when nothing was looked for."""

    nearest: Nearest | None = None
    problem: str = ""
    ms: float = 0.0


def look_for_words(
    conn: apsw.Connection, asked: Question, scope: Scope, limit: int, settings: RecallSettings, deadline_ms: float
) -> Words:
    """Passages, and whole files, that have words of the question."""
    start = time.perf_counter()
    leg = Words()
    if not asked.match:
        return leg
    where, values = _passage_filter(scope)
    sql = (
        f"SELECT pages.rowid, -bm25(pages) AS score FROM pages {_JOIN if where else ''} "  # noqa: S608
        f"WHERE pages MATCH ? {where} ORDER BY score DESC LIMIT ?"
    )
    if deadline_ms <= 0:
        return Words(problem=_late("lexical", deadline_ms))
    conn.set_progress_handler(lambda: since(start) > deadline_ms, 1000)
    try:
        passages = dict(conn.execute(sql, (asked.match, *values, limit)))
        groups = "SELECT rowid, -bm25(groups) AS score FROM groups WHERE groups MATCH ? ORDER BY score DESC LIMIT ?"
        leg.groups = dict(conn.execute(groups, (asked.match, settings.groups)))
        leg.terms, leg.mean_words = _weighed(conn, asked)
        leg.passages = passages
    except apsw.InterruptError:
        leg = Words(problem=_late("lexical", deadline_ms))
    finally:
        conn.set_progress_handler(None)
    leg.ms = since(start)
    return leg


_JOIN = "JOIN passages p ON p.id = pages.rowid"


def _passage_filter(scope: Scope) -> tuple[str, tuple[object, ...]]:
    where, values = "", []
    if scope.layers is not None:
        where += f" AND p.layer IN ({', '.join(map(str, scope.layers))})"
    if scope.files is not None:
        where += " AND p.file IN (SELECT value FROM json_each(?))"
        values.append(scope.files)
    return where, tuple(values)


def _weighed(conn: apsw.Connection, asked: Question) -> tuple[tuple[Term, ...], float]:
    """The terms with the codes of their spellings and how rare they are; the mean length of a passage."""
    ((passages, words),) = schema.rows(conn, "SELECT coalesce(sum(passages), 0), coalesce(sum(words), 0) FROM files")
    stemmer = Stemmer(conn)
    terms = []
    for spellings in asked.spellings:
        found = [entry for spelling in spellings for entry in _entries(conn, stemmer, spelling)]
        if not found:
            continue
        codes = tuple(dict.fromkeys(entry[0] for entry in found))
        having = min(sum(dict(found).values()), passages)
        rarity = math.log(1 + (passages - having + 0.5) / (having + 0.5))
        terms.append(Term(spellings=codes, passages=having, rarity=rarity))
    return tuple(terms), words / max(passages, 1)


def _entries(conn: apsw.Connection, stemmer: Stemmer, expression: str) -> list[tuple[tuple[int, ...], int]]:
    """The codes of an expression's words in order, and how many passages have them; a prefix gives several."""
    if expression.endswith("*"):
        begun = "".join(stemmer.stems(expression[1:-2]))
        sql = "SELECT term, doc FROM pages_words WHERE term >= ? AND term < ? AND col = 'body' LIMIT ?"
        rows = schema.rows(conn, sql, (begun, begun + "\U0010ffff", _MOST_BEGUN)) if begun else []
        return [((code(term),), having) for term, having in rows]
    stems = stemmer.stems(expression[1:-1])
    sql = "SELECT doc FROM pages_words WHERE term = ? AND col = 'body'"
    having = [rows[0][0] if (rows := schema.rows(conn, sql, (stem,))) else 0 for stem in stems]
    return [(tuple(code(stem) for stem in stems), min(having))] if stems else []


class Late:
    """The vector leg, looking in a thread of its own; it is asked for its result once, and not waited for longer."""

    def __init__(self, look: Callable[[], Vectors]) -> None:
        self._look = look
        self._done = threading.Event()
        self._leg = Vectors()
        threading.Thread(target=self._run, daemon=True, name="recall-vectors").start()

    def result(self, wait_ms: float, limit_ms: float) -> Vectors:
        """What was found, at most *wait_ms* from now; *limit_ms* is what the message names."""
        if self._done.wait(max(wait_ms, 0.0) / 1000):
            return self._leg
        return Vectors(problem=_late("vector", limit_ms), ms=limit_ms)

    def _run(self) -> None:
        start = time.perf_counter()
        try:
            self._leg = self._look()
        except Exception as error:  # noqa: BLE001 - a thread has no caller; the result says what happened
            self._leg = Vectors(problem=f"the vector leg failed: {error}; its hits are missing")
        self._leg.ms = since(start)
        self._done.set()


def begin_vectors(path: Path, query: str, embedder: Embedder | NoEmbedder | None, scope: Scope, limit: int) -> Late:
    """Look for the *limit* nearest vectors in the background."""

    def look() -> Vectors:
        if embedder is None:
            return Vectors(problem="no embedding model, words only; see `memory model`")
        if isinstance(embedder, NoEmbedder):
            return Vectors(problem=f"words only: {embedder.reason}")
        if not query.strip():
            return Vectors()
        conn = schema.open_reader(path)
        if conn is None:
            return Vectors()
        try:
            return _near(conn, query, embedder, scope, limit)
        finally:
            conn.close()

    return Late(look)


def _near(conn: apsw.Connection, query: str, embedder: Embedder, scope: Scope, limit: int) -> Vectors:
    """Passages, and turns with their neighbours, whose vectors are nearest to the question's, by cosine."""
    recorded = schema.meta(conn)
    if "model" not in recorded:
        return Vectors(problem="no passage has a vector yet, words only; run `memory sync`")
    if (problem := staleness(recorded, embedder)) is not None:
        return Vectors(problem=f"{problem}; words only until then")
    text = query[:_EMBEDDED_CHARS].encode("utf-8", "replace").decode("utf-8")
    vector = embedder.embed_query(text).tobytes()
    where, values = _vector_filter(scope)
    found: dict[str, dict[int, float]] = {"vectors": {}, "windows": {}}
    turns_wanted = scope.layers is None or _SESSIONS in scope.layers  # nothing else has neighbours
    for table in ("vectors", *(("windows",) if turns_wanted else ())):
        sql = f"SELECT passage, 1.0 - distance FROM {table} WHERE embedding MATCH ? AND k = ? {where}"  # noqa: S608
        found[table] = dict(conn.execute(sql, (vector, min(limit, _MOST_NEAREST), *values)))
    files: dict[int, float] = {}
    for passage, file in schema.rows(conn, _SELECT_FILES, (json.dumps(list(found["vectors"])),)):
        files[file] = max(files.get(file, -1.0), found["vectors"][passage])
    return Vectors(nearest=Nearest(passages=found["vectors"], windows=found["windows"], files=files))


_SELECT_FILES = "SELECT id, file FROM passages WHERE id IN (SELECT value FROM json_each(?))"


def _vector_filter(scope: Scope) -> tuple[str, tuple[object, ...]]:
    where, values = "", []
    if scope.layers is not None:
        where += f" AND layer IN ({', '.join(map(str, scope.layers))})"
    if scope.files is not None:
        where += " AND passage IN (SELECT p.id FROM passages p JOIN json_each(?) readable ON readable.value = p.file)"
        values.append(scope.files)
    return where, tuple(values)


def _late(name: str, deadline_ms: float) -> str:
    return f"the {name} leg was not done within {deadline_ms:g} ms; its hits are missing"


def since(start: float) -> float:
    """Milliseconds since *start*, a reading of ``time.perf_counter``."""
    return (time.perf_counter() - start) * 1000
