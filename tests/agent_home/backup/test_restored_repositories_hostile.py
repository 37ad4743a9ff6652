"""A backup that somebody else wrote puts no repository outside of its place, and runs nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_home.backup.errors import BackupDamaged
from agent_home.backup.making import backup
from agent_home.backup.manifest import MOST_REPOSITORIES
from agent_home.backup.restoring import restore_home
from agent_home.home import Home
from agent_home.sharing.health import sharing_problems
from tests.sharing import ORION, put, run_git

from .conftest import Forge, content

_MAIN = {"head": "refs/heads/main", "object_format": "sha1"}


def row(place: str, **columns: Any) -> dict[str, Any]:
    """Return the row of an empty repository."""
    return {
        "repository": place, "of": "", "name": "", "url": "", "excluded": False, "remotes": {}, "git": _MAIN, **columns,
    }  # fmt: skip


def found(folder: Path) -> set[str]:
    """Return all names in *folder* but those of the backup and of the home."""
    kept = ("backup", "home", "elsewhere")
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.relative_to(folder).parts[0] not in kept
    }


@pytest.mark.parametrize(
    "rows",
    [
        *([row(place)] for place in (
            "", "..", "../x", "/tmp/x", "a/../../x", ".git", ".git/modules/x", ".GIT/x", "Projects/x/.git",
            ".git/agent-home", ".git/agent-home/x", ".memory", ".memory/x", "MEMORY.md", "MEMORY.md/x", "a\0b",
        )),
        *([row("Projects/x", name=name)] for name in (
            "..", "../hooks", "../../Projects", "/etc", "a/../b", "a//b", "./a", "x/.git", "x/.git/hooks", "a\nb",
            "a\0b", "a\r", ".git/agent-home/x", "a" * 5000,
        )),
        [row("Projects/x", of="Projects/y", name="x")],
        [row("Projects/x", of="Projects/x", name="x")],
        [row("Projects/y", name="y"), row("Projects/x", of="Projects/y", name="x")],
        [row("Projects/y", name="y"), row("Projects/y/x", of="Projects/y")],
        [row("Projects/x"), row("Projects/x")],
        [row("Projects/x", name="x"), row("Projects/y", name="x")],
        [row("Projects/x", name="x"), row("Projects/y", name="x/objects")],
        [row("Projects/x", name="x/refs/heads"), row("Projects/y", name="X")],
        [row("Projects/x"), {"link": "Projects/x", "to": "../Knowledge"}],
        [{"link": "Projects/x", "to": "../Knowledge"}, row("Projects/x/inner")],
        [row("Projects/x", of=None)],
        [row("Projects/x", remotes=["a"])],
        [row("Projects/x", remotes={"a": 1})],
        [row("Projects/x", git=None)],
        [row("Projects/x", git={"head": "../../HEAD", "object_format": "sha1"})],
        [row("Projects/x", git={"head": "", "object_format": "reftable"})],
        [row("Projects/x"), {"shallow": "../../x"}],
        [{"shallow": "1" * 40}],
        [{"repository": "Projects/x"}],
        [row(f"Projects/x{number}") for number in range(MOST_REPOSITORIES + 1)],
        [{"link": ".git/agent-home/hot-state.db", "to": "../../Knowledge/state.db"}],
        [{"folder": ".git/agent-home/closings.jsonl"}],
    ],
)  # fmt: skip
def test_a_repository_that_no_home_has_is_refused(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge, rows: list[Any]
) -> None:
    backup(home, target, now=now)
    forge(*rows)
    with pytest.raises(BackupDamaged, match="not acceptable"):
        restore_home(target, tmp_path / "again")
    assert found(tmp_path) == set()


def test_names_that_look_like_folders_of_git_stay_in_the_modules(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge
) -> None:
    backup(home, target, now=now)
    names = (
        "hooks",
        "info/attributes",
        "-c",
        "config.lock",
        "$(touch x)",
        "a;b #c",
        'quo"te',
        "back\\slash",
        "é\u2028x",
    )
    forge(*(row(f"Projects/{number} {name.replace('/', ' ')}", name=name) for number, name in enumerate(names)))
    again = restore_home(target, tmp_path / "again").root
    for name in names:
        assert (again / ".git/modules" / name / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert not (again / ".git/info/attributes").exists()
    for place in sorted((again / "Projects").iterdir()):
        if (place / ".git").exists():
            assert Path(run_git(place, "rev-parse", "--show-toplevel")) == place.resolve()


def forged_objects(project: Path) -> str:
    """Return a commit of *project* whose tree has a folder ``.git``, which git's strict check refuses."""

    def tree(entry: bytes) -> str:
        command = ["git", "hash-object", "-w", "-t", "tree", "--stdin", "--literally"]
        return (
            subprocess.run(command, cwd=project, input=entry, capture_output=True, check=True).stdout.decode().strip()
        )

    blob = run_git(project, "hash-object", "-w", "PRODUCT.md")
    inner = tree(b"100644 config\0" + bytes.fromhex(blob))
    return run_git(project, "commit-tree", "-m", "x", tree(b"40000 .git\0" + bytes.fromhex(inner)))


@pytest.mark.parametrize("form", ["clone", "submodule"])
def test_objects_that_git_refuses_are_refused_or_left_out(
    home: Home, target: Path, tmp_path: Path, now: datetime, elsewhere: Callable[[], None], form: str
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    run_git(project, "branch", "evil", forged_objects(project))
    backup(home, target, now=now)
    elsewhere()
    with pytest.raises(BackupDamaged, match=r"Projects/orion/\.git is refused by git"):
        restore_home(target, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    done = restore_home(target, tmp_path / "again", partial=True)
    assert [file.path for file in done.missing] == [f"{ORION}/.git"]
    assert (done.root / ORION / "PRODUCT.md").is_file()
    assert not os.path.lexists(done.root / ORION / ".git")
    assert not (done.root / ".git/modules" / ORION).exists()


@pytest.mark.parametrize(
    "rows",
    [
        [{"ref": "refs/heads/x", "id": "1" * 40, "kind": "commit"}],
        [{"ref": "refs/heads/../../x", "id": "1" * 40, "kind": "commit"}],
        [{"stash": "1" * 40}],
        [{"staged": "PRODUCT.md", "mode": "100644", "id": "1" * 40}],
    ],
)
def test_names_of_what_is_not_there_are_refused(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge, rows: list[Any]
) -> None:
    put(home, "clone", tmp_path / "elsewhere")
    backup(home, target, now=now)
    forge(*rows)
    with pytest.raises(BackupDamaged, match=r"Projects/orion/\.git is refused by git"):
        restore_home(target, tmp_path / "again")
    assert found(tmp_path) == set()


def test_a_pack_that_is_none_is_refused(home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge) -> None:
    backup(home, target, now=now)
    forge(row("Projects/x"), {"pack": "MEMORY.md", **content(target, b"#!/bin/sh\n")})
    with pytest.raises(BackupDamaged, match=r"Projects/x/\.git is refused by git"):
        restore_home(target, tmp_path / "again")


def test_a_commit_of_a_submodule_that_is_nowhere_is_a_problem_of_sharing_alone(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge
) -> None:
    backup(home, target, now=now)
    forge({"staged": ORION, "mode": "160000", "id": "1" * 40}, row(ORION, name="orion"))
    again = Home(restore_home(target, tmp_path / "again").root)
    assert run_git(again.root, "ls-files", "--stage", ORION).startswith("160000 " + "1" * 40)
    assert all(ORION in problem.file for problem in sharing_problems(again))


def test_files_that_look_like_a_repository_are_none_to_git(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge
) -> None:
    """A work tree may hold the files of a bare repository, with a configuration that names programs."""
    backup(home, target, now=now)
    mark = tmp_path / "ran"
    config = f'[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "touch {mark}"\n\thooksPath = "{tmp_path}"\n'
    files = {
        "HEAD": "ref: refs/heads/main\n", "config": config, "refs/heads/x": "", "objects/x": "",
        ".gitattributes": "* filter=evil\n", ".gitmodules": '[submodule "x"]\n\tpath = x\n\tupdate = !touch x\n',
    }  # fmt: skip
    forge(*({"file": f"Projects/x/{name}", **content(target, text.encode())} for name, text in files.items()),
          row("Projects/x", name="x"))  # fmt: skip
    again = restore_home(target, tmp_path / "again").root
    assert run_git(again / "Projects/x", "rev-parse", "--absolute-git-dir") == str(again / ".git/modules/x")
    assert not mark.exists()


def test_an_end_of_a_shallow_history_that_is_not_there_does_no_harm(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge
) -> None:
    put(home, "clone", tmp_path / "elsewhere")
    backup(home, target, now=now)
    forge({"shallow": "1" * 40})
    again = restore_home(target, tmp_path / "again").root
    assert run_git(again / ORION, "log", "--format=%s") == "Start"
    assert sharing_problems(Home(again)) == []
