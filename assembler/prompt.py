"""Own the assembly of a prompt: context files, daily log and recall, most stable first, inside one budget.

The same files and arguments give the same text, byte for byte. A part that fails, for example an unreadable file or a
missing index or model, is left out and named in the receipt. The prompt is still made.
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
from .context import ContextSection, fit, load
from .errors import WindowTooSmall
from .file_screening import FileScreening
from .layers import LayerResult, Searcher, search_layer
from .prefix_stability import unchanged_tokens
from .progressive import build_progressive
from .recall_section import RecallBlock, RecalledPassage, pack_knowledge, pack_sessions
from .receipt import EntryLine, LayerLine, Receipt, SectionLine
from .resume_hint import ContinuedSession, fence_continued, resume_hint
from .section import Count, PromptSection, cut_section, escape_tags, make_section
from .settings import AssemblerSettings
from .sources import Sources, SourceText

__all__ = ["Request", "assemble"]

OPEN, CLOSE = "<agent-home>\n", "</agent-home>\n"
#: Most hits that each layer searches for. The prompt shows those that fit.
_MAX_HITS = {"L2": 100, "L3": 40, "L4": 40}
_HINT_TOKENS = 120
#: Tokens reserved beside today's log for the notice that yesterday's log did not fit.
_NOTICE_TOKENS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for a prompt.

    *message* is the first message, *window* the model's window, of which *used* tokens are taken, and *audience* the
    reader. *session* will use the prompt and is not recalled. *continued* is a session that it continues. *at* is a
    revision of the home.
    """

    now: datetime
    message: str = ""
    window: int = 0  # 0: the setting
    used: int = 0
    audience: str = "owner"
    session: str = ""
    continued: ContinuedSession | None = None
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartBudgets:
    """The budget in tokens by part. It does not depend on the message, so neither does the prefix."""

    context: int
    daily: int
    hint: int
    sessions: int
    knowledge: int


@dataclass(slots=True, kw_only=True)
class _PromptBuilder:
    """A prompt under construction: its request, its texts in prompt order, and the lines of its receipt."""

    home: Home
    request: Request
    settings: AssemblerSettings
    count: Count
    searcher: Searcher | None
    stable: list[str] = field(default_factory=list)
    volatile: list[str] = field(default_factory=list)
    sections: list[SectionLine] = field(default_factory=list)
    entries: list[EntryLine] = field(default_factory=list)
    layers: dict[str, LayerLine] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)


def assemble(home: Home, request: Request, searcher: Searcher | None = None) -> Receipt:
    """Assemble the prompt for *request*, and return it with its receipt.

    *searcher* finds passages. Without one, layers 2 to 4 have no recall, and the receipt says so. An unknown audience
    reads nothing, and the receipt says so.

    Raises:
        WindowTooSmall: if the window leaves no room.
        SettingsInvalid: if ``agent.toml`` cannot be read.
        HistoryError: if *at* names no revision.
    """
    settings = home.manifest.settings("assembler", AssemblerSettings)
    count = _token_counter(settings.vocabulary)
    budget = budget_for(request.window or settings.window, request.used, settings)
    if budget.tokens < count(OPEN + CLOSE):
        raise WindowTooSmall(budget.window, budget.used)
    budgets = _part_budgets(budget, settings, count)
    screening = FileScreening(home)
    sources = Sources(home, request.audience, screening, request.at)
    builder = _PromptBuilder(home=home, request=request, settings=settings, count=count, searcher=searcher)
    if request.audience not in set(Audience):
        builder.degraded.append(f"audience {request.audience!r} reads nothing. The audiences are {', '.join(Audience)}")
    if request.at and request.message:
        from .past_memory import PastSearcher

        builder.searcher = PastSearcher(home, sources)

    started = time.perf_counter()
    sections = fit(load(home, sources, count), budgets.context, count, memory_first=settings.memory_first)
    builder.layers["L1"] = LayerLine(ms=_ms_since(started), tokens=0)
    _add_context(builder, sections)
    shown = _add_daily_logs(builder, sources, budgets.daily)
    if request.continued is not None:
        budgets = _add_continued(builder, budgets, request.continued)
    elif not request.at and home.may_read("sessions/", request.audience):
        _add_open_session(builder, screening, budgets.hint)
    screening.remember()
    _add_recall(builder, budgets, shown)
    return _receipt(builder, budget)


@lru_cache(maxsize=8)
def _token_counter(vocabulary: str) -> Count:
    """Return the same object for the same vocabulary, because sections are cached by it."""
    return partial(count_tokens, vocabulary=vocabulary)


def _part_budgets(budget: Budget, settings: AssemblerSettings, count: Count) -> _PartBudgets:
    daily = min(int(budget.tokens * settings.daily_share), settings.daily_tokens)
    sessions = min(int(budget.tokens * settings.sessions_share), settings.sessions_tokens)
    knowledge = min(int(budget.tokens * settings.knowledge_share), settings.knowledge_tokens)
    hint = min(_HINT_TOKENS, budget.tokens // 20)
    taken = daily + sessions + knowledge + hint + count(OPEN) + count(CLOSE)
    return _PartBudgets(
        context=max(0, budget.tokens - taken), daily=daily, hint=hint, sessions=sessions, knowledge=knowledge
    )


def _add_context(builder: _PromptBuilder, sections: Sequence[ContextSection]) -> None:
    """Add layer 1, and layer 2 for a MEMORY.md over its share."""
    builder.layers["L2"] = LayerLine(ms=0.0, tokens=0)
    for section in sections:
        if section.source.failed:
            builder.degraded.append(section.source.reason)
        _report_blocked(builder, section.path, section.source)
        builder.entries += section.superseded_lines()
        if section.file.file == MEMORY and section.cut and any(unit.entry_id for unit in section.whole.units):
            _add_progressive(builder, section)
            continue
        _append(builder.stable, section.fitted.text)
        builder.sections.append(section.line())
        builder.entries += section.entry_lines()
    tokens = sum(line.tokens for line in builder.sections if line.action != "indexed")
    builder.layers["L1"] = replace(builder.layers["L1"], tokens=tokens)


def _report_blocked(builder: _PromptBuilder, path: str, source: SourceText) -> None:
    """Report in the receipt the parts of a file that the guard keeps out of prompts."""
    builder.entries += source.blocked
    builder.degraded += [source.problem] if source.problem else []
    blocked = [f"{line.id} ({line.reason})" for line in source.blocked if line.action == "blocked"]
    if blocked:
        builder.degraded.append(f"{path}: blocked by the guard: {', '.join(blocked)}. `memory doctor` says what to do")


def _add_progressive(builder: _PromptBuilder, section: ContextSection) -> None:
    count = builder.count
    result = _search(builder, "L2")
    scores = {hit.source.partition("#")[2]: round(hit.score, 4) for hit in result.hits}
    started = time.perf_counter()
    parts = build_progressive(section.whole, section.share, scores or None, builder.settings, count)
    _append(builder.stable, parts.stable)
    _append(builder.volatile, parts.selected)
    actions = Counter(line.action for line in parts.lines)
    reason = f"over its share of {section.share} tokens: {actions['kept']} of {len(parts.lines)} entries in full, "
    reason += f"{actions['indexed']} by index line, {actions['dropped']} not at all"
    action = "indexed" if actions["kept"] or actions["indexed"] else "dropped"
    builder.sections.append(replace(section.line(), tokens=parts.tokens, action=action, reason=reason))
    builder.entries += parts.lines
    ms = round(result.line.ms + _ms_since(started), 2)
    builder.layers["L2"] = LayerLine(ms=ms, tokens=parts.tokens, degraded=result.line.degraded)


def _add_daily_logs(builder: _PromptBuilder, sources: Sources, tokens: int) -> dict[str, str]:
    """Add the daily logs of yesterday and today, newest text first. Return the shown text of each log by path."""
    found = sources.daily(builder.request.now.date())
    builder.degraded += [source.reason for _, source in found if source.failed]
    for path, source in found:
        _report_blocked(builder, path, source)
    logs = [(path, source.text) for path, source in found if source.text]
    daily_texts: dict[str, str] = {}
    room = tokens
    for left, (path, text) in zip(range(len(logs) - 1, -1, -1), reversed(logs), strict=True):
        name = f"Daily log {path[-13:-3]}"
        section = make_section(name, text, "oldest-first", builder.count)
        hint = f"`memory search --in daily`, or {path}"
        cut = cut_section(section, room - left * _NOTICE_TOKENS, builder.count, hint=hint)
        room -= cut.tokens
        daily_texts[path] = cut.text
        reason = "one of the last two days" if not cut.dropped else f"{len(cut.dropped)} parts over the daily share"
        builder.sections.append(
            SectionLine(name=name, tokens=cut.tokens, full_tokens=section.tokens, action=_action(cut), reason=reason)
        )
    for text in reversed(daily_texts.values()):
        _append(builder.volatile, text)
    return daily_texts


def _add_continued(builder: _PromptBuilder, budgets: _PartBudgets, continued: ContinuedSession) -> _PartBudgets:
    """Add the summary of the continued session in the budgets of the hint and of recalled sessions.

    Return the remaining budgets. The prefix does not depend on the summary.
    """
    room = budgets.hint + budgets.sessions
    readable = builder.home.may_read("sessions/", builder.request.audience)
    text = fence_continued(continued, room, builder.count) if readable else ""
    tokens = builder.count(text)
    _append(builder.volatile, text)
    reason = "a session is continued" if text else f"over its room of {room} tokens"
    reason = reason if readable else f"not for the audience {builder.request.audience}"
    builder.sections.append(
        SectionLine(
            name="Resumed session", tokens=tokens, full_tokens=tokens, action="kept" if text else "dropped",
            reason=reason,
        )
    )  # fmt: skip
    return replace(budgets, sessions=budgets.sessions - max(0, tokens - budgets.hint))


def _add_open_session(builder: _PromptBuilder, screening: FileScreening, tokens: int) -> None:
    request = builder.request
    try:
        hint = resume_hint(builder.home, request.now, builder.settings.resume_days, request.session, screening)
    except (DocumentInvalid, OSError) as error:
        builder.degraded.append(f"cannot tell whether a session was left open: {error}")
        return
    cost = builder.count(hint)
    if not hint:
        return
    fits = cost <= tokens
    if fits:
        _append(builder.volatile, hint)
    builder.sections.append(
        SectionLine(
            name="Open session", tokens=cost if fits else 0, full_tokens=cost, action="kept" if fits else "dropped",
            reason="a session was left open" if fits else f"over its room of {tokens} tokens",
        )
    )  # fmt: skip


def _add_recall(builder: _PromptBuilder, budgets: _PartBudgets, daily: Mapping[str, str]) -> None:
    """Add layers 3 and 4 for a first message. Passages that the shown daily log contains are not repeated."""
    for layer, room in (("L3", budgets.sessions), ("L4", budgets.knowledge)):
        result = _search(builder, layer)
        started = time.perf_counter()
        hits = [hit for hit in result.hits if not _is_in_daily_log(hit, daily)]
        if layer == "L3":
            cutoff = builder.settings.sessions_cutoff
            packed = pack_sessions(hits, room, builder.count, turns=result.turns, cutoff=cutoff)
        else:
            packed = pack_knowledge(hits, room, builder.count)
        tokens = builder.count(packed.text)
        _append(builder.volatile, packed.text)
        builder.entries += packed.lines
        builder.layers[layer] = replace(result.line, ms=round(result.line.ms + _ms_since(started), 2), tokens=tokens)
        builder.sections.append(_recall_line(layer, builder.request, result, packed, tokens))


def _search(builder: _PromptBuilder, layer: str) -> LayerResult:
    request, settings = builder.request, builder.settings
    deadlines = {"L2": settings.selective_ms, "L3": settings.sessions_ms, "L4": settings.knowledge_ms}
    return search_layer(
        builder.searcher,
        layer,
        request.message,
        k=_MAX_HITS[layer],
        audience=request.audience,
        now=request.now,
        deadline_ms=deadlines[layer],
        exclude=[name for name in (request.session, request.continued and request.continued.session) if name],
    )


def _is_in_daily_log(hit: RecalledPassage, daily: Mapping[str, str]) -> bool:
    """Return whether the shown part of a daily log has every line of *hit*."""
    text = daily.get(hit.source.partition("#")[0])
    if text is None:
        return False
    lines = {line.strip() for line in text.splitlines()}
    return all(line.strip() in lines for line in escape_tags(hit.text).splitlines())


def _recall_line(layer: str, request: Request, result: LayerResult, packed: RecallBlock, tokens: int) -> SectionLine:
    name = {"L3": "Recalled sessions", "L4": "Recalled knowledge"}[layer]
    if tokens:
        found = [line for line in packed.lines if line.score is not None]
        kept = sum(1 for line in found if line.action == "kept")
        neighbours = sum(1 for line in packed.lines if line.score is None and line.action == "kept")
        reason = f"{kept} of {len(found)} passages found" + (f", {neighbours} turns beside them" if neighbours else "")
    elif not request.message.strip():
        reason = "no message"
    else:
        reason = ". ".join(result.line.degraded) or "nothing found"
    action = "kept" if tokens else "dropped"
    return SectionLine(name=name, tokens=tokens, full_tokens=tokens, action=action, reason=reason)


def _receipt(builder: _PromptBuilder, budget: Budget) -> Receipt:
    text, tokens = _join(builder, budget.tokens)
    count_long = partial(_count_cached, builder.settings.vocabulary)
    left_out = [line for line in builder.entries if line.action != "kept" and line.score is not None]
    left_out.sort(key=lambda line: (-(line.score or 0.0), line.id))
    degraded = [*builder.degraded, *_degraded_by_layer(builder.layers)]
    unchanged = None
    if not builder.request.at:  # nobody sends a past prompt to a model
        parts = [OPEN, *builder.stable, *builder.volatile]
        unchanged = unchanged_tokens(builder.home, f"{builder.request.audience} {budget.window}", parts, count_long)
    return Receipt(
        text=text,
        tokens=tokens,
        budget=budget.tokens,
        tier=budget.tier,
        window=budget.window,
        advice=advice(tokens, budget.window),
        sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        stable_prefix_tokens=count_long("".join([OPEN, *builder.stable])),
        unchanged_prefix_tokens=unchanged,
        sections=tuple(builder.sections),
        entries=tuple(builder.entries),
        layers=builder.layers,
        near_misses=tuple(left_out[: builder.settings.near_misses]),
        degraded=tuple(dict.fromkeys(degraded)),
        load_ms=round(builder.searcher.load_ms, 2) if builder.searcher else 0.0,
    )


def _degraded_by_layer(layers: Mapping[str, LayerLine]) -> Iterator[str]:
    """Yield each degradation once, with the layers that it concerns."""
    found: dict[str, list[str]] = {}
    for name, line in layers.items():
        for text in line.degraded:
            found.setdefault(text, []).append(name)
    return (f"{', '.join(names)}: {text}" for text, names in found.items())


def _join(builder: _PromptBuilder, budget_tokens: int) -> tuple[str, int]:
    """Join the parts and count the tokens. If joined parts cost more than the budget, drop the last part.

    The prefix is counted apart from the rest, because it seldom changes. Joined, both never cost more than apart.
    """
    while True:
        prefix, rest = "".join([OPEN, *builder.stable]), "".join([*builder.volatile, CLOSE])
        tokens = _count_cached(builder.settings.vocabulary, prefix) + builder.count(rest)
        if tokens <= budget_tokens:
            return prefix + rest, tokens
        dropped = (builder.volatile or builder.stable).pop()
        builder.degraded.append(f"a part of {builder.count(dropped)} tokens was left out: over the budget")


@lru_cache(maxsize=64)
def _count_cached(vocabulary: str, text: str) -> int:
    """Count the tokens of a long text. A warm process counts the same prefix again."""
    return count_tokens(text, vocabulary=vocabulary)


def _append(parts: list[str], text: str) -> None:
    """Append *text* as a part that ends in a blank line. An empty text adds nothing."""
    if text:
        parts.append(text.rstrip("\r\n") + "\n\n")


def _action(section: PromptSection) -> str:
    if not section.units:
        return "dropped"
    return "cut" if section.dropped else "kept"


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
