"""Close a session: turn its new messages into a section of the daily log and entries of memory.

Everything is one transaction and one commit, which names the messages that it covers
(``agent_home.store.closings``). So closing twice adds nothing, and closing later adds only what is new. When two
processes close one session, the second finds under the lock that its messages are closed, and starts again. Git is
asked before the lock is taken. This module does not update the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from agent_home import storage
from agent_home.documents import daily_log
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.errors import HomeError, Locked
from agent_home.home import MEMORY, Home
from agent_home.lease.operation import operation
from agent_home.salt import read_salt
from agent_home.screening.service import ScreeningService
from agent_home.store import catalogue, closings, transcript
from agent_home.store.gateway import Transaction, WriteOutcome, prepare, transaction
from agent_home.store.machine_state import drop_expired, hold_home
from agent_home.store.proposals import ProposalDraft
from agent_home.store.speakers import SpeakerRoles, resolve_speakers
from agent_home.store.transcript import Turn

from .closing_result import (
    CheckedClaim,
    Closed,
    ClosedAll,
    ClosingFailure,
    changed_entries,
    entries_as_stored,
    proposed_entry,
)
from .entries.answered_entries import ask_about_answered
from .entries.archived_statements import files_stating
from .entries.carried import stated_text
from .entries.chronology import Chronology
from .entries.citation import note_mentions
from .entries.foreign_items import reason_to_wait, with_foreign_doubts
from .entries.operations import (
    AppliedOperations,
    Operation,
    RefusedOperation,
    apply_operations,
    possible_endings,
)
from .entries.promotion import (
    Placement,
    PromotionCandidate,
    find_candidates,
    item_origins,
    place_candidates,
    statements,
)
from .entries.recurrence import EarlierMention, find_recurring, read_recent_logs
from .entries.resolution import Saying, with_endings
from .errors import Contended, DistillError, EmptySession, NoSuchSession
from .evidence.session_repositories import local_time
from .evidence.status import Evidence
from .language_model.unread_sessions import UnreadPart, forget_unread, note_unread
from .learning.evolution import record_lessons, withdraw_lessons
from .learning.governance import record_rule_references
from .learning.lesson_extraction import lessons_from
from .projects import ProjectUpdate, update_projects
from .review.entry_endings import draft_endings, is_rejected, waiting_questions
from .review.entry_proposals import draft_proposal, rejected_or_pending
from .settings import DistillSettings
from .statements.restatement import WordsOfOthers, words_of_others
from .statements.standalone import stand_alone
from .summary.composition import NO_MODELS, Composition, Models, compose
from .summary.daily_section import render_body
from .summary.extraction import Item, Summary
from .summary.participants import with_participants
from .summary.reported_work import find_evidence
from .summary.standalone_items import owner_name

__all__ = [
    "close",
    "close_all",
    "read_unread",
    "unclosed",
]

_ATTEMPTS = 5

#: Proposals of participants, tools and pages that one closing makes.
_MOST_OF_OTHERS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClosingDraft:
    """A summary of turns that no closing covers, with git's evidence, before it is written.

    Without *log* the daily log has these turns already, and only entries are written.
    """

    closing: daily_log.Closing
    summary: Summary
    evidence: Mapping[Item, Evidence]
    origins: Mapping[str, str]
    heard: WordsOfOthers
    fresh: tuple[Turn, ...]
    again: bool
    composed: Composition
    unowned: tuple[str, ...] = ()
    log: bool = True


def close(
    home: Home,
    session: str,
    *,
    now: datetime,
    settings: DistillSettings | None = None,
    models: Models = NO_MODELS,
    again: bool = False,
) -> Closed:
    """Turn the messages of *session* since its last closing into memory. *models* help with its summary.

    A closing that was reverted in git stays reverted. With *again*, the part that it covered is closed once more.

    Raises:
        NoSuchSession, EmptySession: there is no such session, or nothing in it.
        Contended: others kept closing the session meanwhile.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
        NotPublished: a fleet serves the home, and its remote did not take the closing.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    with operation(home):
        return _close(home, session, now, settings, models, again=again)


def _close(
    home: Home, session: str, now: datetime, settings: DistillSettings, models: Models, *, again: bool
) -> Closed:
    prepare(home, now)
    path = transcript.session_path(home, session)
    if path is None:
        known = [item.session for item in transcript.sessions(home)]
        raise NoSuchSession(session, known, closings.absent_transcripts(home))
    session = transcript.session_name(home, session)
    for _ in range(_ATTEMPTS):
        turns = transcript.read(path)
        if not turns:
            raise EmptySession(session, home.relative(path))
        fresh = _fresh(home, session, turns, again=again)
        if not fresh:
            return _nothing_new(home, session, turns)
        draft = _draft(home, session, resolve_speakers(home, turns), fresh, now, settings, models, again=again)
        closed = _write(home, draft, now, settings)
        if closed is not None:
            if draft.composed.unread:
                part = UnreadPart(session=session, start=draft.closing.start, end=draft.closing.end)
                with suppress(Locked, OSError):  # without the note, the rules' reading stands
                    note_unread(home, part)
            return closed
    raise Contended(session)


def read_unread(
    home: Home,
    parts: Sequence[UnreadPart],
    *,
    now: datetime,
    settings: DistillSettings | None = None,
    models: Models = NO_MODELS,
) -> ClosedAll:
    """Let the model read closed *parts* that it gave no answer for. Stop at the first part without an answer.

    The daily log stays as it is. A part whose closing was reverted or whose transcript is gone is forgotten.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    done, failed = [], []
    for part in parts if models.endpoint is not None else ():
        try:
            draft = _unread_draft(home, part, now, settings, models)
            if draft is not None and draft.composed.unread:
                failed.append(ClosingFailure(session=part.session, error=draft.composed.problem))
                break
            closed = _write(home, draft, now, settings) if draft is not None else None
            done += [closed] if closed is not None else []
            forget_unread(home, part)
        except (DistillError, HomeError, OSError) as error:
            failed.append(ClosingFailure(session=part.session, error=str(error)))
    return ClosedAll(closed=tuple(done), failed=tuple(failed))


def _unread_draft(
    home: Home, part: UnreadPart, now: datetime, settings: DistillSettings, models: Models
) -> _ClosingDraft | None:
    """Read the turns of *part* again. Return ``None`` where they are not closed any more."""
    path = transcript.session_path(home, part.session)
    turns = transcript.read(path) if path is not None else []
    within = [turn for turn in turns if part.start <= turn.start < part.end]
    if not within or _fresh(home, part.session, within, again=True):
        return None
    before = [turn for turn in turns if turn.start < part.end]
    roles = resolve_speakers(home, before)
    return replace(_draft(home, part.session, roles, within, now, settings, models, again=False), log=False)


def close_all(
    home: Home,
    *,
    now: datetime,
    settings: DistillSettings | None = None,
    models: Models = NO_MODELS,
    progress: Callable[[str, int, int], None] | None = None,
) -> ClosedAll:
    """Close every session with new turns, oldest first. A session that fails does not stop the others.

    *progress* is called before each with its name, its number from 1, and the number of sessions.

    Raises:
        HomeError: an earlier write is still uncommitted and cannot be committed now either.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    drop_expired(home, now)
    prepare(home, now)
    waiting = unclosed(home)
    closed, failed = [], []
    for number, session in enumerate(waiting, 1):
        if progress:
            progress(session, number, len(waiting))
        try:
            closed.append(close(home, session, now=now, settings=settings, models=models))
        except (DistillError, HomeError, OSError) as error:
            failed.append(ClosingFailure(session=session, error=str(error)))
    return ClosedAll(closed=tuple(closed), failed=tuple(failed), absent=closings.absent_transcripts(home))


def unclosed(home: Home) -> list[str]:
    """Return the sessions with turns after their watermark, by the time of the first such turn, then by name."""
    return [session for session, _ in closings.open_sessions(home)]


def _fresh(home: Home, session: str, turns: Sequence[Turn], *, again: bool) -> list[Turn]:
    """Return those of *turns* that no closing covers. With *again*, reverted closings cover nothing."""
    closed = closings.closed_parts(home, closings.first_day(turns), recorded=not again, sessions=[session])
    return closed.fresh(session, turns)


def _nothing_new(home: Home, session: str, turns: Sequence[Turn]) -> Closed:
    """Return the result for a session whose turns are all closed: the place of its last closing."""
    last = daily_log.watermark(home, session, closings.first_day(turns))
    taken_back = bool(_fresh(home, session, turns, again=True))
    where = (last.path, last.anchor) if last else ("", "")
    return Closed(session=session, daily=where[0], anchor=where[1], taken_back=taken_back)


def _draft(
    home: Home,
    session: str,
    roles: SpeakerRoles,
    fresh: Sequence[Turn],
    now: datetime,
    settings: DistillSettings,
    models: Models,
    *,
    again: bool,
) -> _ClosingDraft:
    """Summarise *fresh*, which are some of the turns of *roles*."""
    turns, starts = roles.turns, {turn.start for turn in fresh}
    fresh = [turn for turn in turns if turn.start in starts]
    earlier = [turn.message for turn in turns if turn.start < fresh[0].start]
    said = [turn.message for turn in fresh]
    entries = _live_entries(home)
    composed = compose(
        home, said, earlier, settings=settings, models=models, now=now, statements=_statements(entries)
    )  # fmt: skip
    work = find_evidence(
        home, composed.summary, [turn.message for turn in turns], () if composed.read else said, now=now,
        settings=settings, endpoint=None if composed.unread else models.endpoint,
        spent=composed.use.tokens if composed.use else 0,
    )  # fmt: skip
    composed = composed.with_work(work, said)
    summary, evidence = composed.summary, work.evidence
    settled = _settled_endings(composed, entries, evidence, models, owner_name(home), now)
    pairs = zip(summary.items, settled.items, strict=True)
    evidence = {item: evidence[before] for before, item in pairs if before in evidence}
    summary = with_participants(
        settled, said, share=settings.log_share, max_items=settings.max_items, now=now,
        embedder=models.loaded_embedder(),
    )  # fmt: skip
    ended = local_time(fresh[-1].message.ts, now)
    closing = daily_log.Closing(
        session=session,
        date=f"{ended:%Y-%m-%d}",
        time=f"{ended:%H:%M}",
        title=_screened_title(home, summary.title),
        first=len(earlier) + 1,
        last=sum(turn.start <= fresh[-1].start for turn in turns),
        start=fresh[0].start,
        end=fresh[-1].end,
        recorded_anchor=daily_log.anchor_of(session, fresh[0].start, fresh[0].message.id),
    )
    origins = {turn.message.source: turn.message.origin for turn in turns}
    heard = words_of_others([turn.message for turn in turns], read_salt(home))
    own_origins = item_origins(summary.items, evidence, origins, heard.origin_of)
    summary = with_foreign_doubts(summary, evidence, own_origins, heard)
    return _ClosingDraft(
        closing=closing, summary=summary, evidence=evidence,
        origins=origins, heard=heard, fresh=tuple(fresh), again=again, composed=composed, unowned=roles.unowned,
    )  # fmt: skip


def _settled_endings(
    composed: Composition,
    entries: Sequence[Entry],
    evidence: Mapping[Item, Evidence],
    models: Models,
    owner: str,
    now: datetime,
) -> Summary:
    """Return the summary with the operations on *entries* that its turns call for, and its own items settled."""
    said = composed.messages

    def tell(saying: Saying) -> str:
        before = said[max(0, saying.place - 1) : saying.place]
        return stand_alone(saying.text, said[saying.place], before, owner, now)

    settled = with_endings(
        composed.summary, said, entries, evidence=evidence, embedder=models.loaded_embedder(), tell=tell
    )  # fmt: skip
    if composed.read:
        return settled
    named = {operation.target for operation in settled.operations}
    asked = ask_about_answered(entries, said, named, tell)
    return replace(settled, operations=(*settled.operations, *asked))


def _write(home: Home, draft: _ClosingDraft, now: datetime, settings: DistillSettings) -> Closed | None:
    """Write *draft* in one transaction. Return ``None`` when some of its turns were closed since it was made."""
    closing = draft.closing
    verb = "Close" if draft.log else "Read again"
    message = f"{verb} session {' '.join(closing.session.split())}: {closing.title}"
    with transaction(home, actor="close", message=message, session=closing.session, now=now) as edits:
        fresh = draft.fresh if draft.log else ()
        if len(_fresh(home, closing.session, fresh, again=draft.again)) != len(fresh):
            return None
        seen = _earlier_mentions(home, draft, settings)
        if draft.log:
            _add_to_daily_log(edits, draft, settings)
        found = find_candidates(
            (*draft.summary.items, *draft.summary.doubted), draft.evidence, draft.origins, closing.date,
            draft.heard.origin_of, mentions=seen, recurring=settings.recurring,
        )  # fmt: skip
        documents = _memory_documents(edits, found)
        placed = place_candidates(
            found, documents, new_id=edits.new_id, address=closing.address,
            max_per_section=settings.max_entries_per_section, proposed_sections=settings.proposed_sections,
            refused=rejected_or_pending(home) if found else lambda _: False, is_reversed=Chronology(home).is_reversed,
        )  # fmt: skip
        operated = apply_operations(
            placed.documents, draft.summary.operations, draft.origins, date=closing.date, new_id=edits.new_id,
            origin_of=draft.heard.origin_of,
        )  # fmt: skip
        for path, document in operated.documents.items():
            if document is not documents.get(path):  # the archive is large, and rarely changes
                edits.write(path, document)
        restored = note_mentions(edits, fresh, [entry.id for _, entry in placed.merged])
        catalogue.refresh(edits)
        learned, updated = _record_lessons_and_projects(edits, draft) if draft.log else ((), ProjectUpdate())
        withdraw_lessons(edits, [item.entry for item in operated.applied if item.operation.kind == "retract"])
        placed = _without_flood(placed)
        drafts = [draft_proposal(home, candidate, entry, closing.session) for candidate, entry in placed.proposed]
        drafts += updated.drafts
        for proposed in drafts:
            edits.propose(proposed)
        operated = _ask_about_endings(edits, draft, _with_undecided(operated, placed))
        for said in draft.evidence.values():
            edits.trailer("Evidence", f"{said.state} {said.commit}".strip())
    outcome = edits.outcome
    if draft.log:
        with suppress(Locked, OSError), hold_home(home):  # without the record, only a revert is unprotected
            closings.record(home, closing, outcome.commit, now)
    return _closed(
        home, draft, outcome, placed, operated, drafts, restored=restored, learned=learned, projects=updated.paths
    )


def _without_flood(placed: Placement) -> Placement:
    """Return *placed* with no more proposals of others than a person can look through. The rest count as refused."""
    proposed = list(placed.proposed)
    of_others = [item for item in proposed if item[0].origin not in {"user", "agent"}][_MOST_OF_OTHERS:]
    return replace(
        placed, proposed=[item for item in proposed if item not in of_others], refused=placed.refused + len(of_others)
    )


def _ask_about_endings(edits: Transaction, draft: _ClosingDraft, operated: AppliedOperations) -> AppliedOperations:
    """Propose the ends of entries that nobody is sure of. Return *operated* without those that a person rejected."""
    unsure = [item.operation for item in operated.refused if item.operation.unsure]
    endings = possible_endings(
        operated.documents, unsure, draft.origins, date=draft.closing.date, new_id=edits.new_id,
        origin_of=draft.heard.origin_of,
    )  # fmt: skip
    for proposed in draft_endings(edits.home, operated.documents[MEMORY], endings, draft.closing.session):
        edits.propose(proposed)
    rejected = {ending.older.id for ending in endings if is_rejected(edits.home, ending)}
    refused = (item for item in operated.refused if not item.operation.unsure or item.operation.target not in rejected)
    return replace(operated, refused=tuple(refused))


def _with_undecided(operated: AppliedOperations, placed: Placement) -> AppliedOperations:
    """Return *operated* with the replacements that consolidation left to a person, of entries that it does not name."""
    named = {item.operation.target for item in operated.refused} | {item.entry.id for item in operated.applied}
    now = {entry.id: entry for _, entry in placed.added}
    left = [
        RefusedOperation(
            operation=Operation(
                kind="supersede", target=link.older, text=now[link.newer].text, reason=link.reason, unsure=True,
                sources=tuple(part.strip() for part in now[link.newer].fields.get("Sources", "").split(",")),
            ),
            reason="the words do not tell which part of it ends",
        )
        for link in placed.undecided
        if link.newer in now and link.older not in named
    ]  # fmt: skip
    return replace(operated, refused=(*operated.refused, *left))


def _closed(
    home: Home,
    draft: _ClosingDraft,
    outcome: WriteOutcome,
    placed: Placement,
    operated: AppliedOperations,
    drafts: Sequence[ProposalDraft],
    *,
    restored: tuple[str, ...],
    learned: tuple[str, ...],
    projects: tuple[str, ...],
) -> Closed:
    """Return what the transaction wrote, as the guard let it through."""
    closing = draft.closing
    asked = waiting_questions(home, [item.operation.target for item in operated.refused if item.operation.unsure])
    return Closed(
        session=closing.session,
        daily=closing.path,
        anchor=closing.anchor,
        title=closing.title,
        entries=entries_as_stored(outcome, placed.added),
        merged=entries_as_stored(outcome, placed.merged, merged=True),
        claims=tuple(CheckedClaim(text=i.text, sources=i.sources, evidence=e) for i, e in draft.evidence.items()),
        redacted=outcome.redacted,
        proposed=tuple(proposed_entry(proposed) for proposed in drafts if proposed.id in outcome.proposed),
        quarantined=outcome.quarantined,
        dropped=outcome.dropped + placed.refused,
        left_in_log=placed.left_in_log,
        restored=restored,
        superseded=placed.superseded,
        changed=changed_entries(operated, {link.older for link in placed.superseded}, asked, outcome),
        learned=learned,
        projects=projects,
        reworded=draft.composed.reworded,
        use=draft.composed.use,
        degraded=_reasons(draft.composed.problem, draft.composed.work_problem, *outcome.waiting),
        unowned=draft.unowned,
        commit=outcome.commit,
    )


def _earlier_mentions(home: Home, draft: _ClosingDraft, settings: DistillSettings) -> dict[Item, EarlierMention]:
    """Return, if a section asks for it, where other sessions of the last weeks mention the topics of the items."""
    if not settings.recurring:
        return {}
    logs = read_recent_logs(home, draft.closing.date, settings.recurrence_days)
    items = draft.summary.items
    return find_recurring(items, logs, draft.closing.session, most=len(items))


def _add_to_daily_log(edits: Transaction, draft: _ClosingDraft, settings: DistillSettings) -> None:
    closing = draft.closing
    origins = item_origins(draft.summary.items, draft.evidence, draft.origins, draft.heard.origin_of)
    section = daily_log.render_closing(closing, render_body(draft.summary, draft.evidence, settings.max_items, origins))
    text = edits.text(closing.path) or f"# {closing.date}\n"
    edits.write(closing.path, f"{text.rstrip()}\n\n{section}")
    closings.note(edits, closing, draft.fresh)


def _record_lessons_and_projects(edits: Transaction, draft: _ClosingDraft) -> tuple[tuple[str, ...], ProjectUpdate]:
    """Write the session's lessons to EVOLUTION.md and its results to projects.

    Return ids of lessons, and the update.
    """
    items, date = draft.summary.items, draft.closing.date
    origins = item_origins(items, draft.evidence, draft.origins, draft.heard.origin_of)
    record_rule_references(edits, draft.fresh)
    heard = draft.heard
    lessons = [
        lesson
        for lesson in lessons_from(items, draft.fresh, origins, date, heard.origin_of)
        if not reason_to_wait(lesson.text, lesson.origin, lesson.sources[0], heard)
    ]
    taught = record_lessons(edits, lessons)
    updated = update_projects(edits, items, draft.fresh, draft.evidence, origins, date=date)
    return tuple(entry.id for entry in taught), updated


def _reasons(*said: str) -> tuple[str, ...]:
    """Return what was said, each once. Several texts may wait for the same reason."""
    return tuple(filter(None, dict.fromkeys(said)))


def _live_entries(home: Home) -> list[Entry]:
    """Return the entries of ``MEMORY.md`` on the disk. The transaction applies operations to the file that it locks."""
    return list(parse(storage.read_text(home.root / MEMORY)).entries())


def _statements(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the statements of one line of the *entries* that may be superseded, by id."""
    replaced = superseded_by(entries)
    live = (entry for entry in entries if not (entry.retired or entry.protected or entry.id in replaced))
    found = {entry.id: stated_text(entry) for entry in live}
    return {entry_id: text for entry_id, text in found.items() if "\n" not in text}


def _memory_documents(edits: Transaction, found: Sequence[PromotionCandidate]) -> dict[str, Document]:
    """Return ``MEMORY.md`` and the archive files that state one of *found*, by path, as this transaction sees them."""
    archived = files_stating(edits, {statement for candidate in found for statement in statements(candidate)})
    return {path: edits.read(path) for path in (MEMORY, *archived)}


def _screened_title(home: Home, title: str) -> str:
    """Return *title* as the guard lets it stand in a heading, and in a commit message, which nothing screens later."""
    verdict = ScreeningService(home).verdict(daily_log.daily_path("2026-01-01"), title, "agent")
    return verdict.text if verdict.stored else "Session"
