"""Purge a redaction target from a home's git history: every ref, every object, and git's files beside them.

Commits are rewritten from the oldest that contains the target, with their authors and dates. Branches, tags, notes and
stashes then move to the new commits in one transaction. Reflogs and unreachable objects are dropped, and the rest is
repacked. A purge that was killed is finished by running it again: the only record besides the repository is the map
from old to new commits (``rewritten.json``).

Call with the home's lock held. Remotes and clones are out of reach:
:func:`agent_home.git.fetching.remote_addresses` lists the known ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .. import storage
from ..errors import HistoryError
from ..git import history
from ..git.client import GitObject, home_client
from ..git.commits import refuse_unfinished
from ..git.entries.entry_events import drop_entry_events
from ..git.fetching import remote_addresses
from ..git.objects import blob_origins, git_files, objects, tree_entries
from ..git.own_folder import own_folders
from ..git.pack import PackWriter
from ..git.packing import no_packing
from ..home import Home
from .redaction_target import RedactionTarget, redacted

__all__ = [
    "PurgeReport",
    "commit_map",
    "drop_commit_map",
    "purge",
    "refuse_shared",
    "with_new_hashes",
]

_STASH = "refs/agent-home/stash/"
_HASH = re.compile(rb"\b[0-9a-f]{7,64}\b")
_SIGNATURES = (b"gpgsig", b"mergetag")  # also gpgsig-sha256
#: Files that name a commit for convenience. After a purge that commit is gone.
_POINTERS = frozenset({"ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE"})
#: Keeps refs from being logged while they move: a reflog would hold the old commits.
_NO_REFLOG = ("-c", "core.logAllRefUpdates=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """Counts of rewritten objects by kind, and the map of rewritten commits, old to new."""

    blobs: int = 0
    trees: int = 0
    commits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Ref:
    name: str
    id: str
    kind: str


@dataclass(slots=True)
class _Rewriter:
    """The rewriting of one repository: new objects by the ids of the old ones, where they differ."""

    target: RedactionTarget
    pack: PackWriter
    hash_bytes: int
    blobs: dict[str, str] = field(default_factory=dict)
    trees: dict[str, bytes] = field(default_factory=dict)  # every tree, unchanged
    new_trees: dict[str, str] = field(default_factory=dict)
    commits: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, bytes] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)  # commits and tags
    prefixes: dict[bytes, list[str]] = field(default_factory=dict)
    names: dict[bytes, bytes] = field(default_factory=dict)

    def read(self, root: Path) -> None:
        """Read every object. Blobs are rewritten at once, the others are kept."""
        places = blob_origins(root)
        for found in objects(root):
            if found.kind == "blob":
                self._blob(found, places[found.id].path if found.id in places else "")
            else:
                {"tree": self.trees, "commit": self.commits, "tag": self.tags}[found.kind][found.id] = found.data
        for commit in self.commits:
            self.prefixes.setdefault(commit[:7].encode(), []).append(commit)

    def _blob(self, found: GitObject, path: str) -> None:
        if not self.target.may_occur_in(found.data):
            return
        text = found.data.decode("utf-8", "surrogateescape")
        done = redacted(path, text, self.target)
        if done != text:
            self.blobs[found.id] = self.pack.add("blob", done.encode("utf-8", "surrogateescape"))

    def tree(self, tree: str) -> str:
        """Return the id of *tree* without the target. It is the same id when nothing changes."""
        if tree not in self.trees or tree in self.new_trees:
            return self.new_trees.get(tree, tree)
        lines = []
        for entry in tree_entries(self.trees[tree], self.hash_bytes):
            new = self.tree(entry.id) if entry.mode == b"40000" else self.blobs.get(entry.id, entry.id)
            if entry.name not in self.names:
                self.names[entry.name] = self._redacted_words(entry.name)
            lines.append((self.names[entry.name], entry.mode, new))
        data = _tree_bytes(lines)
        self.new_trees[tree] = tree if data == self.trees[tree] else self.pack.add("tree", data)
        return self.new_trees[tree]

    def commit(self, commit: str, *, notes: bool = False) -> None:
        """Rewrite *commit* if its text or anything it names changed. Rewrite its parents before."""
        data = self.commits[commit]
        tree = data[5 : 5 + 2 * self.hash_bytes].decode()
        changed = self._header(data, self.notes_tree(tree) if notes else self.tree(tree))
        if changed != data:
            self.renamed[commit] = self.pack.add("commit", changed)

    def tag(self, tag: str) -> str:
        """Return the id of an annotated tag that names the new version of its object."""
        if tag not in self.tags or tag in self.renamed:
            return self.renamed.get(tag, tag)
        data = self.tags[tag]
        named = data[7 : 7 + 2 * self.hash_bytes].decode()
        target = self.tag(named) if named in self.tags else self.named(named)
        head, gap, message = data.partition(b"\n\n")
        head = head.replace(named.encode(), target.encode(), 1)
        lines = [self._person(line) for line in head.split(b"\n")]
        changed = b"\n".join(lines) + gap + self._redacted_message(message)
        if changed != data:
            changed = changed.partition(b"-----BEGIN PGP SIGNATURE-----")[0]
            self.renamed[tag] = self.pack.add("tag", changed)
        return self.renamed.get(tag, tag)

    def named(self, object_id: str) -> str:
        """Return the new target of a ref that points at *object_id*."""
        if object_id in self.tags:
            return self.tag(object_id)
        for table in (self.renamed, self.blobs):
            if object_id in table:
                return table[object_id]
        return self.tree(object_id)

    def notes_tree(self, tree: str) -> str:
        """Return the id of a tree of notes, in which each file's name is a commit. Folders in between are removed."""
        leaves = list(self._leaves(tree, b""))
        if any(len(name) != 2 * self.hash_bytes for name, _, _ in leaves):
            return self.tree(tree)
        lines = [
            (self.renamed.get(name.decode(), name.decode()).encode(), mode, self.blobs.get(blob, blob))
            for name, mode, blob in leaves
        ]
        return tree if lines == leaves else self.pack.add("tree", _tree_bytes(lines))

    def _leaves(self, tree: str, above: bytes) -> Iterator[tuple[bytes, bytes, str]]:
        for entry in tree_entries(self.trees.get(tree, b""), self.hash_bytes):
            if entry.mode == b"40000":
                yield from self._leaves(entry.id, above + entry.name)
            else:
                yield above + entry.name, entry.mode, entry.id

    def _header(self, data: bytes, tree: str) -> bytes:
        head, gap, message = data.partition(b"\n\n")
        kept, changed, skipping = [], [], False
        for line in head.split(b"\n"):
            name, _, value = line.partition(b" ")
            skipping = name.startswith(_SIGNATURES) or (skipping and not name)
            if skipping:  # a signature covers the old text
                continue
            kept.append(line)
            if name == b"tree":
                line = b"tree " + tree.encode()  # noqa: PLW2901
            elif name == b"parent":
                line = b"parent " + self.renamed.get(value.decode(), value.decode()).encode()  # noqa: PLW2901
            changed.append(self._person(line))
        text = self._redacted_message(message)
        return data if changed == kept and text == message else b"\n".join(changed) + gap + text

    def _person(self, line: bytes) -> bytes:
        """Redact the name in a line of a header, and keep the time behind it."""
        if not line.startswith((b"author ", b"committer ", b"tagger ")):
            return line
        role, _, rest = line.partition(b" ")
        who, bracket, when = rest.rpartition(b">")
        name, opening, address = who.partition(b"<")
        return role + b" " + self._redacted_words(name) + opening + self._redacted_words(address) + bracket + when

    def _redacted_message(self, message: bytes) -> bytes:
        """Redact a message, and replace the hashes of commits that it names by the new ones."""
        return _HASH.sub(lambda match: self._new_name(match[0]), self._redacted_words(message))

    def _new_name(self, name: bytes) -> bytes:
        meant = [commit for commit in self.prefixes.get(name[:7], ()) if commit.startswith(name.decode())]
        return self.renamed.get(meant[0], meant[0])[: len(name)].encode() if len(meant) == 1 else name

    def _redacted_words(self, data: bytes) -> bytes:
        if not self.target.may_occur_in(data):
            return data
        text = data.decode("utf-8", "surrogateescape")
        return self.target.redact(text).encode("utf-8", "surrogateescape") if self.target.occurs_in(text) else data


def purge(home: Home, target: RedactionTarget) -> PurgeReport:
    """Rewrite the history without *target*, and drop everything unreachable.

    The map from old to new commits is kept until :func:`drop_commit_map`, so that files that name commits can be
    changed.

    Raises:
        Locked: the repository is being packed.
        HistoryError: see :func:`refuse_shared`. When git failed, run the purge again to finish it.
    """
    refuse_shared(home)
    root = home.root
    with no_packing(home):
        _restore_stashes(root)
        done = _rewrite(home, target)
        _rename_commits(home)
        git = home_client(root)
        git.change("read-tree", "HEAD")
        _restore_stashes(root)
        _drop_dangling_heads(root)
        _drop_leftovers(root, target)
        git.change("repack", "-a", "-d", "-q")
        git.change("prune", "--expire=now")
        git.change("prune-packed", "-q")
        git.query("fsck", "--full", "--no-dangling", "--no-progress")
        drop_entry_events(root)
    return done


def refuse_shared(home: Home) -> None:
    """Stop when rewriting the history would harm something else.

    Raises:
        HistoryError: there are uncommitted changes, an unfinished merge, other work trees or objects shared with
            another repository, or the clone is shallow.
    """
    root, folder, git = home.root, _git_folder(home.root), home_client(home.root)
    refuse_unfinished(root)
    if git.query("status", "--porcelain", "--untracked-files=no").strip():
        raise HistoryError(f"there are uncommitted changes in {root}. Commit or discard them, then purge again")
    if len(re.findall(rb"(?m)^worktree ", git.query("worktree", "list", "--porcelain"))) > 1:
        raise HistoryError(f"{root} has other work trees (`git worktree list`). Remove them, then purge again")
    if (folder / "objects" / "info" / "alternates").exists():
        raise HistoryError(f"{root} borrows another repository's objects. Run `git repack -a -d`, remove "
                           f"{folder / 'objects' / 'info' / 'alternates'}, then purge again")  # fmt: skip
    if (folder / "shallow").exists():
        raise HistoryError(f"{root} is a shallow clone. Run `git fetch --unshallow`, then purge again")
    for name, address in remote_addresses(root).items():
        borrowed = _objects_of(root / address) / "info" / "alternates"
        if borrowed.is_file() and str((folder / "objects").resolve()) in storage.read_bytes(borrowed).decode():
            raise HistoryError(f"remote {name} ({address}) borrows this repository's objects. Run `git repack -a -d` "
                               "there and remove its objects/info/alternates, then purge again")  # fmt: skip


def commit_map(home: Home) -> dict[str, str]:
    """Return the map from old to new commits of a purge whose map was not dropped yet."""
    path = home.machine / "rewritten.json"
    found: dict[str, str] = json.loads(storage.read_state(path)) if path.exists() else {}
    return found


def with_new_hashes(data: bytes, renamed: Mapping[str, str]) -> bytes:
    """Return *data* with the hashes of old commits replaced by the new ones."""
    return _HASH.sub(lambda match: renamed.get(match[0].decode(), match[0].decode()).encode(), data)


def drop_commit_map(home: Home) -> None:
    """Remove the map from old to new commits, once every file names the new ones."""
    storage.remove(home.machine / "rewritten.json")


def _rewrite(home: Home, target: RedactionTarget) -> PurgeReport:
    """Write the new objects, and move every ref in one transaction."""
    root = home.root
    refs = [*_refs(root), *_stashes(root)]
    hash_bytes = 32 if home_client(root).query("rev-parse", "--show-object-format").strip() == b"sha256" else 20
    with PackWriter("sha256" if hash_bytes == 32 else "sha1") as pack:
        state = _Rewriter(target, pack, hash_bytes)
        state.read(root)
        for notes in (False, True):
            tips = [ref.id for ref in refs if ref.name.startswith("refs/notes/") == notes]
            for commit in _in_order(root, tips):
                if commit not in state.renamed:
                    state.commit(commit, notes=notes)
        moves = [(ref, state.named(ref.id)) for ref in refs]
        if any(ref.id != new for ref, new in moves):
            pack.store(root)
            _write_map(home, state.renamed)
            _move(root, moves)
        trees = sum(old != new for old, new in state.new_trees.items())
        return PurgeReport(blobs=len(state.blobs), trees=trees, commits=dict(state.renamed))


def _refs(root: Path) -> list[_Ref]:
    """Return every ref that points at an object directly, and HEAD if it is detached."""
    listing = home_client(root).text(
        "for-each-ref", "--format=%(objectname) %(objecttype) %(refname)%(if)%(symref)%(then) symbolic%(end)"
    )
    rows = [line.split(" ") for line in listing.splitlines()]
    found = [_Ref(row[2], row[0], row[1]) for row in rows if len(row) == 3]
    head = _git_folder(root) / "HEAD"
    if not storage.read_bytes(head).decode().startswith("ref:"):
        found.append(_Ref("HEAD", home_client(root).text("rev-parse", "HEAD").strip(), "commit"))
    return found


def _stashes(root: Path) -> list[_Ref]:
    """Return the stashes, which only a reflog holds, each as the temporary ref that will hold it."""
    log = _git_folder(root) / "logs" / "refs" / "stash"
    if not log.is_file() or any(ref.name.startswith(_STASH) for ref in _refs(root)):
        return []
    made = [line.split(b" ")[1].decode() for line in storage.read_bytes(log).splitlines()]
    return [_Ref(f"{_STASH}{number:06d}", commit, "new") for number, commit in enumerate(made)]


def _in_order(root: Path, tips: list[str]) -> list[str]:
    """Return the commits that *tips* reach, parents before their children."""
    if not tips:
        return []
    listed = "".join(f"{tip}\n" for tip in tips).encode()
    return home_client(root).text("rev-list", "--topo-order", "--reverse", "--stdin", stdin=listed).split()


def _move(root: Path, moves: list[tuple[_Ref, str]]) -> None:
    """Point all refs at the new objects in one transaction. Drop remote-tracking refs of the old history."""
    lines = []
    for ref, new in moves:
        if ref.kind == "new":
            lines.append(f"create {ref.name} {new}")
        elif ref.name.startswith("refs/remotes/") and new != ref.id:
            lines.append(f"delete {ref.name} {ref.id}")
        elif new != ref.id:
            lines.append(f"update {ref.name} {new} {ref.id}")
    commands = "".join(f"{line}\n" for line in lines).encode()
    home_client(root).change(*_NO_REFLOG, "update-ref", "--no-deref", "--stdin", stdin=commands)


def _drop_dangling_heads(root: Path) -> None:
    """Remove the HEADs of remotes whose branch was dropped, which every clone has. Git calls them damaged."""
    for path in sorted((_git_folder(root) / "refs" / "remotes").glob("*/HEAD")):
        kind, _, branch = storage.read_bytes(path).decode().partition(": ")
        if kind == "ref" and not history.found(root, branch.strip()):
            home_client(root).change(*_NO_REFLOG, "symbolic-ref", "--delete", f"refs/remotes/{path.parent.name}/HEAD")


def _restore_stashes(root: Path) -> None:
    """Restore the list of stashes from their temporary refs, oldest first."""
    holders = [ref for ref in _refs(root) if ref.name.startswith(_STASH)]
    if not holders:
        return
    git = home_client(root)
    if (_git_folder(root) / "refs" / "stash").exists() or any(ref.name == "refs/stash" for ref in _refs(root)):
        git.change(*_NO_REFLOG, "update-ref", "-d", "refs/stash")
    for ref in sorted(holders, key=lambda item: item.name):
        subject = git.text("log", "-1", "--format=%s", ref.id).strip()
        git.change("stash", "store", "-m", subject or "stash", ref.id)
    for ref in holders:
        git.change(*_NO_REFLOG, "update-ref", "-d", ref.name)


def _write_map(home: Home, renamed: Mapping[str, str]) -> None:
    """Write the map from old to new commits, merged with the map of an interrupted purge."""
    staged = home.machine / "staging" / "rewritten.tmp"
    storage.stage(staged, json.dumps({**commit_map(home), **renamed}).encode())
    storage.replace(staged, home.machine / "rewritten.json")


def _rename_commits(home: Home) -> None:
    """Replace the hashes of rewritten commits in the records of this machine."""
    renamed = commit_map(home)
    for path in sorted(home.machine.glob("*.jsonl")) if renamed else ():
        old = storage.read_state(path)
        new = with_new_hashes(old, renamed)
        if new != old:
            staged = home.machine / "staging" / "renamed.tmp"
            storage.stage(staged, new)
            storage.replace(staged, path)


def _drop_leftovers(root: Path, target: RedactionTarget) -> None:
    """Remove the reflogs, except that of the stashes, and other files that git can do without."""
    folder = _git_folder(root)
    stashes = folder / "logs" / "refs" / "stash"
    for path in git_files(root):
        name = path.relative_to(folder).as_posix()
        if path == stashes:
            _clean(path, target)
        elif name.startswith("logs/") or name in _POINTERS:
            storage.remove(path)
        elif name.endswith("MSG") or name.startswith("rr-cache/"):
            _clean(path, target)
    for path in sorted((folder / "objects" / "info").glob("commit-graph*")):
        if path.is_file():
            storage.remove(path)
    for path in (folder / "objects" / "pack").glob("*.keep"):
        storage.remove(path)


def _clean(path: Path, target: RedactionTarget) -> None:
    text = storage.read_bytes(path).decode("utf-8", "surrogateescape")
    if target.occurs_in(text):
        lines = (target.redact(line) for line in text.splitlines(keepends=True))
        staged = path.with_name(f"{path.name}.tmp")
        storage.stage(staged, "".join(lines).encode("utf-8", "surrogateescape"))
        storage.replace(staged, path)


def _git_folder(root: Path) -> Path:
    return own_folders(root).own


def _objects_of(repository: Path) -> Path:
    """Return the folder of a repository's objects, be the repository bare or not."""
    inside = repository / ".git" / "objects"
    return inside if inside.is_dir() else repository / "objects"


def _tree_bytes(lines: list[tuple[bytes, bytes, str]]) -> bytes:
    """Return a tree of ``(name, mode, id)`` in git's order. A number tells apart names that became the same."""
    named: dict[bytes, tuple[bytes, str]] = {}
    for name, mode, oid in lines:
        unique, number = name, 1
        while unique in named:
            number += 1
            unique = name + f"-{number}".encode()
        named[unique] = (mode, oid)
    order = sorted(named.items(), key=lambda item: item[0] + (b"/" if item[1][0] == b"40000" else b""))
    return b"".join(mode + b" " + name + b"\0" + bytes.fromhex(oid) for name, (mode, oid) in order)
