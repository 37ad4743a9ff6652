"""Check the evidence of entries again after their repositories have changed.

An entry becomes ``stale`` when git no longer confirms it, or when it reports work on a symbol that is gone. An entry
that git now confirms becomes ``verified``. Nothing changes without an answer from git, without a repository or
transcript on this machine, or while a branch without the entry's commit is checked out. Entries whose repositories did
not move since the last check are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.errors import NoSuchEntry
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.machine_state import hold_home
from agent_home.store.speakers import resolve_speakers

from ..settings import DistillSettings
from . import verification_cache
from .checking import check_standing, check_text, lost_symbol
from .repository import Deadline, DeadlinePassed, GitUnavailable, Repository
from .session_repositories import Workplace, workplace
from .status import READ, Evidence, Window

__all__ = ["RecheckedEntry", "VerificationReport", "verify"]

_NO_CLAIM = "claims nothing that git could confirm"
#: The evidence of several sessions in order of preference. The list holds every state.
_BEST_FIRST = ("verified", "unchecked", "stale", "contradicted", "unverified")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckedEntry:
    """One entry: its recorded state (*was*), its state by git (*now*), and its new evidence line (*line*).

    *line* is empty when nothing changes. *now* is ``unchecked`` when git gave no answer.
    """

    id: str
    title: str
    was: str
    now: str
    commit: str = ""
    detail: str = ""
    line: str = ""

    @property
    def fell(self) -> bool:
        """Return whether the entry no longer holds, or git now contradicts it."""
        return bool(self.line) and self.now in {"stale", "contradicted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    """Result of :func:`verify`, in file order. *unmoved* counts skipped entries, and *commit* is the new commit."""

    entries: tuple[RecheckedEntry, ...] = ()
    unmoved: int = 0
    commit: str | None = None

    @property
    def changed(self) -> tuple[RecheckedEntry, ...]:
        """Return the entries whose line changes."""
        return tuple(entry for entry in self.entries if entry.line)


@dataclass(slots=True)
class _Session:
    """A transcript's workplace, and the role of each turn."""

    place: Workplace
    roles: Mapping[str, str]


@dataclass(slots=True)
class _VerifyRun:
    """State that the entries of one call of :func:`verify` share."""

    home: Home
    now: datetime
    settings: DistillSettings
    states: verification_cache.RepositoryStates
    sessions: dict[str, _Session | None] = field(default_factory=dict)

    def session(self, name: str) -> _Session | None:
        """Return the session of that name, or ``None`` when its transcript is not on this machine. Read it once."""
        if name not in self.sessions:
            path = transcript.session_path(self.home, name)
            turns = resolve_speakers(self.home, transcript.read(path)).turns if path else ()
            messages = [turn.message for turn in turns]
            roles = {message.source: message.role for message in messages}
            place = workplace(messages, self.now, self.settings.window_slack_s)
            self.sessions[name] = _Session(place=place, roles=roles) if path else None
        return self.sessions[name]


def verify(
    home: Home,
    ids: Sequence[str] = (),
    *,
    now: datetime,
    everything: bool = False,
    apply: bool = False,
    settings: DistillSettings | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> VerificationReport:
    """Check the evidence of entries of ``MEMORY.md`` again and, with *apply*, write what changed in one commit.

    Without *ids* and *everything*, only entries are asked about whose repositories moved since they were last checked.
    An entry that another one superseded speaks no longer and is asked about only by its id. *progress* is called
    before each entry with its id, its number from 1, and how many there are.

    Raises:
        NoSuchEntry: one of *ids* is not in ``MEMORY.md``.
        HomeError: see :func:`agent_home.store.gateway.transaction`; nothing was written.
    """
    settings = settings or home.manifest.settings("distill", DistillSettings)
    run = _VerifyRun(
        home=home, now=now, settings=settings, states=verification_cache.RepositoryStates(settings.claim_timeout_s)
    )
    selected = _selected(home, ids)
    known = {} if everything or ids else verification_cache.read(home)
    moved = [entry for entry in selected if not _unmoved(entry, known.get(entry.id), run)]
    found: list[tuple[Entry, RecheckedEntry]] = []
    for number, entry in enumerate(moved, 1):
        if progress:
            progress(entry.id, number, len(moved))
        found.append((entry, _recheck(entry, run)))
    commit = _write(run, found, known_ids=[entry.id for entry in selected]) if apply else None
    entries = tuple(result for _, result in found)
    return VerificationReport(entries=entries, unmoved=len(selected) - len(moved), commit=commit)


def _selected(home: Home, ids: Sequence[str]) -> list[Entry]:
    """Return the entries of *ids*, or every entry with evidence that is still current, in file order."""
    entries = list(parse(storage.read_text(home.root / MEMORY)).entries())
    if not ids:
        return [entry for entry in entries if _evidence(entry) and not entry.fields.get("Superseded-By")]
    there = {entry.id for entry in entries}
    for missing in ids:
        if missing not in there:
            raise NoSuchEntry(missing)
    return [entry for entry in entries if entry.id in set(ids)]


def _evidence(entry: Entry) -> tuple[Evidence, str] | None:
    return Evidence.parse(entry.fields.get("Evidence", ""))


def _unmoved(entry: Entry, last: verification_cache.CacheRow | None, run: _VerifyRun) -> bool:
    return last is not None and verification_cache.current_row(entry, last.folders, run.states) == last


def _recheck(entry: Entry, run: _VerifyRun) -> RecheckedEntry:
    """Check *entry* again, and compute its new line."""
    recorded = _evidence(entry)
    was, address = recorded or (Evidence(state="unchecked"), "")
    answer = _current_evidence(entry, run)
    new = _verdict(was, answer, entry, run) if answer.state != "unchecked" else None
    reported = new or (was if answer.state != "unchecked" else answer)
    line = new.render(address) if new and new != was else ""
    return RecheckedEntry(
        id=entry.id, title=entry.title or entry.body, was=was.state, now=reported.state, commit=reported.commit,
        detail=reported.detail, line=line,
    )  # fmt: skip


def _current_evidence(entry: Entry, run: _VerifyRun) -> Evidence:
    """Return the best evidence from the repositories of the entry's sessions, else ``unchecked``."""
    text, sources = entry.changed(detail="").text, _sources(entry)
    recorded = _evidence(entry)
    read = recorded[0].commit if recorded and recorded[0].detail == READ else ""
    answers = []
    for name in dict.fromkeys(source.rpartition("#")[0] for source in sources):
        session = run.session(name)
        if session is None:
            answers.append(Evidence(state="unchecked", detail=f"no transcript of {name} on this machine"))
            continue
        role = next((session.roles[source] for source in sources if source in session.roles), "assistant")
        answers.append(_check_in(text, role, session.place.repositories(sources), session.place.window, run, read))
    return min(answers, key=lambda answer: _BEST_FIRST.index(answer.state), default=Evidence(state="unchecked"))


def _check_in(
    text: str, role: str, repositories: Sequence[Path], window: Window, run: _VerifyRun, read: str
) -> Evidence:
    """Check *text* in *repositories*. Confirmed work on a symbol that is gone by now is ``stale``.

    What a model read in the commit *read* holds as long as that commit stands.
    """
    timeout_s = run.settings.claim_timeout_s
    evidence = check_text(text, role, repositories, window, timeout_s=timeout_s)
    if read and (evidence is None or evidence.state == "unverified"):
        evidence = check_standing(text, repositories, read, timeout_s=timeout_s)
    if evidence is None:
        return Evidence(state="unchecked", detail=_NO_CLAIM)
    if evidence.state != "verified" or not evidence.commit:
        return evidence
    lost = lost_symbol(text, role, repositories, evidence.commit, timeout_s=timeout_s)
    return Evidence(state="stale", commit=evidence.commit, detail=f"{lost} is gone at HEAD") if lost else evidence


def _verdict(was: Evidence, answer: Evidence, entry: Entry, run: _VerifyRun) -> Evidence | None:
    """Return the evidence that replaces *was*, given git's *answer*, or ``None`` when *was* stays."""
    if was.state not in {"verified", "stale"}:
        return answer if answer.state != was.state else None
    found = _whereabouts(was.commit, entry, run) if was.commit else "gone"
    if answer.state == "verified":
        return answer if was.state == "stale" or found == "gone" else None
    if was.state == "stale" or found == "elsewhere":
        return None
    lost = f"commit {was.commit} is on no branch"
    return Evidence(state="stale", commit=was.commit, detail=answer.detail if found == "head" else lost)


def _whereabouts(commit: str, entry: Entry, run: _VerifyRun) -> str:
    """Return where *commit* is: at ``head``, ``elsewhere`` (on another branch, or unknown), or ``gone``."""
    found = "gone"
    for name in dict.fromkeys(source.rpartition("#")[0] for source in _sources(entry)):
        session = run.session(name)
        for root in session.place.repositories(_sources(entry)) if session else ():
            repository = Repository(root, Deadline(run.settings.claim_timeout_s))
            try:
                hashes = [full for full in repository.commits_named(commit) if repository.reachable(full)]
                if any(repository.in_head(full) for full in hashes):
                    return "head"
            except (GitUnavailable, DeadlinePassed):
                return "elsewhere"
            if hashes:
                found = "elsewhere"
    return found


def _sources(entry: Entry) -> list[str]:
    return [source.strip() for source in entry.fields.get("Sources", "").split(",") if "#" in source]


def _write(run: _VerifyRun, found: Sequence[tuple[Entry, RecheckedEntry]], known_ids: Iterable[str]) -> str | None:
    """Change the lines in one commit, and record the state of the repositories of each checked entry."""
    changed = [(entry, result) for entry, result in found if result.line]
    after = {entry.id: entry for entry, _ in found}
    commit = None
    if changed:
        counts = [
            f"{sum(r.now == state for _, r in changed)} {state}" for state in dict.fromkeys(r.now for _, r in changed)
        ]
        message = f"Check evidence again: {', '.join(counts)}"
        with transaction(run.home, actor="verify", message=message, now=run.now) as edits:
            document = edits.read(MEMORY)
            for entry, result in changed:
                present = document.entry(entry.id)
                if present is None or present.render() != entry.render():
                    after.pop(entry.id)  # changed meanwhile, so the next run checks it again
                    continue
                after[entry.id] = present.changed(fields={**present.fields, "Evidence": result.line})
                document = document.with_entry_changed(after[entry.id])
                edits.trailer("Evidence", f"{result.now} {result.commit}".strip())
            edits.write(MEMORY, document)
        commit = edits.outcome.commit
    _record(run, after.values(), _unanswered(found), set(known_ids))
    return commit


def _unanswered(found: Iterable[tuple[Entry, RecheckedEntry]]) -> set[str]:
    return {result.id for _, result in found if result.now == "unchecked" and result.detail != _NO_CLAIM}


def _record(run: _VerifyRun, entries: Iterable[Entry], unanswered: set[str], known_ids: set[str]) -> None:
    """Record the checked entries in the cache.

    An entry is left out when git gave no answer in time. The next run checks that entry again.
    """
    fresh: dict[str, verification_cache.CacheRow] = {}
    for entry in entries:
        sessions = [run.session(source.rpartition("#")[0]) for source in _sources(entry)]
        folders = dict.fromkeys(folder for session in sessions if session for folder in session.place.folders)
        complete = all(sessions) and not (entry.id in unanswered and any(map(run.states.state, folders)))
        now = verification_cache.current_row(entry, list(folders), run.states) if complete else None
        if now is not None:
            fresh[entry.id] = now
    with hold_home(run.home):
        kept = {key: row for key, row in verification_cache.read(run.home).items() if key in known_ids}
        if {**kept, **fresh} != kept:
            verification_cache.write(run.home, {**kept, **fresh})
