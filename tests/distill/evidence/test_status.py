"""Claims against real repositories."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.evidence.checking import check
from distill.evidence.claims import parse_claim
from distill.evidence.status import Evidence, Window

if TYPE_CHECKING:
    from ..conftest import Repo

EARLIER = "2026-01-10T09:00:00+00:00"
DURING = "2026-03-02T10:30:00+00:00"
WINDOW = Window(since=1772442000.0 - 7200, until=1772442000.0 + 7200)  # 2026-03-02 07:00 to 11:00 UTC


def ask(text: str, *repos: Repo, window: Window = WINDOW, role: str = "assistant", timeout_s: float = 20.0) -> Evidence:
    claim = parse_claim(text, role)
    assert claim is not None, text
    return check(claim, [repo.root for repo in repos], window, timeout_s)


@pytest.fixture(scope="session")
def pattern(new_repo: Callable[[Path], Repo], tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A history with something added, removed, renamed, changed and kept, before and during the session."""
    repo = new_repo(tmp_path_factory.mktemp("pattern") / "work")
    repo.commit(
        "Start the importer",
        {
            "src/importer.py": "def read_rows():\n    return []\n\n\ndef parse_date(text):\n    return text\n",
            "src/legacy_export.py": "def export_all():\n    pass\n",
            "src/old_parser.py": "def old_parse():\n    pass\n",
            "src/names.py": "NAMES = 1\n",
            "README.md": "old_parse is documented here\n",
            "tests/session_store.py": "SESSION = 1\n",
        },
        EARLIER,
    )
    repo.commit(
        "Retry uploads with exponential backoff",
        {"src/uploader.py": "def retry_upload(limit=30):\n    return limit\n"},
        DURING,
    )
    repo.commit("Remove the old parser", {"src/old_parser.py": None}, DURING)
    repo.git("mv", "src/names.py", "src/labels.py")
    repo.commit("Call names labels", {}, DURING)
    repo.commit(
        "Fix off-by-one in the importer's row count",
        {"src/importer.py": "def read_rows():\n    return [1]\n\n\ndef parse_date(text):\n    return text\n"},
        DURING,
    )
    return repo


@pytest.fixture
def repo(pattern: Repo, tmp_path: Path) -> Repo:
    return pattern.copied_to(tmp_path / "work")


@pytest.mark.parametrize(
    "text",
    [
        "Added `src/uploader.py` with the upload retry.",
        "I created uploader.py.",
        "Removed `src/old_parser.py`.",
        "old_parser.py was deleted.",
        "已删除 old_parser.py。",
        "新增 src/uploader.py,支持重试。",
        "把 src/names.py 重命名为 src/labels.py 了",
        "Renamed src/names.py to src/labels.py.",
        "Added `retry_upload()` to uploader.py.",
        "移除了 `old_parse()`。",
        "Fixed the off-by-one in importer.py.",
        "修复了 importer.py 的 off-by-one。",
        "Fixed off-by-one in the importer's row count.",
        "Removed old_parser.py and added uploader.py.",
    ],
)
def test_a_true_claim_is_verified_with_a_commit(repo: Repo, text: str) -> None:
    evidence = ask(text, repo)
    assert evidence.state == "verified", evidence
    assert repo.git("cat-file", "-t", evidence.commit) == "commit"


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("Deleted `src/legacy_export.py`.", "src/legacy_export.py is still at HEAD"),
        ("legacy_export.py 已经删掉了", "src/legacy_export.py is still at HEAD"),
        ("Removed `export_all()`.", "export_all is still in the code at HEAD"),
        ("Created `src/scheduler.py` today.", "src/scheduler.py was never in the repository"),
        ("新增了 src/scheduler.py", "src/scheduler.py was never in the repository"),
        ("Added `schedule_jobs()` to importer.py.", "schedule_jobs was never in the code"),
        ("Renamed src/importer.py to src/reader.py.", "src/importer.py is still at HEAD"),
        ("Committed the retry fix as deadbee1.", "git has no commit deadbee1"),
        ("Removed old_parser.py and legacy_export.py.", "src/legacy_export.py is still at HEAD"),
    ],
)
def test_a_false_claim_is_contradicted_by_the_state_of_git(repo: Repo, text: str, instead: str) -> None:
    assert ask(text, repo) == Evidence(state="contradicted", detail=instead)


@pytest.mark.parametrize(
    "text",
    [
        "Fixed the session handling for good this time.",  # one common word, and tests/session_store.py exists
        "Implemented caching, monitoring and alerting.",
        "Fixed the memory leak in labels.py.",  # the commit that touches it says something else
        "Updated src/legacy_export.py.",
        "Released v2.1.0.",
        "Removed `never_there()`.",
        "Removed src/never_there.py.",
        "Did what was asked: updated ../elsewhere/notes.md.",
        "We have not removed src/old_parser.py.",
    ],
)
def test_a_claim_that_git_neither_shows_nor_denies_is_unverified(repo: Repo, text: str) -> None:
    assert ask(text, repo).state == "unverified"


def test_a_named_commit_must_have_several_words_of_the_claim(repo: Repo) -> None:
    fix = repo.git("rev-parse", "--short=8", "HEAD")
    assert ask(f"Fixed the off-by-one in the importer row count in {fix}.", repo).state == "verified"
    assert ask(f"Commit {fix} rewrote the scheduler and the importer.", repo).state == "unverified"
    assert ask(f"已提交 {fix}", repo).state == "verified"
    assert ask(f"提交 {fix} 重构了调度模块", repo).state == "unverified"


def test_a_named_commit_must_touch_the_named_file(repo: Repo) -> None:
    fix = repo.git("rev-parse", "--short=8", "HEAD")
    assert ask(f"Commit {fix} fixed importer.py.", repo).state == "verified"
    assert ask(f"Commit {fix} removed old_parser.py.", repo).state == "unverified"


def test_a_number_missing_from_the_commit_is_not_confirmed(repo: Repo) -> None:
    added = repo.git("log", "--format=%h", "--abbrev=8", "--grep=backoff")
    assert ask(f"{added} added exponential backoff retry with limit 30.", repo).state == "verified"
    assert ask(f"{added} added exponential backoff retry with limit 90.", repo).state == "unverified"


def test_uncommitted_work_is_not_verified(repo: Repo) -> None:
    (repo.root / "src/draft.py").write_text("def draft_only():\n    pass\n", encoding="utf-8")
    (repo.root / "src/legacy_export.py").unlink()
    for text in (
        "Added src/draft.py.",
        "Added `draft_only()`.",
        "Deleted src/legacy_export.py.",
        "Removed `export_all()`.",
    ):
        assert ask(text, repo) == Evidence(state="unverified", detail="not committed"), text


def test_a_restored_file_does_not_contradict_its_removal(repo: Repo) -> None:
    repo.commit("Bring the parser back", {"src/old_parser.py": "def old_parse():\n    pass\n"}, DURING)
    evidence = ask("Removed src/old_parser.py.", repo)
    assert (evidence.state, "at HEAD again" in evidence.detail) == ("unverified", True)


def test_work_on_another_branch_is_not_contradicted(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit("Drop the export", {"src/legacy_export.py": None, "src/topic.py": "T = 1\n"}, DURING)
    repo.git("checkout", "--quiet", "main")
    assert ask("Deleted src/legacy_export.py.", repo).state == "unverified"
    assert ask("Added src/topic.py.", repo).state == "unverified"


def test_a_commit_that_was_amended_away_does_not_verify(repo: Repo) -> None:
    lost = repo.git("rev-parse", "--short=8", "HEAD")
    repo.git("commit", "--quiet", "--amend", "-m", "Another message")
    assert ask(f"Committed as {lost}.", repo).detail == f"commit {lost} is on no branch"


def test_a_shallow_clone_contradicts_nothing(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.root}", str(tmp_path / "shallow"))
    clone = type(repo).__new__(type(repo))
    clone.root = tmp_path / "shallow"
    assert ask("Committed the retry fix as deadbee1.", clone).state == "unverified"
    assert ask("Added src/scheduler.py.", clone).state == "unverified"


def test_a_word_in_prose_does_not_keep_a_symbol_alive(repo: Repo) -> None:
    assert "old_parse" in (repo.root / "README.md").read_text(encoding="utf-8")
    assert ask("Removed `old_parse()`.", repo).state == "verified"


def test_a_symbol_that_a_commit_added_was_not_removed_by_it(repo: Repo) -> None:
    start = repo.git("log", "--format=%h", "--abbrev=8", "--grep=Start")
    assert ask(f"Commit {start} removed `old_parse()`.", repo).state == "unverified"


def test_one_repository_verifies_and_all_must_agree_on_absence(repo: Repo, make_repo: Callable[[str], Repo]) -> None:
    other = make_repo("other")
    other.commit("Plan the jobs", {"src/scheduler.py": "def schedule_jobs():\n    pass\n"}, DURING)
    assert ask("Created src/scheduler.py.", repo, other).state == "verified"
    assert ask("Created src/nowhere.py.", repo, other).state == "contradicted"
    assert ask("Deleted src/legacy_export.py.", other, repo).state == "contradicted"


def test_a_folder_is_gone_only_when_all_of_it_is(make_repo: Callable[[str], Repo]) -> None:
    repo = make_repo("folders")
    repo.commit("Start", {"src/old/a.py": "A = 1\n", "src/old/b.py": "B = 1\n"}, EARLIER)
    repo.commit("Remove a", {"src/old/a.py": None}, DURING)
    assert ask("Removed `src/old` entirely.", repo).state == "unverified"
    repo.commit("Remove b", {"src/old/b.py": None}, DURING)
    assert ask("Removed `src/old` entirely.", repo).state == "verified"


def test_tags_and_versions_are_looked_up(repo: Repo) -> None:
    repo.git("tag", "v1.4.0")
    assert ask("Released v1.4.0.", repo).state == "verified"
    assert ask("发布了 v1.4.0", repo).state == "verified"


def test_no_repository_is_unchecked(tmp_path: Path) -> None:
    assert ask("Removed src/old_parser.py.") == Evidence(state="unchecked", detail="no repository")


def test_no_answer_in_time_is_unchecked_and_never_verified(repo: Repo) -> None:
    assert ask("Removed src/old_parser.py.", repo, timeout_s=0.0).state == "unchecked"
    evidence = ask("Removed src/old_parser.py.", repo, timeout_s=1e-4)
    assert evidence.state == "unchecked"
    assert "did not answer" in evidence.detail


def test_a_git_that_hangs_is_killed_and_unchecked(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 30\n", encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    assert ask("Removed src/old_parser.py.", repo, timeout_s=0.5).state == "unchecked"


def test_a_broken_repository_is_unchecked(repo: Repo) -> None:
    (repo.root / ".git" / "HEAD").write_text("nonsense\n", encoding="utf-8")
    assert ask("Removed src/old_parser.py.", repo).state == "unchecked"


def test_an_empty_repository_contradicts_only_existence(make_repo: Callable[[str], Repo]) -> None:
    empty = make_repo("empty")
    assert ask("Removed src/old_parser.py.", empty).state == "unverified"
    assert ask("Added src/new.py.", empty).state == "contradicted"


def test_a_repository_cannot_run_programs_through_a_claim(repo: Repo, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    for key in ("core.fsmonitor", "diff.external", "core.pager"):
        repo.git("config", key, f"touch {trap}; cat")
    for text in ("Removed `old_parse()`.", "Fixed the off-by-one in importer.py.", "Removed src/old_parser.py."):
        assert ask(text, repo).state == "verified"
    assert not trap.exists()


@pytest.mark.parametrize("name", ["src/*.py", "src/[id].py", "--output=x.py", ":(top)a.py", "src/ü.py"])
def test_odd_names_are_names_and_not_patterns(repo: Repo, name: str) -> None:
    assert ask(f"Removed `{name}` and `src/old_parser.py`.", repo).state in {"verified", "unverified"}
    assert not (repo.root / "x.py").exists()


def test_the_text_form_has_state_commit_and_address() -> None:
    address = "DailyActivity/2026-11-20.md#s-1a2b"
    assert (
        Evidence(state="verified", commit="3f9c2e1", detail="x").render(address)
        == f"verified, commit 3f9c2e1; {address}"
    )
    assert Evidence(state="unchecked").render(address) == f"unchecked; {address}"
    assert Evidence(state="unverified", detail="not committed").render() == "unverified, not committed"


@given(st.text(max_size=200), st.sampled_from(["user", "assistant"]))
def test_reading_a_claim_never_fails(text: str, role: str) -> None:
    claim = parse_claim(text, role)
    assert claim is None or claim.text == text


PUSHED = ("Pushed commit {} to main.", "Fixed the pager and pushed it as {}.", "已推送提交 {}。")


@pytest.mark.parametrize("text", PUSHED)
def test_a_pushed_commit_is_verified_only_where_a_remote_has_it(make_repo: Callable[[str], Repo], text: str) -> None:
    repo = make_repo("work")
    repo.commit("Start", {"a.py": "x = 1\n"}, EARLIER)
    commit = repo.commit("Fix the pager", {"pager.py": "x = 2\n"}, DURING)
    said = ask(text.format(commit), repo)
    assert said.state == "unverified"
    assert said.detail in {f"{name} is on no remote-tracking branch" for name in (commit, commit[:7])}
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    assert ask(text.format(commit), repo).state == "unverified"
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert ask(text.format(commit), repo).state == "verified"


@pytest.mark.parametrize(
    "text", ["Fixed the pager in commit {}, not pushed yet.", "Fixed the pager in commit {}, to be pushed later."]
)
def test_a_commit_that_nobody_says_was_pushed_needs_no_remote(make_repo: Callable[[str], Repo], text: str) -> None:
    repo = make_repo("work")
    repo.commit("Start", {"a.py": "x = 1\n"}, EARLIER)
    commit = repo.commit("Fix the pager", {"pager.py": "x = 2\n"}, DURING)
    assert ask(text.format(commit), repo).state == "verified"
