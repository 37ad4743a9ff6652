"""No git command of the program runs anything that a repository names, and the documentation lists every command."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_home.errors import GitFailed
from agent_home.git.client import GitClient, home_client, hook_client, untrusted_client
from agent_home.git.commands import COMMANDS
from agent_home.git.fetching import fetch_branch
from agent_home.lease.remote import RefMove, make_outbox, push, remote_refs
from tests.source_tree import installed

from .traps import PROGRAMS, SWITCHES, Trapped, plain

_KNOWN_INERT = re.compile(
    r"advice\..*|color\.pager|column\.clean|core\.(?:hooksPath|quotePath)|credential\.useHttpPath|.*\.cachetextconv"
    r"|fsck\..*|receive\.fsck\..*|gitcvs\.dbDriver|help\..*|http\..*|include(?:If\.<condition>)?\.path"
    r"|instaweb\.modulePath|remote\.<name>\.(?:partialclonefilter|proxy)|sendemail\.smtpsslcertpath"
    r"|uploadpack\.allowFilter|.*[Aa]llow.*|bundle\..*|safe\..*|transfer\..*|trace2\..*|core\.(?:excludes|attributes).*"
)
_NAMES_A_PROGRAM = re.compile(
    r"(?:command|cmd|program|helper|driver|textconv|editor|pager|askpass|clean|smudge|process|hook|fsmonitor|proxy|tunnel"
    r"|uploadpack|receivepack|browser|httpd|smtpserver|path|external|vcs|filter)$",
    re.IGNORECASE,
)
LIST = "agent_home.git.commands"
#: Programs that git itself runs in the trapped repository, so that a test that finds none could fail.
FIRE = {
    "worktree fsmonitor", "inner core.fsmonitor", "inner diff.external", "included textconv", "diff.trap.command",
    "filter.trap.clean", "filter.trap.smudge", "filter.served.process", "merge.trap.driver", "gpg.openpgp.program",
    "hook pre-commit", "hook post-index-change", "hook reference-transaction", "core.editor", "alias", "remote ext",
    "credential.helper", "core.askPass", "trailer.trap.cmd", "tar.trap.command",
}  # fmt: skip
#: Commands of a person, with what they read.
PLAIN = (
    ("status", ""), ("diff HEAD -- app.py", ""), ("log -p -- inner", ""), ("show -m merged", ""),
    ("log -p -4", ""), ("add --all", ""),
    ("commit --allow-empty -m x", ""), ("commit --allow-empty --amend", ""), ("stash", ""),
    ("fetch origin", ""), ("trapped", ""),
    ("credential fill", "protocol=https\nhost=example.com\n\n"), ("archive --format=trap HEAD", ""),
    ("interpret-trailers", "a\n\nSession: x\n"), ("update-ref refs/heads/z HEAD", ""),
)  # fmt: skip
#: An example of each command, and the exit codes besides 0 that are right. They run in this order.
EXAMPLES: dict[str, tuple[tuple[str, ...], ...]] = {
    "cat-file": (("--batch-check", "--batch-all-objects"), ("-p", "HEAD:app.py")),
    "check-attr": (("-z", "filter", "text", "--", "app.py", "a.trapped"),),
    "count-objects": (("-v",),),
    "diff": (("HEAD",), ("--cached", "--name-only", "-z"), ("HEAD~1", "HEAD"), ("--name-only", "HEAD")),
    "diff-index": (("--name-only", "-z", "HEAD"), ("-p", "HEAD"), ("--cached", "--raw", "HEAD")),
    "diff-tree": (("-r", "-M", "-p", "merged", "HEAD"), ("-r", "-m", "-p", "merged")),
    "for-each-ref": (("--contains=HEAD",), ("--format=%(objectname) %(contents) %(trailers)",)),
    "fsck": (("--full", "--no-dangling", "--no-progress"),),
    "grep": (("-l", "-w", "-e", "keep_sum", "HEAD"), ("-l", "-w", "-e", "keep_sum", "--untracked")),
    "log": (("--all", "-p"), ("-m", "-p"), ("-1", "--show-signature"), ("--all", "-Skeep_sum"),
            ("--format=%(trailers:key=Session)%G?",), ("--all", "--reflog", "--raw", "-m")),
    "ls-files": (("-z",), ("--others", "--exclude-standard", "-z")),
    "ls-tree": (("-r", "-z", "HEAD"),),
    "merge-base": (("HEAD", "merged"),),
    "pack-objects": (("--stdout", "--revs", "-q"),),
    "remote -v": ((),),
    "rev-list": (("--all",), ("--objects", "--quiet", "HEAD")),
    "rev-parse --git-path hooks": ((),),
    "rev-parse": (("HEAD^{tree}",), ("--is-shallow-repository",)),
    "show": (("-p", "HEAD"), ("-m", "-p", "merged"), ("HEAD:app.py",), ("-s", "--format=%G? %GS", "HEAD")),
    "status": (("--porcelain", "-z", "--untracked-files=all"), ("--porcelain", "--untracked-files=no")),
    "var": (("GIT_COMMITTER_IDENT",),),
    "worktree list": (("--porcelain",),),
    "config --get": (("core.fsmonitor",),),
    "config --local --get": (("core.hooksPath",),),
    "config --local --replace-all": (("merge.agent-home.name", "memory"),),
    "merge-file": (("-p", "-q", "--", "one", "base", "two"),),
    "hash-object": (("-w", "--no-filters", "--", "a.trapped"),),
    "add": (("--all", "--force", "--", "app.py", "a.trapped", "b.served"),),
    "commit": (("--quiet", "--no-verify", "--only", "-F", "-", "--", "app.py"),),
    "fast-import": (("--quiet", "--force", "--done"),),
    "index-pack": (("--stdin",),),
    "update-index": (("--add", "--refresh"),),
    "read-tree": (("HEAD",),),
    "stash store": (("-m", "kept", "HEAD"),),
    "symbolic-ref --delete": (("refs/remotes/origin/HEAD",),),
    "branch -D": (("--quiet", "--", "proposal"),),
    "update-ref": (("refs/heads/moved", "HEAD"), ("-d", "refs/heads/moved")),
    "reflog expire": (("--stale-fix", "--expire=never", "HEAD"),),
    "repack": (("-a", "-d", "-q"), ("-d", "-l", "-q")),
    "prune": (("--expire=now",),),
    "prune-packed": (("-q",),),
    "init": (("--quiet",),),
    "fetch": (("main",),),
    "ls-remote": (("refs/heads/main",),),
    "push": (("refs/agent-home/state",),),
}  # fmt: skip
INPUT = {
    "pack-objects": b"HEAD\n",
    "commit": b"A commit\n",
    "fast-import": b"commit refs/heads/proposal\ncommitter A <a@b> 0 +0000\ndata 1\nx\nM 644 inline x\ndata 1\ny\n"
    b"done\n",
}
#: Commands that report by their exit code.
CODES = {"update-index": 1, "merge-file": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trapped:
    folder = tmp_path_factory.mktemp("traps")
    trapped = Trapped(folder / "work", folder / "traps")
    trapped.build()
    return trapped


@pytest.fixture
def trapped(made: Trapped, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trapped]:
    """The repository with edited files, so that git has to compare and to convert them."""
    for name in ("app.py", "a.trapped", "b.served", "MEMORY.md"):
        with (made.root / name).open("a") as file:
            file.write("more\n")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.com")
    made.ran()
    yield made
    made.ran()


def run(git: GitClient, words: str, arguments: tuple[str, ...]) -> None:
    """Run an example, which git may refuse with the exit code of ``CODES``, as long as it starts nothing."""
    if words in CODES:
        with pytest.raises(GitFailed) as refused:
            git.change(*words.split(), *arguments)
        assert refused.value.exit_code == CODES[words]
    else:
        git.change(*words.split(), *arguments, stdin=INPUT.get(words, b""))


def exchange(root: Path, folder: Path, words: str, ref: str) -> None:
    """Read the refs of the repository *root*, or push its commit to another one, from a repository with its objects."""
    own, other = folder / "own", folder / "other.git"
    make_outbox(own, "sha1", f"{root}/.git/objects")
    if words == "ls-remote":
        assert remote_refs(own, str(root), [ref])
        return
    subprocess.run(["git", "init", "--quiet", "--bare", str(other)], check=True)
    push(own, str(other), [RefMove(ref=ref, old="", new=home_client(root).text("rev-parse", "HEAD").strip())])


def test_every_listed_command_has_an_example() -> None:
    assert {command.words for command in COMMANDS} == set(EXAMPLES)


def test_no_command_runs_a_program_of_a_home(trapped: Trapped, tmp_path: Path) -> None:
    git = home_client(trapped.root)
    (trapped.root / ".git/refs/remotes/origin").mkdir(parents=True, exist_ok=True)
    (trapped.root / ".git/refs/remotes/origin/HEAD").write_text("ref: refs/heads/main\n")
    for name, text in (("one", "1\n"), ("base", "2\n"), ("two", "3\n")):
        (trapped.root / name).write_text(text)
    with (tmp_path / "pack").open("wb") as pack:
        command = ["git", "pack-objects", "--stdout", "-q", "--revs"]
        subprocess.run(
            command, cwd=trapped.root, input=b"HEAD\n", stdout=pack, check=True, env={"PATH": "/usr/bin:/bin"}
        )
    trapped.ran()
    ran = {}
    for words, examples in EXAMPLES.items():
        for arguments in examples:
            place = home_client(tmp_path) if words == "init" else git
            if words == "index-pack":
                with (tmp_path / "pack").open("rb") as pack:
                    place.change(*words.split(), *arguments, stdin=pack)
            elif words == "fetch":
                fetch_branch(trapped.root, str(trapped.root), arguments[0], [])
            elif words in {"ls-remote", "push"}:
                exchange(trapped.root, tmp_path, words, arguments[0])
            else:
                run(place, words, arguments)
            if found := trapped.ran():
                ran[words, arguments] = found
    assert ran == {}


@pytest.mark.parametrize("kind", ["session", "session with files", "commit hook"])
def test_no_command_runs_a_program_of_a_session_or_a_commit(trapped: Trapped, kind: str) -> None:
    git = (
        hook_client(trapped.root)
        if kind == "commit hook"
        else untrusted_client(trapped.root, with_files=kind == "session with files")
    )
    where = kind.removesuffix(" with files")
    for command in COMMANDS:
        if where in command.where:
            for arguments in EXAMPLES[command.words]:
                if kind == "session" and "--untracked" in arguments:
                    continue
                git.query(*command.words.split(), *arguments, empty_on=(1,))
                assert trapped.ran() == set(), (command.words, arguments)


def test_verifying_a_signature_runs_no_program_of_the_repository(trapped: Trapped) -> None:
    git = home_client(trapped.root)
    git.signatures([git.text("rev-parse", "main").strip()], "%H%x1f%G?", ssh_signers=trapped.folder / "none")
    assert trapped.ran() == set()


def test_git_itself_runs_the_programs(tmp_path: Path) -> None:
    ran: set[str] = set()
    for turn in range(6):  # a command is refused while one that git started in the background holds a lock
        if ran >= FIRE:
            break
        trapped = Trapped(tmp_path / f"work-{turn}", tmp_path / f"traps-{turn}")
        trapped.build()
        for name in ("app.py", "a.trapped", "b.served"):
            (trapped.root / name).write_text("changed\n")
        for command, stdin in PLAIN:
            for lock in (trapped.root / ".git").glob("*.lock"):
                lock.unlink(missing_ok=True)
            plain(trapped.root, *command.split(), stdin=stdin)
        ran |= trapped.ran()
    assert ran >= FIRE


def test_every_setting_that_names_a_program_is_a_trap() -> None:
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout.split()
    known = {re.sub(r"<[^>]*>", "trap", key).lower() for key in listed if _NAMES_A_PROGRAM.search(key)}
    inert = {re.sub(r"<[^>]*>", "trap", key).lower() for key in listed if _KNOWN_INERT.fullmatch(key)}
    traps = {
        re.sub(r"\.(?:origin|other|served|openpgp)\.", ".trap.", key).lower() for key in (*PROGRAMS, *dict(SWITCHES))
    }
    assert known - inert - traps == set()


def test_replaced_and_grafted_commits_do_not_count(trapped: Trapped) -> None:
    names = home_client(trapped.root).text("rev-list", "--max-count=3", "HEAD").split()
    head, second, first = names
    place = trapped.root / ".git" / "refs" / "replace" / second
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{first}\n")
    try:
        for git in (home_client(trapped.root), untrusted_client(trapped.root)):
            assert git.text("rev-list", "--max-count=3", "HEAD").split() == names
            assert git.text("cat-file", "commit", second) != git.text("cat-file", "commit", first)
        assert len(plain(trapped.root, "rev-list", head, bare=True).split()) < 3  # as the graft says
        shown = [plain(trapped.root, "cat-file", "commit", name, bare=True) for name in (first, second)]
        assert shown[0] == shown[1]
    finally:
        place.unlink()


def test_a_missing_object_is_not_fetched_from_a_trapped_remote(tmp_path: Path) -> None:
    trapped = Trapped(tmp_path / "work", tmp_path / "traps")
    trapped.build()
    lost = trapped.lose("merged:app.py")
    plain(trapped.root, "cat-file", "-p", lost, bare=True)
    assert "remote ext" in trapped.ran()  # git itself fetches
    for git in (home_client(trapped.root), untrusted_client(trapped.root)):
        for words in ("cat-file", "log", "show", "diff-tree", "rev-list", "fsck"):
            for arguments in EXAMPLES[words]:
                git.query(words, *arguments, empty_on=(1, 2, 128))
        git.query("cat-file", "-p", lost, empty_on=(128,))
        assert git.is_partial()
    assert trapped.ran() == set()


def test_objects_of_another_repository_bring_no_configuration(trapped: Trapped, tmp_path: Path) -> None:
    borrower = tmp_path / "borrower"
    plain(tmp_path, "init", "--quiet", str(borrower), check=True)
    (borrower / ".git/objects/info/alternates").write_text(f"{trapped.root}/.git/objects\n")
    head = plain(trapped.root, "rev-parse", "HEAD", bare=True)
    trapped.ran()
    assert untrusted_client(borrower).query("log", "-p", "-m", head)
    assert trapped.ran() == set()


def test_a_linked_work_tree_brings_no_configuration(trapped: Trapped, tmp_path: Path) -> None:
    plain(trapped.root, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(tmp_path / "linked"), bare=True)
    trapped.ran()
    linked = tmp_path / "linked"
    (linked / "app.py").write_text("changed\n")
    for git in (home_client(linked), untrusted_client(linked, with_files=True)):
        git.query("status", "--porcelain")
        git.query("log", "-p", "-m", "-3")
        assert b"app.py" in git.query("diff", "--name-only", "HEAD").splitlines()
    assert trapped.ran() == set()
    plain(trapped.root, "worktree", "remove", "--force", str(linked), bare=True)


def test_an_unlisted_command_is_refused(trapped: Trapped) -> None:
    for arguments in (("gc",), ("fetch", "origin"), ("-c", "core.fsmonitor=x", "submodule", "update"), ("diff-files",)):
        with pytest.raises(ValueError, match="not among the commands"):
            home_client(trapped.root).change(*arguments)


def test_every_listed_command_is_called_somewhere() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path, module in installed() if module != LIST)
    words = {word for command in COMMANDS for word in command.words.split()}
    assert {word for word in words if f'"{word}"' not in texts} == set()
