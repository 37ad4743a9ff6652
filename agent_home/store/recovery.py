"""Redo records: the writes of a transaction that its process, or the next one, completes.

A transaction first writes its new texts to ``staging/`` and then the redo record, which names them and is signed with
the machine key. From there on it will happen: this process, or the next holder of the home's lock, commits them, writes
them into the work tree, and looks whether HEAD holds them. The commit is made from the texts and not from the work
tree, so nothing that a person does there meanwhile can keep them out of it. A record that this machine did not sign is
not carried out: see ``agent_home.store.unverified``. Every function here is called with the lock held.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guard.lazy_regex import lazy_regex

from .. import clock, storage
from ..consent.agreed_links import SHARED
from ..documents.document_merge import merge_texts
from ..errors import Changed, DocumentInvalid, GitFailed, HistoryError, HomeError, MachineKeyUnusable
from ..git import commits, history, pruning
from ..git.hidden_files import refuse_hidden
from ..git.leftovers import (
    GIT_MARK,
    ORPHAN_GIT_LOCK_S,
    deaths,
    git_mark,
    holds_locks,
    idle_locks,
    remove_leftovers,
)
from ..home import Home
from ..machine_key import sign, verify
from ..sharing.folders import shared_folder, submodules
from ..sharing.placing import SharedText
from ..sharing.waiting_texts import PlacedText, drop, is_waiting, write_waiting
from ..sharing.waiting_texts import keep as keep_waiting
from ..visible import visible_json
from . import proposals, set_aside, unverified
from .branch import elsewhere, own_branch, refuse_elsewhere
from .memory_path import refuse_links, require_canonical

__all__ = [
    "audit",
    "blocking_locks",
    "commit_by_hand",
    "committed",
    "complete",
    "file_rows",
    "is_pending",
    "marked_git",
    "recover",
    "refuse_changed",
    "remove_git_leftovers",
    "remove_record",
    "stage",
    "write_shared",
]  # fmt: skip

#: What a signed redo record is signed for.
_PURPOSE = "redo"
_STAGED = lazy_regex(r"\d+\.tmp")
#: Times that a write is tried again because another git command changed the branch.
_ATTEMPTS = 5
_ATTEMPT_WAIT_S = 0.05
#: Size from which on the audit goes on in a new file: some ten thousand closings.
MAX_AUDIT_BYTES = 8 << 20
#: Commits since a crash that are looked at.
_MAX_SINCE = 200
_log = logging.getLogger(__name__)


def is_pending(home: Home) -> bool:
    """Return whether a writer died and left a transaction to complete. Needs no lock."""
    return _redo_path(home).is_symlink() or _redo_path(home).exists()


def recover(home: Home) -> bool:
    """Complete the transaction of a writer that died. Return whether there was one.

    Raises:
        DocumentInvalid: the redo record is signed and cannot be carried out.
        HistoryError: see :func:`complete`.
    """
    record = _verified_record(home)
    for folder in unverified.offer(home):
        _log.warning("%s holds an interrupted write that this machine did not sign. See `memory doctor`", folder)
    if record is None:
        return False
    path = _redo_path(home)
    try:
        texts = {item["path"]: _staged_text(home, item) for item in record["files"]}
    except (OSError, ValueError, KeyError) as error:
        problem = f"cannot be carried out ({error}). Move it away. Its texts are in {_staging(home)}"
        raise DocumentInvalid(path, 0, "bad-redo-record", problem) from error
    _take_back_damaged(home, record)
    if _is_reverted(home, record):
        commit_id, left_alone = history.head(home.root), list(texts)
    else:
        commit_id, left_alone = complete(home, record, texts)
    audit(home, {**record["audit"], "recovered": True, "left_alone": left_alone, "commit": commit_id})
    remove_record(home)
    storage.sync_folder(path.parent)
    return True


def complete(home: Home, record: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[str, list[str]]:
    """Commit *texts*, put them into place, and make the proposals of a redo record. Doing it again changes nothing.

    Afterwards HEAD holds the texts. What people or their git commands change meanwhile is merged by entries. Where that
    cannot be done, the file stays as it is, and the new text goes to ``recovered/`` beside the machine state.

    Returns the commit, and the paths that were left as they are.

    Raises:
        HistoryError: git refused, or others changed the branch again and again. The redo record stays.
    """
    branch = refuse_elsewhere(home)
    own, shared = _split(home, record, texts)
    with git_mark(home.root, home.machine) as died_at:
        merge = _Redo(home, record, own, branch, died_at)
        for _ in range(_ATTEMPTS):
            done = merge.attempt()
            if done:
                proposals.make(home, record.get("proposals", ()), died_at=died_at)
            if not pruning.await_pruning(home.root) and done:
                break
            _take_back_damaged(home, record)
            time.sleep(_ATTEMPT_WAIT_S)
        else:
            raise HistoryError(
                f"other git commands kept changing {branch} in {home.root}. Try again when they are done"
            )
    _keep_shared(home, shared, at=record["at"])
    return merge.commit, merge.left_alone


def write_shared(home: Home) -> list[PlacedText]:
    """Write the texts that wait for shared folders. What cannot be written now waits on, and says why.

    A text whose folder is shared no more is set aside for a person. The home's own write is done before, so nothing
    here is an error of it.
    """
    if not is_waiting(home):
        return []
    placed: list[PlacedText] = []
    try:
        if elsewhere(home):
            return []
        with marked_git(home):
            placed = write_waiting(home)
        for number, one in enumerate(placed):
            if one.homeless is not None:
                set_aside.keep(home, one.path, one.homeless.wanted.text, at=one.homeless.at, number=number)
                drop(home, one.homeless)
        if files := [{"path": one.path, "commit": one.commit} for one in placed if one.commit]:
            audit(home, {"ts": clock.now().isoformat(), "actor": "sharing", "message": "shared", "files": files})
    except (HomeError, OSError) as error:
        return [*placed, PlacedText(path=SHARED, problem=f"texts for shared projects wait: {error}")]
    return placed


def _split(
    home: Home, record: Mapping[str, Any], texts: Mapping[str, str]
) -> tuple[dict[str, str], list[Mapping[str, Any]]]:
    """Return the texts that the home itself keeps, and rows of those for shared folders.

    A folder may have become a shared one since the record was written.
    """
    rows = list(record.get("shared", ()))
    registered = submodules(home) if any(path.startswith(f"{SHARED}/") for path in texts) else {}
    found = {path for path in texts if shared_folder(home, path, registered)}
    before = {item["path"]: item["before"] for item in record["files"]}
    for path in sorted(found):
        present = _digest_of(home.path(path)) == before[path]
        base = storage.read_text(home.path(path)) if present else ""
        said = {"message": f"Update {path}", "trailers": {"Actor": record["audit"].get("actor", "")}}
        rows.append({"path": path, "base": base, "text": texts[path], **said})
    return {path: text for path, text in texts.items() if path not in found}, rows


def _keep_shared(home: Home, rows: Iterable[Mapping[str, Any]], *, at: float) -> None:
    """Let the texts of *rows* wait for their shared folders. Where nothing can be signed, a person decides."""
    for number, row in enumerate(rows):
        try:
            keep_waiting(home, SharedText(**row), at=at)
        except MachineKeyUnusable as error:
            _log.warning("%s. The text for %s waits in `memory review`", error, row["path"])
            set_aside.keep(home, row["path"], row["text"], at=at, number=number)


def committed(home: Home, record: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    """Return the commit that holds *texts* of a transaction that failed behind it, or an empty string."""
    left = set(record.get("left", ()))
    wanted = {path: text for path, text in texts.items() if path not in left}
    try:
        now = history.snapshot(home.root, list(wanted))
        own = history.branch(home.root) == own_branch(home)
    except (HistoryError, OSError):
        return ""
    return now.commit if wanted and own and now.texts == wanted and now.commit != record.get("head") else ""


def file_rows(texts: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    """Return the redo record's rows for files given as ``(path, old text, new text)``, in the order to rename them."""
    return [
        {"path": path, "before": _digest(before), "after": _digest(after), "staged": f"{number}.tmp"}
        for number, (path, before, after) in enumerate(texts)
    ]


def stage(home: Home, record: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """Write the new texts beside the home, and then the redo record: from there on the transaction will happen."""
    folder = _staging(home)
    for item in record["files"]:
        storage.stage(folder / item["staged"], texts[item["path"]].encode("utf-8"))
    staged = folder / "record.tmp"
    storage.stage(staged, _signed(json.dumps(record)).encode())
    storage.sync_folder(folder)
    storage.replace(staged, _redo_path(home))


def refuse_changed(home: Home, record: Mapping[str, Any]) -> None:
    """Take the transaction back, before its first rename, when somebody changed one of its files meanwhile.

    Raises:
        Changed: somebody did.
    """
    for item in record["files"]:
        if _digest_of(home.path(item["path"])) != item["before"]:
            remove_record(home)
            raise Changed(item["path"])


@dataclass(slots=True)
class _Redo:
    """A transaction that is being completed. *texts* are the new files by path, empty for one that goes.

    *commit* is this transaction's commit, or HEAD where that holds the texts already.
    """

    home: Home
    record: Mapping[str, Any]
    texts: dict[str, str]
    branch: str
    died_at: float | None
    commit: str = ""
    left_alone: list[str] = field(default_factory=list)

    def attempt(self) -> bool:
        """Commit, put into place and stage what is missing. Return whether HEAD now holds the texts."""
        root, left = self.home.root, set(self.record.get("left", ()))
        if history.branch(root) != self.branch:
            return False
        wanted = {path: text for path, text in self.texts.items() if path not in left}
        if history.converted(root, list(wanted)):
            return self._commit_from_disk(list(wanted))
        # A person's stash, reset or commit must not see the new branch with the old files: it would take them back.
        with commits.staging_area(root, died_at=self.died_at) as area:
            done = self._commit_texts(wanted, area)
        return done and history.branch(root) == self.branch

    def _commit_texts(self, wanted: Mapping[str, str], area: Path) -> bool:
        """Put *wanted* into place and into the staging area *area*, and commit it. Return whether HEAD holds it."""
        root = self.home.root
        now = history.snapshot(root, list(wanted), staged=True)
        start = self.record.get("head", "")
        if now.commit != start and pruning.is_damaged(root, start):  # a file that cannot be read is not a removed one
            return False
        held = self._merged_with_head(now, wanted)
        changed = {path: text for path, text in held.items() if text != now.texts[path]}
        _set_staged_aside(self.home, held, now, at=self.record["at"])
        self._put_into_place({path: held.get(path, text) for path, text in self.texts.items()})
        if held:
            commits.stage_blobs(root, area, self._stored(held), died_at=self.died_at)
        merges = [one for one in self.record.get("merges", ()) if not history.descends(root, now.commit, one)]
        if changed or merges:
            try:
                self.commit = self._new_commit(now.commit, changed, merges)
            except GitFailed as error:
                if history.head(root) == now.commit:
                    raise
                _log.debug("the branch moved: %s", error)
                return False
        after = history.snapshot(root, list(held))
        self.commit = self.commit or after.commit
        return after.texts == held

    def _new_commit(self, parent: str, changed: Mapping[str, str], merges: Sequence[str]) -> str:
        """Commit *changed* on top of *parent*, or go forward to the pulled commit where that says the same."""
        root, said = self.home.root, (self.record["message"], self.record["trailers"])
        if merges and self.record.get("forward") and history.descends(root, merges[0], parent):
            paths = list(changed)
            pulled = history.texts_at(root, [(merges[0], path) for path in paths])
            if dict(zip(paths, pulled, strict=True)) == changed:
                return commits.forward(root, self.branch, parent, merges[0], died_at=self.died_at)
        return commits.commit_texts(
            root, parent, changed, *said, branch=self.branch, merges=merges, died_at=self.died_at
        )

    def _stored(self, held: Mapping[str, str]) -> dict[str, str]:
        """Write *held* into git's store of objects. Return the hashes by path, empty for a file that goes."""
        rows = {item["path"]: item["staged"] for item in self.record["files"]}
        files = {path: _staging(self.home) / rows[path] for path, text in held.items() if text}
        for path, staged in files.items():
            if held[path] != self.texts[path] or not staged.exists():
                files[path] = staged.with_name(f"merged-{staged.name}")
                storage.stage(files[path], held[path].encode())
        names = [os.path.relpath(staged, self.home.root) for staged in files.values()]
        hashes = commits.store_files(self.home.root, names, died_at=self.died_at)
        return dict.fromkeys(held, "") | dict(zip(files, hashes, strict=True))

    def _commit_from_disk(self, paths: Sequence[str]) -> bool:
        """Commit *paths* through the filters and line ends that git's attributes name, from the work tree.

        A file that a person changed meanwhile is set aside and not committed: the guard has not seen that edit.
        """
        root = self.home.root
        commits.unhide(root, history.hidden(root, paths), died_at=self.died_at)
        self._put_into_place(self.texts, merge=False)
        ours = [path for path in paths if path not in self.left_alone]
        self.commit = commits.commit_files(
            root, ours, self.record["message"], self.record["trailers"], died_at=self.died_at
        )
        waiting = history.dirty(root, ours) if ours else []
        return not waiting and history.branch(root) == self.branch

    def _merged_with_head(self, now: history.Snapshot, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return the files as they are to be committed: merged with what came into HEAD since the transaction began."""
        start = self.record.get("head", now.commit)
        moved = [path for path, text in wanted.items() if now.commit != start and now.texts[path] != text]
        base = dict(zip(moved, history.texts_at(self.home.root, [(start, path) for path in moved]), strict=True))
        found = dict(wanted)
        for path in moved:
            merged = _merge(base[path], now.texts[path], wanted[path], path)
            if merged is None:
                self._set_aside(path)
                del found[path]
            else:
                found[path] = merged
        return found

    def _put_into_place(self, texts: Mapping[str, str], *, merge: bool = True) -> None:
        """Write *texts* into the work tree. Without *merge*, a file that somebody changed is set aside."""
        rows = {item["path"]: item for item in self.record["files"]}
        for path, text in texts.items():
            if path in self.left_alone:
                continue
            target = self.home.root / path
            linked = self._is_linked(path)  # by a person, since the transaction began
            present = "" if linked else _digest_of(target)
            if present == _digest(text):
                continue
            before = rows[path]["before"]
            # An absent file is not a deletion that is meant: a git command may have taken it away a moment ago.
            unchanged = present == before or not os.path.lexists(target)
            changed = self._merged_with_disk(path, text, before) if merge and not linked and not unchanged else None
            placed = None if linked else text if unchanged else changed
            if placed is None:
                self._set_aside(path)
            elif not placed:
                storage.remove(target)
            else:
                staged = _staging(self.home) / "placed.tmp"
                storage.stage(staged, placed.encode(), mode=0o666)
                storage.replace(staged, target)

    def _is_linked(self, path: str) -> bool:
        try:
            refuse_links(self.home, [path])
        except DocumentInvalid:
            return True
        return False

    def _merged_with_disk(self, path: str, text: str, before: str) -> str | None:
        """Merge *text* with a file that somebody changed. Return ``None`` where only a person can."""
        start = self.record.get("head")
        base = history.texts_at(self.home.root, [(start, path)])[0] if start else ""
        if _digest(base) != before:  # it had other edits by hand, which this transaction may take back
            return None
        try:
            return _merge(base, storage.read_text(self.home.path(path)), text, path)
        except DocumentInvalid:
            return None

    def _set_aside(self, path: str) -> None:
        if path in self.left_alone:
            return
        number = list(self.texts).index(path)
        set_aside.keep(self.home, path, self.texts[path], at=self.record["at"], number=number)
        self.left_alone.append(path)


def remove_git_leftovers(home: Home) -> list[str]:
    """Remove what a killed writer's git left, and return its names, relative to git's folder."""
    return remove_leftovers(home.root, *deaths(home.machine))


def blocking_locks(home: Home) -> list[str]:
    """Return git's locks that no running command holds, and that the next write does not remove by itself."""
    return idle_locks(home.root, *deaths(home.machine))


def commit_by_hand(home: Home, texts: Mapping[str, str], message: str, trailers: Mapping[str, str]) -> None:
    """Commit a person's edits: *texts* by path, as the caller read them. What is staged otherwise is set aside.

    Git's lock of the staging area is held meanwhile. A git command that was taking a file away or bringing it back has
    ended then, and a file that is no longer as the caller read it is not committed.

    Raises:
        Changed: somebody changed a file, or the branch, since the caller read it.
        HistoryError: git hides a file now, or refused.
    """
    root, branch = home.root, refuse_elsewhere(home)
    with git_mark(home.root, home.machine) as died_at:
        for _ in range(_ATTEMPTS):
            now = history.snapshot(root, list(texts), staged=True)
            if history.converted(root, list(texts)):
                _set_staged_aside(home, texts, now, at=time.time())
                commits.commit_files(root, list(texts), message, trailers, died_at=died_at)
            else:
                with commits.staging_area(root, died_at=died_at) as area:
                    _commit_unchanged(home, texts, area, (message, trailers), branch, died_at)
            if not (pruning.await_pruning(root) and pruning.is_damaged(root, now.commit)):
                break
            commits.take_back(root, history.branch(root), now.commit)


def _commit_unchanged(
    home: Home, texts: Mapping[str, str], area: Path, said: tuple[str, Mapping[str, str]], branch: str,
    died_at: float | None,
) -> None:  # fmt: skip
    """Commit *texts* if the files on the disk are like that. The caller holds git's lock of the staging area."""
    root = home.root
    now = history.snapshot(root, list(texts), staged=True)
    refuse_hidden(home, [path for path, text in texts.items() if text != now.texts[path]])
    moved = next((path for path, text in texts.items() if _digest_of(home.path(path)) != _digest(text)), None)
    if moved is not None or history.branch(root) != branch:
        raise Changed(moved or next(iter(texts)))
    _set_staged_aside(home, texts, now, at=time.time())
    files = {path: _staging(home) / f"by-hand-{number}.tmp" for number, path in enumerate(texts) if texts[path]}
    for path, staged in files.items():
        storage.stage(staged, texts[path].encode())
    names = [os.path.relpath(staged, root) for staged in files.values()]
    hashes = commits.store_files(root, names, died_at=died_at)
    changed = {path: text for path, text in texts.items() if text != now.texts[path]}
    if changed:
        try:
            commits.commit_texts(root, now.commit, changed, *said, branch=branch, died_at=died_at)
        except GitFailed as error:
            if history.head(root) == now.commit:
                raise
            raise Changed(next(iter(changed))) from error
    blobs = dict.fromkeys(texts, "") | dict(zip(files, hashes, strict=True))
    commits.stage_blobs(root, area, blobs, died_at=died_at)
    for staged in files.values():
        staged.unlink(missing_ok=True)


def audit(home: Home, row: Mapping[str, Any]) -> None:
    """Append a line to the audit. It is outside git, so that reverting a commit does not revert who made it.

    A full file is renamed to ``audit-0001.jsonl`` and so on. None is deleted.
    """
    if home.audit.exists() and home.audit.stat().st_size >= MAX_AUDIT_BYTES:
        number = 1 + max(
            (int(path.stem[6:]) for path in home.machine.glob("audit-[0-9][0-9][0-9][0-9].jsonl")), default=0
        )
        storage.replace(home.audit, home.machine / f"audit-{number:04d}.jsonl")
    storage.append(home.audit, visible_json(row).encode() + b"\n")


def remove_record(home: Home) -> None:
    """Remove the redo record and the staged texts: the transaction is complete, or taken back."""
    _redo_path(home).unlink()
    for staged in _staging(home).glob("*.tmp"):
        staged.unlink()


@contextmanager
def marked_git(home: Home) -> Iterator[None]:
    """Mark that git commands of ours run which are no commit, under the home's lock.

    Locks that a killed run of them left are removed first, as soon as they are old enough to be known as ours.
    """
    until = time.monotonic() + 2 * ORPHAN_GIT_LOCK_S
    while (home.machine / GIT_MARK).exists() and holds_locks(home.root) and time.monotonic() < until:
        remove_git_leftovers(home)
        time.sleep(0.05)
    with git_mark(home.root, home.machine):
        yield


def _set_staged_aside(home: Home, texts: Mapping[str, str], now: history.Snapshot, *, at: float) -> None:
    """Set aside what a person put into the staging area, where it is neither in *texts* nor in HEAD."""
    for path, text in texts.items():
        if now.staged[path] not in {text, now.texts[path]}:
            _keep_staged(home, path, now.staged[path], (text, now.texts[path]), at=at)


def _keep_staged(home: Home, path: str, staged: str, known: Iterable[str], *, at: float) -> None:
    """Set a version of *path* aside that a person staged, unless all of its lines are in the *known* texts."""
    lines = {line.strip() for text in known for line in text.splitlines()}
    if any(line.strip() and line.strip() not in lines for line in staged.splitlines()):
        set_aside.keep(home, path, staged, at=at, number=int(_digest(staged)[:8], 16))
        _log.warning("%s was staged with another text than it is saved with. `memory review` asks about it", path)


def _take_back_damaged(home: Home, record: Mapping[str, Any]) -> None:
    """Take commits back whose objects a person's ``git prune`` deleted: those since the transaction began.

    Their files are in the work tree, and this transaction's texts in its record.
    """
    start, branch = record.get("head", ""), history.branch(home.root)
    if not branch or branch != own_branch(home):
        return
    if start and history.head(home.root) != start and pruning.is_damaged(home.root, start):
        _log.warning("objects of the newest commits were deleted by `git prune`. They are made again")
        commits.take_back(home.root, branch, start)
    for name in proposals.broken(home) if record.get("proposals") else ():
        commits.drop_broken_branch(home.root, proposals.branch_of(name))


def _is_reverted(home: Home, record: Mapping[str, Any]) -> bool:
    """Return whether a person has taken back the commit of a transaction that died after it."""
    start = record.get("head")
    if not start or history.head(home.root) == start:
        return False
    if not history.found(home.root, start):  # a person amended the commit, and git threw the old one away
        return False
    rows = history.query(home.root, "log", f"--max-count={_MAX_SINCE}", "--format=%H%x1f%B%x1e", f"{start}..HEAD")
    messages = dict(row.strip().split("\x1f", 1) for row in rows.split("\x1e") if row.strip())
    ours = [commit for commit, said in messages.items() if said.startswith(f"{record['message']}\n")]
    return any(f"This reverts commit {commit}" in said for commit in ours for said in messages.values())


def _merge(base: str, ours: str, theirs: str, path: str) -> str | None:
    """Merge two changes of *base*. Return ``None`` where they do not fit together."""
    if ours in (base, theirs):
        return theirs
    if path.endswith(".md"):
        try:
            return merge_texts(base, ours, theirs, path).text
        except DocumentInvalid:
            return None
    return ours + theirs[len(base) :] if theirs.startswith(base) and ours.startswith(base) else None


def _signed(record: str) -> str:
    """Return the record with its signature. Without a machine key it has none, and then a person decides."""
    try:
        mac = sign(_PURPOSE, record.encode())
    except MachineKeyUnusable as error:
        _log.warning("%s. A write that is interrupted now waits for a person", error)
        mac = ""
    return json.dumps({"mac": mac, "record": record})


def _verified_record(home: Home) -> dict[str, Any] | None:
    """Return the redo record, or ``None`` where there is none. One that this machine did not sign is put aside."""
    path = _redo_path(home)
    if not is_pending(home):
        return None
    try:
        row = json.loads(storage.read_state(path))
        if verify(_PURPOSE, row["record"].encode(), row["mac"]):
            record: dict[str, Any] = json.loads(row["record"])
            return record
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _log.debug("not signed: %s", error)
    unverified.keep_record(home, path, _staging(home))
    return None


def _staged_text(home: Home, item: Mapping[str, str]) -> str:
    """Return the text that is to be written, after the path that it goes to was checked again.

    Raises:
        ValueError: the path is no memory, or the text is not the one of the record.
        OSError: the staged file is not there, or is no regular file with one name.
    """
    require_canonical(item["path"])
    if not _STAGED.fullmatch(item["staged"]):
        raise ValueError(f"{item['staged']!r} is no staged file")
    data = storage.read_state(_staging(home) / item["staged"])
    if hashlib.sha256(data).hexdigest() != item["after"]:
        raise ValueError(f"the text for {item['path']} was changed")
    return data.decode("utf-8")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digest_of(path: Path) -> str:
    """Return the digest of a file's bytes. An absent file counts as empty."""
    return hashlib.sha256(storage.read_bytes(path) if path.exists() else b"").hexdigest()


def _redo_path(home: Home) -> Path:
    return home.machine / "redo.json"


def _staging(home: Home) -> Path:
    return home.machine / "staging"
