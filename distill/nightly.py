"""The night's work in one home: everything that keeps memory small and true, one step after the other.

Closes what was left open, asks git again about evidence whose code moved, unites what says the same and supersedes what
is contradicted, archives what nobody refers to, proposes what recurring corrections call for, and writes a report. Each
step is a transaction of its own under the home's lock, so a night that is killed is finished by the next one; a night
with nothing to do changes nothing. A step that fails is named and does not stop the others. What a step does is its own
module's business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_home import storage
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.documents.entry_merge import merged_entry
from agent_home.errors import HomeError
from agent_home.home import MEMORY, Home
from agent_home.lock import hold
from agent_home.store import catalogue
from agent_home.store.gateway import Transaction, transaction
from agent_home.store.references import entry_places
from recall.embedding.embedder import NoEmbedder, Vector
from recall.errors import RecallError

from .close import ClosingFailure, close_all, unclosed
from .entries.consolidation import Consolidation, Link, consolidate, embed_entries
from .entries.decay import archive, archive_path
from .errors import DistillError
from .evidence.verification import verify
from .learning.governance import propose, suggestions
from .report import NightlyRun, ReportedProposal, render_report, report_path
from .settings import DistillSettings
from .summary.composition import NO_MODELS, Models

__all__ = ["STEPS", "NightlyRun", "ReportedProposal", "distill_home"]

#: The steps in their order, as progress names them.
STEPS = ("close", "verify", "consolidate", "archive", "govern", "report")
#: Entries beyond which a night compares by words alone: their vectors would take longer than the night has.
MAX_EMBEDDED = 3000
#: How often a night archives at most; two are enough unless hundreds of entries leave at once.
_ROUNDS = 10
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepContext:
    home: Home
    now: datetime
    settings: DistillSettings
    models: Models
    apply: bool
    progress: Progress

    def told(self, step: str) -> Callable[[str, int, int], None]:
        """Progress of one step, as the steps' own functions report it."""
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
    """Do the night's work in *home*; without *apply*, tell what would be done and change nothing.

    *models* help with summaries and with finding what says the same. A night that is only tried looks at the home as it
    is: what the sessions that wait would bring is not in it.
    *progress* is called with a step, how much of it is done, and how much there is.

    Raises:
        Locked: another process is at the night's work in this home.
        HomeError: the manifest or the lock cannot be used.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    run = _StepContext(home=home, now=now, settings=settings, models=models, apply=apply, progress=progress)
    night = NightlyRun()
    steps: tuple[Callable[[_StepContext, NightlyRun], object], ...] = (_close, _verify, _consolidate, _archive, _govern)
    with hold(home.machine / "nightly.lock"):
        before = _superseded(home).keys()
        for name, step in zip(STEPS, steps, strict=False):
            progress(name, 0, 1)
            try:
                step(run, night)
            except (HomeError, DistillError, RecallError, OSError) as error:
                night.failed.append(ClosingFailure(session=f"step {name}", error=str(error)))
            progress(name, 1, 1)
        if apply:
            night.superseded = _newly_superseded(home, before, night)
            _finish(run, night)
        progress(STEPS[-1], 1, 1)
    return night


def _close(run: _StepContext, night: NightlyRun) -> None:
    if not run.apply:
        night.sessions = tuple(unclosed(run.home))
        return
    done = close_all(run.home, now=run.now, settings=run.settings, models=run.models, progress=run.told("close"))
    night.closed = tuple(one for one in done.closed if one.commit)
    night.sessions = tuple(one.session for one in night.closed)
    night.added = tuple(entry.id for one in night.closed for entry in one.entries)
    night.failed += done.failed
    night.commits += [one.commit for one in night.closed if one.commit]
    night.merged = tuple(
        Link(older="", newer=entry.id, reason=f"said again in {one.session}")
        for one in night.closed
        for entry in one.merged
    )
    night.proposed = tuple(
        ReportedProposal(id=item.id, kind=item.section, reason=f"risk {item.risk}")
        for one in night.closed
        for item in one.proposed
    )


def _verify(run: _StepContext, night: NightlyRun) -> None:
    done = verify(run.home, now=run.now, apply=run.apply, settings=run.settings, progress=run.told("verify"))
    night.rechecked = done.changed
    night.commits += [done.commit] if done.commit else []


def _consolidate(run: _StepContext, night: NightlyRun) -> bool:
    """Unite and supersede over all live entries: what two machines brought, no closing has seen together.

    Whether anything changes.
    """
    target = archive_path(run.now)
    vectors = _vectors(run, list(parse(storage.read_text(run.home.root / MEMORY)).entries()))
    done = _consolidated(target, lambda path: parse(storage.read_text(run.home.root / path)), vectors)
    twice = _twice(entry_places(run.home))
    if run.apply and (twice or not done.unchanged):
        with transaction(run.home, actor="distill", message="Unite and supersede entries", now=run.now) as edits:
            night.settled += _settle(edits)
            done = _consolidated(target, edits.read, vectors)
            for path, document in done.documents.items():
                edits.write(path, document)
        night.commits += [edits.outcome.commit] if edits.outcome.commit else []
    else:
        night.settled += tuple(twice)
    night.merged += done.merged
    night.superseded += done.superseded
    return bool(twice) or not done.unchanged


def _archive(run: _StepContext, night: NightlyRun) -> None:
    """Archive what is old or has no room, until nothing moves any more.

    Entries are found to have to do with each other by words that few hold, and what leaves makes words rare: what stays
    is looked at again, or the next night would find something to do in a home that nobody touched.
    """
    for _ in range(_ROUNDS):
        done = archive(run.home, now=run.now, settings=run.settings, apply=run.apply, with_regret=False)
        night.archived += done.candidates
        night.archived_days += done.daily
        night.settled += done.settled
        night.commits += [done.commit] if done.commit else []
        if not (run.apply and done.candidates and _consolidate(run, night)):
            return


def _govern(run: _StepContext, night: NightlyRun) -> None:
    found = suggestions(run.home, now=run.now, settings=run.settings)
    wanted = {one.draft.id for one in found}
    if run.apply and found:
        wanted = set(propose(run.home, now=run.now, settings=run.settings).proposed)
    night.proposed += tuple(
        ReportedProposal(id=one.draft.id, kind=one.layer, reason=one.reason) for one in found if one.draft.id in wanted
    )


def _finish(run: _StepContext, night: NightlyRun) -> None:
    """Bring the generated files up to date and add the report, in one commit; nothing where nothing happened."""
    path = report_path(run.now)
    try:
        with transaction(run.home, actor="distill", message="Report of the night", now=run.now) as edits:
            catalogue.refresh(edits)
            if not night.idle:
                edits.write(path, render_report(edits.text(path), night, run.now))
    except (HomeError, OSError) as error:
        night.failed.append(ClosingFailure(session=f"step {STEPS[-1]}", error=str(error)))
        return
    night.commits += [edits.outcome.commit] if edits.outcome.commit else []
    night.report = path if (run.home.root / path).exists() else ""


def _superseded(home: Home) -> Mapping[str, str]:
    """Which live entry gave way to which, by the entries' own words."""
    return superseded_by(parse(storage.read_text(home.root / MEMORY)).entries())


def _newly_superseded(home: Home, before: Collection[str], night: NightlyRun) -> tuple[Link, ...]:
    """What gave way since *before*, with the rule where a step named it."""
    told = (*night.superseded, *(link for one in night.closed for link in one.superseded))
    reasons = {link.older: link.reason for link in told}
    return tuple(
        Link(older=older, newer=newer, reason=reasons.get(older, ""))
        for older, newer in _superseded(home).items()
        if older not in before
    )


def _vectors(run: _StepContext, entries: Sequence[Entry]) -> Mapping[str, Vector]:
    """The vectors of what the entries say; none without a model, and none for more than a night has time for."""
    if run.models.embedder is None or len(entries) > MAX_EMBEDDED:
        return {}
    embedder = run.models.embedder()
    return {} if isinstance(embedder, NoEmbedder) else embed_entries(entries, embedder)


def _consolidated(target: str, read: Callable[[str], Document], vectors: Mapping[str, Vector]) -> Consolidation:
    documents = {MEMORY: read(MEMORY)} | ({target: read(target)} if read(target).blocks else {})
    return consolidate(documents, archive=target, vectors=vectors)


def _twice(places: Mapping[str, Sequence[tuple[str, Entry]]]) -> list[str]:
    """The entries that stand in memory and in the archive and say the same there, though not to the letter.

    One machine archived what another one changed. Copies to the letter are for ``distill.entries.decay``.
    """
    found = []
    for entry_id, stands in places.items():
        live = [entry for path, entry in stands if path == MEMORY]
        copies = [entry for path, entry in stands if path.startswith("Archive/")]
        alike = len(live) == 1 and all(copy.text == live[0].text for copy in copies)
        if alike and any(copy.raw.strip() != live[0].raw.strip() for copy in copies):
            found.append(entry_id)
    return found


def _settle(edits: Transaction) -> tuple[str, ...]:
    """Let each entry that stands twice stand in memory alone, with what either text has; their ids."""
    places = entry_places(edits.home, edits)
    settled = _twice(places)
    for entry_id in settled:
        entry = next(entry for path, entry in places[entry_id] if path == MEMORY)
        for path, copy in places[entry_id]:
            if path.startswith("Archive/"):
                entry = merged_entry(None, entry, copy) or entry
                edits.write(path, edits.read(path).without_entries({entry_id}))
        edits.write(MEMORY, edits.read(MEMORY).with_entry_changed(entry))
    return tuple(settled)
