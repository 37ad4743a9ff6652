"""The events of all entries, read once, are those that git finds for each, whatever happened to the history."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_home.git import history
from agent_home.git.entries import entry_events
from agent_home.git.entries.entry_events import entry_histories
from agent_home.git_folder import state_folder
from agent_home.home import Home
from agent_home.store.lineage import lineage

from ...conftest import AddEntry, Git

IDS = ("KD-0001", "KD-0002", "LL-7F3A", "AP-ZZZZ")
_BLOCK = re.compile(r"- \*\*\[(?P<id>[A-Z]{2}-\w{4})\].*\n(?:  .*\n)*")
#: Dates that go back and forth, so that the order of commits is not that of their dates.
_TIMES = (1_760_000_000, 1_760_003_600, 1_759_990_000, 1_760_007_200, 1_760_000_000)


class Repository:
    """A repository with entries, and what may happen to it."""

    def __init__(self, root: Path) -> None:
        self.root, self._count, self._branches = root, 0, itertools.count()
        self.git("init", "-q", "-b", "main")
        for path in ("MEMORY.md", "EVOLUTION.md", "Archive/M.md"):
            self.write(path, "# File\n\n## One\n\n## Two\n")
        self.commit("Start")

    def git(self, *arguments: str) -> str:
        stamp = f"{_TIMES[self._count % len(_TIMES)] + self._count} +0200"
        who = {f"GIT_{role}_{what}": "t@t" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = os.environ | who | {"GIT_COMMITTER_DATE": stamp, "GIT_AUTHOR_DATE": stamp}
        done = subprocess.run(["git", *arguments], cwd=self.root, env=environment, check=False, capture_output=True)
        return done.stdout.decode("utf-8", "replace")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def commit(self, message: str) -> None:
        self._count += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def file_of(self, name: str) -> str:
        return next((path for path in ("MEMORY.md", "Archive/M.md") if f"[{name}]" in self.read(path)), "")

    def take(self, name: str) -> str:
        """Remove the entry from its file, and return its lines."""
        path = self.file_of(name)
        for found in _BLOCK.finditer(self.read(path) if path else ""):
            if found["id"] == name:
                self.write(path, self.read(path).replace(found[0], ""))
                return found[0]
        return f"- **[{name}] T {self._count}** - text\n  Evidence: none\n"

    def put(self, path: str, section: str, block: str) -> None:
        self.write(path, self.read(path).replace(f"## {section}\n", f"## {section}\n{block}", 1))


def _add(repository: Repository, name: str) -> None:
    repository.put("MEMORY.md", "One", repository.take(name))
    repository.commit(f"Add\n\nSession: s-1\nEntries: {name}, KD-0001\nActor: close")


def _edit(repository: Repository, name: str) -> None:
    block = repository.take(name)
    repository.put("MEMORY.md", "One", block.replace("text", "text more"))
    repository.commit("Edit by hand")


def _edit_below(repository: Repository, name: str) -> None:
    path = repository.file_of(name) or "EVOLUTION.md"
    repository.write(path, repository.read(path).replace("Evidence: none", "Evidence: verified"))
    repository.commit(f"Verify\n\nEntries: {name}\nEvidence: verified")


def _move(repository: Repository, name: str) -> None:
    repository.put("MEMORY.md", "Two", repository.take(name))
    repository.commit("Move")


def _archive(repository: Repository, name: str) -> None:
    repository.put("Archive/M.md", "One", repository.take(name))
    repository.commit(f"Archive\n\nEntries: {name}\nActor: archive")


def _restore(repository: Repository, name: str) -> None:
    repository.put("MEMORY.md", "Two", repository.take(name))
    repository.commit(f"Restore\n\nEntries: {name}")


def _remove(repository: Repository, name: str) -> None:
    repository.take(name)
    repository.commit("Remove")


def _revert(repository: Repository, _name: str) -> None:
    if repository.git("rev-list", "--max-count=2", "HEAD").count("\n") < 2:
        return  # the files of the first commit stay
    repository.git("revert", "--no-edit", "HEAD")
    repository.git("revert", "--abort")


def _merge(repository: Repository, name: str, *how: str) -> None:
    side = f"side-{next(repository._branches)}"
    repository.git("checkout", "-q", "-b", side, "HEAD~1")
    repository.put("Archive/M.md", "Two", f"- **[{name}] Side** - text\n")
    repository.commit(f"On a side\n\nEntries: {name}")
    repository.git("checkout", "-q", "main")
    _edit(repository, IDS[2])
    repository._count += 1
    repository.git("merge", "-q", "-m", f"Merge\n\nEntries: {name}", *how, side)
    if repository.git("ls-files", "--unmerged"):
        repository.git("merge", "--abort")


def _take_theirs(repository: Repository, name: str) -> None:
    """Merge so that the files are those of the other side: git shows none of our commits then."""
    _merge(repository, name, "-s", "ours")
    side = repository.git("rev-parse", "HEAD^2").strip()
    if side:
        tree = repository.git("rev-parse", f"{side}^{{tree}}").strip()
        made = repository.git("commit-tree", tree, "-p", "HEAD^1", "-p", side, "-m", "Theirs").strip()
        repository.git("reset", "-q", "--hard", made)


def _rewind(repository: Repository, _name: str) -> None:
    repository.git("reset", "-q", "--hard", "HEAD~1")


def _write_hostile_lines(repository: Repository, name: str) -> None:
    hostile = f"++ b/Other.md\n\x1e{'0' * 40}\x1fx\ndiff --git a/x b/x\n+- **[{name}] fake**\n- **[{name}] again**\n"
    repository.write("EVOLUTION.md", repository.read("EVOLUTION.md") + hostile)
    repository.commit(
        f"\x1eodd\n\ndiff --git a/MEMORY.md b/MEMORY.md\n+- **[{name}] x**\n\x1eEntries: {name}\nEntries: x"
    )


def _look(repository: Repository, _name: str) -> None:
    head = history.head(repository.root)
    known = entry_histories(repository.root, head)
    expected = {name: tuple(reversed(history.entry_history(repository.root, name))) for name in IDS}
    assert {name: known.get(name, ()) for name in IDS} == expected
    assert set(known) == {name for name in IDS if expected[name]}


def _merge_by_files(repository: Repository, name: str) -> None:
    _merge(repository, name, "-X", "theirs")


_STEPS: Sequence[Callable[[Repository, str], None]] = (
    _add, _edit, _edit_below, _move, _archive, _restore, _remove, _revert, _merge_by_files, _take_theirs, _rewind,
    _write_hostile_lines, _look,
)  # fmt: skip


@contextmanager
def _repository() -> Iterator[Repository]:
    parent = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="agent-home-tests-", dir=parent))
    try:
        yield Repository(folder)
    finally:
        shutil.rmtree(folder)


@settings(max_examples=12)
@given(steps=st.lists(st.tuples(st.sampled_from(_STEPS), st.sampled_from(IDS)), min_size=6, max_size=14))
def test_all_histories_are_those_of_each_entry(steps: list[tuple[Callable[[Repository, str], None], str]]) -> None:
    with _repository() as repository:
        for step, name in steps:
            step(repository, name)
        _look(repository, "")
        _look(repository, "")  # from the cache


@pytest.mark.parametrize("step", _STEPS)
def test_a_cache_that_is_behind_is_brought_forward(step: Callable[[Repository, str], None]) -> None:
    with _repository() as repository:
        for before in (_add, _edit_below, _look, step, _look, _archive, _look):
            before(repository, IDS[1])


def _mark(home: Home) -> None:
    """Change a subject in the cache, as if git had said so."""
    cache = home.machine / "entry-events.json"
    row = json.loads(cache.read_bytes().partition(b"\n")[2])
    row["commits"][0][5] = "From the cache"
    body = json.dumps(row).encode()
    cache.write_bytes(entry_events._digest(body) + b"\n" + body)


def _oldest_subject(home: Home) -> str:
    known = entry_histories(home.root, history.head(home.root))
    return known[next(iter(known))][-1].subject


def test_a_new_commit_is_read_alone(home: Home, add_entry: AddEntry) -> None:
    add_entry("One")
    assert _oldest_subject(home) == "Add One"
    _mark(home)
    add_entry("Two")
    assert _oldest_subject(home) == "From the cache"
    assert len(entry_histories(home.root, history.head(home.root))) == 2


def test_a_rewound_branch_is_read_again(home: Home, git: Git, add_entry: AddEntry) -> None:
    add_entry("One")
    add_entry("Two")
    _oldest_subject(home)
    _mark(home)
    git("reset", "-q", "--hard", "HEAD~1")
    assert _oldest_subject(home) == "Add One"
    assert len(entry_histories(home.root, history.head(home.root))) == 1


@pytest.mark.parametrize("damaged", [b"", b"{}", b"x\n{", b"\xff\n\xff", b"[1]\n[1]"])
def test_a_damaged_cache_is_made_again(home: Home, add_entry: AddEntry, damaged: bytes) -> None:
    add_entry("One")
    _oldest_subject(home)
    cache = home.machine / "entry-events.json"
    whole = cache.read_bytes()
    cache.write_bytes(damaged or whole[:-20])
    assert _oldest_subject(home) == "Add One"
    assert cache.read_bytes() == whole


def test_a_redacted_cache_is_made_again(home: Home, add_entry: AddEntry) -> None:
    add_entry("One")
    _oldest_subject(home)
    cache = home.machine / "entry-events.json"
    cache.write_bytes(cache.read_bytes().replace(b"Add One", b"[redacted]"))
    assert _oldest_subject(home) == "Add One"


def test_commits_that_are_fetched_behind_the_oldest_one_are_read(tmp_path: Path) -> None:
    with _repository() as repository:
        for step in (_add, _edit, _archive):
            step(repository, IDS[0])
        clone = tmp_path / "clone"
        subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repository.root}", str(clone)], check=True)
        head = history.head(clone)
        assert len(entry_histories(clone, head)[IDS[0]]) == 1
        subprocess.run(["git", "fetch", "-q", "--unshallow"], cwd=clone, check=True)
        assert len(entry_histories(clone, head)[IDS[0]]) == 3


def test_the_events_are_the_same_by_commit(home: Home, add_entry: AddEntry) -> None:
    for title in ("One", "Two"):
        add_entry(title)
    known = entry_histories(home.root, history.head(home.root))
    by_entry = [(event.ts, event.actor, [(name, event.action, event.file)]) for name in known for event in known[name]]
    assert [(found.ts, found.actor, found.acts) for found in known.by_commit()] == by_entry


def test_without_commits_there_are_no_events(home: Home) -> None:
    assert dict(entry_histories(home.root, "")) == {}
    assert not (state_folder(home.root) / "entry-events.json").exists()


def test_a_home_that_cannot_be_written_has_its_events(home: Home, add_entry: AddEntry, tmp_path: Path) -> None:
    add_entry("One")
    machine = home.machine.rename(tmp_path / "elsewhere")
    home.machine.symlink_to(machine)
    assert _oldest_subject(home) == "Add One"
    assert not (machine / "entry-events.json").exists()


def test_a_lineage_takes_the_events(home: Home, add_entry: AddEntry, now: datetime) -> None:
    add_entry("One")
    known = entry_histories(home.root, history.head(home.root))
    (entry_id,) = known
    assert lineage(home, entry_id, known) == lineage(home, entry_id)
    assert lineage(home, entry_id, {}).events == ()
