"""A text goes into a shared folder merged with what others wrote, and through no link."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.errors import DocumentInvalid, HistoryError, Locked, ShareUnwritable
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.sharing import placing
from agent_home.sharing.folders import shared_folders
from agent_home.sharing.health import sharing_problems
from agent_home.sharing.placing import SharedText, place
from tests.agent_home.git.traps import Trapped, plain
from tests.sharing import FORMS, IMPROVEMENT, agree, put, run_git

IN_GIT = tuple(form for form in FORMS if form != "link")


def wanted(text: str, base: str = "", path: str = IMPROVEMENT) -> SharedText:
    return SharedText(path=path, base=base, text=text, message=f"Update {path}", trailers={"Actor": "test"})


def write(home: Home, text: str, base: str = "", path: str = IMPROVEMENT) -> str:
    (shared,) = shared_folders(home)
    return place(shared, wanted(text, base, path))


@pytest.mark.parametrize("form", FORMS)
def test_what_others_wrote_meanwhile_stays(home: Home, tmp_path: Path, form: str) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    write(home, "# Notes\n\n- one\n")
    write(home, "# Notes\n\n- one\n- other agent\n", "# Notes\n\n- one\n")
    write(home, "# Notes\n\n- one\n- mine\n", "# Notes\n\n- one\n")
    assert (project / "IMPROVEMENT.md").read_text().splitlines()[2:] == ["- one", "- other agent", "- mine"]


@pytest.mark.parametrize("form", FORMS)
def test_writing_a_text_again_changes_nothing(home: Home, tmp_path: Path, form: str) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    first = write(home, "# Notes\n")
    assert bool(first) == (form != "link")
    before = (project / "IMPROVEMENT.md").stat().st_mtime_ns
    assert write(home, "# Notes\n") == ""
    assert (project / "IMPROVEMENT.md").stat().st_mtime_ns == before


@pytest.mark.parametrize("form", FORMS)
def test_a_file_can_be_removed(home: Home, tmp_path: Path, form: str) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    write(home, "# Notes\n")
    write(home, "", "# Notes\n")
    assert not (project / "IMPROVEMENT.md").exists()
    if form != "link":
        assert run_git(project, "status", "--porcelain") == ""


@pytest.mark.parametrize("form", IN_GIT)
def test_other_edits_in_the_repository_stay_as_they_are(home: Home, tmp_path: Path, form: str) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    (project / "PRODUCT.md").write_text("# edited\n")
    (project / "staged.md").write_text("# staged\n")
    run_git(project, "add", "staged.md")
    write(home, "# Notes\n")
    assert run_git(project, "status", "--porcelain").split("\n") == ["M PRODUCT.md", "A  staged.md"]
    assert run_git(project, "show", "--format=", "--name-only", "HEAD") == "IMPROVEMENT.md"


def test_uncommitted_edits_of_the_same_file_are_left_alone(home: Home, tmp_path: Path) -> None:
    project = put(home, "clone", tmp_path / "elsewhere")
    (project / "IMPROVEMENT.md").write_text("# Mine\n")
    with pytest.raises(ShareUnwritable, match="not committed"):
        write(home, "# Notes\n")
    assert (project / "IMPROVEMENT.md").read_text() == "# Mine\n"


def test_line_ends_that_the_repository_asks_for_are_kept(home: Home, tmp_path: Path) -> None:
    project = put(home, "clone", tmp_path / "elsewhere")
    (project / ".gitattributes").write_text("* text=auto\n")
    run_git(project, "add", ".")
    run_git(project, "commit", "-q", "-m", "Attributes")
    assert write(home, "# Notes\n")
    assert write(home, "# Notes\n\n- more\n", "# Notes\n")
    assert run_git(project, "show", "HEAD:IMPROVEMENT.md") == "# Notes\n\n- more"
    assert run_git(project, "status", "--porcelain") == ""


def test_a_file_that_the_repository_ignores_is_written_and_not_committed(home: Home, tmp_path: Path) -> None:
    project = put(home, "clone", tmp_path / "elsewhere")
    (project / ".gitignore").write_text("*\n")
    assert write(home, "# Notes\n") == ""
    assert (project / "IMPROVEMENT.md").read_text() == "# Notes\n"
    assert run_git(project, "rev-list", "--count", "HEAD") == "1"


def test_a_repository_without_a_commit_gets_its_first_one(home: Home, tmp_path: Path) -> None:
    run_git(home.root, "init", "-q", "-b", "main", "Projects/orion")
    assert write(home, "# Notes\n")
    assert run_git(home.root / "Projects/orion", "show", "HEAD:IMPROVEMENT.md") == "# Notes"


@pytest.mark.parametrize("form", ["link", "clone"])
def test_nothing_is_written_through_a_link(home: Home, tmp_path: Path, form: str) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    (tmp_path / "private").mkdir()
    (tmp_path / "private.md").write_text("private\n")
    (project / "IMPROVEMENT.md").symlink_to(tmp_path / "private.md")
    (project / "inner").symlink_to(tmp_path / "private")
    for path in (IMPROVEMENT, "Projects/orion/inner/new.md"):
        with pytest.raises(ShareUnwritable, match="is a link"):
            write(home, "# Notes\n", path=path)
    assert (tmp_path / "private.md").read_text() == "private\n"
    assert list((tmp_path / "private").iterdir()) == []


@pytest.mark.parametrize("form", FORMS)
def test_another_agent_that_writes_is_waited_for(
    home: Home, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    monkeypatch.setattr(placing, "WAIT_S", 0.05)
    lock = project / ".agent-home.lock"
    if form != "link":
        lock = Path(run_git(project, "rev-parse", "--absolute-git-dir"), "agent-home", "agent-home.lock")
    with hold(lock), pytest.raises(Locked):
        write(home, "# Notes\n")


def test_agents_that_share_all_projects_or_one_use_the_same_lock(home: Home, tmp_path: Path) -> None:
    shared = tmp_path / "shared" / "orion"
    shared.mkdir(parents=True)
    (home.root / "Projects" / "orion").symlink_to(shared)
    agree(home)
    write(home, "# Notes\n")
    (home.root / "Projects" / "orion").unlink()
    (home.root / "Projects").rmdir()
    (home.root / "Projects").symlink_to(shared.parent)
    agree(home, "Projects")
    write(home, "# Notes\n\n- more\n", "# Notes\n")
    assert [path.name for path in sorted(shared.parent.rglob("*.lock"))] == [".agent-home.lock"]


def test_a_file_that_cannot_be_merged_stays(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    (project / "IMPROVEMENT.md").write_text("<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n")
    with pytest.raises(DocumentInvalid, match="conflict marker"):
        write(home, "# Notes\n")


def test_the_home_of_an_agent_is_never_written(home: Home, tmp_path: Path) -> None:
    project = put(home, "clone", tmp_path / "elsewhere")
    (project / "agent.toml").touch()
    with pytest.raises(ShareUnwritable, match="never shared"):
        write(home, "# Notes\n")


def test_a_git_folder_that_belongs_to_another_project_is_refused(home: Home, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "mine")
    (home.root / "Projects/orion").mkdir()
    (home.root / "Projects/orion/.git").write_text(f"gitdir: {tmp_path}/mine/.git\n")
    with pytest.raises(HistoryError, match="another project"):
        write(home, "# Notes\n")


@pytest.mark.parametrize("form", FORMS)
def test_a_lock_that_others_made_a_link_leads_nowhere(home: Home, tmp_path: Path, form: str) -> None:
    project, private = put(home, form, tmp_path / "elsewhere"), tmp_path / "private"
    private.mkdir()
    (private / "key").write_text("private\n")
    if form == "link":
        (project / ".agent-home.lock").symlink_to(private / "key")
    else:
        Path(run_git(project, "rev-parse", "--absolute-git-dir"), "agent-home").symlink_to(private)
    with pytest.raises(ShareUnwritable, match="is a link"):
        write(home, "# Notes\n")
    assert [(path.name, path.read_text()) for path in private.iterdir()] == [("key", "private\n")]


@pytest.mark.parametrize("form", IN_GIT)
def test_a_repository_full_of_traps_runs_nothing(home: Home, tmp_path: Path, form: str) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    trapped = Trapped(project, tmp_path / "traps")
    trapped.set_traps()
    assert write(home, "# Notes\n")
    assert write(home, "# Notes\n\n- more\n", "# Notes\n")
    assert sharing_problems(home) == []
    assert trapped.ran() == set()
    assert run_git(project, "log", "-1", "--format=%s") == f"Update {IMPROVEMENT}"
    plain(project, "status")
    assert trapped.ran()  # git itself runs some


@pytest.mark.parametrize("form", IN_GIT)
def test_a_file_that_a_trap_would_convert_is_not_written(home: Home, tmp_path: Path, form: str) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    trapped = Trapped(project, tmp_path / "traps")
    trapped.set_traps()
    (project / ".gitattributes").write_text("*.md filter=trap\n")
    with pytest.raises(HistoryError, match="filter trap"):
        write(home, "# Notes\n")
    assert trapped.ran() == set()
    assert not (project / "IMPROVEMENT.md").exists()
