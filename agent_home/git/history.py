"""The home's git repository: committing what the gateway wrote, and reading what was written when.

GitPython does the work and is imported at the first use, because its import runs git. Everything here that changes
the repository is called with the home's lock held. Commits name their paths (``--only``), so that what a person has
staged stays staged and uncommitted.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..documents.entry import ENTRY_ID
from ..errors import HistoryError

if TYPE_CHECKING:
    from git import Git, Repo

__all__ = [
    "TRAILERS",
    "Apart",
    "Event",
    "ask",
    "commit_apart",
    "commit_files",
    "configure",
    "configured",
    "configured_name",
    "dirty",
    "drop_branch",
    "entry_history",
    "head",
    "init",
    "open_repository",
    "patches",
    "refuse_unfinished",
    "resolve",
    "text_at",
    "texts_at",
]

TRAILERS = ("Session", "Entries", "Evidence", "Guard", "Actor", "Source")
#: Who commits where git knows nobody.
NAME, EMAIL = "agent-home", "agent-home@localhost"
#: How long another git command (a person's, say) may keep git's own lock before a write gives up.
GIT_LOCK_WAIT_S = 10.0
#: Age at which a git lock made after a writer of ours died is taken for its orphan: git needs milliseconds.
ORPHAN_GIT_LOCK_S = 2.0
#: A writer of ours that died made its last git lock at most this long after it began to commit.
LAST_GIT_LOCK_S = 60.0
_RECORD, _FIELD = "\x1e", "\x1f"
_LOCKED = re.compile(r"Unable to create '(?P<path>[^']+\.lock)'")
#: What git keeps in its folder while a person is in the middle of something; a commit then would become part of it.
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
#: Set by git for its hooks: a hook of another repository must not lead our commits there.
_REDIRECTS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
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
class Apart:
    """A commit beside the checked-out branch: *parent* with *path* replaced by *text*, as the tip of *branch*."""

    branch: str
    parent: str
    path: str
    text: str
    message: str
    trailers: Mapping[str, str]


def init(root: Path) -> None:
    """Make *root* a repository with the branch ``main``, unless it is the top of one already.

    Raises:
        HistoryError: git is absent or refused.
    """
    git_class, repo_class = _gitpython()
    from git.exc import InvalidGitRepositoryError

    try:
        repo_class(root)
    except InvalidGitRepositoryError:
        git = git_class(str(root))
        if any(name in os.environ for name in _REDIRECTS):
            _point(git, root, root / ".git")
        _run(git, "init", "--quiet", "--initial-branch=main")


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


def refuse_unfinished(root: Path) -> None:
    """Stop before a write whose commit git would refuse, or make part of what a person is in the middle of.

    Raises:
        HistoryError: a merge, cherry-pick or rebase is unfinished.
    """
    folder = Path(open_repository(root).git_dir)
    for name, what in _UNFINISHED.items():
        if (folder / name).exists():
            raise HistoryError(
                f"a {what} is unfinished in {root}; finish it, or end it with `git {what} --abort`, and try again"
            )


def head(root: Path) -> str:
    """The hash of HEAD, or an empty string before the first commit."""
    git = _git(root)
    try:
        return str(git.rev_parse("--verify", "--quiet", "HEAD"))
    except _command_error():
        return ""


def dirty(root: Path, paths: Sequence[str]) -> list[str]:
    """Which of *paths* differ from HEAD in the work tree or the staging area, untracked ones included."""
    git = _git(root)
    output = _run(git, "--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
                  "--", *paths)  # fmt: skip
    return [item[3:] for item in output.split("\0") if len(item) > 3]


def commit_files(
    root: Path, paths: Sequence[str], message: str, trailers: Mapping[str, str], *, died_at: float | None = None
) -> str:
    """Commit exactly *paths* as they are on disk (a missing one as removed) and return the commit's hash.

    Returns the present HEAD when nothing differs. Hooks do not run: the gateway has screened already. *died_at*
    (seconds since the epoch) says that a writer of ours began to commit then and died: git's locks from that time
    are its orphans.

    Raises:
        HistoryError: git is absent or refused; the files stay as they are.
    """
    if not paths:  # git would take everything that is staged
        return head(root)
    git = _git(root)
    known = [path for path in paths if (root / path).exists() or _run(git, "ls-files", "--", path)]
    if known:  # what is neither on disk nor in the staging area may be staged as removed already
        _with_git_lock(git, died_at, "add", "--all", "--force", "--", *known)
    changed = _run(git, "diff", "--cached", "--name-only", "--no-renames", "-z", "--", *paths).split("\0")[:-1]
    if not changed:
        return head(root)
    options = ["-c", "gc.auto=0", "-c", "commit.gpgsign=false", "-c", f"core.hooksPath={os.devnull}", *_identity(git)]
    arguments = ("commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--only", "-F", "-", "--", *changed)
    _with_git_lock(git, died_at, *arguments, options=options, stdin=_commit_message(message, trailers))
    return str(git.rev_parse("HEAD"))


def resolve(root: Path, revision: str) -> str:
    """The hash of the commit that *revision* names.

    Raises:
        HistoryError: there is no such revision.
    """
    try:
        name = f"{revision}^{{commit}}"
        return str(_git(root).rev_parse("--verify", "--quiet", "--end-of-options", name)).splitlines()[-1]
    except _command_error() as error:
        raise HistoryError(f"no revision {revision!r} in {root}; `git log` there lists them") from error


def text_at(root: Path, revision: str, path: str) -> str:
    """The text of *path* at *revision*; empty when it was not there.

    Raises:
        HistoryError: there is no such revision.
    """
    resolve(root, revision)
    git = _git(root)
    try:
        data = git.execute(["git", "show", f"{revision}:{path}"], stdout_as_string=False, strip_newline_in_stdout=False)
    except _command_error():
        return ""
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


def texts_at(root: Path, names: Sequence[tuple[str, str]]) -> list[str]:
    """The texts of ``(revision, path)`` pairs, in their order; empty for one that is not there. One git command."""
    if not names:
        return []
    asked = "".join(f"{revision}:{path}\n" for revision, path in names).encode("utf-8", "surrogateescape")
    output = _run(_git(root), "cat-file", "--batch", stdin=asked).encode("utf-8", "surrogateescape")
    found, at = [], 0
    for _ in names:
        line, _, _ = output[at:].partition(b"\n")
        at += len(line) + 1
        kind = line.split(b" ")[-2:]
        if len(kind) < 2 or kind[0] not in {b"blob", b"tree", b"commit", b"tag"}:
            found.append("")
            continue
        size = int(kind[1])
        found.append(output[at : at + size].decode("utf-8", "replace") if kind[0] == b"blob" else "")
        at += size + 1
    return found


def ask(root: Path, *arguments: str) -> str:
    """What a git command prints that only reads.

    Raises:
        HistoryError: git refused.
    """
    return _run(_git(root), "--no-optional-locks", *arguments)


def configured(root: Path, key: str) -> str:
    """What git's configuration says for *key* in *root*; empty when it says nothing."""
    return str(_git(root).config("--get", key, with_exceptions=False))


def configure(root: Path, key: str, value: str) -> None:
    """Write *key* into the configuration of this one repository.

    Raises:
        HistoryError: git is absent or refused.
    """
    _run(_git(root), "config", "--local", "--replace-all", key, value)


def configured_name(root: Path) -> str:
    """The person's name that git knows in *root*; empty when it knows none."""
    return str(_git(root).config("--get", "user.name", with_exceptions=False))


def commit_apart(root: Path, drafts: Sequence[Apart], *, died_at: float | None = None) -> None:
    """Make a branch for each draft, without touching the work tree, the staging area or HEAD. One git command.

    A branch that is there already is moved. *died_at* is as for :func:`commit_files`.

    Raises:
        HistoryError: git is absent or refused.
    """
    git = _git(root)
    who = _run(git, "var", "GIT_COMMITTER_IDENT", options=_identity(git)).strip().encode("utf-8", "surrogateescape")
    stream = bytearray()
    for draft in drafts:
        message, text = _commit_message(draft.message, draft.trailers), draft.text.encode("utf-8", "surrogateescape")
        stream += b"commit refs/heads/%s\ncommitter %s\n" % (draft.branch.encode(), who)
        stream += b"data %d\n%s\nfrom %s\n" % (len(message), message, draft.parent.encode())
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (draft.path.encode(), len(text), text)
    if drafts:
        _with_git_lock(git, died_at, "fast-import", "--quiet", "--force", "--done", stdin=bytes(stream) + b"done\n")


def drop_branch(root: Path, branch: str, *, died_at: float | None = None) -> None:
    """Take a branch away; one that is not there is no error.

    Raises:
        HistoryError: somebody works on it, or git is absent.
    """
    git = _git(root)
    if _run(git, "for-each-ref", f"refs/heads/{branch}"):
        _with_git_lock(git, died_at, "branch", "-D", "--quiet", "--", branch)


def entry_history(root: Path, entry_id: str) -> list[Event]:
    """Every commit that added, changed, moved or removed the entry, oldest first; empty when there is none.

    A commit that touched only the lines below the entry's first is known by its trailer ``Entries``, which every
    commit of the gateway has.
    """
    git = _git(root)
    if not ENTRY_ID.fullmatch(entry_id) or not head(root):
        return []
    found = _events(git, entry_id, "--extended-regexp", f"--grep=^Entries: .*{entry_id}", unseen="changed")
    found |= _events(git, entry_id, rf"-G\[{entry_id}\]", unseen="")
    if len(found) < 2:
        return list(found.values())
    order = {commit: at for at, commit in enumerate(_run(git, "rev-list", "--reverse", "HEAD").split())}
    return sorted(found.values(), key=lambda event: order[event.commit])


def patches(root: Path, *paths: str) -> Iterator[str]:
    """What each commit that touched one of *paths* changed anywhere, oldest first, as a patch without context."""
    git = _git(root)
    if not head(root):
        return
    output = _run(git, "log", "--reverse", "--full-diff", "--format=%x1e", "-p", "--unified=0", "--no-color",
                  "--no-ext-diff", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "--", *paths)  # fmt: skip
    yield from output.split(_RECORD)[1:]


def _events(git: Git, entry_id: str, *selection: str, unseen: str) -> dict[str, Event]:
    """The events of the commits that *selection* finds; *unseen* is what happened where the patch does not tell."""
    names = "".join(f"%x1f%(trailers:key={name},valueonly,separator=%x2C)" for name in ("Session", "Evidence", "Actor"))
    output = _run(git, "log", f"--format=%x1e%H%x1f%cI%x1f%s{names}%x1f", "-p", "--unified=0", "--no-color",
                  "--no-ext-diff", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", *selection,
                  "--", "MEMORY.md", "EVOLUTION.md", "Archive")  # fmt: skip
    events = {}
    for record in output.split(_RECORD)[1:]:
        commit, ts, subject, session, evidence, actor, patch = (*record.split(_FIELD, 6), "", "", "", "", "")[:7]
        action, file = _action(patch, entry_id)
        if action or unseen:
            events[commit] = Event(ts=ts, action=action or unseen, commit=commit, session=session, evidence=evidence,
                                   actor=actor, subject=subject, file=file)  # fmt: skip
    return events


def _action(patch: str, entry_id: str) -> tuple[str, str]:
    """What a patch did with the first line of the entry, and in which file (the last one it touches, if nothing)."""
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


def _git(root: Path) -> Git:
    """Git at work on the repository of *root*, whatever the environment says; paths are names, never patterns."""
    repository = open_repository(root)
    git_class, _ = _gitpython()
    git = git_class(str(root))
    git.update_environment(GIT_LITERAL_PATHSPECS="1")
    if any(name in os.environ for name in _REDIRECTS):
        _point(git, root, Path(repository.git_dir))
        git.update_environment(GIT_COMMON_DIR=str(repository.common_dir))
        git.update_environment(GIT_OBJECT_DIRECTORY=str(Path(repository.common_dir) / "objects"))
    return git


def _point(git: Git, root: Path, folder: Path) -> None:
    """Name the repository outright, against what a hook's environment says."""
    git.update_environment(GIT_DIR=str(folder), GIT_WORK_TREE=str(root), GIT_INDEX_FILE=str(folder / "index"))
    git.update_environment(GIT_COMMON_DIR=str(folder), GIT_OBJECT_DIRECTORY=str(folder / "objects"))


def _commit_message(message: str, trailers: Mapping[str, str]) -> bytes:
    """Subject and trailers. A value is one line, so that nobody's name for a session can forge another trailer."""
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers.items() if value.strip()]
    text = (message.strip() or "Change memory") + ("\n\n" + "\n".join(lines) if lines else "")
    return _UNPRINTABLE.sub(" ", text).encode()


@cache
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
    from git.exc import CommandError

    return CommandError


def _identity(git: Git) -> list[str]:
    """Options that name the committer where git's own configuration does not."""
    try:
        git.var("GIT_COMMITTER_IDENT")
        if git.config("--get", "user.email", with_exceptions=False):
            return []
    except _command_error():
        pass
    return ["-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}"]


def _run(git: Git, *arguments: str, options: Sequence[str] = (), stdin: bytes = b"") -> str:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            return str(git.execute(["git", *options, *arguments], istream=file, strip_newline_in_stdout=False))
    except _command_error() as error:
        reason = str(getattr(error, "stderr", "") or error).strip().removeprefix("stderr: ").strip(" '\n")
        raise HistoryError(f"git {arguments[0]} failed: {' '.join(reason.split())}") from error


def _with_git_lock(
    git: Git, died_at: float | None, *arguments: str, options: Sequence[str] = (), stdin: bytes = b""
) -> str:
    """Run git, waiting while another command holds one of git's own locks; an orphan's lock is removed."""
    deadline = time.monotonic() + GIT_LOCK_WAIT_S
    while True:
        try:
            return _run(git, *arguments, options=options, stdin=stdin)
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
    if died_at - 1 <= made_at <= died_at + LAST_GIT_LOCK_S and time.time() - made_at > ORPHAN_GIT_LOCK_S:
        lock.unlink(missing_ok=True)
