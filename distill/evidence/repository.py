"""Query a git repository that a session worked in, under one deadline.

Nothing is written, and no program that the repository configures runs (see ``agent_home.git.client``). An error reports
that the time is over or that git refused. Nothing is guessed then.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_home.errors import GitFailed, GitTimeout, HistoryError
from agent_home.git.client import untrusted_client
from guard.lazy_regex import lazy_regex

__all__ = [
    "CommitInfo",
    "Deadline",
    "DeadlinePassed",
    "GitUnavailable",
    "PathChange",
    "Repository",
    "top_level",
    "undoes",
]

#: Only code shows whether a symbol exists. Prose also names symbols that are gone.
_CODE_ONLY = (
    ".",
    *(f":(exclude,glob,icase)**/{name}" for name in ("*.md", "*.mdx", "*.rst", "*.txt", "CHANGELOG*", "NEWS*")),
)
_RECORD, _FIELD = "\x1e", "\x1f"
_UNDO = (
    r"\b(?:revert(?:s|ed|ing)?|roll(?:s|ed|ing)?[ -]back|back(?:s|ed|ing)?[ -]out|und(?:o|oes|id|oing))\b|"
    r"回滚|撤销|还原"
)
_UNDOES = lazy_regex(_UNDO, re.IGNORECASE)
#: Pattern for ``git log --grep``. It has no word borders, because POSIX has none that every git knows.
_UNDO_GREP = "revert|roll(s|ed|ing)?[ -]back|back(s|ed|ing)?[ -]out|und(o|oes|id|oing)|回滚|撤销|还原"
_UNDONE_HASH = lazy_regex(
    rf"(?:{_UNDO})\W{{0,3}}(?:commit|change|提交)?\W{{0,3}}(?P<hash>[0-9a-f]{{7,40}})\b", re.IGNORECASE
)
_UNDONE_SUBJECT = lazy_regex(rf"(?:{_UNDO})[\s::]*[\"“「']?(?P<subject>.+?)[\"”」']?$", re.IGNORECASE)
_PULL_REQUEST = lazy_regex(r"\s*\(#\d+\)$")
_PARTIAL = lazy_regex(r"\bpart(?:s|ial|ially|ly)?\b|部分", re.IGNORECASE)
#: Most paths of one commit that are compared with HEAD. A larger commit is not compared.
_MAX_COMPARED = 200
#: Most bytes of a patch that are searched.
_MAX_PATCH_BYTES = 2_000_000


class GitUnavailable(Exception):
    """Git is absent, or failed."""


class DeadlinePassed(Exception):
    """The time for one claim is over."""


@dataclass(slots=True)
class Deadline:
    """Time limit for all git commands about one claim. The clock starts when the object is made."""

    seconds: float
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    def left(self) -> float:
        """Return the seconds left.

        Raises:
            DeadlinePassed: no time is left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.over()
        return left

    def over(self) -> DeadlinePassed:
        """Return the error for a deadline that passed."""
        return DeadlinePassed(f"git did not answer within {self.seconds:g} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathChange:
    """A change of one path in one commit. *status* is A, D, M or T, and *ts* counts seconds since the epoch."""

    commit: str
    short: str
    ts: int
    status: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """A commit: its hash, short hash, message and the paths it touched with their status."""

    commit: str
    short: str
    ts: int
    message: str
    changes: tuple[PathChange, ...] = ()

    @property
    def subject(self) -> str:
        return self.message.split("\n", 1)[0]


def top_level(folder: str) -> Path | None:
    """Return the top of the work tree that holds *folder*, or ``None`` without a repository or folder."""
    if not folder or not Path(folder).is_dir():
        return None
    start = Path(folder).resolve()
    return next((path for path in (start, *start.parents) if (path / ".git").exists()), None)


class Repository:
    """One repository with the top *root*.

    Every question raises ``DeadlinePassed`` when its time is over, and ``GitUnavailable`` when git does not answer.
    """

    def __init__(self, root: Path, limit: Deadline) -> None:
        self.root, self.limit = root, limit
        self._head_paths: list[str] | None = None
        self._shallow: bool | None = None

    @property
    def incomplete(self) -> bool:
        """Return whether history is cut off, in a shallow or partial clone. Absence proves nothing then."""
        if self._shallow is None:
            shallow = self._git("rev-parse", "--is-shallow-repository").strip() == "true"
            try:
                self._shallow = shallow or untrusted_client(self.root).is_partial()
            except HistoryError as error:
                raise GitUnavailable(f"git cannot be run in {self.root.name}") from error
        return self._shallow

    def commits_named(self, name: str) -> list[str]:
        """Return the full hashes of the commits that the hexadecimal *name* abbreviates."""
        found = self._git("rev-parse", f"--disambiguate={name}", missing=(128,))
        if not found:
            return []
        listed = self._git("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=found.encode())
        rows = (line.split() for line in listed.splitlines())
        return [row[0] for row in rows if row[1:] == ["commit"]]

    def reachable(self, commit: str) -> bool:
        """Return whether a branch, a tag or HEAD holds *commit*."""
        if self._git("for-each-ref", "--count=1", f"--contains={commit}").strip():
            return True
        head = self._git("rev-parse", "--verify", "--quiet", "HEAD", missing=(1, 128))
        return bool(head) and self.in_head(commit)

    def pushed(self, commit: str) -> bool:
        """Return whether a remote-tracking branch holds *commit*, as after a push."""
        return bool(self._git("for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes").strip())

    def state(self) -> str:
        """Return a short digest of HEAD, local branches and tags. An equal digest means equal answers.

        Remote-tracking branches are left out, because they move with other people's work.
        """
        head = self._git("rev-parse", "--verify", "--quiet", "HEAD", missing=(1, 128))
        references = self._git("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
        return hashlib.blake2b(f"{head}\n{references}".encode(), digest_size=8).hexdigest()

    def in_head(self, commit: str) -> bool:
        """Return whether HEAD holds *commit*."""
        return not self._git("rev-list", "-1", commit, "^HEAD", missing=(128,)).strip()

    def revert_of(self, commit: CommitInfo) -> CommitInfo | None:
        """Return the newest commit at HEAD that says it reverts *commit* and is not itself reverted."""
        text = self._git(
            "log", "--regexp-ignore-case", "--extended-regexp", f"--grep={_UNDO_GREP}", _pretty("%B"),
            f"{commit.commit}..HEAD",
        )  # fmt: skip
        standing: list[CommitInfo] = []
        for later in _parse_log(text):  # newest first, so the revert of a revert comes before it
            if not any(_reverts(newer, later) for newer in standing):
                standing.append(later)
        return next((later for later in standing if _reverts(later, commit)), None)

    def undone(self, commit: CommitInfo) -> str:
        """Return the reason why *commit*, which is at HEAD, no longer stands, or an empty string."""
        revert = self.revert_of(commit)
        if revert is not None:
            return f"{commit.short} was reverted by {revert.short}"
        return f"HEAD is as it was before {commit.short}" if self._as_before(commit) else ""

    def moved_to(self, commit: str, path: str) -> str:
        """Return the name at HEAD of the file *path* of *commit*, or an empty string when it was not renamed."""
        return self._moves(commit).get(path, "")

    def merges_of(self, branch: str) -> list[CommitInfo]:
        """Return the merge commits reachable from HEAD whose message names *branch*, newest first."""
        text = self._git(
            "log", "--merges", "--fixed-strings", f"--grep={branch}", _pretty("%B"), "HEAD", missing=(128,)
        )
        word = re.compile(rf"(?<![\w./-]){re.escape(branch)}(?![\w/-]|\.\w)")
        return [found for found in _parse_log(text) if word.search(found.message)]

    def branch_tip(self, name: str) -> str:
        """Return the full hash of the tip of the branch *name*, local or remote-tracking, or an empty string."""
        references = (f"refs/heads/{name}", f"refs/remotes/*/{name}")
        return (self._git("for-each-ref", "--format=%(objectname)", *references).split() or [""])[0]

    def commit(self, name: str) -> CommitInfo:
        """Return the commit of that full hash, with its changes against its first parent."""
        text = self._git(
            "log", "-1", "-m", "--first-parent", "--no-renames", "--name-status", "-z", _pretty("%B"), name
        )
        found = _parse_log(text)
        if not found:
            raise GitUnavailable(f"git shows no commit {name}")
        return found[0]

    def commits_between(self, since: float, until: float) -> list[CommitInfo]:
        """Return the commits of all branches between two times (seconds since the epoch), newest first."""
        text = self._git(
            "log", "--all", "--no-merges", "--no-renames", "--name-status", "-z", _pretty("%B"),
            f"--since={int(since)}", f"--until={int(until)}", "-n", "500",
        )  # fmt: skip
        return _parse_log(text)

    def patch(self, commit: str) -> str:
        """Return the lines that *commit* adds and removes."""
        arguments = ("show", "--format=", "--first-parent", "-m", "--unified=0", commit)
        text = self._git(*arguments, truncate_at=_MAX_PATCH_BYTES)
        return "\n".join(line for line in text.splitlines() if line[:1] in {"+", "-"})

    def patches(self, commits: Sequence[str], context: int = 0) -> dict[str, str]:
        """Return the patches of *commits* against their first parents, with *context* unchanged lines around changes.

        Together they are at most ``_MAX_PATCH_BYTES`` long. A commit beyond that limit is left out.
        """
        if not commits:
            return {}
        text = self._git(
            "log", "--no-walk=unsorted", "-m", "--first-parent", "--patch", f"--unified={context}",
            "--find-renames", "-l200",
            f"--format={_RECORD}%H{_FIELD}", *commits, truncate_at=_MAX_PATCH_BYTES,
        )  # fmt: skip
        parts = re.split(rf"{_RECORD}([0-9a-f]{{40,64}}){_FIELD}\n?", text)
        found: dict[str, str] = {}
        for commit, patch in zip(parts[1::2], parts[2::2], strict=False):
            if commit in commits:
                found.setdefault(commit, patch)
        return found

    def subjects(self, limit: int) -> str:
        """Return the subjects of the newest *limit* commits at HEAD, one a line."""
        return self._git("log", "--format=%s", "-n", str(limit), "HEAD", missing=(128,))

    def paths(self) -> tuple[str, ...]:
        """Return all files at HEAD."""
        self.head_paths("")
        return tuple(self._head_paths or ())

    def head_paths(self, name: str) -> list[str]:
        """Return the files at HEAD that *name* means: a path, files of that name anywhere, or a folder's files."""
        if self._head_paths is None:
            text = self._git("ls-tree", "-r", "--name-only", "-z", "HEAD", missing=(128,))
            self._head_paths = [path for path in text.split("\0") if path]
        return [path for path in self._head_paths if f"/{name}/" in f"/{path}/"]

    def on_disk(self, path: str) -> bool:
        """Return whether the work tree holds that path, committed or not."""
        return (self.root / path).exists()

    def path_changes(self, name: str) -> list[PathChange]:
        """Return every change of the files that *name* means, on all branches, newest first."""
        quoted = re.sub(r"([*?\[\]\\])", r"\\\1", name)
        text = self._git(
            "log", "--all", "--no-renames", "--name-status", "-z", _pretty(""), "--",
            *(f":(top,glob){start}{quoted}{end}" for start in ("", "**/") for end in ("", "/**")),
        )  # fmt: skip
        return [change for found in _parse_log(text) for change in found.changes]

    def holds_symbol(self, name: str, paths: Sequence[str] = (), *, work_tree: bool = False) -> bool:
        """Return whether code at HEAD, or in the work tree with untracked files, has *name* as a whole word."""
        where = ["--untracked"] if work_tree else ["HEAD"]
        limits = [f":(top,literal){path}" for path in paths] or list(_CODE_ONLY)
        arguments = ("grep", "-l", "-I", "-w", "-F", "-e", name, *where, "--", *limits)
        found = self._git(*arguments, missing=(1, 128), with_files=work_tree)
        return bool(found.strip())

    def lost_symbol(self, name: str, commit: str) -> bool:
        """Return whether code at *commit* has *name* as a whole word and code at HEAD does not.

        The answer for an incomplete clone is always no.
        """
        if self.incomplete:
            return False
        found = [
            bool(self._git("grep", "-l", "-I", "-w", "-F", "-e", name, tree, "--", *_CODE_ONLY, missing=(1,)).strip())
            for tree in (commit, "HEAD")
        ]
        return found == [True, False]

    def symbol_changes(self, name: str) -> list[PathChange]:
        """Return the commits on any branch that changed how often *name* occurs in code, newest first.

        Each change has the status M and an empty path. Occurrences inside longer words count as well: an exact search
        reads every file of every commit with a regular expression and takes ten times as long. It misses a commit that
        renames the name into a longer one.
        """
        text = self._git("log", "--all", _pretty(""), f"-S{name}", "--", *_CODE_ONLY)
        return [
            PathChange(commit=found.commit, short=found.short, ts=found.ts, status="M", path="")
            for found in _parse_log(text)
        ]

    def ever_held(self, text: str) -> bool:
        """Return whether any file of any commit on a branch ever had *text*, prose included."""
        return bool(self._git("log", "--all", "-1", "--format=%H", f"-S{text}").strip())

    def tag_commit(self, name: str) -> str:
        """Return the full hash of the commit that tag *name* points at, or an empty string."""
        reference = f"refs/tags/{name}^{{commit}}"
        return self._git("rev-parse", "--verify", "--quiet", "--end-of-options", reference, missing=(1, 128)).strip()

    def _as_before(self, commit: CommitInfo) -> bool:
        """Return whether HEAD has every file of *commit* as it was before. Files that only moved do not count."""
        paths = [change.path for change in commit.changes]
        parent = self._git("rev-parse", "--verify", "--quiet", f"{commit.commit}^1", missing=(1, 128)).strip()
        if not parent or not 0 < len(paths) <= _MAX_COMPARED:
            return False
        literal = [f":(top,literal){path}" for path in paths]
        if self._git("diff-tree", "-r", "--no-renames", "--name-only", "-z", parent, "HEAD", "--", *literal):
            return False
        if any(path in self.head_paths(path) for path in paths):
            return True
        return not set(paths) & self._moves(commit.commit).keys()

    def _moves(self, commit: str) -> dict[str, str]:
        """Return the files that were renamed between *commit* and HEAD, old name to new name."""
        text = self._git("diff-tree", "-r", "-M", "--diff-filter=R", "--name-status", "-z", commit, "HEAD")
        parts = text.split("\0")
        return dict(zip(parts[1::3], parts[2::3], strict=False))

    def _git(
        self,
        *arguments: str,
        missing: Sequence[int] = (),
        stdin: bytes = b"",
        truncate_at: int | None = None,
        with_files: bool = False,
    ) -> str:
        """Run git and return its output, which is empty when the exit status is in *missing*.

        Git sees the files of the work tree only *with_files*.
        """
        left = self.limit.left()
        try:
            output = untrusted_client(self.root, with_files=with_files).query(
                *arguments, stdin=stdin, empty_on=missing, timeout_s=left, truncate_at=truncate_at
            )
        except GitTimeout as error:
            raise self.limit.over() from error
        # The message becomes part of memory, where git's own words and the machine's paths do not belong.
        except GitFailed as error:
            reason = f"git {error.command} failed in {self.root.name} with status {error.exit_code}"
            raise GitUnavailable(reason) from error
        except HistoryError as error:
            raise GitUnavailable(f"git cannot be run in {self.root.name}") from error
        self.limit.left()
        return output.decode("utf-8", "replace")


def undoes(text: str) -> bool:
    """Return whether a subject or sentence reports an undoing. The undoing of an undoing does not count."""
    return len(_UNDOES.findall(text)) % 2 == 1


def _reverts(later: CommitInfo, earlier: CommitInfo) -> bool:
    """Return whether *later* says that it reverts *earlier*, by its hash or its subject.

    A partial revert does not count.
    """
    if _PARTIAL.search(later.subject):
        return False
    hashes = [match["hash"].lower() for match in _UNDONE_HASH.finditer(later.message)]
    if hashes:
        return any(earlier.commit.startswith(name) for name in hashes)
    quoted = _UNDONE_SUBJECT.match(_PULL_REQUEST.sub("", later.subject))
    subject = _PULL_REQUEST.sub("", earlier.subject)
    return quoted is not None and _PULL_REQUEST.sub("", quoted["subject"]) == subject


def _pretty(body: str) -> str:
    return f"--format={_RECORD}%H{_FIELD}%h{_FIELD}%ct{_FIELD}{body}{_FIELD}"


def _parse_log(text: str) -> list[CommitInfo]:
    """Read ``git log`` output in the form of :func:`_pretty` with ``--name-status -z``."""
    found = []
    for record in text.split(_RECORD)[1:]:
        commit, short, ts, message, rest = (*record.split(_FIELD, 4), "", "", "", "")[:5]
        parts = [part.strip("\n") for part in rest.split("\0")]
        parts = [part for part in parts if part]
        changes = tuple(
            PathChange(commit=commit, short=short, ts=int(ts), status=status[:1], path=path)
            for status, path in zip(parts[::2], parts[1::2], strict=False)
        )
        found.append(CommitInfo(commit=commit, short=short, ts=int(ts), message=message.strip(), changes=changes))
    return found
