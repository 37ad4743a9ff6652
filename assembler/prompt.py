"""Own the assembly of a prompt: context files, daily log and recall, most stable first, inside one budget.

The same files and arguments give the same text, byte for byte. A part that fails, for example an unreadable file or a
missing index or model, is left out and named in the receipt. The prompt is still made.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial

from agent_home.audience import Audience
from agent_home.documents.daily_log import without_empty_closings
from agent_home.documents.document import parse
from agent_home.errors import DocumentInvalid, HistoryError
from agent_home.git.acknowledged import taken_back
from agent_home.git_folder import WORKTREE_STATE, tracks
from agent_home.home import Home
from agent_home.store.branch import shown_instead, written_tip
from agent_home.store.losses import absent_ledgers, absent_memory
from agent_home.store.moved_head import head_moved
from agent_home.tokens import count_tokens
from recall.collector_pause import collector_paused

from .budget import Budget, advice, budget_for
from .context import (
    BLANK_TOKENS,
    ContextSection,
    Group,
    closing_line,
    fit,
    left_out_notice,
    load,
    rests,
    short_closing_line,
    with_rest,
    without_entries,
)
from .errors import WindowTooSmall
from .file_screening import FileScreening
from .pool import Pool
from .prefix_stability import unchanged_tokens
from .progressive import EntryBlock, ProgressiveMemory, build_progressive
from .recalled.ended_claims import EndedClaims
from .recalled.layers import LayerResult, Searcher, search_layer
from .recalled.past_memory import NOT_SEARCHED, PastSearcher
from .recalled.recall_section import PassageBlock, RecalledPassage, Room, SessionBlock, unshown_lines
from .receipt import EntryLine, LayerLine, Receipt, SectionLine
from .resume_hint import ContinuedSession, fence_continued, resume_hint
from .section import Count, PromptSection, cut_section, defused, make_section
from .settings import AssemblerSettings
from .sources import Sources, SourceText
from .working_context import working_context

__all__ = ["Request", "assemble"]

_SESSION_PARTS = ("Resumed session", "Open session")
OPEN, CLOSE = "<agent-home>\n", "</agent-home>\n"
#: Least and most hits that each layer searches for. The prompt shows those that fit.
_MIN_HITS, _MAX_HITS = 150, {"L2": 300, "L3": 600, "L4": 300}
#: Tokens of the pool for which one more hit is searched for: a short turn with its address.
_TOKENS_PER_HIT = 30
_HINT_TOKENS = 120
_WORKING_TOKENS = 400
#: Largest share of a small budget for the names of files of which something is missing.
_NAMED_SHARE = 0.1
_UNRELATED = "nothing fits the message better than chance"
#: Tokens reserved beside today's log for the notice that yesterday's log did not fit.
_NOTICE_TOKENS = 30
#: Content words of a message that asks for more than a little of the past.
_LEAST_WORDS = 2
#: Tokens of the pool that are reserved for the blank lines between parts.
_BLANK_TOKENS = 12
#: Tokens of a tiny budget and the largest share of it that the context files get. From twice as many tokens on,
#: ``small_pool_share`` decides alone.
_TINY_TOKENS, _TINY_OWN_SHARE = 1_000, 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for a prompt.

    *message* is the first message, *window* the model's window, of which *used* tokens are taken, and *audience* the
    reader. *session* will use the prompt and is not recalled. *continued* is a session that it continues. *at* is a
    revision of the home. *shown_entries* are the ids of entries of MEMORY.md that the caller shows itself. *closing*
    are sessions that are being closed, so that they are not left open.
    """

    now: datetime
    message: str = ""
    window: int = 0  # 0: the setting
    used: int = 0
    audience: str = "owner"
    session: str = ""
    continued: ContinuedSession | None = None
    at: str = ""
    shown_entries: frozenset[str] = frozenset()
    closing: frozenset[str] = frozenset()


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
    memory: ProgressiveMemory | None = None
    sections: list[SectionLine] = field(default_factory=list)
    entries: list[EntryLine] = field(default_factory=list)
    layers: dict[str, LayerLine] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    #: Leading parts of *stable* that depend neither on the message nor on the day. ``None`` means all of them.
    fixed_parts: int | None = None
    #: Whether nothing is recalled because the past fits the message no better than chance.
    unrelated: bool = False


@collector_paused()
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
    screening = FileScreening(home)
    sources = Sources(home, request.audience, screening, request.at)
    builder = _PromptBuilder(home=home, request=request, settings=settings, count=count, searcher=searcher)
    builder.degraded += [*_waiting_settings(home), *_moved_head(home)]
    if request.audience not in set(Audience):
        builder.degraded.append(f"audience {request.audience!r} reads nothing. The audiences are {', '.join(Audience)}")
    if request.at and request.message:
        builder.searcher = PastSearcher(home, sources)

    started = time.perf_counter()
    hint = min(_HINT_TOKENS, budget.tokens // 20)
    room = max(0, budget.tokens - _pool_floor(budget, settings) - hint - count(OPEN) - count(CLOSE))
    loaded = [without_entries(section, request.shown_entries) for section in load(home, sources, count)]
    sections = fit(loaded, room, count, memory_first=settings.memory_first)
    builder.layers["L1"] = LayerLine(ms=_ms_since(started), tokens=0)
    builder.degraded += [] if request.at else _differing_memory(home)
    if tracks(home.root, WORKTREE_STATE):
        builder.degraded.append(f"git tracks {WORKTREE_STATE}, so nothing there is read. See `memory doctor`")
    if budget.minimal:
        _add_small_context(builder, sections)
    else:
        _add_context(builder, sections, room + hint)
    session = ""
    if request.continued is not None:
        session = _continued_part(builder, hint + _pool_floor(budget, settings) // 2, request.continued)
    elif not request.at and home.may_read("sessions/", request.audience):
        session = _open_session_part(builder, screening, hint)
    working = "" if request.at else _working_context_part(builder, min(_WORKING_TOKENS, budget.tokens // 20))
    fixed = count("".join([OPEN, *builder.stable])) + count(session) + count(working) + count(CLOSE) + _BLANK_TOKENS
    if builder.searcher is not None and request.message.strip():
        builder.searcher.refresh(request.message)
    if budget.minimal:
        fixed += count(_small_closing(sections, budget, fixed, count))
    _add_pool(builder, sources, sections, budget, max(0, budget.tokens - fixed), session)
    _append(builder.volatile, working)
    screening.remember()
    return _receipt(builder, budget)


def _differing_memory(home: Home) -> list[str]:
    """Say how the files that the prompt is made from differ from the memory that was acknowledged, and what to do."""
    found: list[str] = []
    renamed = home.renamed_by_case()
    found += [f"{file} is named {other}, and is not read. `git mv {other} {file}` ends that" for file, other in renamed]
    with suppress(HistoryError, OSError):  # a prompt needs no git
        found.append(shown_instead(home))
        found.append(absent_memory(home))
        found.append(absent_ledgers(home))
        lacking = taken_back(home, written_tip(home))
        found += [lacking.describe(home.root)] if lacking else []
    return [line for line in found if line]


def _waiting_settings(home: Home) -> list[str]:
    """Name the settings that wait for a person's consent, so that their absence surprises nobody."""
    waiting = () if home.manifest.refused else home.manifest.waiting
    keys = ", ".join(item.key for item in waiting)
    return [f"agent.toml: not in effect until a person here agrees: {keys}. `memory trust` shows them"] if keys else []


def _moved_head(home: Home) -> list[str]:
    """Say that git commands changed memory since the last write, as after a pull by hand."""
    start = head_moved(home)
    said = f"git moved memory from {start[:7]}, and the next write screens what came. `memory doctor` does it now"
    return [said] if start else []


@lru_cache(maxsize=8)
def _token_counter(vocabulary: str) -> Count:
    """Return the same object for the same vocabulary, because sections are cached by it."""
    return partial(count_tokens, vocabulary=vocabulary)


def _pool_floor(budget: Budget, settings: AssemblerSettings) -> int:
    """Return the tokens that the context files leave for the pool. They depend on the budget alone."""
    small = min(budget.tokens - _own_tokens(budget.tokens, settings), settings.small_pool_tokens)
    return max(int(budget.tokens * settings.pool_share), small)


def _own_tokens(tokens: int, settings: AssemblerSettings) -> int:
    """Return the tokens that a small budget of *tokens* leaves for the context files: a smaller share of a tiny one."""
    share, roomy = 1 - settings.small_pool_share, 2 * _TINY_TOKENS
    tiny_share = min(_TINY_OWN_SHARE, share)
    if tokens <= _TINY_TOKENS:
        return math.ceil(tiny_share * tokens)
    if tokens >= roomy:
        return math.ceil(share * tokens)
    least, most = tiny_share * _TINY_TOKENS, share * roomy
    return math.ceil(least + (most - least) * (tokens - _TINY_TOKENS) / _TINY_TOKENS)


def _add_context(builder: _PromptBuilder, sections: Sequence[ContextSection], room: int) -> None:
    """Add layer 1, and the first part of layer 2 for a MEMORY.md over its share.

    The line that names what was left out is added only if it fits into *room* tokens beside them.
    """
    _add_sections(builder, sections)
    notice = left_out_notice(sections)
    if builder.count("".join([*builder.stable, notice])) <= room:
        _append(builder.stable, notice)
    _count_context(builder)


def _add_small_context(builder: _PromptBuilder, sections: Sequence[ContextSection]) -> None:
    """Add layer 1 of a small prompt without notices. One line at its end names what is missing."""
    _add_sections(builder, [_without_notice(section) for section in sections])
    _count_context(builder)


def _without_notice(section: ContextSection) -> ContextSection:
    """Return *section* without its notice. Its tokens stay, because the line at the end names it."""
    return section if section.progressive else replace(section, fitted=replace(section.fitted, notice=""))


def _add_sections(builder: _PromptBuilder, sections: Sequence[ContextSection]) -> None:
    """Add the texts of context files, and their lines of the receipt."""
    builder.layers["L2"] = LayerLine(ms=0.0, tokens=0)
    for section in sections:
        if section.source.failed:
            builder.degraded.append(section.source.reason)
        _report_blocked(builder, section.path, section.source)
        builder.entries += section.superseded_lines()
        if section.progressive:
            builder.memory = build_progressive(section.whole, section.share, builder.settings, builder.count)
            _append(builder.stable, builder.memory.stable)
            builder.sections.append(replace(section.line(), tokens=builder.memory.tokens, action="indexed"))
            continue
        _append(builder.stable, section.fitted.text)
        builder.sections.append(section.line())
        builder.entries += section.entry_lines()


def _count_context(builder: _PromptBuilder) -> None:
    tokens = sum(line.tokens for line in builder.sections if line.action != "indexed")
    builder.layers["L1"] = replace(builder.layers["L1"], tokens=tokens)


def _small_closing(sections: Sequence[ContextSection], budget: Budget, used: int, count: Count) -> str:
    """Return the line at the end of a small prompt of *used* tokens about what is missing, if there is room for it.

    A tiny budget has room for a number alone.
    """
    line = closing_line(sections)
    line = line if count(line) <= _NAMED_SHARE * budget.tokens else short_closing_line(sections)
    return line if used + count(line) + BLANK_TOKENS <= budget.tokens else ""


def _report_blocked(builder: _PromptBuilder, path: str, source: SourceText) -> None:
    """Report in the receipt the parts of a file that the guard keeps out of prompts."""
    builder.entries += source.blocked
    builder.degraded += [source.problem] if source.problem else []
    blocked = [f"{line.id} ({line.reason})" for line in source.blocked if line.action == "blocked"]
    if blocked:
        builder.degraded.append(f"{path}: blocked by the guard: {', '.join(blocked)}. `memory doctor` says what to do")


def _add_pool(
    builder: _PromptBuilder,
    sources: Sources,
    sections: Sequence[ContextSection],
    budget: Budget,
    tokens: int,
    session: str,
) -> None:
    """Add everything that competes for *tokens*: entries, daily log, past conversations and knowledge.

    *session* is the text about an open or continued session, which stands between them. Room that is left shows the
    rest of context files that were cut.
    """
    settings = builder.settings
    memory = builder.memory
    results = {
        layer: _search(builder, layer, tokens)
        for layer in ("L2", "L3", "L4")
        if layer != "L2" or memory is not None
    }  # fmt: skip
    if any(result.hits for result in results.values()) and not any(r.hits and r.relevant for r in results.values()):
        results = {layer: replace(result, hits=(), turns={}) for layer, result in results.items()}
        builder.unrelated = True
    started = time.perf_counter()
    claims = _ended_claims(sections, results["L4"])
    cap = _recall_cap(builder.request.message, results.values(), tokens, settings)
    room = Room(cap)
    pool = Pool(
        settings=settings,
        room=room,
        hits={layer: result.hits for layer, result in results.items()},
        sessions=SessionBlock(count=builder.count, room=room, turns=results["L3"].turns, claims=claims),
        passages=PassageBlock(count=builder.count, room=room, claims=claims),
        entries=EntryBlock(memory=memory, count=builder.count, room=room) if memory is not None else None,
        stable_entries=frozenset(unit.entry_id for s in sections if not s.progressive for unit in s.fitted.units),
    )
    logs = _DailyLogs.read(builder, sources, claims)
    held = {hit.source for hit in results["L4"].hits if hit.source.partition("#")[0] in logs.texts}
    pool.add(settings.recall_strong, held=held)
    log_tokens = min(int(budget.tokens * settings.daily_share), settings.daily_tokens, room.left)
    logs.cut(log_tokens, pool.shown)
    room.left -= logs.tokens
    in_logs = {hit.source for hit in results["L4"].hits if _is_in_daily_log(hit, logs.shown, claims)}
    if pool.add(settings.recall_floor, held=in_logs):
        pool.add(settings.recall_floor, held=in_logs)
    pool.add_neighbours()
    room.left += tokens - cap
    if pool.entries is not None:
        pool.entries.fill(pool.shown)
    room.left += logs.tokens
    logs.cut(log_tokens, pool.shown)
    room.left -= logs.tokens
    found_rests = _fill_idle_room(builder, sections, pool)
    _report_pool(builder, pool, results, logs, in_logs, session, _ms_since(started))
    if budget.minimal:
        _add_small_rests(builder, sections, found_rests, budget)
    else:
        _add_rests(builder, found_rests)


def _ended_claims(sections: Sequence[ContextSection], knowledge: LayerResult) -> EndedClaims:
    """Return the statements of context files that ended, and those that the search for *knowledge* knows."""
    texts = (section.source.text for section in sections if section.whole.retired or section.whole.superseded)
    return EndedClaims.of([*knowledge.ended, *(entry for text in texts for entry in parse(text).entries())])


def _recall_cap(message: str, results: Iterable[LayerResult], tokens: int, settings: AssemblerSettings) -> int:
    """Return the largest part of *tokens* for recalled texts. A greeting must not fill the prompt with the past."""
    cap = min(tokens, settings.pool_tokens) if settings.pool_tokens else tokens
    if not message.strip():
        return cap
    from recall.text.terms import parse_query

    best = max((hit.score for result in results for hit in result.hits), default=0.0)
    weak = best < settings.weak_score or len(parse_query(message).spellings) < _LEAST_WORDS
    return min(cap, settings.weak_tokens) if weak else cap


def _report_pool(
    builder: _PromptBuilder,
    pool: Pool,
    results: Mapping[str, LayerResult],
    logs: _DailyLogs,
    in_logs: Collection[str],
    session: str,
    ms: float,
) -> None:
    """Add the texts of the pool in prompt order, and its lines of the receipt."""
    if pool.entries is not None:
        _report_entries(builder, pool.entries, results["L2"])
        _append(builder.volatile, pool.entries.text)
    for text in logs.shown.values():
        _append(builder.volatile, text)
    place = next((i for i, line in enumerate(builder.sections) if line.name in _SESSION_PARTS), len(builder.sections))
    builder.sections[place:place] = logs.lines
    _append(builder.volatile, session)
    for layer, text in (("L3", pool.sessions.text), ("L4", pool.passages.text(pool.shown))):
        result, lines, tokens = results[layer], pool.lines(layer, without=in_logs), builder.count(text)
        _append(builder.volatile, text)
        builder.entries += lines
        builder.layers[layer] = replace(result.line, ms=round(result.line.ms + ms / 2, 2), tokens=tokens)
        line = _recall_line(layer, builder.request, result, lines, tokens)
        builder.sections.append(replace(line, reason=_UNRELATED) if builder.unrelated else line)


def _report_entries(builder: _PromptBuilder, block: EntryBlock, result: LayerResult) -> None:
    """Add the receipt's lines about layer 2."""
    lines, memory = block.lines, block.memory
    tokens = memory.tokens + block.tokens
    actions = Counter(line.action for line in lines)
    reason = f"over its share of {memory.share} tokens: {actions['kept']} of {len(lines)} entries in full, "
    reason += f"{actions['indexed']} by index line, {actions['dropped']} not at all"
    action = "indexed" if actions["kept"] or actions["indexed"] else "dropped"
    place = next(i for i, line in enumerate(builder.sections) if line.action == "indexed")
    builder.sections[place] = replace(builder.sections[place], tokens=tokens, action=action, reason=reason)
    builder.entries += lines
    builder.layers["L2"] = replace(result.line, tokens=tokens)


def _fill_idle_room(
    builder: _PromptBuilder, sections: Sequence[ContextSection], pool: Pool
) -> list[tuple[ContextSection, PromptSection]]:
    """Give the room that is left to what was cut, in order of value, and return the rests of context files.

    Protected files come first. Then come the entries of MEMORY.md that match the message, standing preferences and open
    threads, then the files of people, then the other entries, and generated files at last.
    """
    found: list[tuple[ContextSection, PromptSection]] = []

    def add_rests(group: Group) -> None:
        added = list(rests(sections, pool.room.left, builder.count, group))
        pool.room.left -= sum(rest.tokens + BLANK_TOKENS for _, rest in added)
        found.extend(added)

    add_rests("protected")
    if pool.entries is not None:
        pool.entries.fill_idle_room(pool.shown, wanted_only=True)
    add_rests("owned")
    if pool.entries is not None:
        pool.entries.fill_idle_room(pool.shown, wanted_only=False)
    add_rests("generated")
    return found


def _add_rests(builder: _PromptBuilder, found: Sequence[tuple[ContextSection, PromptSection]]) -> None:
    """Add the parts of cut context files for which room was idle.

    They stand at the end, because the prefix must not depend on the message.
    """
    for section, rest in found:
        _append(builder.volatile, rest.text)
        place = next(i for i, line in enumerate(builder.sections) if line.name == section.name)
        line = builder.sections[place]
        more = line.tokens + rest.tokens - section.whole.tokens
        reason = f"whole, in two parts, which cost {more} tokens more"
        if rest.dropped:
            reason = f"{len(rest.dropped)} parts over the budget{section.cut_order}"
        builder.sections[place] = replace(
            line, tokens=line.tokens + rest.tokens, action="cut" if rest.dropped else "kept", reason=reason
        )
        _report_rest(builder, section, rest)


def _report_rest(builder: _PromptBuilder, section: ContextSection, rest: PromptSection) -> None:
    """Report in the receipt that the entries of *rest* are shown after all."""
    shown = {unit.entry_id: unit.tokens for unit in rest.units if unit.entry_id}
    builder.entries = [
        replace(line, action="kept", reason=f"the rest of {section.path} is shown", tokens=shown[line.id])
        if line.id in shown else line
        for line in builder.entries
    ]  # fmt: skip


def _add_small_rests(
    builder: _PromptBuilder,
    sections: Sequence[ContextSection],
    found: Sequence[tuple[ContextSection, PromptSection]],
    budget: Budget,
) -> None:
    """Put the parts of cut context files for which room was idle into their places, and name once what is missing.

    The prefix of a small prompt is too short for any provider's cache, so it need not be the same for every message.
    """
    wholes = {section.name: with_rest(section, rest) for section, rest in found}
    merged = [wholes.get(section.name) or _without_notice(section) for section in sections]
    for section, rest in found:
        fitted = wholes[section.name].fitted
        place = next(i for i, line in enumerate(builder.sections) if line.name == section.name)
        missing = len(fitted.dropped)
        tokens = max(fitted.tokens, builder.sections[place].tokens) if missing else fitted.tokens
        builder.sections[place] = replace(
            builder.sections[place], tokens=tokens, action="cut" if missing else "kept",
            reason=f"{missing} parts over the budget{section.cut_order}" if missing else "whole",
        )  # fmt: skip
        _report_rest(builder, section, rest)
    stable: list[str] = []
    for section in merged:
        memory = builder.memory if section.progressive else None
        _append(stable, memory.stable if memory is not None else section.fitted.text)
    same = (one == other for one, other in zip(builder.stable, stable, strict=False))
    builder.fixed_parts = next((place for place, equal in enumerate(same) if not equal), len(builder.stable))
    builder.stable = stable
    used = builder.count("".join([OPEN, *builder.stable])) + builder.count("".join([*builder.volatile, CLOSE]))
    _append(builder.volatile, _small_closing(merged, budget, used, builder.count))


@dataclass(slots=True, kw_only=True)
class _DailyLogs:
    """The daily logs of yesterday and today: their *texts* by path, the parts *shown*, and the receipt's *lines*."""

    count: Count
    texts: dict[str, str]
    shown: dict[str, str] = field(default_factory=dict)
    lines: list[SectionLine] = field(default_factory=list)
    tokens: int = 0

    @classmethod
    def read(cls, builder: _PromptBuilder, sources: Sources, claims: EndedClaims) -> _DailyLogs:
        found = sources.daily(builder.request.now.date())
        builder.degraded += [source.reason for _, source in found if source.failed]
        for path, source in found:
            _report_blocked(builder, path, source)
        told = {path: without_empty_closings(claims.applied_to(source.text)) for path, source in found}
        return cls(count=builder.count, texts={path: text for path, text in told.items() if _has_content(text)})

    def cut(self, tokens: int, shown: Collection[str]) -> None:
        """Choose what fits into *tokens*, newest text first, without lines whose turns are *shown* elsewhere."""
        self.shown, self.lines, self.tokens = {}, [], 0
        for left, path in zip(range(len(self.texts) - 1, -1, -1), reversed(self.texts), strict=True):
            name = f"Daily log {path[-13:-3]}"
            full = make_section(name, self.texts[path], "oldest-first", self.count)
            section = make_section(name, unshown_lines(self.texts[path], shown), "oldest-first", self.count)
            room = tokens - self.tokens - left * _NOTICE_TOKENS
            cut = cut_section(section, room, self.count, hint=f"`memory search --in daily`, or {path}")
            self.tokens += cut.tokens
            self.shown[path] = cut.text
            reason = "one of the last two days" if not cut.dropped else f"{len(cut.dropped)} parts over the daily share"
            reason = reason if section.units or not full.units else "all its turns are shown"
            self.lines.append(
                SectionLine(
                    name=name, tokens=cut.tokens, full_tokens=full.tokens, action=_action(cut), reason=reason
                )
            )  # fmt: skip
        self.shown = dict(reversed(self.shown.items()))


def _has_content(text: str) -> bool:
    """Return whether *text* has a line that is no heading."""
    return any(line.strip() and not line.startswith("#") for line in text.splitlines())


def _continued_part(builder: _PromptBuilder, room: int, continued: ContinuedSession) -> str:
    """Return the summary of the continued session in at most *room* tokens."""
    readable = builder.home.may_read("sessions/", builder.request.audience)
    text = fence_continued(continued, room, builder.count) if readable else ""
    tokens = builder.count(text)
    reason = "a session is continued" if text else f"over its room of {room} tokens"
    reason = reason if readable else f"not for the audience {builder.request.audience}"
    builder.sections.append(
        SectionLine(
            name="Resumed session", tokens=tokens, full_tokens=tokens, action="kept" if text else "dropped",
            reason=reason,
        )
    )  # fmt: skip
    return text


def _working_context_part(builder: _PromptBuilder, tokens: int) -> str:
    """Return what the session keeps for now, in at most *tokens*."""
    request = builder.request
    try:
        text = working_context(
            builder.home, request.session, request.audience, tokens, builder.count,
            on_problem=lambda problem: builder.degraded.append(f"working context: {problem}"),
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001 - SQLite's errors share no class with those of a file; the prompt is made
        builder.degraded.append(f"the working context cannot be read: {' '.join(str(error).split())}")
        return ""
    if text:
        cost = builder.count(text)
        builder.sections.append(
            SectionLine(
                name="Working context", tokens=cost, full_tokens=cost, action="kept", reason="kept for this session"
            )
        )
    return text


def _open_session_part(builder: _PromptBuilder, screening: FileScreening, tokens: int) -> str:
    """Return the hint at an open session in at most *tokens*."""
    request = builder.request
    try:
        hint = resume_hint(
            builder.home, request.now, builder.settings.resume_days, request.closing | {request.session}, screening
        )
    except (DocumentInvalid, OSError) as error:
        builder.degraded.append(f"cannot tell whether a session was left open: {error}")
        return ""
    cost = builder.count(hint)
    if not hint:
        return ""
    fits = cost <= tokens
    builder.sections.append(
        SectionLine(
            name="Open session", tokens=cost if fits else 0, full_tokens=cost, action="kept" if fits else "dropped",
            reason="a session was left open" if fits else f"over its room of {tokens} tokens",
        )
    )  # fmt: skip
    return hint if fits else ""


def _search(builder: _PromptBuilder, layer: str, tokens: int) -> LayerResult:
    request, settings = builder.request, builder.settings
    deadlines = {"L2": settings.selective_ms, "L3": settings.sessions_ms, "L4": settings.knowledge_ms}
    return search_layer(
        builder.searcher,
        layer,
        request.message,
        k=max(_MIN_HITS, min(_MAX_HITS[layer], tokens // _TOKENS_PER_HIT)),
        audience=request.audience,
        now=request.now,
        deadline_ms=deadlines[layer],
        exclude=[name for name in (request.session, request.continued and request.continued.session) if name],
    )


def _is_in_daily_log(hit: RecalledPassage, daily: Mapping[str, str], claims: EndedClaims) -> bool:
    """Return whether the shown part of a daily log has every line of *hit* that makes none of *claims*."""
    text = daily.get(hit.source.partition("#")[0])
    if text is None:
        return False
    lines = {line.strip() for line in text.splitlines()}
    return all(line.strip() in lines for line in defused(claims.applied_to(hit.text)).splitlines())


def _recall_line(
    layer: str, request: Request, result: LayerResult, lines: Sequence[EntryLine], tokens: int
) -> SectionLine:
    name = {"L3": "Recalled sessions", "L4": "Recalled knowledge"}[layer]
    if tokens:
        found = [line for line in lines if line.score is not None]
        kept = sum(1 for line in found if line.action == "kept")
        neighbours = sum(1 for line in lines if line.score is None and line.action == "kept")
        reason = f"{kept} of {len(found)} passages found" + (
            f", {neighbours} of the turns beside them" if neighbours else ""
        )
    elif not request.message.strip():
        reason = "no message"
    else:
        reason = ". ".join(result.line.degraded) or (
            f"none of {len(lines)} passages found" if lines else "nothing found"
        )
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
        stable_prefix_tokens=count_long("".join([OPEN, *builder.stable[: builder.fixed_parts]])),
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
    for text, names in found.items():
        yield text if text == NOT_SEARCHED else f"{', '.join(names)}: {text}"


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
