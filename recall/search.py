"""Answer a question from the index: the passages that fit best, with their addresses.

Two legs look at the same time: the words (passages, and the files that they stand in) and the vectors (passages, and
turns together with their neighbours). Each has its own deadline and its own connection; what has finished by then is
used, and what has not is named in ``degraded``. No question makes a search fail.

Promises: no passage that the audience may not read, at most ``MAX_HITS`` hits, one hit for each address, and the same
order every time (equal scores are ordered by address).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import apsw

from agent_home.audience import Audience
from agent_home.home import Home

from . import schema
from .backlog import staleness
from .embedding import Embedder, NoEmbedder
from .fusion import by_best, by_range, fuse
from .index import LAYER_CODES
from .passage import LAYERS, session_of
from .settings import RecallSettings
from .terms import question

__all__ = ["MAX_HITS", "MODES", "Hit", "Mode", "Result", "search"]

Mode = Literal["hybrid", "lexical", "vector"]
MODES: tuple[Mode, ...] = ("hybrid", "lexical", "vector")
MAX_HITS = 1000
#: vec0 refuses more.
_MAX_NEIGHBOURS = 4096
_SESSIONS = LAYER_CODES["sessions"]
#: Rows that one leg reads at most, however many hits are wanted: a turn may have several parts.
_MAX_CANDIDATES = 3000
#: A model reads a few hundred tokens; the rest of a pasted page is not worth cutting into tokens.
_EMBEDDED_CHARS = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage that was found. *source* is its address; *parts* the score of each leg, from 0 to 1, unweighted."""

    source: str
    score: float
    text: str
    layer: str
    ts: str
    path: str
    session: str = ""
    name: str = ""
    role: str = ""
    heading: str = ""
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Hits, best first. *legs* has the milliseconds of each leg that ran; *degraded* what is missing, and why."""

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    ms: float = 0.0
    legs: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Which passages may be found: *layers* by code, *files* as a JSON list of ids; ``None`` means all."""

    layers: tuple[int, ...] | None = None
    files: str | None = None


@dataclass(slots=True)
class _Leg:
    """What one leg found: raw scores by passage, and by file for ``group``."""

    scores: dict[str, dict[int, float]] = field(default_factory=dict)
    problem: str = ""
    ms: float = 0.0


def search(
    home: Home,
    query: str,
    *,
    settings: RecallSettings,
    embedder: Embedder | NoEmbedder | None = None,
    k: int = 10,
    layers: Sequence[str] | None = None,
    mode: Mode = "hybrid",
    audience: str = "owner",
    exclude: Collection[str] = (),
    deadline_ms: float | None = None,
) -> Result:
    """The *k* best passages for *query* among those that *audience* may read.

    *layers* narrows to some of :data:`recall.passage.LAYERS`; ``None`` means all. *exclude* names addresses,
    sessions or files to leave out. *deadline_ms* takes the place of both legs' own deadlines.

    Raises:
        ValueError: an unknown mode or layer, or a negative *k*.
    """
    start = time.perf_counter()
    _require_known(k, mode, layers)
    degraded: list[str] = []
    conn = _open(home.index, degraded)
    if conn is None:
        return Result(hits=(), degraded=tuple(degraded), ms=_since(start))
    legs: dict[str, _Leg] = {}
    hits: list[Hit] = []
    wanted = min(k, MAX_HITS)
    limit = min(max(settings.candidates, 3 * wanted), _MAX_CANDIDATES)
    words_ms = settings.lexical_deadline_ms if deadline_ms is None else deadline_ms
    vectors_ms = settings.vector_deadline_ms if deadline_ms is None else deadline_ms
    try:
        scope = _scope(conn, home, layers, audience)
        late = None
        if mode != "lexical":
            late = _vectors_begun(home.index, query, embedder, scope, limit)
        if mode != "vector":
            legs["lexical"] = _words(conn, query, scope, limit, settings, words_ms)
        if late is not None:
            legs["vector"] = late.result(vectors_ms - _since(start), vectors_ms)
        hits = _hits(conn, home, legs, settings, wanted, audience, exclude)
    except schema.DAMAGE as error:
        degraded.append(f"the index is damaged ({error}); run `memory reindex`")
    except schema.HINDRANCES as error:
        degraded.append(f"the index cannot be read now ({error}); nothing was searched")
    finally:
        conn.close()
    degraded += [leg.problem for leg in legs.values() if leg.problem]
    times = {name: leg.ms for name, leg in legs.items()}
    return Result(hits=tuple(hits), degraded=tuple(degraded), ms=_since(start), legs=times)


def _require_known(k: int, mode: str, layers: Sequence[str] | None) -> None:
    if k < 0:
        raise ValueError(f"k is {k}, wanted 0 to {MAX_HITS}")
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, wanted one of {', '.join(MODES)}")
    unknown = [layer for layer in layers or () if layer not in LAYERS]
    if unknown:
        raise ValueError(f"unknown layer {unknown[0]!r}, wanted some of {', '.join(LAYERS)}")


def _open(path: Path, degraded: list[str]) -> apsw.Connection | None:
    try:
        conn = schema.open_reader(path)
    except schema.Damaged as error:
        degraded.append(f"the index cannot be used: {error}; run `memory sync`")
        return None
    if conn is None:
        degraded.append("there is no index yet; run `memory sync`")
    return conn


def _scope(conn: apsw.Connection, home: Home, layers: Sequence[str] | None, audience: str) -> _Scope:
    codes = None if layers is None else tuple(sorted({LAYER_CODES[layer] for layer in layers}))
    if audience == Audience.owner:
        return _Scope(codes)
    readable = []
    folders: dict[str, bool] = {}
    for file, path in conn.execute("SELECT id, path FROM files"):
        folder, _, _ = path.rpartition("/")
        if not folder or path in home.manifest.audiences:
            allowed = home.may_read(path, audience)
        else:  # one question for each folder: no rule names this file itself
            if folder not in folders:
                folders[folder] = home.may_read(path, audience)
            allowed = folders[folder]
        if allowed:
            readable.append(file)
    return _Scope(codes, json.dumps(readable))


def _words(
    conn: apsw.Connection, query: str, scope: _Scope, limit: int, settings: RecallSettings, deadline_ms: float
) -> _Leg:
    """Passages, and whole files, that have words of the question, by BM25."""
    start = time.perf_counter()
    leg = _Leg()
    asked = question(query, limit=settings.question_terms).match
    if not asked:
        return leg
    where, values = _passage_filter(scope)
    sql = (
        f"SELECT pages.rowid, -bm25(pages, 1.0, ?, ?) AS score FROM pages {_JOIN if where else ''} "  # noqa: S608
        f"WHERE pages MATCH ? {where} ORDER BY score DESC LIMIT ?"
    )
    conn.set_progress_handler(lambda: _since(start) > deadline_ms, 1000)
    try:
        weights = (settings.heading_weight, settings.context_weight)
        leg.scores["lexical"] = dict(conn.execute(sql, (*weights, asked, *values, limit)))
        groups = "SELECT rowid, -bm25(groups) AS score FROM groups WHERE groups MATCH ? ORDER BY score DESC LIMIT ?"
        leg.scores["group"] = dict(conn.execute(groups, (asked, settings.groups)))
    except apsw.InterruptError:
        leg.problem = _late("lexical", deadline_ms)
    finally:
        conn.set_progress_handler(None)
    leg.ms = _since(start)
    return leg


_JOIN = "JOIN passages p ON p.id = pages.rowid"


def _passage_filter(scope: _Scope) -> tuple[str, tuple[object, ...]]:
    where, values = "", []
    if scope.layers is not None:
        where += f" AND p.layer IN ({', '.join(map(str, scope.layers))})"
    if scope.files is not None:
        where += " AND p.file IN (SELECT value FROM json_each(?))"
        values.append(scope.files)
    return where, tuple(values)


class _Late:
    """The vector leg, looking in a thread of its own; it is asked for its result once, and not waited for longer."""

    def __init__(self, look: Callable[[], _Leg]) -> None:
        self._look = look
        self._done = threading.Event()
        self._leg = _Leg()
        threading.Thread(target=self._run, daemon=True, name="recall-vectors").start()

    def result(self, wait_ms: float, limit_ms: float) -> _Leg:
        if self._done.wait(max(wait_ms, 0.0) / 1000):
            return self._leg
        return _Leg(problem=_late("vector", limit_ms), ms=limit_ms)

    def _run(self) -> None:
        start = time.perf_counter()
        try:
            self._leg = self._look()
        except Exception as error:  # noqa: BLE001 - a thread has no caller; the result says what happened
            self._leg = _Leg(problem=f"the vector leg failed: {error}; its hits are missing")
        self._leg.ms = _since(start)
        self._done.set()


def _vectors_begun(path: Path, query: str, embedder: Embedder | NoEmbedder | None, scope: _Scope, limit: int) -> _Late:
    def look() -> _Leg:
        if embedder is None:
            return _Leg(problem="no embedding model, words only; see `memory model`")
        if isinstance(embedder, NoEmbedder):
            return _Leg(problem=f"words only: {embedder.reason}")
        if not query.strip():
            return _Leg()
        conn = schema.open_reader(path)
        if conn is None:
            return _Leg()
        try:
            return _vectors(conn, query, embedder, scope, limit)
        finally:
            conn.close()

    return _Late(look)


def _vectors(conn: apsw.Connection, query: str, embedder: Embedder, scope: _Scope, limit: int) -> _Leg:
    """Passages, and turns with their neighbours, whose vectors are nearest to the question's, by cosine."""
    recorded = schema.meta(conn)
    if "model" not in recorded:
        return _Leg(problem="no passage has a vector yet, words only; run `memory sync`")
    if (problem := staleness(recorded, embedder)) is not None:
        return _Leg(problem=f"{problem}; words only until then")
    text = query[:_EMBEDDED_CHARS].encode("utf-8", "replace").decode("utf-8")
    vector = embedder.embed_query(text).tobytes()
    where, values = _vector_filter(scope)
    found: dict[str, dict[int, float]] = {}
    whole: dict[int, float] = {}
    turns_wanted = scope.layers is None or _SESSIONS in scope.layers  # nothing else has neighbours
    for leg_name, table in (("vector", "vectors"), *((("window", "windows"),) if turns_wanted else ())):
        sql = f"SELECT passage, layer, 1.0 - distance FROM {table} WHERE embedding MATCH ? AND k = ? {where}"  # noqa: S608
        rows = schema.rows(conn, sql, (vector, min(limit, _MAX_NEIGHBOURS), *values))
        found[leg_name] = {passage: score for passage, _, score in rows}
        whole |= {passage: score for passage, layer, score in rows if layer != _SESSIONS}
    found.setdefault("window", {}).update(whole)  # what has no neighbours is its own window
    return _Leg(scores=found)


def _vector_filter(scope: _Scope) -> tuple[str, tuple[object, ...]]:
    where, values = "", []
    if scope.layers is not None:
        where += f" AND layer IN ({', '.join(map(str, scope.layers))})"
    if scope.files is not None:
        where += " AND passage IN (SELECT p.id FROM passages p JOIN json_each(?) readable ON readable.value = p.file)"
        values.append(scope.files)
    return where, tuple(values)


_SELECT_PLACES = """
SELECT p.id, p.file, p.source, f.path FROM passages p JOIN files f ON f.id = p.file
WHERE p.id IN (SELECT value FROM json_each(?))
"""
_SELECT_TEXT = """
SELECT p.text, p.ts, p.session, p.name, p.role, p.heading, f.layer FROM passages p JOIN files f ON f.id = p.file
WHERE p.id = ?
"""


def _hits(
    conn: apsw.Connection,
    home: Home,
    legs: Mapping[str, _Leg],
    settings: RecallSettings,
    wanted: int,
    audience: str,
    exclude: Collection[str],
) -> list[Hit]:
    """The best *wanted* of what was found, one hit for each address: its best part."""
    raw = {name: scores for leg in legs.values() for name, scores in leg.scores.items()}
    groups = raw.pop("group", {})
    candidates = json.dumps(sorted({passage for scores in raw.values() for passage in scores}))
    places = {row[0]: row[1:] for row in schema.rows(conn, _SELECT_PLACES, (candidates,))}
    scaled = {name: (by_best if name == "lexical" else by_range)(scores) for name, scores in raw.items()}
    scaled["group"] = by_best({passage: groups.get(place[0], 0.0) for passage, place in places.items()})
    weights = {
        "lexical": settings.lexical_weight,
        "group": settings.group_weight,
        "vector": settings.vector_weight,
        "window": settings.window_weight,
    }
    fused = fuse(scaled, weights)
    hits: dict[str, Hit] = {}
    hidden: dict[str, bool] = {}
    for passage in sorted(places, key=lambda passage: (-fused[passage], places[passage][1])):
        _, source, path = places[passage]
        if path not in hidden:
            hidden[path] = path in exclude or not home.may_read(path, audience)
        if len(hits) >= wanted:
            break
        if source in hits or hidden[path] or source in exclude or session_of(source) in exclude:
            continue
        ((text, ts, session, name, role, heading, layer),) = schema.rows(conn, _SELECT_TEXT, (passage,))
        hits[source] = Hit(
            source=source, score=fused[passage], text=text, layer=layer, ts=ts, path=path, session=session,
            name=name, role=role, heading=heading,
            parts={leg: scores[passage] for leg, scores in scaled.items() if passage in scores},
        )  # fmt: skip
    return list(hits.values())


def _late(name: str, deadline_ms: float) -> str:
    return f"the {name} leg was not done within {deadline_ms:g} ms; its hits are missing"


def _since(start: float) -> float:
    """Milliseconds since *start*."""
    return (time.perf_counter() - start) * 1000
