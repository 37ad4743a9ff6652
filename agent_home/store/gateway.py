"""The one way to change a home.

lock -> re-read under the lock -> edit the parsed document -> screen the new text -> validate the document -> temp
file, fsync, rename, fsync the folder -> audit line -> git commit. Several edits share one transaction and one
commit. A transaction happens whole or not at all, also when its process is killed: ``agent_home.store.recovery`` writes
down what is about to be renamed, and the next writer completes it.

Transcripts, ledgers and other JSON lines are appended through :func:`append_rows`, which screens and locks alike
and does not commit.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from guard.lazy_regex import lazy_regex

from .. import clock, storage
from ..consent.agreed_links import SHARED
from ..consent.settings_in_effect import remember_settings
from ..documents.check import RULES, UNCLOSED_RULES, conflict_marker, is_json_object, text_problems
from ..documents.document import Document, parse
from ..documents.document_merge import is_unmergeable
from ..documents.entry import Entry, new_id
from ..documents.placement import insert_text
from ..documents.provenance import origin_of_changes
from ..errors import DocumentInvalid, HistoryError, SettingsInvalid
from ..events.recording import record_event
from ..git import history
from ..git.acknowledged import taken_back
from ..git.entry_diff import entries_touched
from ..git.hidden_files import refuse_hidden
from ..home import Home
from ..lease.published import has_pending
from ..lease.record import read_lease
from ..lock import DEFAULT_TIMEOUT_S
from ..salt import ensure_salt
from ..screening.added_blocks import moved_blocks
from ..screening.quarantine import Quarantined
from ..screening.review_ledger import APPROVED, REJECTED, decisions, decisions_in, sign_row
from ..screening.service import ScreeningService
from ..screening.write_policy import WriteScreening, reason_of
from ..sharing.folders import shared_folder, submodules
from ..sharing.waiting_texts import PlacedText
from ..sharing.waiting_texts import is_waiting as has_waiting_texts
from . import appended, losses, moved_head, proposals, recovery
from .appended import Written
from .branch import refuse_elsewhere, written_tip
from .machine_state import hold_home, is_waiting
from .memory_path import memory_path, refuse_links, refuse_other_case
from .moved_head import note_head
from .proposals import ProposalDraft
from .uncommitted_edits import failing_paths, refuse_failing

__all__ = ["AppendedRows", "Transaction", "WriteOutcome", "append_rows", "prepare", "transaction"]

_log = logging.getLogger(__name__)
#: Types of the events that writers other than a plain one cause.
_EVENT_OF_ACTOR = {"archive": "archival", "close": "closing"}
_SURROGATE = lazy_regex(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """Result of a transaction. *commit* is ``None`` when no file differs.

    *entries* are the entries of the files that were written, by id, as they are stored now. An entry whose new text was
    held back is not among them. *dropped* counts texts that the guard holds back and that a person had rejected
    already. *proposed* are the ids of the new proposals. *waiting* says which texts for shared folders wait, and why.
    """

    commit: str | None = None
    paths: tuple[str, ...] = ()
    entries: Mapping[str, Entry] = field(default_factory=dict)
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    dropped: int = 0
    proposed: tuple[str, ...] = ()
    findings: tuple[dict[str, Any], ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedRows:
    """Result of :func:`append_rows`: where the first new row begins, and what the guard changed."""

    start: int
    rows: int
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    dropped: int = 0


@dataclass(slots=True)
class Transaction:
    """Edits that will be written together. Made by :func:`transaction`, and valid inside its block only.

    *together* means that uncommitted edits of a person to the same files get no commit of their own. A file in which
    such an edit fails the guard is written and not committed at all. *merges* are commits of other clones whose texts
    the caller merged. Their texts are judged as what a person put into a file by hand, and become parents of the
    commit. With *forward*, the branch goes forward to such a commit where it holds the same texts.
    """

    home: Home
    actor: str
    message: str
    session: str
    source: str
    now: datetime
    outcome: WriteOutcome = field(default_factory=WriteOutcome)
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    trailers: dict[str, list[str]] = field(default_factory=dict)
    drafts: list[ProposalDraft] = field(default_factory=list)
    together: bool = False
    merges: tuple[str, ...] = ()
    forward: bool = False
    _ids: set[str] | None = None

    def text(self, path: str) -> str:
        """Return the file's text with this transaction's edits. An absent file has an empty text.

        Raises:
            ValueError: *path* is not the canonical spelling, or is no memory.
            DocumentInvalid: the file is not UTF-8, or leads out of the home.
        """
        if path not in self.before:
            self.before[path] = self._present(path)
        return self.after.get(path, self.before[path])

    def _present(self, path: str) -> str:
        """Return the text on the disk.

        A file of a shared folder that cannot be read, or that nothing can be added to, counts as empty: others broke
        it, and the new text waits until it can be merged.
        """
        target = memory_path(self.home, path)
        try:
            text = storage.read_text(target)
        except (DocumentInvalid, OSError):
            if not self._is_shared(path):
                raise
            return ""
        return "" if is_unmergeable(path, text) and self._is_shared(path) else text

    def _is_shared(self, path: str) -> bool:
        return shared_folder(self.home, path, submodules(self.home)) is not None

    def read(self, path: str) -> Document:
        """Return the file as a document, with this transaction's edits."""
        return parse(self.text(path))

    def write(self, path: str, content: Document | str) -> None:
        """Set the file's content at the end of the block. An empty text removes the file."""
        if path.startswith("sessions/"):
            raise ValueError(f"{path} is a transcript. A transcript can only be appended to")
        self.text(path)
        self.after[path] = _SURROGATE.sub("\ufffd", content if isinstance(content, str) else content.render())

    def append(self, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append *rows* as JSON lines to the ledger *path*, in the same commit as everything else.

        A half-written last line is removed: nobody was told that it had been stored. A decision of a person is signed
        by this machine.
        """
        rows = [sign_row(self.home, row) for row in rows] if path in (APPROVED, REJECTED) else rows
        text = self.text(path)
        whole, _, last = text.rpartition("\n")
        if last:
            text = f"{text}\n" if is_json_object(last) else f"{whole}\n" if whole else ""
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        self.write(path, text + "".join(lines))

    def propose(self, draft: ProposalDraft) -> None:
        """Make *draft* wait for a person, on a branch of its own that is made with the commit."""
        self.drafts.append(draft)

    def new_id(self, prefix: str, seed: str) -> str:
        """Return an entry id that no entry has, be it live, archived or proposed. The same seed gives the same id."""
        if self._ids is None:
            self._ids = proposals.taken_ids(self.home)
        found = new_id(prefix, seed, self._ids)
        self._ids.add(found)
        return found

    def trailer(self, name: str, value: str) -> None:
        """Add *value* to the commit's trailer *name*: ``Evidence``, ``Guard``, or one of the caller's own.

        The gateway writes Session, Entries and Actor itself.
        """
        values = self.trailers.setdefault(name, [])
        if value not in values:
            values.append(value)


@contextmanager
def transaction(
    home: Home,
    *,
    actor: str,
    message: str,
    session: str = "",
    source: str = "agent",
    now: datetime | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Iterator[Transaction]:
    """Edit files of *home* under its lock. They are written and committed when the block ends without an error.

    *actor* is the writer (``close``, ``import``, a person's name), *source* the author of the text (user, agent, tool
    or web), *message* the commit's subject. After the block, ``outcome`` holds the result.

    Raises:
        Locked: the lock was not free within *timeout_s*.
        GuardRefused: the guard could not run, or a text may not be stored in any form.
        DocumentInvalid: an edit would make a file break its rules.
        Changed: somebody changed a file outside the gateway meanwhile.
        HistoryError: git is absent or refused.
        NotHeld, NotPublished: a fleet serves the home (:func:`agent_home.store.machine_state.hold_home`).
    """
    with hold_home(home, timeout_s):
        recovery.recover(home)
        ensure_salt(home)
        moment = now or clock.now()
        losses.restore(home, moment)
        _warn_of_reset(home)
        with suppress(SettingsInvalid):  # the command that needs a setting names what is wrong with it
            remember_settings(home.manifest, home.machine)
        _screen_arrived(home, moment)
        edits = Transaction(home=home, actor=actor, message=message, session=session, source=source, now=moment)
        yield edits
        edits.outcome = _finish(edits)
        edits.outcome = _with_shared(edits.outcome, recovery.write_shared(home))
        note_head(home)


def _with_shared(outcome: WriteOutcome, placed: Sequence[PlacedText]) -> WriteOutcome:
    """Return *outcome* with what became of texts for shared folders. The commit may be one of theirs."""
    waiting = tuple(one.problem for one in placed if one.problem)
    made = next((one.commit for one in placed if one.commit and one.path in outcome.paths), None)
    return replace(outcome, waiting=waiting, commit=outcome.commit or made)


def _screen_arrived(home: Home, moment: datetime) -> None:
    """Screen what a person's git commands brought into HEAD, and write what fails into the audit."""
    start = moved_head.head_moved(home)
    if not start:
        return
    found = moved_head.arrived(home, start)
    if found.findings or found.strange:
        places = [f"{one.where} {one.name}" for one in found.findings] + list(found.strange)
        _log.warning("git brought %d things that memory does not take. `memory doctor` names them", len(places))
        row: dict[str, Any] = {"ts": moment.isoformat(), "actor": "git", "message": f"moved from {start}", "files": []}
        recovery.audit(home, {**row, "commit": found.head, "arrived": places})


def _record_events(home: Home, record: Mapping[str, Any], commit: str) -> None:
    """Record a write, and what the guard found in it, in the event log."""
    audit = record["audit"]
    session, moment = audit["session"], datetime.fromisoformat(audit["ts"])
    entries = [name for name in record["trailers"]["Entries"].split(", ") if name]
    record_event(
        home, _EVENT_OF_ACTOR.get(audit["actor"], "write"), session=session, now=moment,
        commit=commit, entries=entries, files=len(audit["files"]), source=record["trailers"]["Source"],
    )  # fmt: skip
    rules = sorted({str(finding.get("rule", "")) for finding in audit["findings"]})
    if rules or audit["quarantined"]:
        record_event(home, "verdict", session=session, now=moment, rules=rules, quarantined=audit["quarantined"])


def _warn_of_reset(home: Home) -> None:
    """Say that the branch lacks what this machine acknowledged. The write makes a newer commit, so say it now."""
    with suppress(HistoryError):
        if lacking := taken_back(home, written_tip(home)):
            _log.warning("%s", lacking.describe(home.root, written=True))


def prepare(home: Home, now: datetime, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
    """Do what a transaction does first, for a caller that reads memory before it begins one.

    A writer that died is completed, and entries that an edit by hand lost are brought back. What a fleet's home has not
    published is published, so that nobody who finds a text there takes it for stored too early. The lock is taken only
    if there is something to do.

    Raises:
        Locked, HistoryError, DocumentInvalid: see :func:`transaction`.
    """
    to_do = recovery.is_pending(home) or losses.pending(home) or is_waiting(home) or has_waiting_texts(home)
    if to_do or has_pending(home):
        with hold_home(home, timeout_s):
            recovery.recover(home)
            losses.restore(home, now)
            has_moved = moved_head.head_moved(home)
            for one in recovery.write_shared(home):
                if one.problem:
                    _log.warning("%s", one.problem)
            if not has_moved:  # the next transaction screens what came
                note_head(home)


def append_rows(
    home: Home,
    place: str | Callable[[], str],
    rows: Callable[[], Sequence[Mapping[str, Any]]],
    *,
    screened: Sequence[str],
    source: str,
    session: str = "",
    actor: str,
    now: datetime | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> AppendedRows:
    """Append JSON lines to the file *place*, with the texts under the keys *screened* screened first.

    *place*, if it is a function, and *rows* are called under the lock, in this order. Two writers then agree on the
    file, and *rows* can leave out rows that are there already. A row's own ``source`` key, if it has one, tells the
    guard its author. A note that names the quarantined item replaces a quarantined text, so that the row keeps its
    place and id.

    Raises:
        Locked, GuardRefused: see :func:`transaction`.
    """
    moment = (now or clock.now()).isoformat()
    with hold_home(home, timeout_s):
        ensure_salt(home)
        path = place if isinstance(place, str) else place()
        target = memory_path(home, path)
        screening = ScreeningService(home).write(
            source=source, session=session, ts=moment, actor=actor, decided=decisions(home)
        )
        stored = screening.rows(path, rows(), screened)
        lines = [json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") for row in stored]
        data = b"".join(line + b"\n" for line in lines)
        start = storage.append(target, data, mode=0o666) if lines else 0
        if lines and path.startswith("sessions/"):
            appended.note(home, Written(session=session, path=path, size=start + len(data)))
        quarantined = tuple(screening.quarantined)
        if quarantined or screening.redacted:
            audit: dict[str, Any] = {"ts": moment, "actor": actor, "session": session, "paths": [path]}
            audit |= {"redacted": screening.redacted, "quarantined": [item.id for item in quarantined]}
            recovery.audit(home, audit)
            record_event(
                home, "verdict", session=session, now=now, redacted=screening.redacted, quarantined=audit["quarantined"]
            )
        if lines and path.startswith("sessions/"):
            record_event(home, "append", session=session, now=now, rows=len(lines))
    return AppendedRows(
        start=start, rows=len(lines), redacted=screening.redacted, quarantined=quarantined, dropped=screening.dropped
    )


def _finish(edits: Transaction) -> WriteOutcome:
    """Screen, validate, write, audit and commit the files that differ."""
    home = edits.home
    decided = decisions_in(home, edits.text(APPROVED), edits.text(REJECTED))
    screening = ScreeningService(home).write(
        source=edits.source, session=edits.session, ts=edits.now.isoformat(), actor=edits.actor, decided=decided,
        by_hand=bool(edits.merges),
    )  # fmt: skip
    changed = {path: text for path, text in edits.after.items() if text != edits.before[path]}
    for path, text in changed.items():
        _validate(path, edits.before[path], text, UNCLOSED_RULES)  # an unclosed block would swallow others
    moved = moved_blocks(changed, edits.before)
    after = {path: screening.document(path, edits.before[path], text, moved[path]) for path, text in changed.items()}
    after = {path: text for path, text in after.items() if text != edits.before[path]}
    for path, text in after.items():
        _validate(path, edits.before[path], text, RULES)
    drafts = _screened_drafts(edits, screening)
    outcome = _outcome(edits, screening, after, drafts)
    if not after and not drafts and not edits.merges:
        return outcome
    edits.message, edits.actor = (_screened_label(home, text) for text in (edits.message, edits.actor))
    drafts = [{**draft, "message": _screened_label(home, draft["message"])} for draft in drafts]
    after, shared = _split(edits, after)
    refuse_links(home, after)
    refuse_other_case(home, after)
    conflicts = _conflicts(edits, after)
    refuse_elsewhere(home)
    left = _keep_edits_by_hand(edits, after)
    record = {
        **_record(edits, after, outcome),
        "shared": shared,
        "proposals": drafts,
        "left": [*left, *conflicts],
        "head": history.head(home.root),
    }
    recovery.stage(home, record, after)
    recovery.refuse_changed(home, record)
    commit = _completed(home, record, after)
    return replace(outcome, commit=commit if after or edits.merges else None)


def _split(edits: Transaction, after: Mapping[str, str]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the texts that the home itself keeps, and the rows of those for shared folders.

    Others read the commits of a shared folder, so these say nothing of the session.
    """
    home = edits.home
    registered = submodules(home) if any(path.startswith(f"{SHARED}/") for path in after) else {}
    found = [path for path in after if shared_folder(home, path, registered)]
    trailers = {"Agent": _screened_label(home, home.manifest.name), "Actor": edits.actor}
    rows = [
        {
            "path": path,
            "base": edits.before[path],
            "text": after[path],
            "message": f"Update {path}",
            "trailers": trailers,
        }
        for path in found
    ]
    return {path: text for path, text in after.items() if path not in found}, rows


def _screened_label(home: Home, text: str) -> str:
    """Return a commit's subject or a writer's name as it may stand in git's history, where nothing is taken back."""
    if not text:
        return text
    verdict = ScreeningService(home).verdict("USER.md", text, "user")
    return verdict.text if verdict.stored else f"[withheld: {reason_of(verdict)}]"


def _completed(home: Home, record: Mapping[str, Any], after: Mapping[str, str]) -> str:
    """Complete the transaction of *record*, and return its commit.

    A failure behind the commit leaves the rest to the next write: the caller must not take the texts for lost.

    Raises:
        HistoryError: nothing is committed yet.
    """
    commit = ""
    try:
        commit, _ = recovery.complete(home, record, after)
        recovery.audit(home, {**record["audit"], "commit": commit})
        recovery.remove_record(home)
        _record_events(home, record, commit)
    except (HistoryError, OSError) as error:
        commit = commit or recovery.committed(home, record, after)
        if not commit:
            raise HistoryError(f"{error}. The text itself is kept, and the next write completes it") from error
        _log.warning("the commit is made, and the next write completes what follows it: %s", error)
    return commit


def _outcome(
    edits: Transaction, screening: WriteScreening, after: Mapping[str, str], drafts: Sequence[Mapping[str, Any]]
) -> WriteOutcome:
    stored = (after.get(path, edits.before[path]) for path in edits.after if path.endswith(".md"))
    entries = {entry.id: entry for text in stored for entry in parse(text).entries()}
    return WriteOutcome(
        paths=tuple(sorted(after)),
        entries={name: entry for name, entry in entries.items() if name not in screening.withheld},
        redacted=screening.redacted,
        quarantined=tuple(screening.quarantined),
        dropped=screening.dropped,
        proposed=tuple(draft["id"] for draft in drafts),
        findings=tuple(screening.findings),
    )


def _screened_drafts(edits: Transaction, screening: WriteScreening) -> list[dict[str, Any]]:
    """Return the proposals as they may be made, without those whose text is held back."""
    rows = []
    for draft in edits.drafts:
        text = screening.proposal(draft.path, draft.text, draft.section)
        if text is not None:
            alone = insert_text(parse(""), text, section=draft.section)  # acceptance validates the file
            _validate(draft.path, "", alone.render(), RULES)
            rows.append({**asdict(draft), "text": text})
    return rows


def _validate(path: str, before: str, after: str, rules: Collection[str]) -> None:
    """Refuse an edit that breaks one of *rules*. A problem that was there before does not stop an unrelated edit."""
    if not path.endswith(".md"):
        return
    old = Counter((problem.rule, problem.message) for problem in text_problems(path, before))
    for problem in text_problems(path, after):
        key = (problem.rule, problem.message)
        if old[key] <= 0 and problem.rule in rules:
            raise DocumentInvalid(path, problem.line, problem.rule, problem.message)
        old[key] -= 1


def _conflicts(edits: Transaction, after: Mapping[str, str]) -> list[str]:
    """Return the files of *after* in which git left a conflict, where *edits* writes them without a commit.

    Raises:
        DocumentInvalid: there is such a file, and this transaction would commit it.
    """
    found = [marker for path in sorted(after) if (marker := conflict_marker(path, edits.before[path]))]
    if found and not edits.together:
        first = found[0]
        problem = (
            f"{first.message} of a merge. Nothing was written. Keep the lines that hold, remove the markers and save"
            f" the file, or bring back the committed one with `git checkout HEAD -- {first.file}`"
        )
        raise DocumentInvalid(first.file, first.line, first.rule, problem)
    return [marker.file for marker in found]


def _keep_edits_by_hand(edits: Transaction, after: Mapping[str, str]) -> list[str]:
    """Commit a person's uncommitted edits to these files separately, so that each commit has one purpose.

    Returns the files that must not be committed, because the person's edit fails the guard.

    Raises:
        GuardRefused: an edit fails, and this transaction commits such edits separately.
        HistoryError: an edit is hidden from git, which could not commit it.
    """
    home = edits.home
    paths = sorted(after)
    held = history.texts_at(home.root, [*(("HEAD", path) for path in paths), *((":0", path) for path in paths)])
    head, staged = (dict(zip(paths, texts, strict=True)) for texts in (held[: len(paths)], held[len(paths) :]))
    differing = [path for path in paths if {head[path], staged[path]} != {edits.before[path]}]
    if not differing:
        return []
    refuse_hidden(home, differing)
    # Git's status is asked only where it alone can compare: it reads the disk again, at another moment.
    converted = set(history.converted(home.root, differing))
    same = converted.difference(history.dirty(home.root, sorted(converted))) if converted else ()
    by_hand = [path for path in differing if path not in same]
    committed = {path: head[path] for path in by_hand}
    for path in by_hand:
        losses.refuse_loss(home, path, committed[path], edits.before[path])
    present = {path: after[path] if edits.together else edits.before[path] for path in by_hand}
    if edits.together:
        return failing_paths(home, committed, present)
    refuse_failing(home, committed, present)
    if by_hand and history.head(home.root):
        history.dirty(home.root, by_hand)  # names the remedy where the newest commit cannot be read
        trailers = {"Entries": ", ".join(entries_touched(committed, present)), "Guard": "passed"}
        trailers |= {"Actor": "by hand", "Source": "user"}
        recovery.commit_by_hand(home, present, f"Record edits made by hand in {', '.join(by_hand)}", trailers)
    return []


def _record(edits: Transaction, after: Mapping[str, str], outcome: WriteOutcome) -> dict[str, Any]:
    trailers = {"Session": edits.session}
    trailers["Entries"] = ", ".join(entries_touched(edits.before, after))
    trailers["Evidence"] = ", ".join(edits.trailers.get("Evidence", []))
    guard = [f"{outcome.redacted} redacted"] if outcome.redacted else []
    guard += [f"{len(outcome.quarantined)} quarantined"] if outcome.quarantined else []
    guard += edits.trailers.get("Guard", [])
    trailers |= {"Guard": ", ".join(guard) or "passed", "Actor": edits.actor}
    trailers["Source"] = origin_of_changes(edits.before, after, edits.source)
    lease = read_lease(edits.home)
    trailers["Epoch"] = str(lease.epoch) if lease is not None else ""
    trailers |= {name: ", ".join(values) for name, values in edits.trailers.items() if name not in history.TRAILERS}
    # Files that grow come first: an entry that moves is at its new place before it leaves the old one.
    order = sorted(after.items(), key=lambda item: (len(item[1]) < len(edits.before[item[0]]), item[0]))
    files = recovery.file_rows((path, edits.before[path], text) for path, text in order)
    audit = {
        "ts": edits.now.isoformat(),
        "actor": edits.actor,
        "session": edits.session,
        "message": edits.message,
        "files": [{key: item[key] for key in ("path", "before", "after")} for item in files],
        "findings": list(outcome.findings),
        "quarantined": [item.id for item in outcome.quarantined],
    }
    merging = {"merges": list(edits.merges), "forward": edits.forward} if edits.merges else {}
    record = {"at": time.time(), "message": edits.message, "trailers": trailers, "files": files, "audit": audit}
    return record | merging
