"""Assembling a prompt: context files, daily log and recall, steadiest first, inside one budget.

The same files and the same arguments give the same text, byte for byte. What fails on the way (a file that cannot be
read, an index, a model) is left out and named in the receipt; the prompt still comes.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial

from agent_home.audience import Audience
from agent_home.errors import DocumentInvalid
from agent_home.home import MEMORY, Home
from agent_home.tokens import count_tokens

from .budget import Budget, advice, budget_for
from .context import Section, fit, load
from .errors import WindowTooSmall
from .file_screening import Gate
from .layers import Answer, Searcher, ask
from .prefix_stability import unchanged_tokens
from .progressive import progressive
from .recall_section import Packed, Passage, pack_knowledge, pack_sessions
from .receipt import EntryLine, LayerLine, Receipt, SectionLine
from .resume_hint import Continued, fenced, resume_hint
from .section import Count, Piece, cut_piece, make_piece, neutral
from .settings import AssemblerSettings
from .sources import Reading, Sources

__all__ = ["Request", "assemble"]

OPEN, CLOSE = "<agent-home>\n", "</agent-home>\n"
#: Passages that each layer is offered; what of them fits is shown.
_OFFERED = {"L2": 100, "L3": 40, "L4": 40}
_HINT_TOKENS = 120
#: Kept free of today's log for the line that says that yesterday's did not fit.
_NOTICE_TOKENS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a prompt is for: a first *message*, a model's *window* of which *used* tokens are taken, an *audience*.

    *session* is the session that will use it, so that it is not recalled to itself; *continued* the one that it takes
    up; *at* a revision of the home.
    """

    now: datetime
    message: str = ""
    window: int = 0  # 0: the setting
    used: int = 0
    audience: str = "owner"
    session: str = ""
    continued: Continued | None = None
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rooms:
    """The budget by part. The same with and without a message, so that the prefix is the same."""

    context: int
    daily: int
    hint: int
    sessions: int
    knowledge: int


@dataclass(slots=True, kw_only=True)
class _Draft:
    """The prompt in the making: what it is for, its texts in prompt order, and what the receipt will say."""

    home: Home
    request: Request
    settings: AssemblerSettings
    count: Count
    searcher: Searcher | None
    stable: list[str] = field(default_factory=list)
    moving: list[str] = field(default_factory=list)
    sections: list[SectionLine] = field(default_factory=list)
    entries: list[EntryLine] = field(default_factory=list)
    layers: dict[str, LayerLine] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)


def assemble(home: Home, request: Request, searcher: Searcher | None = None) -> Receipt:
    """The prompt for *request*, with its receipt.

    *searcher* finds passages; without one, layers 2 to 4 do without recall and the receipt says so.

    An audience that is not known reads nothing, and the receipt says so.

    Raises:
        WindowTooSmall: the window leaves no room.
        SettingsInvalid: ``agent.toml`` cannot be read.
        HistoryError: *at* names no revision.
    """
    settings = home.manifest.settings("assembler", AssemblerSettings)
    count = _counter(settings.vocabulary)
    budget = budget_for(request.window or settings.window, request.used, settings)
    if budget.tokens < count(OPEN + CLOSE):
        raise WindowTooSmall(budget.window, budget.used)
    rooms = _rooms(budget, settings, count)
    gate = Gate(home)
    sources = Sources(home, request.audience, gate, request.at)
    draft = _Draft(home=home, request=request, settings=settings, count=count, searcher=searcher)
    if request.audience not in set(Audience):
        draft.degraded.append(f"audience {request.audience!r} reads nothing; known are {', '.join(Audience)}")
    if request.at and request.message:
        from .past_memory import PastSearcher

        draft.searcher = PastSearcher(home, sources)

    started = time.perf_counter()
    sections = fit(load(home, sources, count), rooms.context, count, memory_first=settings.memory_first)
    draft.layers["L1"] = LayerLine(ms=_ms_since(started), tokens=0)
    _context(draft, sections)
    shown = _daily(draft, sources, rooms.daily)
    if request.continued is not None:
        rooms = _continued(draft, rooms, request.continued)
    elif not request.at and home.may_read("sessions/", request.audience):
        _open_session(draft, gate, rooms.hint)
    gate.remember()
    _recall(draft, rooms, shown)
    return _receipt(draft, budget)


@lru_cache(maxsize=8)
def _counter(vocabulary: str) -> Count:
    """The same object for the same vocabulary, so that pieces made with it are found again."""
    return partial(count_tokens, vocabulary=vocabulary)


def _rooms(budget: Budget, settings: AssemblerSettings, count: Count) -> _Rooms:
    daily = min(int(budget.tokens * settings.daily_share), settings.daily_tokens)
    sessions = min(int(budget.tokens * settings.sessions_share), settings.sessions_tokens)
    knowledge = min(int(budget.tokens * settings.knowledge_share), settings.knowledge_tokens)
    hint = min(_HINT_TOKENS, budget.tokens // 20)
    taken = daily + sessions + knowledge + hint + count(OPEN) + count(CLOSE)
    return _Rooms(context=max(0, budget.tokens - taken), daily=daily, hint=hint, sessions=sessions, knowledge=knowledge)


def _context(draft: _Draft, sections: Sequence[Section]) -> None:
    """Layer 1, and layer 2 for a MEMORY.md over its share."""
    draft.layers["L2"] = LayerLine(ms=0.0, tokens=0)
    for section in sections:
        if section.reading.failed:
            draft.degraded.append(section.reading.reason)
        _name_blocked(draft, section.path, section.reading)
        draft.entries += section.superseded_lines()
        if section.file.file == MEMORY and section.cut and any(unit.entry_id for unit in section.whole.units):
            _progressive(draft, section)
            continue
        _add(draft.stable, section.piece.text)
        draft.sections.append(section.line())
        draft.entries += section.entry_lines()
    tokens = sum(line.tokens for line in draft.sections if line.action != "indexed")
    draft.layers["L1"] = replace(draft.layers["L1"], tokens=tokens)


def _name_blocked(draft: _Draft, path: str, reading: Reading) -> None:
    """Say in the receipt what of a file the guard would not have in a prompt."""
    draft.entries += reading.blocked
    draft.degraded += [reading.problem] if reading.problem else []
    blocked = [f"{line.id} ({line.reason})" for line in reading.blocked if line.action == "blocked"]
    if blocked:
        draft.degraded.append(f"{path}: blocked by the guard: {', '.join(blocked)}; `memory doctor` says what to do")


def _progressive(draft: _Draft, section: Section) -> None:
    count = draft.count
    answer = _ask(draft, "L2")
    scores = {hit.source.partition("#")[2]: round(hit.score, 4) for hit in answer.hits}
    started = time.perf_counter()
    parts = progressive(section.whole, section.share, scores or None, draft.settings, count)
    _add(draft.stable, parts.stable)
    _add(draft.moving, parts.selected)
    actions = Counter(line.action for line in parts.lines)
    reason = f"over its share of {section.share} tokens: {actions['kept']} of {len(parts.lines)} entries in full, "
    reason += f"{actions['indexed']} by index line, {actions['dropped']} not at all"
    action = "indexed" if actions["kept"] or actions["indexed"] else "dropped"
    draft.sections.append(replace(section.line(), tokens=parts.tokens, action=action, reason=reason))
    draft.entries += parts.lines
    ms = round(answer.line.ms + _ms_since(started), 2)
    draft.layers["L2"] = LayerLine(ms=ms, tokens=parts.tokens, degraded=answer.line.degraded)


def _daily(draft: _Draft, sources: Sources, tokens: int) -> dict[str, str]:
    """The daily log of yesterday and today, as much of the newest as fits; returns the text shown, by path."""
    found = sources.daily(draft.request.now.date())
    draft.degraded += [reading.reason for _, reading in found if reading.failed]
    for path, reading in found:
        _name_blocked(draft, path, reading)
    logs = [(path, reading.text) for path, reading in found if reading.text]
    shown: dict[str, str] = {}
    room = tokens
    for left, (path, text) in zip(range(len(logs) - 1, -1, -1), reversed(logs), strict=True):
        name = f"Daily log {path[-13:-3]}"
        piece = make_piece(name, text, "oldest-first", draft.count)
        hint = f"`memory search --in daily`, or {path}"
        cut = cut_piece(piece, room - left * _NOTICE_TOKENS, draft.count, hint=hint)
        room -= cut.tokens
        shown[path] = cut.text
        reason = "one of the last two days" if not cut.dropped else f"{len(cut.dropped)} parts over the daily share"
        draft.sections.append(
            SectionLine(name=name, tokens=cut.tokens, full_tokens=piece.tokens, action=_action(cut), reason=reason)
        )
    for text in reversed(shown.values()):
        _add(draft.moving, text)
    return shown


def _continued(draft: _Draft, rooms: _Rooms, continued: Continued) -> _Rooms:
    """What the continued session came to, in the rooms of the hint and of recalled sessions; the rooms that are left.

    The prefix does not depend on it.
    """
    room = rooms.hint + rooms.sessions
    readable = draft.home.may_read("sessions/", draft.request.audience)
    text = fenced(continued, room, draft.count) if readable else ""
    tokens = draft.count(text)
    _add(draft.moving, text)
    reason = "a session is continued" if text else f"over its room of {room} tokens"
    reason = reason if readable else f"not for the audience {draft.request.audience}"
    draft.sections.append(
        SectionLine(
            name="Resumed session", tokens=tokens, full_tokens=tokens, action="kept" if text else "dropped",
            reason=reason,
        )
    )  # fmt: skip
    return replace(rooms, sessions=rooms.sessions - max(0, tokens - rooms.hint))


def _open_session(draft: _Draft, gate: Gate, tokens: int) -> None:
    request = draft.request
    try:
        hint = resume_hint(draft.home, request.now, draft.settings.resume_days, request.session, gate)
    except (DocumentInvalid, OSError) as error:
        draft.degraded.append(f"whether a session was left open is not known: {error}")
        return
    cost = draft.count(hint)
    if not hint:
        return
    fits = cost <= tokens
    if fits:
        _add(draft.moving, hint)
    draft.sections.append(
        SectionLine(
            name="Open session", tokens=cost if fits else 0, full_tokens=cost, action="kept" if fits else "dropped",
            reason="a session was left open" if fits else f"over its room of {tokens} tokens",
        )
    )  # fmt: skip


def _recall(draft: _Draft, rooms: _Rooms, daily: Mapping[str, str]) -> None:
    """Layers 3 and 4: only for a first message. What the daily log shows is not repeated."""
    for layer, room in (("L3", rooms.sessions), ("L4", rooms.knowledge)):
        answer = _ask(draft, layer)
        started = time.perf_counter()
        hits = [hit for hit in answer.hits if not _shown(hit, daily)]
        if layer == "L3":
            cutoff = draft.settings.sessions_cutoff
            packed = pack_sessions(hits, room, draft.count, turns=answer.turns, cutoff=cutoff)
        else:
            packed = pack_knowledge(hits, room, draft.count)
        tokens = draft.count(packed.text)
        _add(draft.moving, packed.text)
        draft.entries += packed.lines
        draft.layers[layer] = replace(answer.line, ms=round(answer.line.ms + _ms_since(started), 2), tokens=tokens)
        draft.sections.append(_recall_line(layer, draft.request, answer, packed, tokens))


def _ask(draft: _Draft, layer: str) -> Answer:
    request, settings = draft.request, draft.settings
    deadlines = {"L2": settings.selective_ms, "L3": settings.sessions_ms, "L4": settings.knowledge_ms}
    return ask(
        draft.searcher,
        layer,
        request.message,
        k=_OFFERED[layer],
        audience=request.audience,
        now=request.now,
        deadline_ms=deadlines[layer],
        exclude=[name for name in (request.session, request.continued and request.continued.session) if name],
    )


def _shown(hit: Passage, daily: Mapping[str, str]) -> bool:
    """Whether every line of a passage of the daily log stands in the part of it that is shown."""
    text = daily.get(hit.source.partition("#")[0])
    if text is None:
        return False
    lines = {line.strip() for line in text.splitlines()}
    return all(line.strip() in lines for line in neutral(hit.text).splitlines())


def _recall_line(layer: str, request: Request, answer: Answer, packed: Packed, tokens: int) -> SectionLine:
    name = {"L3": "Recalled sessions", "L4": "Recalled knowledge"}[layer]
    if tokens:
        found = [line for line in packed.lines if line.score is not None]
        kept = sum(1 for line in found if line.action == "kept")
        beside = sum(1 for line in packed.lines if line.score is None and line.action == "kept")
        reason = f"{kept} of {len(found)} passages found" + (f", {beside} turns beside them" if beside else "")
    elif not request.message.strip():
        reason = "no message"
    else:
        reason = "; ".join(answer.line.degraded) or "nothing found"
    action = "kept" if tokens else "dropped"
    return SectionLine(name=name, tokens=tokens, full_tokens=tokens, action=action, reason=reason)


def _receipt(draft: _Draft, budget: Budget) -> Receipt:
    text, tokens = _joined(draft, budget.tokens)
    whole = partial(_whole, draft.settings.vocabulary)
    left_out = [line for line in draft.entries if line.action != "kept" and line.score is not None]
    left_out.sort(key=lambda line: (-(line.score or 0.0), line.id))
    degraded = [*draft.degraded, *_by_layers(draft.layers)]
    unchanged = None
    if not draft.request.at:  # nobody sends a prompt of the past to a model
        parts = [OPEN, *draft.stable, *draft.moving]
        unchanged = unchanged_tokens(draft.home, f"{draft.request.audience} {budget.window}", parts, whole)
    return Receipt(
        text=text,
        tokens=tokens,
        budget=budget.tokens,
        tier=budget.tier,
        window=budget.window,
        advice=advice(tokens, budget.window),
        sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        stable_prefix_tokens=whole("".join([OPEN, *draft.stable])),
        unchanged_prefix_tokens=unchanged,
        sections=tuple(draft.sections),
        entries=tuple(draft.entries),
        layers=draft.layers,
        near_misses=tuple(left_out[: draft.settings.near_misses]),
        degraded=tuple(dict.fromkeys(degraded)),
        load_ms=round(draft.searcher.load_ms, 2) if draft.searcher else 0.0,
    )


def _by_layers(layers: Mapping[str, LayerLine]) -> Iterator[str]:
    """What is degraded, each thing once, with the layers that it concerns."""
    found: dict[str, list[str]] = {}
    for name, line in layers.items():
        for text in line.degraded:
            found.setdefault(text, []).append(name)
    return (f"{', '.join(names)}: {text}" for text, names in found.items())


def _joined(draft: _Draft, budget_tokens: int) -> tuple[str, int]:
    """The prompt and its tokens. Should parts ever cost more together than apart, the last part gives way.

    The prefix, mostly the same from prompt to prompt, is counted apart from the rest: together they never cost more.
    """
    while True:
        prefix, rest = "".join([OPEN, *draft.stable]), "".join([*draft.moving, CLOSE])
        tokens = _whole(draft.settings.vocabulary, prefix) + draft.count(rest)
        if tokens <= budget_tokens:
            return prefix + rest, tokens
        gone = (draft.moving or draft.stable).pop()
        draft.degraded.append(f"a part of {draft.count(gone)} tokens was left out: over the budget")


@lru_cache(maxsize=64)
def _whole(vocabulary: str, text: str) -> int:
    """Counts of long texts that a warm process meets again: the prefix, above all."""
    return count_tokens(text, vocabulary=vocabulary)


def _add(parts: list[str], text: str) -> None:
    """Append *text* as a part that ends in a blank line; an empty text adds nothing."""
    if text:
        parts.append(text.rstrip("\r\n") + "\n\n")


def _action(piece: Piece) -> str:
    if not piece.units:
        return "dropped"
    return "cut" if piece.dropped else "kept"


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
