"""Run the nightly distillation of one home: close, verify, consolidate, archive, govern, report and pack.

Each step is a transaction of its own under the home's lock, so the next run finishes a run that was killed. A run with
nothing to do changes nothing. A step that fails is reported and does not stop the others. Each step belongs to a module
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime

from agent_home import storage
from agent_home.checkpoints.pruning import prune
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.errors import HomeError
from agent_home.git import packing
from agent_home.home import MEMORY, Home
from agent_home.lease.operation import operation
from agent_home.lock import hold
from agent_home.store import catalogue, closings
from agent_home.store.gateway import prepare, transaction
from agent_home.store.references import entry_places
from recall.embedding.embedder import NoEmbedder, Vector
from recall.errors import RecallError
from recall.hot_state.output_pointers import drop_pointers

from . import interrupted_night
from .close import close_all, read_unread, unclosed
from .closing_result import ClosedAll, ClosingFailure
from .entries.chronology import Chronology
from .entries.consolidation import Consolidation, IsReversed, Link, consolidate, embed_entries
from .entries.decay import archive, archive_path
from .entries.second_copies import second_copies, settle_second_copies
from .errors import DistillError
from .evidence.verification import verify
from .language_model.unread_sessions import unread_parts
from .learning.governance import propose, suggestions
from .report import NightlyRun, ReportedProposal, render_report, report_path
from .settings import DistillSettings
from .summary.composition import NO_MODELS, Models

__all__ = ["STEPS", "NightlyRun", "ReportedProposal", "distill_home"]

#: The steps in their order, with the names that progress reports.
STEPS = ("close", "verify", "consolidate", "archive", "govern", "prune", "report", "pack")
#: Above this number of entries, a run compares by words alone, because computing vectors would take too long.
MAX_EMBEDDED = 3000
#: Most rounds of archiving in one context. Two are enough unless hundreds of entries leave at once.
_MAX_ROUNDS = 10
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepContext:
    home: Home
    now: datetime
    settings: DistillSettings
    models: Models
    apply: bool
    progress: Progress

    def step_progress(self, step: str) -> Callable[[str, int, int], None]:
        """Return the callback through which the functions of *step* report progress."""
        return lambda _name, done, total: self.progress(step, done - 1, total)


def distill_home(
    home: Home,
    *,
    now: datetime,
    settings: DistillSettings | None = None,
    models: Models = NO_MODELS,
    apply: bool = True,
    progress: Progress = lambda _step, _done, _total: None,
) -> NightlyRun:
    """Run all steps in *home* and return what they did. Without *apply*, plan the steps and change nothing.

    *models* help with summaries and with finding equal entries. A plan is made from the home as it is, without the
    entries that closing the open sessions would add. *progress* is called with a step, the amount done and the total.

    Raises:
        Locked: another process runs the nightly distillation in this home.
        HomeError: the manifest or the lock cannot be used.
        NotHeld, NotPublished: a fleet serves the home, and this host may not write it, or its remote did not take it.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    context = _StepContext(home=home, now=now, settings=settings, models=models, apply=apply, progress=progress)
    result = NightlyRun()
    steps: tuple[Callable[[_StepContext, NightlyRun], object], ...] = (
        _close, _verify, _consolidate, _archive, _govern, _prune,
    )  # fmt: skip
    with operation(home) if apply else nullcontext(), hold(home.machine / "nightly.lock"):
        if apply:
            with suppress(HomeError, OSError):  # the steps report it
                prepare(home, now)  # what the killed run was about to write is what it did
            result.interrupted = interrupted_night.interrupted(home)
            interrupted_night.begin(home, now)
        before = _superseded_entries(home).keys()
        for name, step in zip(STEPS, steps, strict=False):
            progress(name, 0, 1)
            try:
                step(context, result)
            except (HomeError, DistillError, RecallError, OSError) as error:
                result.failed.append(ClosingFailure(session=f"step {name}", error=str(error)))
            progress(name, 1, 1)
        if apply:
            result.superseded = _newly_superseded(home, before, result)
            _write_report(context, result)
        progress("report", 1, 1)
        result.packed = _pack(context)
        progress("pack", 1, 1)
    return result


def _prune(context: _StepContext, result: NightlyRun) -> None:
    """Drop outputs of tools and checkpoints that are old and that nothing refers to."""
    days = context.settings.outputs_days
    if days > 0:
        done = prune(context.home, now=context.now, keep_days=days, apply=context.apply)
        if context.apply:
            drop_pointers(context.home, done.ids)
        result.pruned = done.ids


def _pack(context: _StepContext) -> str:
    """Pack git's loose objects and say what was gained. Nothing depends on it, so its failure is no failed night."""
    try:
        if context.apply:
            return packing.pack(context.home, context.now)
        state = packing.inspect(context.home)
        return str(state) if state.worthwhile else ""
    except (HomeError, OSError) as error:
        return f"not packed: {' '.join(str(error).split())}"


def _close(context: _StepContext, result: NightlyRun) -> None:
    absent = closings.absent_transcripts(context.home)
    result.failed += [ClosingFailure(session="sessions/", error=absent)] if absent else []
    if not context.apply:
        result.sessions = tuple(unclosed(context.home))
        return
    unread = unread_parts(context.home)  # before this night adds to them
    again = read_unread(context.home, unread, now=context.now, settings=context.settings, models=context.models)
    done = close_all(
        context.home,
        now=context.now,
        settings=context.settings,
        models=context.models,
        progress=context.step_progress("close"),
    )
    done = ClosedAll(closed=(*again.closed, *done.closed), failed=(*again.failed, *done.failed))
    result.closed = tuple(closed for closed in done.closed if closed.commit)
    result.sessions = tuple(closed.session for closed in result.closed)
    result.added = tuple(entry.id for closed in result.closed for entry in closed.entries)
    result.failed += done.failed
    result.commits += [closed.commit for closed in result.closed if closed.commit]
    result.merged = tuple(
        Link(older="", newer=entry.id, reason=f"said again in {closed.session}")
        for closed in result.closed
        for entry in closed.merged
    )
    result.proposed = tuple(
        ReportedProposal(id=item.id, kind=item.section, reason=f"risk {item.risk}")
        for closed in result.closed
        for item in closed.proposed
    )


def _verify(context: _StepContext, result: NightlyRun) -> None:
    done = verify(
        context.home,
        now=context.now,
        apply=context.apply,
        settings=context.settings,
        progress=context.step_progress("verify"),
    )
    result.rechecked = done.changed
    result.commits += [done.commit] if done.commit else []


def _consolidate(context: _StepContext, result: NightlyRun) -> bool:
    """Consolidate all live entries, because no closing saw the entries of two machines together.

    Return whether anything changes.
    """
    target = archive_path(context.now)
    vectors = _vectors(context, list(parse(storage.read_text(context.home.root / MEMORY)).entries()))
    order = Chronology(context.home).is_reversed
    done = _plan_consolidation(target, lambda path: parse(storage.read_text(context.home.root / path)), vectors, order)
    copied = second_copies(entry_places(context.home))
    if context.apply and (copied or not done.unchanged):
        with transaction(
            context.home, actor="distill", message="Unite and supersede entries", now=context.now
        ) as edits:
            result.settled += settle_second_copies(edits)
            done = _plan_consolidation(target, edits.read, vectors, order)
            for path, document in done.documents.items():
                edits.write(path, document)
        result.commits += [edits.outcome.commit] if edits.outcome.commit else []
    else:
        result.settled += tuple(copied)
    result.merged += done.merged
    result.superseded += done.superseded
    return bool(copied) or not done.unchanged


def _archive(context: _StepContext, result: NightlyRun) -> None:
    """Archive old entries and evict entries over the limits, until nothing moves.

    Consolidation finds related entries by words that few entries have, and archiving makes more words rare. So the
    remaining entries are consolidated again. Otherwise the next run would find work in an unchanged home.
    """
    for _ in range(_MAX_ROUNDS):
        done = archive(context.home, now=context.now, settings=context.settings, apply=context.apply, with_regret=False)
        result.archived += done.candidates
        result.archived_days += done.daily
        result.settled += done.settled
        result.commits += [done.commit] if done.commit else []
        if not (context.apply and done.candidates and _consolidate(context, result)):
            return


def _govern(context: _StepContext, result: NightlyRun) -> None:
    found = suggestions(context.home, now=context.now, settings=context.settings)
    proposed_ids = {suggestion.draft.id for suggestion in found}
    if context.apply and found:
        proposed_ids = set(propose(context.home, now=context.now, settings=context.settings).proposed)
    result.proposed += tuple(
        ReportedProposal(id=s.draft.id, kind=s.layer, reason=s.reason) for s in found if s.draft.id in proposed_ids
    )


def _write_report(context: _StepContext, result: NightlyRun) -> None:
    """Refresh the generated files and add the report in one commit. Write no report when nothing happened."""
    path = report_path(context.now)
    try:
        with transaction(context.home, actor="distill", message=interrupted_night.REPORT, now=context.now) as edits:
            catalogue.refresh(edits)
            if not result.idle:
                edits.write(path, render_report(edits.text(path), result, context.now))
    except (HomeError, OSError) as error:
        result.failed.append(ClosingFailure(session="step report", error=str(error)))
        return
    interrupted_night.end(context.home)
    result.commits += [edits.outcome.commit] if edits.outcome.commit else []
    result.report = path if (context.home.root / path).exists() else ""


def _superseded_entries(home: Home) -> Mapping[str, str]:
    """Return a map from each superseded live entry to the entry that supersedes it."""
    return superseded_by(parse(storage.read_text(home.root / MEMORY)).entries())


def _newly_superseded(home: Home, before: Collection[str], result: NightlyRun) -> tuple[Link, ...]:
    """Return the links of entries superseded since *before*, with the reason where a step reported one."""
    links = (*result.superseded, *(link for closed in result.closed for link in closed.superseded))
    reasons = {link.older: link.reason for link in links}
    return tuple(
        Link(older=older, newer=newer, reason=reasons.get(older, ""))
        for older, newer in _superseded_entries(home).items()
        if older not in before
    )


def _vectors(context: _StepContext, entries: Sequence[Entry]) -> Mapping[str, Vector]:
    """Return the vectors of the entries, or an empty map without a model or above ``MAX_EMBEDDED`` entries."""
    if context.models.embedder is None or len(entries) > MAX_EMBEDDED:
        return {}
    embedder = context.models.embedder()
    return {} if isinstance(embedder, NoEmbedder) else embed_entries(entries, embedder)


def _plan_consolidation(
    target: str, read: Callable[[str], Document], vectors: Mapping[str, Vector], is_reversed: IsReversed
) -> Consolidation:
    documents = {MEMORY: read(MEMORY)} | ({target: read(target)} if read(target).blocks else {})
    return consolidate(documents, archive=target, vectors=vectors, is_reversed=is_reversed)
