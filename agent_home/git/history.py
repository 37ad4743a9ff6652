"""Read the history of entries and files in the home's repository."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from .. import storage
from ..documents.entry import ENTRY_ID
from ..errors import GitFailed, NoSuchRevision
from .client import GitClient, GitObject, home_client
from .entries.entry_commits import entry_commits

__all__ = [
    "EMPTY_BLOBS",
    "TRAILERS",
    "BranchTip",
    "BranchesBelow",
    "Event",
    "Hiding",
    "Snapshot",
    "branch",
    "branch_tips",
    "branches_below",
    "committed_blobs",
    "configured",
    "configured_name",
    "converted",
    "descends",
    "dirty",
    "entry_history",
    "found",
    "head",
    "hidden",
    "is_blob",
    "patches",
    "query",
    "resolve",
    "snapshot",
    "text_at",
    "texts_at",
    "unreachable",
]

TRAILERS = ("Session", "Entries", "Evidence", "Guard", "Actor", "Source")
_RECORD = "\x1e"
_BRANCH_FILE = "ref: refs/heads/"
#: The mark of an entry of the staging area that keeps git from looking at the file.
Hiding = Literal["skip-worktree", "assume-unchanged"]
#: Letters of ``git ls-files -v`` for entries whose files git looks at.
_SEEN_TAGS = frozenset("HMRCK?U")
_SHA1_DIGITS = 40
#: The ids of the empty blob, by their length: in a SHA-1 repository, and in a SHA-256 one.
EMPTY_BLOBS: Mapping[int, str] = {
    40: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    64: "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}


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
class BranchTip:
    """The newest commit of a branch. *ts* is when it was committed, in ISO 8601 with the committer's time zone."""

    branch: str
    commit: str
    parents: tuple[str, ...]
    ts: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesBelow:
    """Branches below a prefix: their *names*, their *tips*, and the *broken* ones that name no commit, ordered."""

    names: frozenset[str]
    tips: tuple[BranchTip, ...]
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """HEAD and some of its files, read at one moment, and the same files in the staging area, if asked for.

    *commit* is empty before the first commit. *texts* and *staged* are by path, empty for a file that is not there.
    """

    commit: str
    texts: Mapping[str, str]
    staged: Mapping[str, str] = field(default_factory=dict)


def branch(root: Path) -> str:
    """Return the name of the branch that is checked out, or an empty string where HEAD is at a commit and no branch."""
    git = home_client(root)
    head_file = storage.read_bytes(git.git_folder() / "HEAD").decode("utf-8", "surrogateescape").strip()
    if head_file == "ref: refs/heads/.invalid":  # refs are not files in this repository
        head_file = f"ref: {git.text('rev-parse', '--symbolic-full-name', 'HEAD', empty_on=(128,)).strip()}"
    return head_file.removeprefix(_BRANCH_FILE) if head_file.startswith(_BRANCH_FILE) else ""


def head(root: Path) -> str:
    """Return the hash of HEAD, or an empty string before the first commit."""
    return home_client(root).text("rev-parse", "--verify", "--quiet", "HEAD", empty_on=(1,)).strip()


def dirty(root: Path, paths: Sequence[str]) -> list[str]:
    """Return those of *paths* that differ from HEAD in the work tree or the staging area, untracked ones included."""
    output = home_client(root).text(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", *paths
    )
    return [item[3:] for item in output.split("\0") if len(item) > 3]


def committed_blobs(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return the ids of the blobs of HEAD's files at or below *paths*, by path. Before the first commit there is none.

    Compare them with :func:`is_blob`. Git's own status overlooks files that a person hid from it.
    """
    output = home_client(root).text("ls-tree", "-r", "-z", "HEAD", "--", *paths, empty_on=(128,))
    rows = (row.partition("\t") for row in output.split("\0") if row)
    fields = ((description.split(), path) for description, _, path in rows)
    return {path: blob for (_, kind, blob), path in fields if kind == "blob"}


def is_blob(file: Path, blob: str) -> bool:
    """Return whether *file* has the content of the blob with the id *blob*. A file that cannot be read has not."""
    try:
        data = storage.read_bytes(file)
    except OSError:
        return False
    digest = hashlib.sha1(usedforsecurity=False) if len(blob) == _SHA1_DIGITS else hashlib.sha256()
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest() == blob


def hidden(root: Path, paths: Sequence[str] = ()) -> dict[str, Hiding]:
    """Return how git hides those of the tracked *paths* (default: all) that it does not look at on the disk."""
    output = home_client(root).text("ls-files", "-v", "-z", "--", *paths)
    rows = ((row[:1], row[2:]) for row in output.split("\0") if row)
    return {path: "skip-worktree" if tag in "sS" else "assume-unchanged" for tag, path in rows if tag not in _SEEN_TAGS}


def branch_tips(root: Path, pattern: str) -> list[BranchTip]:
    """Return the newest commits of the branches that *pattern* names (``refs/heads/proposals/``), ordered by branch.

    A branch whose commit is gone is left out: it must not hide the others.
    """
    git = home_client(root)
    return _tips(git, _branch_rows(git, pattern))


def _branch_rows(git: GitClient, pattern: str) -> list[tuple[str, str]]:
    lines = git.text("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", pattern).splitlines()
    return [(commit, name) for commit, _, name in (line.partition(" ") for line in lines)]


def _tips(git: GitClient, rows: Sequence[tuple[str, str]]) -> list[BranchTip]:
    found = zip(rows, git.objects(commit for commit, _ in rows), strict=True)
    return [_tip(name, item) for (_, name), item in found if item is not None and item.kind == "commit"]


def branches_below(root: Path, prefix: str) -> BranchesBelow:
    """Return the branches below *prefix* (``proposals/``)."""
    git = home_client(root)
    rows = _branch_rows(git, f"refs/heads/{prefix}")
    names = {name for _, name in rows}
    tips = _tips(git, rows)
    files: set[str] = set()
    heads = git.git_folder() / "refs" / "heads"
    if (heads / prefix).is_dir():  # git itself leaves out a ref whose file is empty or damaged
        paths = (path for path in (heads / prefix).rglob("*") if path.is_file() and path.suffix != ".lock")
        files = {path.relative_to(heads).as_posix() for path in paths}
    broken = (names | files) - {tip.branch for tip in tips}
    return BranchesBelow(names=frozenset(names), tips=tuple(tips), broken=tuple(sorted(broken)))


def _tip(name: str, item: GitObject) -> BranchTip:
    header, _, message = item.data.decode("utf-8", "replace").partition("\n\n")
    lines = [line.partition(" ") for line in header.splitlines()]
    parents = tuple(value for key, _, value in lines if key == "parent")
    committer = next(value for key, _, value in lines if key == "committer")
    _, seconds, zone = committer.rsplit(" ", 2)
    ts = datetime.fromtimestamp(int(seconds), datetime.strptime(zone, "%z").tzinfo).isoformat()
    return BranchTip(branch=name, commit=item.id, parents=parents, ts=ts, message=message)


def snapshot(root: Path, paths: Sequence[str], *, staged: bool = False) -> Snapshot:
    """Read HEAD and the files *paths* of it with one git command, and those that are *staged* as well."""
    names = ["HEAD", *(f"HEAD:{path}" for path in paths), *(f":0:{path}" for path in paths if staged)]
    head_object, *files = home_client(root).objects(names)
    texts = [file.data.decode("utf-8", "replace") if file and file.kind == "blob" else "" for file in files]
    return Snapshot(
        commit=head_object.id if head_object else "",
        texts=dict(zip(paths, texts[: len(paths)], strict=True)),
        staged=dict(zip(paths, texts[len(paths) :], strict=False)),
    )


def converted(root: Path, paths: Sequence[str]) -> list[str]:
    """Return those of *paths* whose content git converts when it is committed: filters, line ends, encodings."""
    if not paths:
        return []
    git = home_client(root)
    names = ("filter", "text", "eol", "ident", "working-tree-encoding")
    fields = git.text("check-attr", "-z", *names, "--", *paths).split("\0")[:-1]
    rows = list(zip(fields[::3], fields[1::3], fields[2::3], strict=True))
    by_text = git.setting("core.autocrlf") in {"true", "input"}
    untouched = {"unset"} if by_text else {"unset", "unspecified"}
    return [
        path for path, name, value in rows if value not in (untouched if name == "text" else {"unset", "unspecified"})
    ]


def found(root: Path, revision: str) -> str:
    """Return the hash of the commit that *revision* names, or an empty string."""
    with suppress(NoSuchRevision):
        return resolve(root, revision)
    return ""


def resolve(root: Path, revision: str) -> str:
    """Return the hash of the commit that *revision* names.

    Raises:
        NoSuchRevision: the revision does not exist.
    """
    name = f"{revision}^{{commit}}"
    try:
        commit = home_client(root).text("rev-parse", "--verify", "--quiet", "--end-of-options", name).splitlines()[-1]
    except (GitFailed, ValueError) as error:  # a NUL byte is a ValueError
        raise NoSuchRevision(revision, root) from error
    if commit.startswith("^"):  # all commits but those, and no commit
        raise NoSuchRevision(revision, root)
    return commit


def unreachable(root: Path, commits: Sequence[str], tip: str) -> set[str]:
    """Return those of *commits* that *tip* does not descend from, also because they are gone."""
    git = home_client(root)
    listed = "".join(f"{commit}\n" for commit in commits).encode()
    rows = git.text("cat-file", "--batch-check", stdin=listed).splitlines()
    known = {row.split()[0] for row in rows if not row.endswith("missing")}
    wanted = "".join(f"{commit}\n" for commit in commits if commit in known).encode()
    apart = git.text("rev-list", "--stdin", f"^{tip}", stdin=wanted).split() if wanted else []
    return {commit for commit in commits if commit not in known or commit in set(apart)}


def descends(root: Path, commit: str, ancestor: str) -> bool:
    """Return whether *ancestor* is there and is *commit* or one of its ancestors."""
    try:
        return not home_client(root).query("rev-list", "--max-count=1", ancestor, f"^{commit}")
    except GitFailed:
        return False


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


def configured_name(root: Path) -> str:
    """Return the person's name in git's configuration, or an empty string."""
    return home_client(root).setting("user.name")


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
    events = {}
    for found in entry_commits(git, *selection):
        action, file = found.acts.get(entry_id, (default_action, found.last_file))
        if action:
            events[found.commit] = Event(
                ts=found.ts, action=action, commit=found.commit, session=found.session, evidence=found.evidence,
                actor=found.actor, subject=found.subject, file=file,
            )  # fmt: skip
    return events
