"""The home's git repository: committing what the gateway wrote, and reading what was written when.

GitPython does the work and is imported at the first use, because its import runs git. Everything here that changes
the repository is called with the home's lock held. Commits name their paths (``--only``), so that what a person has
staged stays staged and uncommitted.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import HistoryError

if TYPE_CHECKING:
    from git import Git, Repo

__all__ = ["TRAILERS", "Event", "commit_files", "dirty", "entry_history", "head", "init", "open_repository", "text_at"]

TRAILERS = ("Session", "Entries", "Evidence", "Guard", "Actor")
#: Who commits where git knows nobody.
NAME, EMAIL = "agent-home", "agent-home@localhost"
#: How long another git command (a person's, say) may keep git's own lock before a write gives up.
GIT_LOCK_WAIT_S = 10.0
#: Age at which a git lock made after a writer of ours died is taken for its orphan: git needs milliseconds.
ORPHAN_GIT_LOCK_S = 2.0
_RECORD, _FIELD = "\x1e", "\x1f"
_LOCKED = re.compile(r"Unable to create '(?P<path>[^']+\.lock)'")


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


def init(root: Path) -> None:
    """Make *root* a repository with the branch ``main``, unless it is the top of one already.

    Raises:
        HistoryError: git is absent or refused.
    """
    git_class, _ = _gitpython()
    if not (root / ".git").exists():
        _run(git_class(str(root)), "init", "--quiet", "--initial-branch=main")


def open_repository(root: Path) -> Repo:
    """The repository whose top is *root*.

    Raises:
        HistoryError: git is absent, or *root* is no repository.
    """
    _, repo_class = _gitpython()
    from git.exc import InvalidGitRepositoryError, NoSuchPathError

    try:
        return repo_class(root)
    except (InvalidGitRepositoryError, NoSuchPathError) as error:
        raise HistoryError(
            f"{root} is no git repository; run `git init` there, or `memory init` for a new home"
        ) from error


def head(root: Path) -> str:
    """The hash of HEAD, or an empty string before the first commit."""
    git = open_repository(root).git
    try:
        return str(git.rev_parse("--verify", "--quiet", "HEAD"))
    except _command_error():
        return ""


def dirty(root: Path, paths: Sequence[str]) -> list[str]:
    """Which of *paths* differ from HEAD in the work tree or the staging area, untracked ones included."""
    git = open_repository(root).git
    output = _run(git, "--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=all", "--", *paths)
    return [item[3:] for item in output.split("\0") if len(item) > 3]


def commit_files(
    root: Path, paths: Sequence[str], message: str, trailers: Mapping[str, str], *, died_at: float | None = None
) -> str:
    """Commit exactly *paths* as they are on disk (a missing one as removed) and return the commit's hash.

    Returns the present HEAD when nothing differs. Hooks do not run: the gateway has screened already. *died_at*
    (seconds since the epoch) says that a writer of ours died then: locks of git from that time on are its orphans.

    Raises:
        HistoryError: git is absent or refused; the files stay as they are.
    """
    git = open_repository(root).git
    _with_git_lock(git, died_at, "add", "--all", "--force", "--", *paths)
    if not _run(git, "diff", "--cached", "--name-only", "--", *paths).strip():
        return head(root)
    lines = [f"{name}: {value}" for name, value in trailers.items() if value]
    text = message.strip() + ("\n\n" + "\n".join(lines) if lines else "")
    options = ["-c", "gc.auto=0", "-c", "commit.gpgsign=false", *_identity(git)]
    arguments = ("commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--only", "-m", text, "--", *paths)
    _with_git_lock(git, died_at, *arguments, options=options)
    return str(git.rev_parse("HEAD"))


def text_at(root: Path, revision: str, path: str) -> str:
    """The text of *path* at *revision*; empty when it was not there.

    Raises:
        HistoryError: there is no such revision.
    """
    git = open_repository(root).git
    try:
        git.rev_parse("--verify", "--quiet", f"{revision}^{{commit}}")
    except _command_error() as error:
        raise HistoryError(f"no revision {revision!r} in {root}; `git log` there lists them") from error
    try:
        data = git.execute(["git", "show", f"{revision}:{path}"], stdout_as_string=False, strip_newline_in_stdout=False)
    except _command_error():
        return ""
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


def entry_history(root: Path, entry_id: str) -> list[Event]:
    """Every commit that added, changed, moved or removed the entry, oldest first; empty when there is none."""
    git = open_repository(root).git
    if not head(root):
        return []
    names = ",".join(
        f"%(trailers:key={name},valueonly,separator=%x2C)" + "%x1f" for name in ("Session", "Evidence", "Actor")
    )
    pretty = f"--format=%x1e%H%x1f%cI%x1f%s%x1f{names.replace(',%(', '%(')}"
    pattern = rf"^[-*+] +\*\*\[{re.escape(entry_id)}\]"
    whole = r"\[" + re.escape(entry_id) + r"\]"
    output = _run(git, "log", "--reverse", pretty, "-p", "--unified=0", "--no-color", "--no-ext-diff", f"-G{whole}",
                  "--", "MEMORY.md", "EVOLUTION.md", "Archive")  # fmt: skip
    events = []
    for record in output.split(_RECORD)[1:]:
        commit, ts, subject, session, evidence, actor, patch = (*record.split(_FIELD, 6), "", "", "", "", "")[:7]
        action, file = _action(patch, pattern)
        if action:
            events.append(Event(ts=ts, action=action, commit=commit, session=session, evidence=evidence,
                                actor=actor, subject=subject, file=file))  # fmt: skip
    return events


def _action(patch: str, pattern: str) -> tuple[str, str]:
    """What a patch did with the entry whose first line matches *pattern*, and in which file."""
    line = re.compile(pattern[1:])
    file, added, removed = "", "", ""
    for text in patch.splitlines():
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
    return ("removed", removed) if removed else ("", "")


def _gitpython() -> tuple[type[Git], type[Repo]]:
    """GitPython's classes.

    Raises:
        HistoryError: there is no git on this machine.
    """
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    try:
        from git import Git, Repo
        from git.exc import GitCommandNotFound
    except ImportError as error:
        raise HistoryError(f"GitPython cannot be loaded ({error}); install git and GitPython") from error
    try:
        Git().version()
    except GitCommandNotFound as error:
        raise HistoryError(
            "git was not found; memory is kept in git, so install it (`apt install git`) and try again"
        ) from error
    return Git, Repo


def _command_error() -> type[Exception]:
    from git.exc import GitCommandError

    return GitCommandError


def _identity(git: Git) -> list[str]:
    """Options that name the committer where git's own configuration does not."""
    try:
        git.var("GIT_COMMITTER_IDENT")
        if git.config("--get", "user.email", with_exceptions=False):
            return []
    except _command_error():
        pass
    return ["-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}"]


def _run(git: Git, *arguments: str, options: Sequence[str] = ()) -> str:
    try:
        return str(git.execute(["git", *options, *arguments], strip_newline_in_stdout=False))
    except _command_error() as error:
        reason = str(getattr(error, "stderr", "") or error).strip().removeprefix("stderr: ").strip(" '\n")
        raise HistoryError(f"git {arguments[0]} failed: {' '.join(reason.split())}") from error


def _with_git_lock(git: Git, died_at: float | None, *arguments: str, options: Sequence[str] = ()) -> str:
    """Run git, waiting while another command holds one of git's own locks; an orphan's lock is removed."""
    deadline = time.monotonic() + GIT_LOCK_WAIT_S
    while True:
        try:
            return _run(git, *arguments, options=options)
        except HistoryError as error:
            match = _LOCKED.search(str(error))
            if match is None:
                raise
            if died_at is not None:
                _remove_orphan(Path(match["path"]), died_at)
            if time.monotonic() > deadline:
                raise HistoryError(
                    f"{match['path']} is held by another git command; end that command, or remove the file if none runs"
                ) from error
            time.sleep(0.05)


def _remove_orphan(lock: Path, died_at: float) -> None:
    try:
        made_at = lock.stat().st_mtime
    except FileNotFoundError:
        return
    if made_at >= died_at - 1 and time.time() - made_at > ORPHAN_GIT_LOCK_S:
        lock.unlink(missing_ok=True)
