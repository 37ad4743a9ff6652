"""Redo records: the writes of a transaction that its process, or the next one, completes.

A transaction first writes its new texts to ``.memory/staging/`` and then the redo record, which names them. From there
on it will happen: the next holder of the home's lock renames the staged files and commits them. Every function here is
called with the lock held.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import storage
from ..errors import Changed, DocumentInvalid
from ..git import history
from ..home import Home
from . import proposals

__all__ = [
    "audit", "commit", "file_rows", "is_pending", "paths_to_commit", "recover", "refuse_changed", "remove_record",
    "rename_staged", "stage",
]  # fmt: skip


def is_pending(home: Home) -> bool:
    """Return whether a writer died and left a transaction to complete. Needs no lock."""
    return _redo_path(home).exists()


def recover(home: Home) -> bool:
    """Complete the transaction of a writer that died. Return whether there was one.

    A file that somebody changed after the crash is left as it is, and its new text goes to ``.memory/recovered/``.

    Raises:
        DocumentInvalid: the redo record cannot be read.
    """
    if not is_pending(home):
        return False
    path = _redo_path(home)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        left_alone = rename_staged(home, record)
    except (ValueError, KeyError) as error:
        problem = f"cannot be read ({error}). Move it away. Its texts are in .memory/staging"
        raise DocumentInvalid(path, 0, "bad-redo-record", problem) from error
    paths = [changed for changed in paths_to_commit(record) if changed not in left_alone]
    commit_id = commit(home, paths, record["message"], record["trailers"], record.get("proposals", ()))
    audit(home, {**record["audit"], "recovered": True, "left_alone": left_alone, "commit": commit_id})
    remove_record(home)
    storage.sync_folder(path.parent)
    return True


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
    storage.stage(staged, json.dumps(record).encode())
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


def rename_staged(home: Home, record: Mapping[str, Any]) -> list[str]:
    """Rename the staged files into place. Return the paths left alone because somebody changed them after a crash.

    Calling it again, wholly or after a part, gives the same result.
    """
    left_alone = []
    for number, item in enumerate(record["files"]):
        staged, target = _staging(home) / item["staged"], home.path(item["path"])
        kept = home.machine / "recovered" / f"{record['at']:.0f}-{number}-{target.name}"
        if staged.exists():
            if _digest_of(target) not in {item["before"], item["after"]}:
                storage.replace(staged, kept)
            elif staged.stat().st_size == 0:
                storage.remove(target)
                staged.unlink()
            else:
                storage.replace(staged, target)
        if kept.exists():
            left_alone.append(item["path"])
    return left_alone


def paths_to_commit(record: Mapping[str, Any]) -> list[str]:
    """Return the paths of *record* that may be committed: without those whose edits by hand fail the guard."""
    return sorted({item["path"] for item in record["files"]} - set(record.get("left", ())))


def commit(
    home: Home, paths: Sequence[str], message: str, trailers: Mapping[str, str],
    drafts: Sequence[Mapping[str, Any]] = (),
) -> str:  # fmt: skip
    """Commit *paths*, and each of *drafts* on a branch of its own. Return the id of the first commit.

    A mark in ``.memory`` stays behind when this process is killed. It proves that a git lock of that time is ours.
    """
    mark = home.machine / "committing"
    died_at = mark.stat().st_mtime if mark.exists() else None
    storage.stage(mark, b"")
    commit_id = history.commit_files(home.root, paths, message, trailers, died_at=died_at)
    proposals.make(home, drafts, died_at=died_at)
    mark.unlink()
    return commit_id


def audit(home: Home, row: Mapping[str, Any]) -> None:
    """Append a line to the audit. It is outside git, so that reverting a commit does not revert who made it."""
    storage.append(home.audit, json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def remove_record(home: Home) -> None:
    """Remove the redo record: its transaction is complete, or taken back."""
    _redo_path(home).unlink()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digest_of(path: Path) -> str:
    """Return the digest of a file's bytes. An absent file counts as empty."""
    return hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest()


def _redo_path(home: Home) -> Path:
    return home.machine / "redo.json"


def _staging(home: Home) -> Path:
    return home.machine / "staging"
