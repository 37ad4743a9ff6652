"""Write commits of the home: the gateway's own, a person's edits, and proposals on branches of their own.

Call every function here with the home's lock held. A commit of the gateway is made from texts, not from the work tree,
and touches neither what a person staged nor what a person is editing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .. import storage
from ..errors import GitFailed, HistoryError, NoRepository
from ..visible import visible_line
from ..waiting import shortened
from .client import GitClient, home_client
from .history import Hiding, head
from .leftovers import is_leftover
from .own_folder import own_folders

__all__ = [
    "BranchCommit", "commit_files", "commit_submodule", "commit_texts", "commit_to_branches", "configure",
    "drop_branch", "drop_broken_branch", "forward", "init", "message_with", "refuse_filters", "refuse_unfinished",
    "set_branch", "stage_blobs", "stage_commit", "staging_area", "store_files", "take_back", "undoing", "unhide",
]  # fmt: skip

#: The committer where git has no configured user.
NAME, EMAIL = "agent-home", "agent-home@localhost"
#: Seconds to wait for git's own lock, which a person's command may hold.
GIT_LOCK_WAIT_S = 10.0
#: Exit code of ``git update-index --refresh`` where a person's uncommitted edits remain. The rest is done.
_NEEDS_UPDATE = 1
_LOCKED = lazy_regex(r"Unable to create '(?P<path>[^']+\.lock)': File exists")
#: Files in git's folder while an operation is unfinished, with the command that gives it up. A commit would become part
#: of that operation, or be lost with it.
_UNFINISHED = {
    "MERGE_HEAD": ("merge", "git merge --abort"),
    "CHERRY_PICK_HEAD": ("cherry-pick", "git cherry-pick --abort"),
    "REVERT_HEAD": ("revert", "git revert --abort"),
    "rebase-merge": ("rebase", "git rebase --abort"),
    "rebase-apply": ("rebase", "git rebase --abort"),
    "BISECT_LOG": ("bisection", "git bisect reset"),
}


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
        own_folders(root)
    except NoRepository:
        home_client(root).change("init", "--quiet", "--initial-branch=main")


def refuse_unfinished(root: Path) -> None:
    """Stop before a write while a person's git operation is unfinished.

    Raises:
        HistoryError: a merge, cherry-pick, revert, rebase or bisection is unfinished.
    """
    found = _unfinished(root)
    if found:
        operation, end = found
        raise HistoryError(f"a {operation} is unfinished in {root}. Finish it or run `{end}`, then try again")


def refuse_filters(root: Path) -> None:
    """Stop before a write that a filter of the repository's own configuration would have to convert.

    Without the filter the text would be committed as it is, and the filter may encrypt it.

    Raises:
        HistoryError: an attribute names such a filter for a tracked file.
    """
    git = home_client(root)
    filters = git.own_filters()
    if not filters:
        return
    tracked = git.query("ls-files", "-z")
    fields = git.text("check-attr", "-z", "--stdin", "filter", stdin=tracked).split("\0")[:-1]
    for path, name in zip(fields[::3], fields[2::3], strict=True):
        if name in filters:
            raise HistoryError(
                f"{path} is to be converted by the filter {name}, which {root / '.git' / 'config'} defines. Programs "
                f"that a repository names are not run. If it is yours, define filter.{name} with `git config --global` "
                f"and remove it there. If not, run `git -C {root} config --remove-section filter.{name}`"
            )


def undoing(root: Path) -> str:
    """Return the command that gives up a person's unfinished git operation, or an empty string.

    Raises:
        HistoryError: git is absent or refused.
    """
    found = _unfinished(root)
    return found[1] if found else ""


def configure(root: Path, key: str, value: str) -> None:
    """Write *key* into the configuration of this repository alone.

    Raises:
        HistoryError: git is absent or refused.
    """
    home_client(root).change("config", "--local", "--replace-all", key, value)


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
    _with_git_lock(git, died_at, *_identity(git), *arguments, stdin=message_with(message, trailers).encode())
    return git.text("rev-parse", "HEAD").strip()


def commit_texts(
    root: Path, parent: str, texts: Mapping[str, str], message: str, trailers: Mapping[str, str], *, branch: str,
    merges: Sequence[str] = (), died_at: float | None = None,
) -> str:  # fmt: skip
    """Commit *texts* by path on top of *parent*, as the tip of *branch*, and return the commit's hash.

    The commit holds these texts whatever happens to the work tree and the staging area meanwhile. An empty text removes
    the file. *merges* are further parents. *died_at* is as for :func:`commit_files`.

    Raises:
        GitFailed: the branch moved away from *parent* meanwhile, or git refused. The branch stays as it is.
    """
    git = home_client(root)
    stream = bytearray(b"feature done\n")
    stream += _commit_command(
        git, f"refs/heads/{branch}", parent, message_with(message, trailers).encode(), mark=b"mark :1\n"
    )
    stream += b"".join(b"merge %s\n" % commit.encode() for commit in merges)
    for path, text in texts.items():
        data = text.encode()
        if data:
            stream += b"M %s inline %s\ndata %d\n%s\n" % (_mode(root, path).encode(), _quoted(path), len(data), data)
        else:
            stream += b"D %s\n" % _quoted(path)
    output = _with_git_lock(
        git, died_at, "fast-import", "--quiet", "--done", stdin=bytes(stream) + b"get-mark :1\ndone\n"
    )
    return output.decode().strip()


def unhide(root: Path, hidden: Mapping[str, Hiding], *, died_at: float | None = None) -> None:
    """Let git look at the *hidden* files again: it would leave them out of :func:`commit_files`.

    *died_at* is as for :func:`commit_files`.
    """
    for path, mark in hidden.items():
        _with_git_lock(home_client(root), died_at, "update-index", f"--no-{mark}", "--", path)


def store_files(root: Path, files: Sequence[str], *, died_at: float | None = None) -> list[str]:
    """Write the *files* of the home into git's store of objects as they are, and return their hashes in order.

    *died_at* is as for :func:`commit_files`.
    """
    if not files:
        return []
    names = "".join(f"{file}\n" for file in files).encode()
    arguments = ("hash-object", "-w", "--no-filters", "--stdin-paths")
    return _with_git_lock(home_client(root), died_at, *arguments, stdin=names).decode().split()


@contextmanager
def staging_area(root: Path, *, died_at: float | None = None, wait_s: float | None = None) -> Iterator[Path]:
    """Hold git's lock of the staging area for the block, and yield the copy that :func:`stage_blobs` changes.

    Meanwhile no command of a person can stash, reset, check out or commit: one that sees the branch after a commit and
    the files before it would take the commit back. *died_at* is as for :func:`commit_files`.

    Raises:
        HistoryError: another command held the lock for *wait_s* seconds, or for ``GIT_LOCK_WAIT_S``.
    """
    git = home_client(root)
    folder = git.git_folder()
    index, lock, copy = folder / "index", folder / "index.lock", folder / f"next-index-{os.getpid()}"
    deadline = time.monotonic() + (shortened(GIT_LOCK_WAIT_S) if wait_s is None else wait_s)
    try:
        while not storage.create(lock, mode=0o666):
            _await_lock(git, lock, died_at, deadline)
    except OSError as error:
        raise GitFailed("index.lock", -1, git.explained(f"{lock} cannot be made: {error.strerror}")) from error
    try:
        if index.exists():
            storage.stage(copy, storage.read_bytes(index), mode=0o666)
        yield copy
    finally:
        copy.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)


def stage_blobs(root: Path, area: Path, blobs: Mapping[str, str], *, died_at: float | None = None) -> None:
    """Put *blobs* by path into the staging area, so that a person's next commit does not take them back.

    *area* is the copy that :func:`staging_area` yields. It takes the place of the staging area, which stays locked.
    *blobs* are the hashes that :func:`store_files` returned, empty for a file that goes. *died_at* is as for
    :func:`commit_files`.
    """
    options = ["--add"]
    for path, blob in blobs.items():
        options += ["--cacheinfo", f"{_mode(root, path)},{blob},{path}"] if blob else []
    removed = [f"./{path}" for path, blob in blobs.items() if not blob]
    options += ["--force-remove", *removed] if removed else []
    git = home_client(root)
    git = replace(git, environment={**git.environment, "GIT_INDEX_FILE": str(area.absolute())})
    try:
        _with_git_lock(git, died_at, "update-index", *options, "--refresh")
    except GitFailed as error:
        if error.exit_code != _NEEDS_UPDATE:
            raise
    area.replace(area.with_name("index"))


def stage_commit(root: Path, area: Path, path: str, commit: str, *, died_at: float | None = None) -> None:
    """Put the *commit* of the submodule *path* into the staging area. *area* and *died_at* are as for `stage_blobs`."""
    git = home_client(root)
    git = replace(git, environment={**git.environment, "GIT_INDEX_FILE": str(area.absolute())})
    _with_git_lock(git, died_at, "update-index", "--cacheinfo", f"160000,{commit},{path}")
    area.replace(area.with_name("index"))


def commit_submodule(
    root: Path, parent: str, path: str, commit: str, message: str, trailers: Mapping[str, str], *, branch: str,
    died_at: float | None = None,
) -> None:  # fmt: skip
    """Commit on top of *parent* that the submodule *path* is at *commit*. The rest is as for :func:`commit_texts`."""
    git = home_client(root)
    stream = bytearray(b"feature done\n")
    stream += _commit_command(git, f"refs/heads/{branch}", parent, message_with(message, trailers).encode())
    stream += b"M 160000 %s %s\n" % (commit.encode(), _quoted(path))
    _with_git_lock(git, died_at, "fast-import", "--quiet", "--done", stdin=bytes(stream) + b"done\n")


def commit_to_branches(root: Path, drafts: Sequence[BranchCommit], *, died_at: float | None = None) -> None:
    """Write one branch for each commit of *drafts*, without touching the work tree, the staging area or HEAD.

    An existing branch is moved. One git command writes them all. *died_at* is as for :func:`commit_files`.

    Raises:
        HistoryError: git is absent or refused.
    """
    git = home_client(root)
    stream = bytearray()
    for draft in drafts:
        text = draft.text.encode("utf-8", "surrogateescape")
        message = message_with(draft.message, draft.trailers).encode()
        stream += _commit_command(git, f"refs/heads/{draft.branch}", draft.parent, message)
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


def set_branch(root: Path, branch: str, commit: str) -> None:
    """Let *branch*, which may be absent, name *commit*.

    Raises:
        HistoryError: the commit is gone, or git is absent or refused.
    """
    _with_git_lock(home_client(root), None, "update-ref", f"refs/heads/{branch}", f"{commit}^{{commit}}")


def drop_broken_branch(root: Path, branch: str) -> None:
    """Delete a branch that git cannot read: its ref is damaged, or its commit is gone.

    Raises:
        HistoryError: git is absent or refused.
    """
    git = home_client(root)
    try:
        _with_git_lock(git, None, "update-ref", "-d", f"refs/heads/{branch}")
    except GitFailed:
        (git.git_folder() / "refs" / "heads" / branch).unlink(missing_ok=True)


def forward(root: Path, branch: str, start: str, to: str, *, died_at: float | None = None) -> str:
    """Let *branch* go forward from *start* to its descendant *to*, and return that. *died_at* as in `commit_files`.

    Raises:
        GitFailed: the branch moved away from *start* meanwhile, or git refused.
    """
    _with_git_lock(home_client(root), died_at, "update-ref", "-m", "pull: forward", f"refs/heads/{branch}", to, start)
    return to


def take_back(root: Path, branch: str, to: str) -> None:
    """Let *branch*, whose newest commits lack objects, name the commit *to* again. They leave the reflogs as well.

    Raises:
        HistoryError: git is absent or refused, or the branch moved meanwhile.
    """
    git = home_client(root)
    git.change("update-ref", f"refs/heads/{branch}", to, head(root))
    logs = ("HEAD", f"refs/heads/{branch}")
    git.change("reflog", "expire", "--stale-fix", "--expire=never", "--expire-unreachable=never", *logs)


def _commit_command(git: GitClient, ref: str, parent: str, message: bytes, *, mark: bytes = b"") -> bytes:
    """Return the lines of ``git fast-import`` that begin a commit. *parent* is empty for a first one."""
    who = git.change(*_identity(git), "var", "GIT_COMMITTER_IDENT").strip()
    author = b""
    if any(name in git.environment for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE")):
        author = b"author %s\n" % git.change(*_identity(git), "var", "GIT_AUTHOR_IDENT").strip()
    start = b"from %s\n" % parent.encode() if parent else b""
    head_lines = b"commit %s\n%s%scommitter %s\n" % (os.fsencode(ref), mark, author, who)
    return head_lines + b"data %d\n%s\n%s" % (len(message), message, start)


def _mode(root: Path, path: str) -> str:
    """Return the mode of a file in a tree: a file that a person made executable stays so."""
    try:
        return "100755" if (root / path).stat().st_mode & 0o100 else "100644"
    except OSError:  # it is new
        return "100644"


def _quoted(path: str) -> bytes:
    """Return *path* as ``git fast-import`` reads it."""
    return b'"%s"' % path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").encode(
        "utf-8", "surrogateescape"
    )


def message_with(message: str, trailers: Mapping[str, str]) -> str:
    """Return the text of a commit's message: a subject and trailers.

    Each is one line, so a session's name cannot forge another trailer.
    """
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers.items() if value.strip()]
    subject = " ".join(message.split()) or "Change memory"
    return "\n".join(visible_line(line) for line in ([subject, "", *lines] if lines else [subject]))


def _identity(git: GitClient) -> list[str]:
    """Return options that name the committer where git's own configuration does not."""
    with suppress(GitFailed):
        git.query("var", "GIT_COMMITTER_IDENT")
        return []
    return ["-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}"]


def _with_git_lock(git: GitClient, died_at: float | None, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git, and wait while another command holds one of git's own locks. Remove the lock of a dead writer."""
    deadline = time.monotonic() + shortened(GIT_LOCK_WAIT_S)
    while True:
        try:
            return git.change(*arguments, stdin=stdin)
        except GitFailed as error:
            match = _LOCKED.search(error.reason)
            if match is None:
                raise
            _await_lock(git, Path(match["path"]), died_at, deadline, error)


def _await_lock(
    git: GitClient, lock: Path, died_at: float | None, deadline: float, error: GitFailed | None = None
) -> None:
    """Wait a moment for *lock*, or remove it at once if a dead writer left it.

    Raises:
        HistoryError: the time is over.
    """
    if died_at is not None and is_leftover(lock, died_at, git.root):
        lock.unlink(missing_ok=True)
    elif time.monotonic() > deadline:
        problem = f"another git command holds {lock}. End that command, or remove the file if none runs"
        raise HistoryError(problem) from error
    else:
        time.sleep(0.05)


def _unfinished(root: Path) -> tuple[str, str] | None:
    """Return a person's unfinished git operation and the command that gives it up."""
    folder = home_client(root).git_folder()
    return next((operation for name, operation in _UNFINISHED.items() if (folder / name).exists()), None)
