"""Taking a text out of git: every ref, tag, note and stash, with authors and dates kept and nothing left behind."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.errors import HistoryError
from agent_home.forgetting.purge import commit_map, drop_commit_map, purge
from agent_home.forgetting.redaction_target import RedactionTarget
from agent_home.forgetting.text_matcher import Phrase
from agent_home.git.entries.entry_events import entry_histories
from agent_home.git.fetching import remote_addresses
from agent_home.git.objects import objects
from agent_home.home import Home

from ..conftest import AddEntry, Git

HERON = RedactionTarget((Phrase("blue heron"),), name="f-0a1b2c3d")
MARK = "[forgotten f-0a1b2c3d]"

Commit = Callable[..., str]


@pytest.fixture
def commit(home: Home, git: Git) -> Commit:
    """Writes a file, commits it with a message and gives the hash."""

    def make(path: str, text: str, message: str) -> str:
        (home.root / path).parent.mkdir(parents=True, exist_ok=True)
        (home.root / path).write_text(text)
        git("add", path)
        git("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", message)
        return git("rev-parse", "HEAD").strip()

    return make


def assert_gone(home: Home, target: RedactionTarget = HERON) -> None:
    """Assert that no object and no file beside the objects has the text, and that the repository is whole."""
    for item in objects(home.root):
        assert not target.occurs_in(item.data.decode("utf-8", "replace")), item
    listing = ["git", "cat-file", "--batch-all-objects", "--batch"]
    everything = subprocess.run(listing, cwd=home.root, check=True, capture_output=True).stdout
    assert b"heron" not in everything.lower()
    grep = ["grep", "-rli", "heron", str(home.root / ".git")]
    assert subprocess.run(grep, check=False, capture_output=True, text=True).stdout == ""
    subprocess.run(["git", "fsck", "--full", "--strict"], cwd=home.root, check=True, capture_output=True)


def test_cached_events_of_entries_go_with_the_history(home: Home, git: Git, commit: Commit) -> None:
    memory = (home.root / "MEMORY.md").read_text()
    commit("MEMORY.md", f"{memory}- **[KD-7F3A] Bird** - one\n", "Note the blue heron")
    assert entry_histories(home.root, git("rev-parse", "HEAD").strip())["KD-7F3A"][0].subject == "Note the blue heron"
    purge(home, HERON)
    assert_gone(home)
    assert entry_histories(home.root, git("rev-parse", "HEAD").strip())["KD-7F3A"][0].subject == f"Note the {MARK}"


def test_texts_messages_and_names_are_redacted_and_the_rest_stays(home: Home, git: Git, commit: Commit) -> None:
    before = git("log", "--format=%an %ae %ad %s")
    commit("Knowledge/k.md", "# K\n\nThe word is Blue Heron.\n", "Note: the BLUE  HERON\n\nActor: Ada")
    commit("Knowledge/blue heron.md", "innocent\n", "Add a file")
    git("mv", "Knowledge/blue heron.md", "Knowledge/bird.md")
    commit("Knowledge/k.md", "# K\n", "Take it out")
    old = git("log", "--format=%an|%ae|%ad|%cd")
    tree = git("rev-parse", "HEAD^{tree}")
    done = purge(home, HERON)
    assert_gone(home)
    assert git("log", "--format=%an|%ae|%ad|%cd") == old
    assert git("rev-parse", "HEAD^{tree}") == tree
    assert git("log", "--format=%an %ae %ad %s").endswith(before)
    assert git("log", "--format=%s", "--reverse").splitlines()[1] == f"Note: the {MARK}"
    assert git("show", "HEAD~2:Knowledge/k.md") == f"# K\n\nThe word is {MARK}.\n"
    assert git("ls-tree", "--name-only", "HEAD~1", "Knowledge/").splitlines() == [
        f"Knowledge/{MARK}.md",
        "Knowledge/k.md",
    ]
    assert len(done.commits) == 3
    assert git("status", "--porcelain") == ""


def test_every_ref_moves_to_its_rewritten_object(home: Home, git: Git, commit: Commit) -> None:
    first = commit("Knowledge/k.md", "Blue Heron\n", "First")
    git("branch", "proposals/p-1")
    git("tag", "light")
    git("-c", "user.name=Ada", "-c", "user.email=a@b.c", "tag", "-a", "heavy", "-m", "about the blue heron")
    git("-c", "user.name=Ada", "-c", "user.email=a@b.c", "notes", "add", "-m", "a note on the blue heron", first)
    git("-c", "user.name=Ada", "-c", "user.email=a@b.c", "notes", "add", "-m", "a plain note", "HEAD~1")
    git("update-ref", "refs/remotes/origin/main", first)
    git("checkout", "-q", "-b", "side")
    commit("Knowledge/k.md", "clean\n", "On the side")
    git("checkout", "-q", "main")
    last = commit("Knowledge/k.md", "clean too\n", f"This reverts commit {first}.\n\nSee {first[:9]}.")
    git("-c", "user.name=Ada", "-c", "user.email=a@b.c", "merge", "-q", "-X", "ours", "-m", "Merge", "side")
    done = purge(home, HERON)
    assert_gone(home)
    new = done.commits[first]
    for name in ("proposals/p-1", "light", "heavy^{commit}", "side~1", "HEAD~2"):
        assert git("rev-parse", name).strip() == new
    assert git("tag", "-l", "--format=%(contents:subject) %(taggername)", "heavy").strip() == f"about the {MARK} Ada"
    assert git("notes", "show", new).strip() == f"a note on the {MARK}"
    assert git("notes", "show", f"{new}~1").strip() == "a plain note"
    assert git("log", "-1", "--format=%B", done.commits[last]).split() == [
        "This", "reverts", "commit", f"{new}.", "See", f"{new[:9]}.",
    ]  # fmt: skip
    assert len(git("log", "-1", "--format=%P", "HEAD").split()) == 2
    assert "origin" not in git("for-each-ref", "--format=%(refname)")
    assert git("reflog") == ""


def test_the_head_of_a_remote_goes_with_its_branch(home: Home, git: Git, commit: Commit) -> None:
    old = commit("Knowledge/bird.md", "The blue heron.\n", "Add")
    for remote, branch in (("origin", old), ("young", git("rev-parse", "HEAD~1").strip())):
        git("update-ref", f"refs/remotes/{remote}/main", branch)
        git("symbolic-ref", f"refs/remotes/{remote}/HEAD", f"refs/remotes/{remote}/main")  # as in every clone
    purge(home, HERON)
    assert_gone(home)
    left = git("for-each-ref", "--format=%(refname)", "refs/remotes").split()
    assert left == ["refs/remotes/young/HEAD", "refs/remotes/young/main"]


def test_stashes_stay_in_their_order_without_the_text(home: Home, git: Git, commit: Commit) -> None:
    commit("Knowledge/k.md", "Blue Heron\n", "First")
    commit("Knowledge/k.md", "clean\n", "Second")
    for text in ("one\n", "a blue heron\n", "three\n"):
        (home.root / "Knowledge/k.md").write_text(text)
        git("-c", "user.name=Ada", "-c", "user.email=a@b.c", "stash", "push", "-q", "-m", f"stash of {text.strip()}")
    purge(home, HERON)
    assert_gone(home)
    shown = [git("show", f"stash@{{{number}}}:Knowledge/k.md") for number in range(3)]
    assert shown == ["three\n", f"a {MARK}\n", "one\n"]
    assert git("stash", "list", "--format=%gs").splitlines()[1] == f"On main: stash of a {MARK}"
    assert git("for-each-ref", "refs/agent-home") == ""


def test_unreachable_objects_are_dropped(home: Home, git: Git, commit: Commit) -> None:
    commit("Knowledge/k.md", "Blue Heron\n", "Lost")
    git("reset", "-q", "--hard", "HEAD~1")
    (home.root / "x").write_text("the blue heron")
    git("hash-object", "-w", "x")
    (home.root / "x").unlink()
    head = git("rev-parse", "HEAD")
    done = purge(home, HERON)
    assert_gone(home)
    assert git("rev-parse", "HEAD") == head
    assert done.commits == {}


def test_kept_packs_and_commit_graphs_lose_the_text(home: Home, git: Git, commit: Commit) -> None:
    commit("Knowledge/k.md", "Blue Heron\n", "First")
    git("repack", "-a", "-d", "-q")
    for pack in (home.root / ".git/objects/pack").glob("*.pack"):
        pack.with_suffix(".keep").touch()
    git("commit-graph", "write", "--reachable")
    commit("Knowledge/k.md", "clean\n", "Second")
    purge(home, HERON)
    assert_gone(home)


def test_an_authors_name_is_redacted_and_the_time_stays(home: Home, git: Git) -> None:
    identity = ("-c", "user.name=Blue Heron", "-c", "user.email=blue.heron@example.com")
    git(*identity, "commit", "-q", "--allow-empty", "-m", "Empty")
    when = git("log", "-1", "--format=%ad %cd")
    purge(home, RedactionTarget((Phrase("blue heron"), Phrase("blue.heron")), name="f-0a1b2c3d"))
    assert_gone(home)
    assert git("log", "-1", "--format=%an <%ae>").strip() == f"{MARK} <{MARK}@example.com>"
    assert git("log", "-1", "--format=%ad %cd") == when


def test_machine_records_name_the_new_commits(home: Home, git: Git, commit: Commit) -> None:
    old = commit("Knowledge/k.md", "Blue Heron\n", "First")
    (home.machine / "closings.jsonl").write_text(json.dumps({"session": "s", "end": 5, "commit": old}) + "\n")
    done = purge(home, HERON)
    assert json.loads((home.machine / "closings.jsonl").read_text())["commit"] == done.commits[old]
    assert git("cat-file", "-t", done.commits[old]).strip() == "commit"
    assert commit_map(home) == done.commits
    drop_commit_map(home)
    assert commit_map(home) == {}


def test_a_history_without_the_text_does_not_change(home: Home, git: Git, add_entry: AddEntry) -> None:
    add_entry("innocent")
    refs = git("for-each-ref")
    assert purge(home, HERON).commits == {}
    assert git("for-each-ref") == refs


def test_a_second_purge_finds_nothing_to_do(home: Home, git: Git, commit: Commit) -> None:
    commit("Knowledge/k.md", "Blue Heron\n", "First")
    commit("Knowledge/k.md", "clean\n", "Second")
    assert len(purge(home, HERON).commits) == 2
    head = git("rev-parse", "HEAD")
    assert purge(home, HERON).commits == {}
    assert git("rev-parse", "HEAD") == head


def test_a_sha256_repository_is_purged(tmp_path: Path, home: Home) -> None:
    other = Home(tmp_path / "other")
    other.root.mkdir()
    (other.root / "a.md").write_text("Blue Heron\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (["init", "-q", "--object-format=sha256"], ["add", "."], [*identity, "commit", "-qm", "First"]):
        subprocess.run(["git", *words], cwd=other.root, check=True, capture_output=True)
    assert len(purge(other, HERON).commits) == 1
    assert_gone(other)


def _dirty(home: Home, git: Git) -> None:
    (home.root / "MEMORY.md").write_text("changed\n")


def _merging(home: Home, git: Git) -> None:
    (home.root / ".git/MERGE_HEAD").write_text(git("rev-parse", "HEAD"))


def _second_tree(home: Home, git: Git) -> None:
    git("worktree", "add", "-q", str(home.root.parent / "tree"), "-b", "other")


def _borrowing(home: Home, git: Git) -> None:
    (home.root / ".git/objects/info/alternates").write_text("/nowhere/objects\n")


def _lent(home: Home, git: Git) -> None:
    clone = home.root.parent / "clone"
    git("clone", "-q", "--shared", "--bare", str(home.root), str(clone))
    git("remote", "add", "copy", str(clone))


@pytest.mark.parametrize(
    ("prepare", "message"),
    [(_dirty, "uncommitted"), (_merging, "merge is unfinished"), (_second_tree, "other work trees"),
     (_borrowing, "borrows another"), (_lent, "borrows this")],
)  # fmt: skip
def test_a_harmful_purge_is_refused(
    home: Home, git: Git, commit: Commit, prepare: Callable[[Home, Git], None], message: str
) -> None:
    commit("Knowledge/k.md", "Blue Heron\n", "First")
    prepare(home, git)
    refs = git("rev-parse", "HEAD")
    with pytest.raises(HistoryError, match=message):
        purge(home, HERON)
    assert git("rev-parse", "HEAD") == refs


def test_remotes_are_named_without_passwords(
    home: Home, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert remote_addresses(home.root) == {}
    git("remote", "add", "origin", "https://example.com/home.git")
    assert remote_addresses(home.root) == {"origin": "https://example.com/home.git"}
    (tmp_path / "gitconfig").write_text('[url "https://ada:secret@example.com/"]\n\tinsteadOf = https://example.com/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    assert remote_addresses(home.root) == {"origin": "https://example.com/home.git"}
