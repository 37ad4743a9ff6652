"""Closings write into projects that agents share, and no state of such a project keeps a session from closing."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents.check import problems
from agent_home.home import Home
from agent_home.sharing.health import sharing_problems
from agent_home.sharing.waiting_texts import waiting_texts
from agent_home.store import set_aside, transcript
from agent_home.store.transcript import Message
from distill.close import close, close_all
from distill.closing_result import Closed
from distill.projects import projects_by_turn
from distill.review.queue import accept, find, waiting
from tests.doomed import ForkServer
from tests.sharing import FORMS, IMPROVEMENT, ORION, agree, put, run_git

IN_GIT = tuple(form for form in FORMS if form != "link")


def talk(home: Home, session: str, now: datetime, *further: str) -> None:
    """Import a session about orion with one lesson."""
    said = (
        ("user", f"Let us go on with {ORION} today."),
        ("assistant", f"I read {ORION}/PRODUCT.md."),
        ("assistant", f"Lesson: measure {session} before caching it."),
        *(("user", text) for text in further),
    )
    messages = [
        Message(session=session, id=f"m{n}", ts=f"2026-11-20T10:{n:02d}:00", role=role, content=content)
        for n, (role, content) in enumerate(said, 1)
    ]
    transcript.append(home, session, messages, actor="import", now=now)


def lesson(session: str) -> str:
    return f"- 2026-11-20: measure {session} before caching it. ({session}#m3)"


@pytest.fixture
def closed(home: Home, now: datetime) -> Callable[..., Closed]:
    """Return a function that imports a session about orion and closes it."""

    def say(session: str, *further: str) -> Closed:
        talk(home, session, now, *further)
        return close(home, session, now=now)

    return say


def assert_clean(home: Home) -> None:
    """Assert that neither the home nor the project is left with something uncommitted."""
    changed = run_git(home.root, "status", "--porcelain").splitlines()
    assert [line for line in changed if not line.startswith("?? Projects")] == []
    assert problems(home) == []
    assert sharing_problems(home) == []
    assert not waiting_texts(home)


@pytest.mark.parametrize("form", FORMS)
def test_a_closing_writes_into_the_shared_project_and_into_the_home(
    home: Home, closed: Callable[..., Closed], tmp_path: Path, form: str
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    for session in ("s-1", "s-2"):
        done = closed(session)
        assert (done.projects, done.degraded) == ((IMPROVEMENT,), ())
        assert done.commit
        assert run_git(home.root, "show", f"{done.commit}:{done.daily}").count(f"Session: `{session}`") == 1
    text = (project / "IMPROVEMENT.md").read_text()
    assert text == f"# orion: what worked and what failed\n\n## Lessons\n\n{lesson('s-1')}\n{lesson('s-2')}\n"
    assert_clean(home)
    if form != "link":
        assert run_git(project, "show", "HEAD:IMPROVEMENT.md") == text.strip()
        assert run_git(project, "rev-list", "--count", "HEAD") == "3"
        assert run_git(project, "status", "--porcelain") == ""


def test_the_home_names_the_new_commit_of_a_submodule(
    home: Home, closed: Callable[..., Closed], tmp_path: Path
) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    closed("s-1")
    assert run_git(home.root, "rev-parse", f"HEAD:{ORION}") == run_git(project, "rev-parse", "HEAD")
    assert run_git(home.root, "status", "--porcelain") == ""


def test_the_commit_in_a_shared_repository_says_nothing_of_the_session(
    home: Home, closed: Callable[..., Closed], tmp_path: Path
) -> None:
    project = put(home, "clone", tmp_path / "elsewhere")
    closed("s-1")
    assert run_git(project, "log", "-1", "--format=%B").splitlines() == [
        f"Update {IMPROVEMENT}", "", "Agent: Test", "Actor: close",
    ]  # fmt: skip


@pytest.mark.parametrize("form", IN_GIT)
def test_hooks_and_filters_of_a_shared_repository_never_run(
    home: Home, closed: Callable[..., Closed], tmp_path: Path, form: str
) -> None:
    project, mark = put(home, form, tmp_path / "elsewhere"), tmp_path / "ran"
    folder = Path(run_git(project, "rev-parse", "--absolute-git-dir"))
    (folder / "hooks").mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        (folder / "hooks" / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (folder / "hooks" / name).chmod(0o755)
    run_git(project, "config", "core.fsmonitor", f"touch {mark}")
    closed("s-1")
    assert not mark.exists()
    assert lesson("s-1") in (project / "IMPROVEMENT.md").read_text()


def detach(project: Path) -> None:
    run_git(project, "checkout", "-q", "--detach")


def merge_halfway(project: Path) -> None:
    Path(run_git(project, "rev-parse", "--absolute-git-dir"), "MERGE_HEAD").write_text("0" * 40 + "\n")


def lock_index(project: Path) -> None:
    Path(run_git(project, "rev-parse", "--absolute-git-dir"), "index.lock").touch()


def leave_open(project: Path) -> None:
    """Commit notes with a code block that is never closed."""
    (project / "IMPROVEMENT.md").write_text("# Notes\n\n```\nnever closed\n")
    commit_all(project)


def leave_conflict(project: Path) -> None:
    (project / "IMPROVEMENT.md").write_text("# Notes\n\n<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n")
    commit_all(project)


def commit_all(project: Path) -> None:
    run_git(project, "add", ".")
    run_git(project, "commit", "-q", "-m", "By others")


def edit(project: Path) -> None:
    (project / "IMPROVEMENT.md").write_text("# Mine\n")


def damage(project: Path) -> None:
    Path(run_git(project, "rev-parse", "--absolute-git-dir"), "HEAD").write_text("nonsense\n")


def filter_all(project: Path) -> None:
    (project / ".gitattributes").write_text("*.md filter=evil\n")
    run_git(project, "config", "filter.evil.clean", "touch /tmp/never")


def restored(project: Path, state: Callable[[Path], None]) -> None:
    """Undo *state*."""
    folder = project / ".git"
    if folder.is_file():
        folder = (project / folder.read_text().removeprefix("gitdir: ").strip()).resolve()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("MERGE_HEAD", "index.lock"):
        (folder / name).unlink(missing_ok=True)
    if state in (leave_open, leave_conflict):
        (project / "IMPROVEMENT.md").write_text("# Notes\n")
        commit_all(project)
    if state in (edit, filter_all):
        (project / "IMPROVEMENT.md").unlink(missing_ok=True)
        (project / ".gitattributes").unlink(missing_ok=True)
        if state is filter_all:
            run_git(project, "config", "--remove-section", "filter.evil")


@pytest.mark.parametrize("form", IN_GIT)
@pytest.mark.parametrize(
    "state", [detach, merge_halfway, lock_index, edit, damage, filter_all, leave_open, leave_conflict]
)
def test_no_state_of_a_shared_repository_keeps_a_session_from_closing(
    home: Home, closed: Callable[..., Closed], tmp_path: Path, form: str, state: Callable[[Path], None]
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    tracked = project / "TRACKED.md"
    tracked.write_text("tracked\n")
    run_git(project, "add", ".")
    run_git(project, "commit", "-q", "-m", "Track")
    state(project)
    done = closed("s-1")
    assert done.commit
    assert done.entries
    assert len(done.degraded) == 1
    assert ORION in done.degraded[0] or str(project) in done.degraded[0]
    assert [one.wanted.path for one in waiting_texts(home)] == [IMPROVEMENT]
    assert any(problem.rule == "shared-folder" for problem in sharing_problems(home))
    restored(project, state)
    again = closed("s-2")
    assert again.degraded == ()
    text = (project / "IMPROVEMENT.md").read_text()
    assert lesson("s-1") in text
    assert lesson("s-2") in text
    assert run_git(project, "show", "HEAD:IMPROVEMENT.md") == text.strip()
    assert not waiting_texts(home)


def test_a_submodule_that_is_not_checked_out_is_named_and_blocks_nothing(
    home: Home, now: datetime, tmp_path: Path
) -> None:
    put(home, "submodule", tmp_path / "elsewhere")
    root = tmp_path / "clone"
    run_git(home.root, "clone", "-q", str(home.root), str(root))
    clone = Home(root)
    talk(clone, "s-1", now)
    done = close(clone, "s-1", now=now)
    assert done.commit
    assert "submodule update --init" in done.degraded[0]
    (problem, *_) = sharing_problems(clone)
    assert f"git -C {root} submodule update --init {ORION}" in problem.message
    run_git(root, "submodule", "update", "-q", "--init", ORION)
    assert any("switch BRANCH" in problem.message for problem in sharing_problems(clone))
    run_git(root / ORION, "switch", "-q", "main")
    talk(clone, "s-2", now)
    assert close(clone, "s-2", now=now).degraded == ()
    assert lesson("s-1") in (root / IMPROVEMENT).read_text()


def test_a_text_that_waits_is_written_without_another_session(
    home: Home, now: datetime, closed: Callable[..., Closed], tmp_path: Path
) -> None:
    project = put(home, "clone", tmp_path / "elsewhere")
    detach(project)
    closed("s-1")
    run_git(project, "switch", "-q", "main")
    assert close_all(home, now=now).closed == ()
    assert lesson("s-1") in run_git(project, "show", "HEAD:IMPROVEMENT.md")
    assert_clean(home)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.write_bytes(b"\xff\n"), Path.mkdir])
def test_a_file_of_others_that_cannot_be_read_blocks_nothing(
    home: Home, closed: Callable[..., Closed], tmp_path: Path, form: str, make: Callable[[Path], None]
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    file = project / "IMPROVEMENT.md"
    make(file)
    done = closed("s-1")
    assert done.commit
    assert done.degraded
    if file.is_dir():
        file.rmdir()
    else:
        file.unlink()
    assert closed("s-2").degraded == ()
    assert lesson("s-1") in file.read_text()
    assert lesson("s-2") in file.read_text()


def test_a_folder_that_cannot_be_written_blocks_nothing(
    home: Home, closed: Callable[..., Closed], tmp_path: Path
) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    (project / ".agent-home.lock").mkdir()  # stands for any refusal of the file system, which root would not get
    done = closed("s-1")
    assert done.commit
    assert done.degraded
    (project / ".agent-home.lock").rmdir()
    closed("s-2")
    assert lesson("s-1") in (project / "IMPROVEMENT.md").read_text()


@pytest.mark.parametrize("form", ["link", "link to a clone"])
def test_texts_wait_for_a_link_whose_folder_is_gone(
    home: Home, now: datetime, closed: Callable[..., Closed], tmp_path: Path, form: str
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    closed("s-0")
    project.rename(tmp_path / "away")
    for session in ("s-1", "s-2"):
        done = closed(session)
        assert (bool(done.commit), done.projects) == (True, (IMPROVEMENT,))
        assert done.degraded == (f"{ORION}: its folder {project} is not there. Bring it back",)
    gone, *texts = sharing_problems(home)
    assert "no folder on this machine" in gone.message
    assert [problem.file for problem in texts] == [IMPROVEMENT]
    (tmp_path / "away").rename(project)
    assert close_all(home, now=now).closed == ()
    text = (project / "IMPROVEMENT.md").read_text()
    rows = "\n".join(lesson(f"s-{number}") for number in range(3))
    assert text == f"# orion: what worked and what failed\n\n## Lessons\n\n{rows}\n"
    assert_clean(home)


def test_texts_for_a_link_that_was_removed_wait_for_a_person(
    home: Home, now: datetime, closed: Callable[..., Closed], tmp_path: Path
) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    project.rename(tmp_path / "away")
    closed("s-1")
    (home.root / ORION).unlink()
    close_all(home, now=now)
    assert not waiting_texts(home)
    (kept,) = set_aside.waiting(home)
    assert lesson("s-1") in kept.text


def test_nothing_waits_for_an_absent_link_that_leads_elsewhere_now(
    home: Home, closed: Callable[..., Closed], tmp_path: Path
) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    project.rename(tmp_path / "away")
    (home.root / ORION).unlink()
    (home.root / ORION).symlink_to(tmp_path / "nowhere")
    assert closed("s-1").projects == ()
    assert not waiting_texts(home)


@pytest.mark.parametrize("form", ["link", "link to a clone"])
def test_a_link_that_nobody_agreed_to_is_not_followed(
    home: Home, closed: Callable[..., Closed], tmp_path: Path, form: str
) -> None:
    project = put(home, form, tmp_path / "elsewhere", agreed=False)
    done = closed("s-1")
    assert done.commit
    assert done.projects == ()
    assert not (project / "IMPROVEMENT.md").exists()
    (problem,) = sharing_problems(home)
    assert (problem.file, problem.rule) == (ORION, "link-not-agreed")
    assert f"memory share add {ORION}" in problem.message
    agree(home)
    assert closed("s-2").projects == (IMPROVEMENT,)


def test_all_projects_can_be_shared_by_one_link(home: Home, closed: Callable[..., Closed], tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "orion").mkdir(parents=True)
    (shared / "orion" / "PRODUCT.md").write_text("# orion\n")
    (home.root / "Projects").rmdir()
    (home.root / "Projects").symlink_to(shared)
    assert closed("s-1").commit
    agree(home, "Projects")
    assert closed("s-2").projects == (IMPROVEMENT,)
    assert lesson("s-2") in (shared / "orion" / "IMPROVEMENT.md").read_text()


@pytest.mark.parametrize("form", ["submodule", "clone"])
def test_all_projects_can_be_one_repository(
    home: Home, closed: Callable[..., Closed], tmp_path: Path, form: str
) -> None:
    team = tmp_path / "team"
    (team / "orion").mkdir(parents=True)
    (team / "orion" / "PRODUCT.md").write_text("# orion\n")
    run_git(team, "init", "-q", "-b", "main")
    run_git(team, "add", ".")
    run_git(team, "commit", "-q", "-m", "Start")
    (home.root / "Projects").rmdir()
    if form == "submodule":
        run_git(home.root, "submodule", "add", "-q", str(team), "Projects")
        run_git(home.root, "commit", "-q", "--no-verify", "-m", "Share projects")
    else:
        run_git(home.root, "clone", "-q", str(team), "Projects")
    assert closed("s-1").degraded == ()
    assert lesson("s-1") in run_git(home.root / "Projects", "show", "HEAD:orion/IMPROVEMENT.md")
    assert run_git(home.root / "Projects", "status", "--porcelain") == ""
    assert run_git(home.root, "status", "--porcelain") == ("" if form == "submodule" else "?? Projects/")
    assert sharing_problems(home) == []


@pytest.mark.parametrize("form", FORMS)
def test_an_accepted_proposal_is_written_into_the_shared_project(
    home: Home, now: datetime, closed: Callable[..., Closed], tmp_path: Path, form: str
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    closed("s-1", "We decided to use SQLite for the index.")
    (proposal,) = [one for one in waiting(home, now) if one.id.startswith("PT")]
    accept(home, find(home, proposal.id, now), person="Ada", now=now)
    assert "SQLite for the index" in (project / "TECH.md").read_text()
    assert_clean(home)


def test_others_cannot_claim_sessions_by_naming_a_repository(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    private = tmp_path / "private"
    run_git(tmp_path, "init", "-q", str(private))
    (project / "PROJECT.md").write_text(f"# orion\n\nRepository: {private}\n")
    message = Message(session="s", id="m1", role="user", content="Hello", cwd=str(private))
    assert projects_by_turn(home, [transcript.Turn(message=message, start=0, end=1)]) == {}


TWO_HOMES = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from agent_home.home import Home
from distill.close import close_all

home = Home(Path(sys.argv[1]))
for problem in close_all(home, now=datetime(2026, 11, 21, tzinfo=UTC)).closed:
    print(*problem.degraded)
"""


@pytest.mark.parametrize("form", ["link", "link to a clone"])
def test_two_agents_lose_nothing_when_they_close_at_the_same_time(
    home: Home, now: datetime, tmp_path: Path, forks: ForkServer, form: str
) -> None:
    run_git(tmp_path, "clone", "-q", str(home.root), str(tmp_path / "second"))
    homes = (home, Home(tmp_path / "second"))
    for number, one in enumerate(homes):
        (one.root / "Projects").mkdir(exist_ok=True)
        project = put(one, form, tmp_path / "elsewhere")
        for session in range(4):
            talk(one, f"s-{number}{session}", now)
    agents = [forks.start(TWO_HOMES, str(one.root)) for one in homes]
    outputs = [agent.communicate() for agent in agents]
    assert [agent.wait() for agent in agents] == [0, 0], outputs
    for one in homes:
        close_all(one, now=now)  # what had to wait for the other one
        assert not waiting_texts(one)
    text = (project / "IMPROVEMENT.md").read_text()
    wanted = {lesson(f"s-{number}{session}") for number in range(2) for session in range(4)}
    assert {line for line in text.splitlines() if line.startswith("- ")} == wanted
    assert text.count("## Lessons") == 1
    if form != "link":
        assert run_git(project, "show", "HEAD:IMPROVEMENT.md") == text.strip()
        assert run_git(project, "rev-list", "--count", "HEAD") == "9"
        assert run_git(project, "status", "--porcelain") == ""
    assert os.listdir(project).count(".agent-home.lock") == (form == "link")  # noqa: PTH208
