"""Git runs in a clean environment: no program of a repository starts, and no command runs or prints without limit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.errors import GitFailed, GitMissing, GitTimeout, NoRepository
from agent_home.git import client
from agent_home.git.client import GitClient, home_client, hook_client, untrusted_client
from agent_home.git.isolation import git_folders

#: Runs git in a folder, as a person would, and returns its output.
PlainGit = Callable[..., str]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> PlainGit:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.com")

    def run(root: Path, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(["git", *arguments], cwd=root, check=check, capture_output=True, text=True)
        return done.stdout.strip()

    return run


@pytest.fixture
def repository(tmp_path: Path, plain: PlainGit) -> Path:
    """A repository with two versions of ``app.py``."""
    root = tmp_path / "work"
    root.mkdir()
    plain(root, "init", "--quiet", "--initial-branch=main")
    for text in ("x = 1\n", "x = 2\n"):
        (root / "app.py").write_text(text)
        plain(root, "add", ".")
        plain(root, "commit", "--quiet", "-m", f"Write {text.strip()}")
    return root


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """The file that a program of the repository makes when it runs."""
    return tmp_path / "canary"


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def is_running(number: int) -> bool:
    """Return whether the process *number* runs. One that ended and waits for its parent does not."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False)
    return bool(done.stdout.strip()) and not done.stdout.strip().startswith("Z")


def read_everything(git: GitClient) -> None:
    """Run every reading command that could start a program."""
    for arguments in (
        ("status", "--porcelain"), ("log", "--all", "-p"), ("log", "-m", "-p"), ("log", "--all", "-m", "--name-status"),
        ("log", "--all", "--pickaxe-regex", "-Sx"), ("show", "-m", "--first-parent", "HEAD"), ("show", "HEAD:app.py"),
        ("diff", "HEAD"), ("diff", "HEAD~1", "HEAD"), ("diff-index", "-p", "HEAD"), ("diff-tree", "-p", "HEAD"),
        ("grep", "--untracked", "x"), ("ls-files",), ("log", "--show-signature", "-1"),
    ):  # fmt: skip
        git.query(*arguments, empty_on=(1,))


@pytest.mark.parametrize("make_client", [home_client, untrusted_client, hook_client])
def test_programs_named_in_the_configuration_do_not_run(
    repository: Path, canary: Path, plain: PlainGit, make_client: Callable[[Path], GitClient]
) -> None:
    trap = script(canary.parent / "trap", f"touch {canary}; cat")
    keys = ["core.fsmonitor", "diff.external", "core.pager", "pager.log", "core.sshCommand", "core.editor",
            "diff.evil.textconv", "diff.evil.command", "alias.log", "credential.helper"]  # fmt: skip
    for key in keys:
        plain(repository, "config", key, str(trap))
    plain(repository, "config", "color.ui", "always")
    (repository / ".gitattributes").write_text("* diff=evil\n")
    script(repository / ".git/hooks/post-index-change", f"touch {canary}")
    (repository / "app.py").write_text("x = 3\n")
    plain(repository, "diff", "HEAD")
    assert canary.exists()  # git itself runs them
    canary.unlink()
    read_everything(make_client(repository))
    assert not canary.exists()


def test_a_merge_commit_is_shown_without_running_merge_drivers(repository: Path, canary: Path, plain: PlainGit) -> None:
    plain(repository, "checkout", "--quiet", "-b", "side", "HEAD~1")
    (repository / "app.py").write_text("x = 3\n")
    plain(repository, "commit", "--quiet", "-a", "-m", "Side")
    plain(repository, "checkout", "--quiet", "main")
    plain(repository, "merge", "--quiet", "side", check=False)
    (repository / "app.py").write_text("x = 5\n")
    (repository / ".gitattributes").write_text("* merge=evil\n")
    plain(repository, "add", ".")
    plain(repository, "commit", "--quiet", "-m", "Merge by hand")
    plain(repository, "config", "log.diffMerges", "remerge")
    plain(repository, "config", "merge.evil.driver", str(script(canary.parent / "driver", f"touch {canary}")))
    plain(repository, "show", "-m", "HEAD")
    assert canary.exists()
    canary.unlink()
    read_everything(untrusted_client(repository))
    assert not canary.exists()


def test_a_submodule_is_shown_without_its_own_configuration(repository: Path, canary: Path, plain: PlainGit) -> None:
    inner = repository / "inner"
    inner.mkdir()
    plain(inner, "init", "--quiet", "--initial-branch=main")
    for text in ("y = 1\n", "y = 2\n"):
        (inner / "lib.py").write_text(text)
        plain(inner, "add", ".")
        plain(inner, "commit", "--quiet", "-m", "Write y")
        (repository / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n')
        plain(repository, "add", "inner", ".gitmodules")
        plain(repository, "commit", "--quiet", "-m", "Move inner")
    trap = script(canary.parent / "trap", f"touch {canary}; cat")
    for key in ("diff.external", "core.fsmonitor"):
        plain(inner, "config", key, str(trap))
    plain(repository, "config", "diff.submodule", "diff")
    plain(repository, "config", "submodule.recurse", "true")
    (inner / "lib.py").write_text("y = 3\n")
    for command in (("show", "-p", "HEAD"), ("status", "--porcelain")):
        plain(repository, *command)
        assert canary.exists()
        canary.unlink()
    read_everything(untrusted_client(repository))
    assert not canary.exists()


def test_a_missing_object_is_not_fetched(repository: Path, canary: Path, plain: PlainGit) -> None:
    blob = plain(repository, "rev-parse", "HEAD~1:app.py")
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    upload = script(canary.parent / "upload", f"touch {canary}; exit 1")
    for key, value in (
        ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"), ("protocol.file.allow", "always"),
        ("remote.origin.promisor", "true"), ("remote.origin.uploadpack", str(upload)),
        ("remote.origin.url", str(repository)),
    ):  # fmt: skip
        plain(repository, "config", key, value)
    plain(repository, "cat-file", "-p", blob, check=False)
    assert canary.exists()
    canary.unlink()
    with pytest.raises(GitFailed):
        untrusted_client(repository).query("cat-file", "-p", blob)
    with pytest.raises(GitFailed):
        untrusted_client(repository).query("show", "HEAD")
    assert not canary.exists()


def test_variables_of_the_environment_do_not_lead_to_another_repository(
    repository: Path, tmp_path: Path, plain: PlainGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = plain(repository, "rev-parse", "HEAD")
    other = tmp_path / "other"
    other.mkdir()
    plain(other, "init", "--quiet")
    for name, value in (
        ("GIT_DIR", other / ".git"), ("GIT_WORK_TREE", other), ("GIT_INDEX_FILE", other / "index"),
        ("GIT_OBJECT_DIRECTORY", other / ".git/objects"), ("GIT_COMMON_DIR", other / ".git"), ("GIT_NAMESPACE", "x"),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", other), ("GIT_CEILING_DIRECTORIES", repository), ("GIT_PREFIX", "x/"),
        ("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.bare"), ("GIT_CONFIG_VALUE_0", "true"),
        ("GIT_EXTERNAL_DIFF", tmp_path / "none"), ("GIT_TRACE", "1"), ("GIT_LITERAL_PATHSPECS", "nonsense"),
    ):  # fmt: skip
        monkeypatch.setenv(name, str(value))
    for git in (home_client(repository), untrusted_client(repository, with_files=True)):
        assert git.text("rev-parse", "HEAD").strip() == head
        assert git.text("diff", "--name-only", "HEAD") == git.text("status", "--porcelain") == ""
        assert git.git_folder() == repository / ".git"


def test_a_hook_reads_the_staging_area_of_the_commit_under_way(
    repository: Path, tmp_path: Path, plain: PlainGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    plain(repository, "read-tree", "HEAD~1")
    changed = ("diff-index", "--cached", "--name-only", "HEAD")
    assert hook_client(repository).text(*changed) == "app.py\n"
    assert home_client(repository).text(*changed) == ""


def test_a_folder_inside_a_repository_is_no_repository(repository: Path) -> None:
    inner = repository / "inner"
    inner.mkdir()
    for use in (lambda: home_client(inner).query("status"), lambda: git_folders(inner)):
        with pytest.raises(NoRepository, match="is not a git repository"):
            use()
    with pytest.raises(NoRepository):
        home_client(inner / "absent").query("status")


def test_a_failing_command_reports_its_name_exit_code_and_reason(repository: Path) -> None:
    with pytest.raises(GitFailed) as caught:
        home_client(repository).query("cat-file", "-p", "nothing")
    assert (caught.value.command, caught.value.exit_code) == ("cat-file", 128)
    assert caught.value.reason == "fatal: Not a valid object name nothing"
    assert home_client(repository).query("cat-file", "-p", "nothing", empty_on=(128,)) == b""


def test_a_command_that_hangs_is_ended(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin/git", f"echo $$ > {tmp_path}/pid; exec sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    began = time.monotonic()
    with pytest.raises(GitTimeout, match=r"git log did not end within 0\.5 s"):
        home_client(repository).query("log", timeout_s=0.5)
    assert time.monotonic() - began < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_long_output_is_cut_or_refused(repository: Path) -> None:
    git = GitClient(root=repository, environment=home_client(repository).environment, max_bytes=100)
    assert len(git.query("log", "-p", truncate_at=50)) == 50
    with pytest.raises(GitFailed, match="git log failed: it printed more than 100 bytes"):
        git.query("log", "-p")
    assert len(git.query("rev-parse", "HEAD")) == 41


def test_objects_come_in_order_and_a_missing_one_is_none(repository: Path, plain: PlainGit) -> None:
    (repository / "two words").write_text("")
    plain(repository, "add", ".")
    plain(repository, "commit", "--quiet", "-m", "Add an empty file")
    names = ["HEAD:app.py", "HEAD:two words", "HEAD:not there", "HEAD:not blob 12", "x\nHEAD:app.py", "", "HEAD^{tree}"]
    found = list(home_client(repository).objects(names))
    assert [item and item.kind for item in found] == ["blob", "blob", None, None, None, None, "tree"]
    assert [item.data for item in found[:2] if item] == [b"x = 2\n", b""]
    assert list(home_client(repository).objects([])) == []


def test_an_object_over_the_limit_is_refused(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_OBJECT_BYTES", 5)
    with pytest.raises(GitFailed, match="has 6 bytes, more than the 5 allowed"):
        list(home_client(repository).objects(["HEAD:app.py"]))


def test_a_git_of_the_repository_is_never_run(repository: Path, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(repository / "git", f"touch {canary}")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    home_client(repository).query("status")
    assert not canary.exists()
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(GitMissing, match="git was not found"):
        home_client(repository).query("status")


def test_the_environment_may_say_who_commits_but_name_no_program(
    repository: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [("user.name", "Grace"), ("core.fsmonitor", f"touch {canary}"), ("safe.directory", "*")]
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (key, value) in enumerate(settings):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    git = home_client(repository)
    assert git.setting("user.name") == "Grace"
    assert git.setting("core.fsmonitor") == ""
    git.query("status")
    assert not canary.exists()


def test_a_timeout_ends_the_programs_that_git_started(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child"
    slow = script(tmp_path / "bin" / "git", f"sleep 300 &\necho $! > {child}\nwait")
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(GitTimeout):
        untrusted_client(repository).query("log", timeout_s=1.0)
    number, deadline = int(child.read_text()), time.monotonic() + 10
    while is_running(number) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(number)


def test_a_damaged_configuration_names_no_folder_of_hooks(repository: Path) -> None:
    with (repository / ".git" / "config").open("a") as file:
        file.write("[core\n")
    with pytest.raises(GitFailed):
        home_client(repository).hooks_folder()


def test_a_git_without_memory_has_not_looked_for_anything(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = untrusted_client(repository)
    assert git.query("grep", "-l", "nothing", "HEAD", empty_on=(1, 128)) == b""
    starved = script(tmp_path / "bin" / "git", "echo 'fatal: Out of memory, malloc failed' >&2; exit 128")
    monkeypatch.setenv("PATH", f"{starved.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(GitFailed, match="Out of memory"):
        untrusted_client(repository).query("grep", "-l", "nothing", "HEAD", empty_on=(1, 128))


def test_a_forked_process_leaves_the_stand_ins_of_its_parent_alone(repository: Path) -> None:
    script = f"""
import os, sys
from pathlib import Path
from agent_home.git.client import home_client
from agent_home.git.isolation import git_folders, stand_in
git = home_client(Path({str(repository)!r}))
git.query("rev-parse", "HEAD")
made = stand_in(git_folders(git.root), lambda text: b"", writable=True)
child = os.fork()
if child == 0:
    git.query("rev-parse", "HEAD")
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert made.folder.is_dir(), "the child removed it"
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_git_that_answers_nothing_is_a_clear_error(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text("#!/bin/sh\nexit 0\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(GitFailed, match="did not answer"):
        list(home_client(repository).objects(["HEAD"]))
