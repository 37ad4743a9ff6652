"""Losses of entries that a person's edit by hand would cause, and that wait for a decision.

A deleted or emptied file, or one that an editor saved from a stale buffer, is no reason to forget. Before a write, each
entry file that lost many entries against HEAD, or all that were added since an older version, gets them back, entry by
entry: what the person added or changed stays. The person's version goes to the machine state, into ``recovered/``,
beside a record of the loss that `memory review` asks about. A loss that the person committed is decided.

The record names entries by id and by a digest of their statements and holds no text. A caller that changes something
holds the home's lock.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .. import storage
from ..documents.check import entry_files, holds_entries
from ..documents.document import parse
from ..documents.entry import Entry
from ..errors import Changed, DocumentInvalid, HistoryError
from ..git import commits, history
from ..git.hidden_files import hidden_memory, refuse_hidden
from ..home import MEMORY, Home
from ..screening.review_ledger import statement_digest
from .branch import elsewhere

__all__ = [
    "Loss", "absent_ledgers", "absent_memory", "deleted_ledgers", "discard", "entries_of", "is_large",
    "ledger_advice", "lost_entries", "pending", "refuse_loss", "restore", "uncommitted", "waiting",
]  # fmt: skip

#: Fewer entries than these are an ordinary edit, unless the whole file is gone: in number, and as a share of the file.
MIN_LOST, MIN_SHARE = 5, 0.2
#: Most versions of a file that are looked through for the one that a stale buffer held.
MAX_VERSIONS = 200
_VERSIONS_AT_ONCE = 10
_SAVED_STALE = "was saved from an older version"
_PLACES = (MEMORY, "EVOLUTION.md", "Archive")
#: The first line of an entry, also inside a block that is never closed or in an entry that is malformed.
_FIRST_LINE = lazy_regex(r"^[ \t]*[-*+][ \t]+(?:\*\*)?\[([A-Za-z]{2,3}-?[0-9A-Za-z]{1,8})\]", re.MULTILINE)
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Entries that a person's edit removed from *path* and that were brought back.

    *entries* maps their ids to digests of their statements. *had* counts the entries that the file had, *gone* says
    that the whole file was deleted or empty, *stale* that it was saved from an older version, and *version* names the
    person's version in ``recovered/``.
    """

    id: str
    path: str
    ts: str
    entries: Mapping[str, str]
    had: int
    gone: bool
    version: str = ""
    stale: bool = False

    @property
    def reason(self) -> str:
        """Say in one line what happened."""
        how = "was deleted or emptied" if self.gone else _SAVED_STALE if self.stale else "was changed by hand"
        return (
            f"{self.path} {how}, and {len(self.entries)} of its {self.had} entries were gone. They are back until a"
            " person decides"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missing:
    """The entries *lost* from *path*, with the *committed* text of the file and the one that is *present*.

    *older* is the committed version that a stale buffer held, or ``None``. An entry that it lacks and that stands in
    another file now is not in *committed* then.
    """

    path: str
    committed: str
    present: str
    lost: tuple[Entry, ...]
    had: int
    older: str | None = None


def restore(home: Home, now: datetime) -> list[Loss]:
    """Bring back the entries of each large loss that is not committed, and record the losses.

    A file that cannot be merged stays as it is, and :func:`refuse_loss` stops the write to it. A ledger that was
    deleted comes back without a question, because ledgers only grow. While HEAD is elsewhere, nothing is changed.
    Killed at any point, the next call goes on.

    Raises:
        HistoryError: git hides such a file. A write would take it for empty.
    """
    changed = _changed(home)
    if not changed or _is_elsewhere(home):
        return []
    refuse_hidden(home, changed)
    _restore_ledgers(home, changed)
    found = _missing(home, changed)
    head = history.head(home.root) if found else ""
    restored = []
    for missing in found:
        try:
            text = _merged(missing)
        except DocumentInvalid as error:
            _log.debug("not restored: %s", error)
            continue
        loss = _recorded(home, missing, head, now)
        staged = home.machine / "staging" / "restored.tmp"
        storage.stage(staged, text.encode(), mode=0o666)
        storage.replace(staged, home.path(missing.path))
        _log.warning("%s. `memory review show %s` shows them", loss.reason, loss.id)
        restored.append(loss)
    return restored


def pending(home: Home) -> bool:
    """Return whether :func:`restore` has something to do. Needs no lock."""
    changed = _changed(home)
    return bool(_ledgers(changed) or _missing(home, changed)) and not _is_elsewhere(home)


def uncommitted(home: Home) -> tuple[list[str], list[str]]:
    """Say for each large loss that is not committed yet what is gone, and what to do. Name the deleted ledgers, too.

    Needs no lock. A ledger is deleted if HEAD has it, and it is absent or empty on the disk.
    """
    lines = []
    changed = _changed(home)
    hidden = {file.path for file in hidden_memory(home)} if changed else set()  # another check names them
    for missing in _missing(home, [path for path in changed if path not in hidden]):
        how = "is gone or empty"
        if missing.present.strip():
            how = "was changed by hand" if missing.older is None else _SAVED_STALE
        remedy = "`memory review` brings them back and asks about them"
        try:
            _merged(missing)
        except DocumentInvalid as error:
            remedy = f"They cannot be brought back before line {error.line} is corrected ({error.rule})"
        lines.append(f"{missing.path} {how}, and {len(missing.lost)} of its {missing.had} entries are gone. {remedy}")
    return lines, _ledgers(changed)


def refuse_loss(home: Home, path: str, committed: str, present: str) -> None:
    """Stop a write that would commit a large loss: one that came up meanwhile, or that cannot be restored.

    Raises:
        Changed: the file lost entries since the transaction began.
        DocumentInvalid: the entries cannot be brought back, because a block of the file is never closed, for example.
    """
    missing = _missing_from(home, path, committed, present) if holds_entries(path) else None
    if missing is None:
        return
    try:
        _merged(missing)
    except DocumentInvalid as error:
        problem = (
            f"{len(missing.lost)} of {missing.had} entries are gone and cannot be brought back: {error.problem}."
            f" Correct the line, or bring back the file with `git checkout HEAD -- {path}`"
        )
        raise DocumentInvalid(path, error.line, error.rule, problem) from error
    raise Changed(path)


def waiting(home: Home) -> list[Loss]:
    """Return the recorded losses, ordered by id. A record that cannot be read is left out."""
    found = []
    for path in sorted(_folder(home).glob("loss-*.json")):
        try:
            row = json.loads(storage.read_state(path))
            found.append(Loss(**row))
        except (OSError, ValueError, TypeError):
            continue
    return found


def lost_entries(home: Home, loss: Loss) -> list[Entry]:
    """Return the entries of *loss* that are in its file on the disk, see :func:`entries_of`. A broken file has none."""
    try:
        return entries_of(loss, storage.read_text(home.path(loss.path)))
    except (DocumentInvalid, OSError):
        return []


def entries_of(loss: Loss, text: str) -> list[Entry]:
    """Return the entries of *loss* in the file's *text* that say what they said, in file order."""
    return [entry for entry in parse(text).entries() if loss.entries.get(entry.id) == statement_digest(entry)]


def discard(home: Home, loss: Loss) -> None:
    """Remove the record of *loss* and the person's version: the loss is decided. Absent files are no error."""
    if loss.version:
        storage.remove(_folder(home) / loss.version)
    storage.remove(_folder(home) / f"{_stem(loss.id)}.json")


def absent_memory(home: Home) -> str:
    """Say that MEMORY.md is missing or empty although HEAD has entries of it, and what to do. Else return nothing.

    A file that is there and not empty costs one look at its size.
    """
    path = home.root / MEMORY
    try:
        if path.stat().st_size > 0:
            return ""
        state = "is empty"
    except FileNotFoundError:
        state = "is missing"
    except OSError:
        return ""
    try:
        entries = parse(history.snapshot(home.root, [MEMORY]).texts[MEMORY]).entries()
    except HistoryError:
        return ""
    count = len(list(entries))
    if not count:
        return ""
    hidden = next((file for file in hidden_memory(home) if file.path == MEMORY), None)
    remedy = f"{hidden.command} brings it back" if hidden else "`memory review` brings them back"
    return f"{MEMORY} {state}, and git has {count} entries of it. {remedy}"


def absent_ledgers(home: Home) -> str:
    """Say that the folder of the ledgers is gone although HEAD has some, and what to do. Else return nothing.

    A folder that is there costs one look.
    """
    if next((home.root / "ledger").glob("*.jsonl"), None) or not (home.machine / "closings.jsonl").exists():
        return ""
    gone = deleted_ledgers(home)
    return ledger_advice(home, gone) if gone else ""


def ledger_advice(home: Home, gone: Sequence[str]) -> str:
    """Say that the ledgers *gone* were deleted, and what to do."""
    named = f"{gone[0]} and {len(gone) - 1} more" if len(gone) > 1 else gone[0]
    where = "ledger" if len(gone) > 1 else gone[0]
    return (
        f"{named} were deleted, and git still has them. `git checkout HEAD -- {where}` in {home.root} brings them back"
    )


def deleted_ledgers(home: Home) -> list[str]:
    """Return the ledgers that HEAD has, and that are deleted or empty on the disk."""
    return _ledgers(_changed(home))


def _changed(home: Home) -> list[str]:
    """Return the entry files and ledgers that HEAD has and that are not like that on the disk, ordered by path.

    Of ledgers these are only the absent and the empty ones. Git's status is not asked: it overlooks hidden files.
    """
    found = []
    for path, blob in sorted(history.committed_blobs(home.root, (*_PLACES, "ledger")).items()):
        file = home.root / path
        if path.endswith(".jsonl"):
            if not _has_content(file) and blob != history.EMPTY_BLOBS.get(len(blob)):
                found.append(path)
        elif path.endswith(".md") and holds_entries(path) and not history.is_blob(file, blob):
            found.append(path)
    return found


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def _ledgers(changed: Iterable[str]) -> list[str]:
    return [path for path in changed if path.endswith(".jsonl")]


def _restore_ledgers(home: Home, changed: Iterable[str]) -> None:
    paths = [path for path in _ledgers(changed) if not (home.root / path).is_symlink()]
    texts = history.snapshot(home.root, paths).texts if paths else {}
    for path, text in texts.items():
        staged = home.machine / "staging" / "restored.tmp"
        storage.stage(staged, text.encode(), mode=0o666)
        storage.replace(staged, home.path(path))
        _log.warning(
            "%s was deleted or emptied by hand. It is back, because rows are never removed from a ledger", path
        )


def _missing(home: Home, changed: Iterable[str]) -> list[_Missing]:
    """Return the large losses in the *changed* entry files, ordered by path."""
    paths = [path for path in changed if path.endswith(".md")]
    if not paths:
        return []
    committed = history.snapshot(home.root, paths).texts
    found = []
    for path in sorted(paths):
        if (home.root / path).is_symlink():  # a write to it stops
            continue
        try:
            present = storage.read_text(home.path(path))
            missing = _missing_from(home, path, committed[path], present)
        except (DocumentInvalid, OSError):  # `memory check` names such files, and a write to them stops
            continue
        found += [missing] if missing is not None else []
    return found


def _missing_from(home: Home, path: str, committed: str, present: str) -> _Missing | None:
    """Return what is missing in *path*, or ``None`` for a deletion that is meant. Entries that moved are not missing.

    A deletion is not meant if it is large, or if the file is an older version, or an edit of one.
    """
    document = parse(committed)
    entries = list(document.entries())
    here = _ids(present)
    lost = [entry for entry in entries if entry.id not in here]
    if not lost:
        return None
    elsewhere_ids = _ids_of(home, (file for file in entry_files(home) if file != path))
    gone = not present.strip()
    older = None if gone else _older_version(home, path, committed, present)
    if older is not None:
        known = _statements(older)
        added = [entry for entry in lost if entry.id not in known]
        for entry in added:
            document = document.without_entry(entry.id) if entry.id in elsewhere_ids else document
        found = [entry for entry in added if entry.id not in elsewhere_ids]
        meant = [entry for entry in lost if entry.id in known and entry.id not in elsewhere_ids]
        if not is_large(len(meant), len(entries)):
            text = document.render()
            return _Missing(
                path=path, committed=text, present=present, lost=tuple(found), had=len(entries), older=older
            ) if found else None  # fmt: skip
    lost = [entry for entry in lost if entry.id not in elsewhere_ids]
    if not lost or not (gone or is_large(len(lost), len(entries))):
        return None
    return _Missing(path=path, committed=committed, present=present, lost=tuple(lost), had=len(entries))


def _older_version(home: Home, path: str, committed: str, present: str) -> str | None:
    """Return the oldest version of *path* in the history that *present* equals or is an edit of, or ``None``.

    Such a text lacks every entry that was added since that version, and shows no other change since then. A person who
    deletes an entry keeps those that were added later, and the changes.
    """
    now, here = _statements(committed), dict.fromkeys(_ids(present), "") | _statements(present)
    found = None
    for version in _versions(home, path):
        then = _statements(version)
        changed = {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}
        added = changed - then.keys()
        if any(name in here for name in added):  # older versions lack this entry as well
            break
        if added and all(here.get(name) != now.get(name) for name in changed - added):
            found = version
    return found


def _versions(home: Home, path: str) -> Iterator[str]:
    """Yield the last committed texts of *path* before HEAD's, newest first."""
    log = ("log", f"--max-count={MAX_VERSIONS}", "--format=%H", "HEAD", "--", path)
    commits_of_file = history.query(home.root, *log).split()[1:]
    for start in range(0, len(commits_of_file), _VERSIONS_AT_ONCE):
        names = [(commit, path) for commit in commits_of_file[start : start + _VERSIONS_AT_ONCE]]
        yield from history.texts_at(home.root, names)


def _statements(text: str) -> dict[str, str]:
    """Return the text of each entry by its id, whatever the ends of its lines."""
    return {entry.id: " ".join(entry.raw.split()) for entry in parse(text).entries()}


def is_large(lost: int, had: int) -> bool:
    """Return whether *lost* of *had* entries are so many that a person has to confirm it."""
    return lost >= MIN_LOST and lost >= MIN_SHARE * had


def _ids(text: str) -> set[str]:
    return {entry.id for entry in parse(text).entries()} | set(_FIRST_LINE.findall(text))


def _ids_of(home: Home, paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        try:
            found |= _ids(storage.read_text(home.path(path)))
        except (DocumentInvalid, OSError):
            continue
    return found


def _merged(missing: _Missing) -> str:
    """Return the present file with the lost entries.

    Raises:
        DocumentInvalid: see :func:`agent_home.documents.document_merge.merge_texts`.
    """
    from ..documents.document_merge import merge_texts  # loads the guard, which a prompt without a loss does not need

    if missing.older is not None:
        return merge_texts(missing.older, missing.present, missing.committed, missing.path).text
    document = parse(missing.committed)
    lost = {entry.id for entry in missing.lost}
    if not missing.present.strip():
        for entry in list(document.entries()):
            document = document if entry.id in lost else document.without_entry(entry.id)
        return document.render()
    without = document
    for entry in missing.lost:
        without = without.without_entry(entry.id)
    return merge_texts(without.render(), missing.present, missing.committed, missing.path).text


def _recorded(home: Home, missing: _Missing, head: str, now: datetime) -> Loss:
    """Record the loss durably, with the person's version, and return it. The same loss is recorded once."""
    entries = {entry.id: statement_digest(entry) for entry in missing.lost}
    for known in waiting(home):
        if known.path == missing.path and dict(known.entries) == entries:
            return known
    key = "\0".join((head, missing.path, *sorted(entries))).encode("utf-8", "surrogateescape")
    name = hashlib.blake2b(key, digest_size=4).hexdigest().translate(_LETTERS)
    gone = not missing.present.strip()
    version = "" if gone else f"{_stem(f'l-{name}')}-{missing.path.rpartition('/')[2]}"
    loss = Loss(
        id=f"l-{name}", path=missing.path, ts=now.isoformat(), entries=entries, had=missing.had, gone=gone,
        version=version, stale=missing.older is not None,
    )  # fmt: skip
    if version:
        _keep(home, version, missing.present.encode())
    _keep(home, f"{_stem(loss.id)}.json", json.dumps(asdict(loss)).encode())
    for known in waiting(home):  # the new question asks about these entries too
        if known.id != loss.id and known.path == loss.path and known.entries.items() <= entries.items():
            discard(home, known)
    return loss


def _keep(home: Home, name: str, data: bytes) -> None:
    staged = home.machine / "staging" / "loss.tmp"
    storage.stage(staged, data)
    storage.replace(staged, _folder(home) / name)


def _is_elsewhere(home: Home) -> bool:
    """Return whether HEAD is not on the home's branch, or a git operation is unfinished: files are not ours then."""
    try:
        commits.refuse_unfinished(home.root)
        return bool(elsewhere(home))
    except HistoryError:
        return True


def _stem(loss_id: str) -> str:
    return f"loss-{loss_id.removeprefix('l-')}"


def _folder(home: Home) -> Path:
    return home.machine / "recovered"
