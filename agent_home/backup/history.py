"""Carry the history of a repository: its objects as packs of git's own, and its refs, stashes and staged files as rows.

A pack holds what the packs before it lack. When something is no longer reachable, such as commits that a purge wrote
anew, one new pack takes the place of all. So nothing that was forgotten stays in the packs.

A new repository is made from the packs alone. Nothing that a backup says becomes a part of its configuration.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .. import storage
from ..errors import GitFailed, HistoryError, NoRepository
from ..git.client import GitClient, home_client
from ..git.own_folder import own_folders
from .content_store import ContentStore
from .manifest import BackupFile, BackupHistory, BackupRef, StagedVersion
from .safe_paths import path_problem

__all__ = ["MAX_PACKS", "extends", "make_repository", "new_objects", "read_history", "refresh", "stored_packs"]

#: Packs after which one new pack takes their place.
MAX_PACKS = 24
_NO_REFLOG = ("-c", "core.logAllRefUpdates=false")
_STASH = "refs/stash"
#: Exit code of ``git update-index --refresh`` where uncommitted edits remain. The rest is done.
_NEEDS_UPDATE = 1
_KINDS = frozenset({"blob", "commit", "tag", "tree"})
#: A loose ref, and what git allows in no name of one.
_WHOLE_REF = re.compile(rb"[0-9a-f]{40}|ref:")
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")
_REFLOG_LINE = re.compile(rb"[0-9a-f]+ ([0-9a-f]+) ")
#: Of HEAD, which holds one name, and of lists of commits.
_MAX_HEAD_BYTES, _MAX_LIST_BYTES = 1 << 13, 64 << 20


def read_history(
    root: Path, *, shallow_too: bool = False, staged_too: bool = True, damaged: list[str] | None = None
) -> BackupHistory | None:
    """Return the state of the repository *root*, or ``None`` where there is none.

    A shallow clone is read if *shallow_too*, and the staging area if *staged_too*. Refs that are damaged are added to
    the list *damaged*. Without the list, such a ref is an error.

    Raises:
        HistoryError: git refused, or the clone lacks objects.
    """
    try:
        folders = own_folders(root)
    except NoRepository:
        return None
    git, folder = home_client(root), folders.own
    if (folders.shared / "reftable").is_dir():
        command = "git refs migrate --ref-format=files"
        raise HistoryError(f"{root} keeps its refs in a reftable. Run `{command}` there, then back up again")
    is_shallow, form = git.text("rev-parse", "--is-shallow-repository", "--show-object-format").split()
    if is_shallow == "true" and not shallow_too:
        raise HistoryError(f"{root} is a shallow clone. Run `git fetch --unshallow` there, then back up again")
    said = _read(folder / "HEAD", _MAX_HEAD_BYTES).decode("utf-8", "surrogateescape").strip()
    head = said.removeprefix("ref: ") if said.startswith("ref: ") else ""
    stashes = tuple(_stashes(folder))
    broken = list[str]() if damaged is None else damaged
    broken += _broken_refs(folders.shared)
    refs = tuple(_refs(git, broken, detached=not head, without=_STASH if stashes else ""))
    if broken and damaged is None:
        raise GitFailed("for-each-ref", 0, f"{broken[0]} in {root} is damaged")
    return BackupHistory(
        head=head, object_format=form, stashes=stashes, refs=refs,
        staged=tuple(_staged(git)) if staged_too else (),
        shallow=tuple(sorted(_lines(folders.shared / "shallow"))) if is_shallow == "true" else (),
    )  # fmt: skip


def extends(root: Path, new: BackupHistory, old: BackupHistory) -> bool:
    """Return whether everything that *old* reached is still reachable in *new*, so that its packs may stay.

    Raises:
        HistoryError: git is absent or refused.
    """
    if new.object_format != old.object_format or new.shallow != old.shallow or not old.others <= new.others:
        return False
    if old.commits <= new.commits:
        return True
    asked = "".join([*(f"{commit}\n" for commit in sorted(old.commits)), *(f"^{tip}\n" for tip in sorted(new.commits))])
    try:
        return not home_client(root).text("rev-list", "--max-count=1", "--stdin", stdin=asked.encode()).strip()
    except GitFailed:  # a commit is gone
        return False


def new_objects(root: Path, new: BackupHistory, old: BackupHistory | None) -> Iterator[bytes] | None:
    """Return the parts of a pack with the objects that *new* needs and *old* has not, or ``None`` where there are none.

    Raises:
        HistoryError: git refused.
    """
    have = old or BackupHistory()
    wanted = sorted((new.commits - have.commits) | (new.others - have.others))
    if not wanted:
        return None
    asked = "".join([*(f"{tip}\n" for tip in wanted), *(f"^{commit}\n" for commit in sorted(have.commits))])
    options = ("--stdout", "--revs", "--delta-base-offset", "-q")
    return home_client(root).chunks("pack-objects", *options, stdin=asked.encode())


def stored_packs(
    root: Path, new: BackupHistory, old: BackupHistory | None, packs: tuple[BackupFile, ...], store: ContentStore,
    place: str = "",
) -> tuple[BackupFile, ...]:  # fmt: skip
    """Return packs in *store* with the objects of *new*, the history of *root*, of which *packs* hold those of *old*.

    *place* is that of a repository inside the home.

    Raises:
        HistoryError: git refused.
        OSError: a pack cannot be written.
    """
    whole = len(packs) < MAX_PACKS and all(store.holds(pack.digest, pack.size) for pack in packs)
    if old is None or not whole or not extends(root, new, old):
        old, packs = None, ()
    chunks = new_objects(root, new, old)
    if chunks is None:
        return packs
    digest, size = store.add(chunks)
    name = f".git/history-{len(packs) + 1}.pack"
    return (*packs, BackupFile(path=f"{place}/{name}" if place else name, size=size, digest=digest))


def make_repository(root: Path, history: BackupHistory, packs: Iterable[Path], *, strict: bool) -> None:
    """Make *root* a repository with *history*. No file of the work tree is written.

    Git checks that every object is there, those of staged files as well. A *strict* check also refuses objects that git
    takes for malformed or dangerous, which a home may have from another program.

    Raises:
        HistoryError: git refused, or objects are missing.
    """
    git = home_client(root)
    branch = history.head.removeprefix("refs/heads/") or "main"
    git.change("init", "--quiet", f"--initial-branch={branch}", f"--object-format={history.object_format}")
    if history.shallow:
        storage.stage(root / ".git" / "shallow", "".join(f"{commit}\n" for commit in history.shallow).encode())
    for pack in packs:
        with storage.open_plain(pack) as file:
            git.change("index-pack", "--stdin", *(["--strict"] if strict else []), stdin=file)
    lines = "".join(f"create {ref.name} {ref.id}\n" for ref in history.refs if ref.name != "HEAD")
    if lines:
        git.change(*_NO_REFLOG, "update-ref", "--stdin", stdin=lines.encode("utf-8", "surrogateescape"))
    for ref in history.refs:
        if ref.name == "HEAD":
            git.change(*_NO_REFLOG, "update-ref", "--no-deref", "HEAD", ref.id)
    for commit in history.stashes:
        subject = git.text("log", "-1", "--format=%s", commit).strip()
        git.change("stash", "store", "-m", subject or "stash", commit)
    _fill_staging_area(git, history)
    try:
        git.query("fsck", "--connectivity-only", "--no-dangling", "--no-progress")
    except GitFailed as error:  # git names missing objects in its output
        raise GitFailed("fsck", error.exit_code, error.reason or "objects are missing") from error


def refresh(root: Path) -> None:
    """Let git note which files of *root* are as they were committed, once the files are in their places.

    Raises:
        HistoryError: git refused.
    """
    try:
        home_client(root).change("update-index", "-q", "--refresh")
    except GitFailed as error:
        if error.exit_code != _NEEDS_UPDATE:
            raise


def _refs(git: GitClient, damaged: list[str], *, detached: bool, without: str) -> Iterator[BackupRef]:
    """Yield the refs that name an object directly, and HEAD where it is *detached*. Add *damaged* ones to that list."""
    listing = git.text("for-each-ref", "--format=%(objectname) %(refname)%(if)%(symref)%(then) symbolic%(end)")
    rows = [line.split(" ", 1) for line in filter(None, listing.split("\n"))]
    named = [(name, oid) for oid, name in rows if not name.endswith(" symbolic") and name != without]
    if detached:
        named.append(("HEAD", git.text("rev-parse", "HEAD").strip()))
    asked = "".join(f"{oid}\n" for _, oid in named)
    kinds = git.text("cat-file", "--batch-check=%(objecttype)", stdin=asked.encode()).splitlines() if named else []
    for (name, oid), kind in zip(named, kinds, strict=True):
        if kind in _KINDS:
            yield BackupRef(name=name, id=oid, kind=kind)
        else:
            damaged.append(name)


def _broken_refs(shared: Path) -> Iterator[str]:
    """Yield the refs whose files hold no name of an object, as after a power cut. Git passes them over."""
    for folder, folders, names in os.walk(shared / "refs"):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            ref = path.relative_to(shared).as_posix()
            if name.startswith(".") or name.endswith(".lock") or _BAD_REF.search(ref):
                continue
            if path.is_file() and _WHOLE_REF.match(_read(path, _MAX_HEAD_BYTES)) is None and path.is_file():
                yield ref


def _lines(path: Path) -> list[str]:
    return _read(path, _MAX_LIST_BYTES).decode("ascii", "replace").split()


def _read(path: Path, most: int) -> bytes:
    """Return the beginning of a file of git's. An absent one is empty.

    Raises:
        GitFailed: it cannot be read.
    """
    try:
        return storage.read_bytes(path, most)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise GitFailed("open", -1, f"{path}: {error.strerror or error}") from error


def _stashes(folder: Path) -> Iterator[str]:
    """Yield the stashes, oldest first. A reflog alone names all of them."""
    log = folder / "logs" / "refs" / "stash"
    if log.is_file():
        for line in _read(log, _MAX_LIST_BYTES).splitlines():
            if named := _REFLOG_LINE.match(line):
                yield named[1].decode("ascii")


def _staged(git: GitClient) -> Iterator[StagedVersion]:
    """Yield the files whose staged version differs from HEAD."""
    if not git.query("rev-parse", "--verify", "--quiet", "HEAD", empty_on=(1,)).strip():
        rows = [entry.partition("\t") for entry in git.text("ls-files", "--stage", "-z").split("\0") if entry]
        found = [(path, *row.split(" ")[:2]) for row, _, path in rows]
    else:
        fields = git.text("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD").split("\0")
        pairs = zip(fields[0::2], fields[1::2], strict=False)
        found = [(path, *row.split(" ")[1:4:2]) for row, path in pairs if row.split(" ")[4][:1] != "U"]
    for path, mode, oid in found:
        if not path_problem(path):  # the file itself is named among those that are left out
            yield StagedVersion(path=path, mode=mode, id=oid)


def _fill_staging_area(git: GitClient, history: BackupHistory) -> None:
    if git.query("rev-parse", "--verify", "--quiet", "HEAD", empty_on=(1,)).strip():
        git.change("read-tree", "HEAD")
    if history.staged:
        rows = "".join(f"{file.mode.lstrip('0') or '0'} {file.id}\t{file.path}\0" for file in history.staged)
        git.change("update-index", "-z", "--index-info", stdin=rows.encode("utf-8", "surrogateescape"))
