"""Search: the passages of the index that fit a query best, with their addresses.

Two retrievers run at the same time, one by words and one by vectors, each with its own deadline
(``recall.search.retrievers``). Their candidates are read together with their surroundings and ranked by one sum
(``recall.search.reranking``). A result that a retriever did not have in time is named in ``degraded``. No query makes a
search fail.

By session, one hit stands for a whole conversation or file, with a score of its own (``recall.search.sessions``).

An entry that another one supersedes follows just below it (``recall.search.supersession``), even if only the older one
fits the query. Hits of entries say what became of them (``recall.search.standing``). Hits that say the same can be
collapsed into one (``recall.search.duplicates``).

A search returns no passage that the audience may not read, at most ``MAX_HITS`` hits and one hit for each address. The
order is the same every time: equal scores are ordered by address.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from agent_home.audience import Audience
from agent_home.documents.standing import Standing
from agent_home.home import Home

from ..embedding.embedder import Embedder, NoEmbedder
from ..index.context_window import ContextWindows
from ..index.passage import LAYERS, session_of
from ..index.passage_rows import LAYER_CODES
from ..index.reader import IndexReader, IndexUnreadable
from ..index.store import IndexStore, index_store
from ..settings import RecallSettings
from ..text.dates import periods
from ..text.terms import QUERY_CHARS, Query, parse_query
from .duplicates import group_duplicates, representative
from .relevance import MatchStrength, is_relevant
from .reranking import QueryFeatures, Ranking, RankingWeights, leading, rank
from .retrievers import (
    CANDIDATES,
    NEAREST,
    QUERY_TERMS,
    LexicalResult,
    Scope,
    VectorResult,
    elapsed_ms,
    retrieve_by_words,
    start_vector_retrieval,
)
from .sessions import PASSAGES_PER_SESSION, rank_sessions, speakers_of
from .standing import ENTRY_LAYERS, EntryStandings, FoundEntry
from .supersession import apply_supersession

__all__ = [
    "DUPLICATES",
    "MAX_HITS",
    "MODES",
    "UNITS",
    "Duplicates",
    "Hit",
    "Mode",
    "SearchResult",
    "Unit",
    "candidates",
    "search",
]

Mode = Literal["hybrid", "lexical", "vector"]
MODES: tuple[Mode, ...] = ("hybrid", "lexical", "vector")
Duplicates = Literal["show", "collapse"]
DUPLICATES: tuple[Duplicates, ...] = ("show", "collapse")
Unit = Literal["passage", "session"]
UNITS: tuple[Unit, ...] = ("passage", "session")
MAX_HITS = 1000
#: Most candidates of one retriever, however many hits are requested. A turn may have several parts.
_MAX_CANDIDATES = 3000
#: Times as many candidates are read when only earlier passages may be hits.
_EARLIER = 5
#: Passages read at once while hits are collected: enough for the ten hits of most searches.
_PAGE = 32
#: Milliseconds that the vectors have for themselves when the words are in memory. Two threads that call numpy in turn
#: take longer than one after the other.
_ALONE_MS = 20.0
_NO_PARTS: Mapping[str, float] = MappingProxyType({})
#: Milliseconds to wait for the other retriever when this one met a damaged index.
_THREAD_END_MS = 10_000.0


class Hit(NamedTuple):
    """A passage that was found. *source* is its address.

    *parts* are the unweighted parts of its score, mostly from 0 to 1. *also* has the addresses of further hits that say
    the same, when those are collapsed. Then *score* is the best of them all, and *parts* are the passage's own.
    *standing* says what became of an entry, or of one that says the same. It is ``None`` for any other passage.

    A prompt makes a thousand hits, and a named tuple is made in half of the time of a frozen dataclass.
    """

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
    parts: Mapping[str, float] = _NO_PARTS
    also: tuple[str, ...] = ()
    standing: Standing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Hits, best first. *retriever_ms* has the milliseconds of each retriever. *degraded* names missing results.

    *without_words* is true when no passage that was searched holds a word of the query, so that hits are only near in
    meaning. *relevant* is false when the best passages fit the query no better than chance
    (:mod:`recall.search.relevance`).
    """

    hits: tuple[Hit, ...]
    without_words: bool = False
    relevant: bool = True
    degraded: tuple[str, ...] = ()
    ms: float = 0.0
    retriever_ms: dict[str, float] = field(default_factory=dict)


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
    now: datetime | None = None,
    before: str = "",
    duplicates: Duplicates = "show",
    unit: Unit = "passage",
    weights: RankingWeights | None = None,
    with_parts: bool = True,
) -> SearchResult:
    """Return the *k* best passages for *query* among those that *audience* may read.

    *layers* narrows the search to some of :data:`recall.index.passage.LAYERS`. ``None`` means all. *exclude* names
    addresses, sessions or files to leave out. *deadline_ms* replaces the deadlines of both retrievers. *now* gives
    "yesterday" in the query a meaning. Without it such words are ignored. *before* is an ISO 8601 time. What was said
    at that time or later is left out. With *duplicates* ``collapse`` one hit stands for all that say the same, and the
    *k* best statements are returned. With *unit* ``session`` one hit stands for each conversation or file, and
    *duplicates* does not matter. *weights* replace those that *settings* imply. *with_parts* adds the parts of scores.

    Raises:
        ValueError: an unknown mode, layer, unit or way with duplicates, or a negative *k*.
    """
    start = time.perf_counter()
    _require_known(k, mode, layers, duplicates, unit)
    degraded, words, vectors, hits = list[str](), LexicalResult(), VectorResult(), tuple[Hit, ...]()
    relevant = True
    count = min(k * (PASSAGES_PER_SESSION if unit == "session" else 1), MAX_HITS)
    limit, store = _candidate_limit(count, before), index_store(home)
    asked = _Asked(query, parse_query(query, limit=QUERY_TERMS), mode, embedder)
    try:
        with store.reading() as reader:
            if reader is None:
                return _unsearched("there is no index yet. Run `memory sync`", start)
            scope = _scope(reader, home, layers, audience)
            words, vectors = _retrieve(reader, store, asked, scope, limit, settings, deadline_ms)
            found, features = candidates(words, vectors, limit), _query_features(asked, words, now)
            windows = reader.windows(found)
            ranking = rank(windows, features, words.groups, vectors.nearest, weights or RankingWeights.of(settings))
            relevant = mode == "vector" or is_relevant(_match_strength(ranking, features, words, vectors))
            limits = _Limits(home, layers, audience, frozenset(exclude), before)
            ordered = apply_supersession(reader, windows, ranking)
            ranked = _Ranked(reader, windows, ordered, EntryStandings(reader), with_parts)
            if unit == "session":
                hits = _by_session(ranked, count, limits, _moment(before, now))[:k]
            else:
                hits = _best_hits(ranked, count, limits, duplicates)
    except IndexUnreadable as error:
        degraded.append(str(error))
    found_now = _result(hits, words, vectors, degraded, mode, start, asked=bool(asked.parsed.match))
    return replace(found_now, relevant=relevant)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Passages that were ranked, and what their hits are made from."""

    reader: IndexReader
    windows: ContextWindows
    ranking: Ranking
    standings: EntryStandings
    with_parts: bool


def _best_hits(ranked: _Ranked, count: int, limits: _Limits, duplicates: Duplicates) -> tuple[Hit, ...]:
    """Return the *count* best passages or statements, with what newer entries say of them."""
    found = _with_standings(ranked.standings, _hits(ranked, count, limits), limits)
    return tuple(islice(found, count) if duplicates == "show" else _collapsed(ranked.standings, found, count))


def _unsearched(problem: str, start: float) -> SearchResult:
    return SearchResult(hits=(), degraded=(problem,), ms=elapsed_ms(start))


def _result(
    hits: tuple[Hit, ...], words: LexicalResult, vectors: VectorResult, degraded: Sequence[str], mode: Mode,
    start: float, *, asked: bool,
) -> SearchResult:  # fmt: skip
    """Return *hits* with the times and problems of both retrievers. *asked* says that the query has words to find."""
    problems = [found.problem for found in (words, vectors) if found.problem]
    times = {name: ms for name, ms in (("lexical", words.ms), ("vector", vectors.ms)) if mode in {name, "hybrid"}}
    looked = mode != "vector" and asked and not words.problem
    return SearchResult(
        hits=hits, without_words=looked and not words.passages, degraded=(*degraded, *problems), ms=elapsed_ms(start),
        retriever_ms=times,
    )  # fmt: skip


def _candidate_limit(count: int, before: str) -> int:
    """Return how many candidates each retriever returns for *count* hits. With *before*, most may be later."""
    limit = min(max(CANDIDATES, 3 * count), _MAX_CANDIDATES)
    return min(_EARLIER * limit, _MAX_CANDIDATES) if before else limit


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query, as it was written and as FTS5 reads it, and what answers it."""

    query: str
    parsed: Query
    mode: Mode
    embedder: Embedder | NoEmbedder | None


def _retrieve(
    reader: IndexReader,
    store: IndexStore,
    asked: _Asked,
    scope: Scope,
    limit: int,
    settings: RecallSettings,
    deadline_ms: float | None,
) -> tuple[LexicalResult, VectorResult]:
    """Ask both retrievers at the same time, each with the deadline of *settings* or both with *deadline_ms*."""
    start = time.perf_counter()
    own = (settings.lexical_deadline_ms, settings.vector_deadline_ms)
    words_ms, vectors_ms = own if deadline_ms is None else (deadline_ms, deadline_ms)
    words, vectors, late = LexicalResult(), VectorResult(), None
    if asked.mode != "lexical":
        kept = reader.resident
        late = start_vector_retrieval(store, asked.query, asked.embedder, scope, max(limit, NEAREST), keep=kept)
        if kept:
            late.wait(min(_ALONE_MS, vectors_ms))
    try:
        if asked.mode != "vector":
            words = retrieve_by_words(reader, asked.parsed, scope, limit, words_ms)
    except Exception:
        if late is not None:  # a process that ends while a thread loads the model is aborted
            late.result(_THREAD_END_MS, _THREAD_END_MS)
        raise
    if late is not None:
        vectors = late.result(vectors_ms - elapsed_ms(start), vectors_ms)
    return words, vectors


def candidates(words: LexicalResult, vectors: VectorResult, limit: int) -> list[int]:
    """Return the passages whose surroundings are ranked: the best *limit* of each list."""
    found = dict.fromkeys(words.passages)
    if vectors.nearest is not None:
        for scores in (vectors.nearest.windows, vectors.nearest.passages):
            found |= dict.fromkeys(islice(scores, limit))
    return list(found)


def _query_features(asked: _Asked, words: LexicalResult, now: datetime | None) -> QueryFeatures:
    """Return the query as the ranking reads it.

    Vectors alone must show what they can do, so that mode passes nothing on, whatever the script.
    """
    if asked.mode == "vector":
        return QueryFeatures()
    return QueryFeatures(
        terms=words.terms,
        mean_words=words.mean_words,
        first_person=asked.parsed.first_person,
        chinese=asked.parsed.chinese,
        cjk=asked.parsed.cjk,
        periods=periods(asked.query[:QUERY_CHARS], now.date() if now else None),
    )


def _match_strength(
    ranking: Ranking, query: QueryFeatures, words: LexicalResult, vectors: VectorResult
) -> MatchStrength:
    """Return what speaks for the best passages. The model's vectors say little about a question in another script."""
    nearest = vectors.nearest
    cjk = query.chinese + query.cjk > 0
    read = nearest is not None and not cjk
    cosines = (*nearest.passages.values(), *nearest.windows.values()) if nearest is not None and read else ()
    return MatchStrength(
        information=ranking.information, cosine=max(cosines, default=0.0) if read else None, passages=words.indexed,
        cjk=cjk, dated=bool(query.periods),
    )  # fmt: skip


def _require_known(k: int, mode: str, layers: Sequence[str] | None, duplicates: str, unit: str) -> None:
    if k < 0:
        raise ValueError(f"k is {k}, expected 0 to {MAX_HITS}")
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, expected one of {', '.join(MODES)}")
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates is {duplicates!r}, expected one of {', '.join(DUPLICATES)}")
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}, expected one of {', '.join(UNITS)}")
    unknown = [layer for layer in layers or () if layer not in LAYERS]
    if unknown:
        raise ValueError(f"unknown layer {unknown[0]!r}, expected some of {', '.join(LAYERS)}")


def _scope(reader: IndexReader, home: Home, layers: Sequence[str] | None, audience: str) -> Scope:
    codes = None if layers is None else tuple(sorted({LAYER_CODES[layer] for layer in layers}))
    if audience == Audience.owner:
        return Scope(codes)
    readable = []
    folders: dict[str, bool] = {}
    for file, path in reader.files():
        folder, _, _ = path.rpartition("/")
        if not folder or path in home.manifest.audiences:
            allowed = home.may_read(path, audience)
        else:  # one check for each folder, because no rule names this file itself
            if folder not in folders:
                folders[folder] = home.may_read(path, audience)
            allowed = folders[folder]
        if allowed:
            readable.append(file)
    return Scope(codes, json.dumps(readable))


@dataclass(slots=True)
class _Limits:
    """Limits of a search: some layers, the files that an audience may read, and the time before which it was said."""

    home: Home
    layers: Sequence[str] | None
    audience: str
    exclude: Collection[str]
    before: str
    _hidden: dict[str, bool] = field(default_factory=dict)

    def hides(self, source: str, path: str) -> bool:
        """Return whether the passage at *source* of the file *path* is no hit."""
        if path not in self._hidden:
            self._hidden[path] = path in self.exclude or not self.home.may_read(path, self.audience)
        hidden = self._hidden[path]
        return hidden or (bool(self.exclude) and (source in self.exclude or session_of(source) in self.exclude))

    def allow(self, entry: FoundEntry) -> bool:
        """Return whether *entry* may be a hit."""
        inside = self.layers is None or entry.layer in self.layers
        return inside and not self.hides(entry.source, entry.path) and not self.is_late(entry.ts)

    def is_late(self, ts: str) -> bool:
        return bool(self.before) and not ts < self.before


def _hits(ranked: _Ranked, count: int, limits: _Limits) -> Iterator[Hit]:
    """Yield the hits, best first, one for each address: its best part. The caller reads about *count* of them.

    They have their own standings already.
    """
    yielded, standing_of = set[str](), ranked.standings.of
    all_parts = ranked.ranking.parts if ranked.with_parts else {}
    for place, score, row in _in_order(ranked, count):
        source, path, text, ts, session, name, role, heading, layer = row
        if source in yielded or limits.hides(source, path) or limits.is_late(ts):
            continue
        yielded.add(source)
        yield Hit(
            source=source, score=score, text=text, layer=layer, ts=ts, path=path,
            session=session, name=name, role=role, heading=heading,
            parts={part: round(float(values[place]), 6) for part, values in all_parts.items()} or _NO_PARTS,
            standing=standing_of(text, layer) if layer in ENTRY_LAYERS else None,
        )  # fmt: skip


def _with_standings(standings: EntryStandings, hits: Iterator[Hit], limits: _Limits) -> Iterator[Hit]:
    """Yield *hits*, and the newest statement before an entry that it supersedes."""
    yielded: set[str] = set()
    for hit in hits:
        newest = None if hit.standing is None else standings.newest(hit.standing)
        if newest is not None and newest.source not in yielded and limits.allow(newest):
            yielded.add(newest.source)
            yield Hit(
                source=newest.source, score=hit.score, text=newest.text, layer=newest.layer, ts=newest.ts,
                path=newest.path, heading=newest.heading, parts=hit.parts, standing=newest.standing,
            )  # fmt: skip
        if hit.source not in yielded:
            yielded.add(hit.source)
            yield hit


def _by_session(ranked: _Ranked, count: int, limits: _Limits, moment: datetime | None) -> tuple[Hit, ...]:
    """Return the best hit of each session or file, in the order and with the score of the whole."""
    found = [*islice(_hits(ranked, count, limits), count)]
    numbers = ranked.reader.file_numbers({hit.path for hit in found})
    files = {number: path for path, number in numbers.items()}
    speakers = {files[file]: names for file, names in speakers_of(ranked.windows, files).items()}
    return tuple(hit._replace(score=score) for hit, score in rank_sessions(found, speakers, moment))


def _moment(before: str, now: datetime | None) -> datetime | None:
    """Return when the question is asked."""
    try:
        return datetime.fromisoformat(before) if before else now
    except ValueError:
        return now


def _collapsed(standings: EntryStandings, found: Iterator[Hit], count: int) -> list[Hit]:
    """Return one hit for each statement, in the place of the best hit that makes it.

    A turn may bring a superseded entry to a better place than its successor has. The successor then stands before it.
    """
    hits = [_standing_for(group) if len(group) > 1 else group[0] for group in group_duplicates(found, count)]
    if all(hit.standing is None or hit.standing.ended != "superseded" for hit in hits):
        return hits
    places: dict[str, int] = {}
    for place, hit in enumerate(hits):
        for source in (hit.source, *hit.also):
            path, _, name = source.partition("#")
            if path.endswith(".md"):
                places.setdefault(name, place)
    ordered: dict[int, Hit] = {}
    for place, hit in enumerate(hits):
        newer = (places[name] for name in standings.successors(hit.standing) if name in places)
        for moved in (*newer, place) if place not in ordered else ():
            if moved not in ordered:
                ordered[moved] = hits[moved]._replace(score=max(hit.score, hits[moved].score))
    return [*ordered.values()]


def _standing_for(group: Sequence[Hit]) -> Hit:
    """Return the hit that represents *group*. A claim that an entry of the group took back is taken back."""
    best = representative(group)
    retracted = (hit.standing for hit in group if hit.standing is not None and hit.standing.ended == "retracted")
    return best._replace(
        score=group[0].score, also=tuple(hit.source for hit in group if hit is not best),
        standing=next(retracted, best.standing),
    )  # fmt: skip


def _in_order(ranked: _Ranked, count: int) -> Iterator[tuple[int, float, tuple[Any, ...]]]:
    """Yield the place on the windows of each hit, its score and its row, best first, equals by address."""
    total = ranked.ranking.total
    places = np.flatnonzero(ranked.ranking.found)
    size = max(_PAGE, count + count // 4)
    while len(places):
        page = places[leading(total[places], size)]
        ids = ranked.windows.ids[page].tolist()
        known = ranked.reader.texts(ids)
        found = zip(page.tolist(), total[page].tolist(), map(known.__getitem__, ids), strict=True)
        yield from sorted(found, key=lambda hit: (-hit[1], hit[2][0], hit[0]))
        places = places[total[places] < total[page[-1]]]
        size = max(_PAGE, count // 4)
