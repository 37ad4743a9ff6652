"""Commit the gateway's writes to the home's repository, and read the history of entries and files.

Call every function that changes the repository with the home's lock held. Commits name their paths (``--only``), so a
person's staged edits stay staged and uncommitted.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..documents.entry import ENTRY_ID
from ..errors import GitFailed, HistoryError, NoRepository, NoSuchRevision
from .client import GitClient, home_client, open_repository

__all__ = [
    "TRAILERS",
    "BranchCommit",
    "Event",
    "commit_files",
    "commit_to_branches",
    "configure",
    "configured",
    "configured_name",
    "dirty",
    "drop_branch",
    "entry_history",
    "head",
    "init",
    "patches",
    "query",
    "refuse_unfinished",
    "resolve",
    "text_at",
    "texts_at",
]

TRAILERS = ("Session", "Entries", "Evidence", "Guard", "Actor", "Source")
#: The committer where git has no configured user.
NAME, EMAIL = "agent-home", "agent-home@localhost"
#: Seconds to wait for git's own lock, which a person's command may hold.
GIT_LOCK_WAIT_S = 10.0
#: Seconds after which a git lock of a dead writer counts as an orphan. Git itself needs milliseconds.
ORPHAN_GIT_LOCK_S = 2.0
#: A dead writer made its last git lock at most this many seconds after it began to commit.
LAST_GIT_LOCK_S = 60.0
_RECORD, _FIELD = "\x1e", "\x1f"
_LOCKED = re.compile(r"Unable to create '(?P<path>[^']+\.lock)'")
#: Files in git's folder while an operation is unfinished. A commit would become part of that operation.
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One commit that touched an entry. *action* is added, changed, removed, archived or restored."""

    ts: str
    action: str
    commit: str
    session: str
    evidence: str
    actor: str
    subject: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCommit:
    """A commit on another branch than the checked-out one: *parent* with *text* at *path*, as the tip of *branch*."""

    branch: str
    parent: str
    path: str
    text: str
    message: str
    trailers: Mapping[str, str]


def init(root: Path) -> None:
    """Make *root* a repository with the branch ``main``, unless it already is the top of one.

    Raises:
        HistoryError: git is absent or refused.
    """
    try:
        open_repository(root)
    except NoRepository:
        home_client(root).change("init", "--quiet", "--initial-branch=main")


def refuse_unfinished(root: Path) -> None:
    """Stop before a write while a person's git operation is unfinished.

    Raises:
        HistoryError: a merge, cherry-pick or rebase is unfinished.
    """
    folder = home_client(root).git_folder()
    for name, operation in _UNFINISHED.items():
        if (folder / name).exists():
            raise HistoryError(
                f"a {operation} is unfinished in {root}. Finish it or run `git {operation} --abort`, then try again"
            )


def head(root: Path) -> str:
    """Return the hash of HEAD, or an empty string before the first commit."""
    return home_client(root).text("rev-parse", "--verify", "--quiet", "HEAD", empty_on=(1,)).strip()


def dirty(root: Path, paths: Sequence[str]) -> list[str]:
    """Return those of *paths* that differ from HEAD in the work tree or the staging area, untracked ones included."""
    output = home_client(root).text(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", *paths
    )
    return [item[3:] for item in output.split("\0") if len(item) > 3]


def commit_files(
    root: Path, paths: Sequence[str], message: str, trailers: Mapping[str, str], *, died_at: float | None = None
) -> str:
    """Commit exactly *paths* as they are on disk (a missing one as removed) and return the commit's hash.

    Return the present HEAD when nothing differs. Hooks do not run, because the gateway has already screened the text.
    *died_at* is when a writer that died began to commit, in seconds since the epoch. Locks of git from that time are
    orphans and are removed.

    Raises:
        HistoryError: git is absent or refused; the files stay as they are.
    """
    if not paths:  # without paths, git would commit everything that is staged
        return head(root)
    git = home_client(root)
    known = [path for path in paths if (root / path).exists() or git.query("ls-files", "--", path)]
    if known:  # a path that is in neither place may already be staged as removed
        _with_git_lock(git, died_at, "add", "--all", "--force", "--", *known)
    changed = git.text("diff", "--cached", "--name-only", "--no-renames", "-z", "--", *paths).split("\0")[:-1]
    if not changed:
        return head(root)
    arguments = ("commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--only", "-F", "-", "--", *changed)
    _with_git_lock(git, died_at, *_identity(git), *arguments, stdin=_commit_message(message, trailers))
    return git.text("rev-parse", "HEAD").strip()


def resolve(root: Path, revision: str) -> str:
    """Return the hash of the commit that *revision* names.

    Raises:
        NoSuchRevision: the revision does not exist.
    """
    name = f"{revision}^{{commit}}"
    try:
        return home_client(root).text("rev-parse", "--verify", "--quiet", "--end-of-options", name).splitlines()[-1]
    except (GitFailed, ValueError) as error:  # a NUL byte is a ValueError
        raise NoSuchRevision(revision, root) from error


def text_at(root: Path, revision: str, path: str) -> str:
    """Return the text of *path* at *revision*, empty when the file did not exist.

    Raises:
        NoSuchRevision: the revision does not exist.
    """
    return texts_at(root, [(resolve(root, revision), path)])[0]


def texts_at(root: Path, names: Sequence[tuple[str, str]]) -> list[str]:
    """Return the texts of ``(revision, path)`` pairs in order, empty for a missing file. Runs one git command."""
    found = home_client(root).objects(f"{revision}:{path}" for revision, path in names)
    return [item.data.decode("utf-8", "replace") if item and item.kind == "blob" else "" for item in found]


def query(root: Path, *arguments: str) -> str:
    """Return the output of a git command that only reads.

    Raises:
        HistoryError: git refused.
        ValueError: the command could change the repository.
    """
    return home_client(root).text(*arguments)


def configured(root: Path, key: str) -> str:
    """Return the configured value of *key* in *root*, or an empty string."""
    return home_client(root).setting(key)


def configure(root: Path, key: str, value: str) -> None:
    """Write *key* into the configuration of this repository alone.

    Raises:
        HistoryError: git is absent or refused.
    """
    home_client(root).change("config", "--local", "--replace-all", key, value)


def configured_name(root: Path) -> str:
    """Return the person's name in git's configuration, or an empty string."""
    return home_client(root).setting("user.name")


def commit_to_branches(root: Path, drafts: Sequence[BranchCommit], *, died_at: float | None = None) -> None:
    """Write one branch for each commit of *drafts*, without touching the work tree, the staging area or HEAD.

    An existing branch is moved. One git command writes them all. *died_at* is as for :func:`commit_files`.

    Raises:
        HistoryError: git is absent or refused.
    """
    git = home_client(root)
    who = git.change(*_identity(git), "var", "GIT_COMMITTER_IDENT").strip()
    stream = bytearray()
    for draft in drafts:
        message, text = _commit_message(draft.message, draft.trailers), draft.text.encode("utf-8", "surrogateescape")
        stream += b"commit refs/heads/%s\ncommitter %s\n" % (draft.branch.encode(), who)
        stream += b"data %d\n%s\nfrom %s\n" % (len(message), message, draft.parent.encode())
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (draft.path.encode(), len(text), text)
    if drafts:
        _with_git_lock(git, died_at, "fast-import", "--quiet", "--force", "--done", stdin=bytes(stream) + b"done\n")


def drop_branch(root: Path, branch: str, *, died_at: float | None = None) -> None:
    """Delete a branch if it exists.

    Raises:
        HistoryError: the branch is checked out, or git is absent.
    """
    git = home_client(root)
    if git.query("for-each-ref", f"refs/heads/{branch}"):
        _with_git_lock(git, died_at, "branch", "-D", "--quiet", "--", branch)


def entry_history(root: Path, entry_id: str) -> list[Event]:
    """Return every commit that added, changed, moved or removed the entry, oldest first.

    A patch shows a change of the entry's first line only. A change of the lines below it is found by the trailer
    ``Entries``, which every commit of the gateway has.
    """
    git = home_client(root)
    if not ENTRY_ID.fullmatch(entry_id) or not head(root):
        return []
    found = _events(git, entry_id, "--extended-regexp", f"--grep=^Entries: .*{entry_id}", default_action="changed")
    found |= _events(git, entry_id, rf"-G\[{entry_id}\]", default_action="")
    if len(found) < 2:
        return list(found.values())
    order = {commit: at for at, commit in enumerate(git.text("rev-list", "--reverse", "HEAD").split())}
    return sorted(found.values(), key=lambda event: order[event.commit])


def patches(root: Path, *paths: str) -> Iterator[str]:
    """Yield the full patch, without context lines, of each commit that touched one of *paths*, oldest first."""
    if not head(root):
        return
    output = home_client(root).text(
        "log", "--reverse", "--full-diff", "--format=%x1e", "-p", "--unified=0", "--no-renames", "--src-prefix=a/",
        "--dst-prefix=b/", "--", *paths,
    )  # fmt: skip
    yield from output.split(_RECORD)[1:]


def _events(git: GitClient, entry_id: str, *selection: str, default_action: str) -> dict[str, Event]:
    """Return the events of the selected commits by hash. *default_action* is for a patch that does not show one."""
    names = "".join(f"%x1f%(trailers:key={name},valueonly,separator=%x2C)" for name in ("Session", "Evidence", "Actor"))
    output = git.text(
        "log", f"--format=%x1e%H%x1f%cI%x1f%s{names}%x1f", "-p", "--unified=0", "--no-renames", "--src-prefix=a/",
        "--dst-prefix=b/", *selection, "--", "MEMORY.md", "EVOLUTION.md", "Archive",
    )  # fmt: skip
    events = {}
    for record in output.split(_RECORD)[1:]:
        commit, ts, subject, session, evidence, actor, patch = (*record.split(_FIELD, 6), "", "", "", "", "")[:7]
        action, file = _action(patch, entry_id)
        if action or default_action:
            events[commit] = Event(
                ts=ts, action=action or default_action, commit=commit, session=session, evidence=evidence, actor=actor,
                subject=subject, file=file,
            )  # fmt: skip
    return events


def _action(patch: str, entry_id: str) -> tuple[str, str]:
    """Return what a patch did with the entry's first line, and in which file.

    The action is empty when the patch does not touch that line. The file is then the last one in the patch.
    """
    line = re.compile(rf"[-*+][ \t]+\*\*\[{entry_id}\]")
    file, added, removed = "", "", ""
    for text in patch.split("\n"):
        if text.startswith(("+++ b/", "--- a/")):
            file = text[6:]
        elif text.startswith("+") and line.match(text[1:]):
            added = file
        elif text.startswith("-") and line.match(text[1:]):
            removed = file
    if added and removed and added != removed:
        return ("archived" if added.startswith("Archive/") else "restored"), added
    if added and removed:
        return "changed", added
    if added:
        return "added", added
    return ("removed", removed) if removed else ("", file)


def _commit_message(message: str, trailers: Mapping[str, str]) -> bytes:
    """Return subject and trailers. A value is one line, so a session's name cannot forge another trailer."""
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers.items() if value.strip()]
    text = (message.strip() or "Change memory") + ("\n\n" + "\n".join(lines) if lines else "")
    return _UNPRINTABLE.sub(" ", text).encode()


def _identity(git: GitClient) -> list[str]:
    """Return options that name the committer where git's own configuration does not."""
    with suppress(GitFailed):
        git.query("var", "GIT_COMMITTER_IDENT")
        return []
    return ["-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}"]


def _with_git_lock(git: GitClient, died_at: float | None, *arguments: str, stdin: bytes = b"") -> None:
    """Run git, and wait while another command holds one of git's own locks. Remove the lock of a dead writer."""
    deadline = time.monotonic() + GIT_LOCK_WAIT_S
    while True:
        try:
            git.change(*arguments, stdin=stdin)
        except GitFailed as error:
            match = _LOCKED.search(error.reason)
            if match is None:
                raise
            if died_at is not None:
                _remove_orphan(Path(match["path"]), died_at)
            if time.monotonic() > deadline:
                raise HistoryError(
                    f"another git command holds {match['path']}. End that command, or remove the file if none runs"
                ) from error
            time.sleep(0.05)
        else:
            return


def _remove_orphan(lock: Path, died_at: float) -> None:
    try:
        made_at = lock.stat().st_mtime
    except FileNotFoundError:
        return
    if died_at - 1 <= made_at <= died_at + LAST_GIT_LOCK_S and time.time() - made_at > ORPHAN_GIT_LOCK_S:
        lock.unlink(missing_ok=True)
