"""Reports are verified by the commit that has all they name, whatever their verb, and by no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from distill.evidence.checking import check_text
from distill.evidence.status import Window

if TYPE_CHECKING:
    from ..conftest import Repo

EARLIER, DURING = "2026-01-10T09:00:00+00:00", "2026-03-02T10:30:00+00:00"
WINDOW = Window(since=1772442000.0 - 7200, until=1772442000.0 + 7200)
PAGER = "def open_pager(text):\n    name = tempfile.mktemp()\n    show(name, text)\n"
SESSIONS = "class SessionMiddleware:\n    def __init__(self, app, max_age=1209600):\n        self.max_age = max_age\n"


@pytest.fixture
def repo(make_repo: Callable[[str], Repo]) -> Repo:
    repo = make_repo("work")
    files = {"src/pager.py": PAGER, "src/sessions.py": SESSIONS, "src/editor.py": "def edit():\n    pass\n"}
    repo.commit("Add pager, editor and sessions", files, EARLIER)
    repo.commit("Use mkstemp in the pager", {"src/pager.py": PAGER.replace("mktemp", "mkstemp")}, DURING)
    sessions = SESSIONS.replace("1209600", "3600").replace("app, ", 'app, path="/", ')
    repo.commit("Make the cookie path of sessions configurable", {"src/sessions.py": sessions}, DURING)
    matrix = 'python: ["3.10", "3.11", "3.12"]\n'
    repo.commit("Add Python 3.12 to the pipeline", {".github/workflows/test.yml": matrix}, DURING)
    return repo


def ask(text: str, repo: Repo, role: str = "assistant") -> str:
    said = check_text(text, role, [repo.root], WINDOW, timeout_s=20)
    return said.state if said else "no claim"


@pytest.mark.parametrize(
    "text",
    [
        "The pager uses mkstemp instead of mktemp.",
        "The cookie path of sessions is configurable.",
        "The pipeline has Python 3.12 now.",
        "会话的 cookie path 可以配置了。",
    ],
)
def test_a_true_report_is_verified_without_a_verb_of_a_list(repo: Repo, text: str) -> None:
    assert ask(text, repo) == "verified"


@pytest.mark.parametrize(
    "text",
    [
        "The pager uses mktemp instead of mkstemp.",  # the other way round
        "The editor uses mkstemp instead of mktemp.",  # another place
        "The cookie domain of sessions is configurable.",
        "The pipeline has Python 3.13 now.",
        "Python 3.12 is gone from the pipeline.",
        "分页器里的 mkstemp 换成了 mktemp。",
        "编辑器里的 mktemp 换成了 mkstemp。",
    ],
)
def test_a_false_twin_is_not_verified(repo: Repo, text: str) -> None:
    assert ask(text, repo) != "verified"


@pytest.mark.parametrize(
    "text",
    [
        "I'll use mkstemp instead of mktemp in the pager.",
        "The pager should use mkstemp instead of mktemp.",
        "I haven't changed the pager to mkstemp.",
        "Does the pager use mkstemp instead of mktemp?",
        "下一步把分页器里的 mktemp 换成 mkstemp。",
    ],
)
def test_a_plan_a_denial_and_a_question_are_no_reports(repo: Repo, text: str) -> None:
    assert ask(text, repo) != "verified"


def test_what_a_user_says_is_no_report_of_the_agent(repo: Repo) -> None:
    assert ask("The pager uses mkstemp instead of mktemp.", repo, "user") == "no claim"


def test_a_reverted_commit_confirms_nothing(repo: Repo) -> None:
    commit = repo.git("log", "--format=%H", "--grep=mkstemp")
    repo.commit(f"Revert it\n\nThis reverts commit {commit}.", {"src/pager.py": PAGER}, DURING)
    assert ask("The pager uses mkstemp instead of mktemp.", repo) == "no claim"


def test_a_symbol_that_older_work_added_is_not_the_work_of_the_session(repo: Repo) -> None:
    assert ask("Implemented `open_pager()`.", repo) == "unverified"


def test_a_symbol_of_documentation_is_not_denied(repo: Repo) -> None:
    repo.commit("Explain paging", {"README.md": "Call `page_all()`.\n"}, DURING)
    assert ask("Added `page_all()` to README.md.", repo) != "contradicted"


def test_the_hash_of_another_repository_is_not_denied(repo: Repo) -> None:
    repo.commit("Pin checkout", {"ci.yml": "uses: actions/checkout@8e5e7e5ab8b370d6\n"}, DURING)
    assert ask("Pinned actions/checkout to commit 8e5e7e5ab8b3.", repo) != "contradicted"


def test_one_fact_of_a_report_of_many_things_confirms_not_all_of_it(repo: Repo) -> None:
    repo.commit("Add a pipeline", {".travis.yml": "node: 12\n"}, EARLIER)
    repo.commit(
        "Move to another pipeline", {".travis.yml": None, "ci.yml": "coverage: codecov, not coveralls\n"}, DURING
    )
    assert ask("Removed `.travis.yml`.", repo) == "verified"
    said = (
        "Removed `.travis.yml`, coverage goes to Coveralls, the badge is green, Windows and macOS run on 12, 14 and 15."
    )
    assert ask(said, repo) != "verified"


def test_what_the_session_added_is_not_denied_as_removed(repo: Repo) -> None:
    repo.commit("Add environments", {"tox.ini": "[tox]\n"}, EARLIER)
    repo.commit("Lock the versions", {"tox.ini": None, "uv.lock": "a = 1\n"}, DURING)
    assert ask("I deleted tox.ini, checked in a uv.lock, and moved the pipeline.", repo) != "contradicted"
