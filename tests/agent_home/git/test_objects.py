"""Read every object of a repository, packed or loose, reachable or not, and the origin of each blob."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from agent_home.errors import HistoryError
from agent_home.git.client import home_client
from agent_home.git.objects import (
    GitObject,
    blob_origins,
    git_files,
    message_and_names,
    object_kinds,
    objects,
    tree_entries,
)
from agent_home.git.pack import PackWriter
from agent_home.home import Home

from ..conftest import AddEntry, Git


@pytest.fixture
def stored(home: Home, git: Git, add_entry: AddEntry) -> Home:
    """A home with packed, loose and unreachable objects."""
    add_entry("packed")
    git("repack", "-a", "-d", "-q")
    add_entry("loose")
    (home.root / "dangling").write_text("dangling words\n")
    git("hash-object", "-w", "dangling")
    (home.root / "dangling").unlink()
    return home


def test_every_object_is_read_with_its_bytes(stored: Home, git: Git) -> None:
    found = {item.id: item for item in objects(stored.root)}
    known = dict(line.split() for line in git("cat-file", "--batch-all-objects",
                                              "--batch-check=%(objectname) %(objecttype)").splitlines())  # fmt: skip
    assert {oid: item.kind for oid, item in found.items()} == known == object_kinds(stored.root)
    assert Counter(known.values())["commit"] == 3
    assert sum(item.data == b"dangling words\n" for item in found.values()) == 1
    head = git("rev-parse", "HEAD").strip()
    assert found[head].data.decode() == git("cat-file", "commit", "HEAD")


def test_named_objects_come_in_their_order(stored: Home) -> None:
    ids = sorted(object_kinds(stored.root), reverse=True)[:5]
    assert [item.id for item in objects(stored.root, ids)] == ids


def test_reading_can_stop_early(stored: Home) -> None:
    assert isinstance(next(objects(stored.root)), GitObject)


def test_the_origin_of_a_blob_is_the_oldest_commit_with_it(stored: Home, git: Git) -> None:
    first = blob_origins(stored.root)
    commits = git("rev-list", "--reverse", "HEAD").split()
    for commit in commits:
        blob = git("rev-parse", f"{commit}:MEMORY.md").strip()
        assert (first[blob].commit, first[blob].path) == (commit, "MEMORY.md")
    assert first[git("rev-parse", "HEAD:agent.toml").strip()].commit == commits[0]


def test_a_tree_is_read_as_git_lists_it(stored: Home, git: Git) -> None:
    tree = git("rev-parse", "HEAD^{tree}").strip()
    (item,) = objects(stored.root, [tree])
    listed = [line.split() for line in git("ls-tree", "HEAD").splitlines()]
    assert [(entry.name.decode(), entry.id) for entry in tree_entries(item.data, 20)] == [(r[3], r[2]) for r in listed]


def test_a_commit_yields_its_people_and_its_message(stored: Home, git: Git) -> None:
    git("-c", "user.name=Ada", "-c", "user.email=ada@b.c", "commit", "-q", "--allow-empty", "-m", "Subject\n\nBody")
    (item,) = objects(stored.root, [git("rev-parse", "HEAD").strip()])
    assert message_and_names(item).split("\n\n") == ["Ada <ada@b.c", "Ada <ada@b.c", "Subject", "Body\n"]


def test_files_beside_the_objects_are_listed(stored: Home) -> None:
    names = {stored.relative(path) for path in git_files(stored.root)}
    assert {".git/HEAD", ".git/config", ".git/logs/HEAD", ".git/index"} <= names
    assert not any(name.startswith(".git/objects") for name in names)


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_git_imports_a_written_pack(tmp_path: Path, algorithm: str) -> None:
    subprocess.run(["git", "init", "-q", f"--object-format={algorithm}", str(tmp_path)], check=True)
    with PackWriter(algorithm) as pack:
        ids = [pack.add("blob", data) for data in (b"", b"x" * 15, b"y" * 16, b"z" * 100_000, b"x" * 15)]
        tree = pack.add("tree", b"100644 a\0" + bytes.fromhex(ids[0]))
        pack.store(tmp_path)
    assert ids[1] == ids[4]
    git = home_client(tmp_path)
    sizes = git.query("cat-file", "--batch-check=%(objectsize)", stdin="\n".join([*ids, tree]).encode()).split()
    assert [int(size) for size in sizes[:5]] == [0, 15, 16, 100_000, 15]
    assert git.query("ls-tree", tree).endswith(b"\ta\n")


def test_the_error_of_a_failing_command_quotes_git(stored: Home) -> None:
    with pytest.raises(HistoryError, match=r"git cat-file failed: .*nothing"):
        home_client(stored.root).query("cat-file", "-p", "nothing")


def test_a_folder_that_is_no_repository_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="is not a git repository"):
        list(objects(tmp_path))
