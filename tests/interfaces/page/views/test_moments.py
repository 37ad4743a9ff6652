"""A moment is a revision or a day, and any other word is refused."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime

import pytest

from agent_home.errors import NoSuchRevision
from agent_home.git import history
from agent_home.home import Home
from interfaces.page.views.moments import commit_at, is_before


def commit(home: Home, day: str) -> str:
    """Make an empty commit in the evening of *day*, and return its hash."""
    dates = {"GIT_AUTHOR_DATE": f"{day}T21:00:00", "GIT_COMMITTER_DATE": f"{day}T21:00:00"}
    names = ["-c", "user.name=Kim", "-c", "user.email=kim@example.com", "-c", "core.hooksPath=/dev/null"]
    subprocess.run(
        ["git", *names, "commit", "--quiet", "--allow-empty", "-m", day], cwd=home.root, check=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **dates},
    )  # fmt: skip
    return history.head(home.root)


def test_a_day_means_its_last_commit(home: Home) -> None:
    first = history.head(home.root)
    later = datetime.now(UTC).year + 1
    one, two = commit(home, f"{later}-03-01"), commit(home, f"{later}-03-03")
    assert commit_at(home, f"{later}-03-01") == commit_at(home, f"{later}-03-02") == one
    assert commit_at(home, f" {later}-03-03 ") == commit_at(home, f"{later}0304") == two
    assert commit_at(home, "2020-01-01") == first


@pytest.mark.parametrize("day", ["2098-12-31", "2099-01-01", "2100-01-01", "9999-12-31"])
def test_a_day_to_come_means_the_last_commit(home: Home, day: str) -> None:
    last = commit(home, "2027-01-01")
    assert commit_at(home, day) == last


@pytest.mark.parametrize("day", ["0001-01-01", "1000-06-01", "1969-12-31", "1970-01-01", "1971-01-01", "1999-01-01"])
def test_a_day_before_all_commits_means_the_first(home: Home, day: str) -> None:
    first = history.head(home.root)
    commit(home, "2027-01-01")
    assert commit_at(home, day) == first


def test_nothing_means_now(home: Home) -> None:
    assert commit_at(home, "") == commit_at(home, "  ") == ""


@pytest.mark.parametrize("named", ["HEAD", "HEAD~0", "@", "main^{commit}"])
def test_a_revision_means_its_commit(home: Home, named: str) -> None:
    head = history.head(home.root)
    assert commit_at(home, named.replace("main", history.branch(home.root))) == head
    assert commit_at(home, head[:10]) == head


@pytest.mark.parametrize("named", ["^HEAD", "--all", "-1", "HEAD:MEMORY.md", "a b", "a..b", "\0", "2026-02-30"])
def test_no_other_word_is_a_moment(home: Home, named: str) -> None:
    with pytest.raises(NoSuchRevision):
        commit_at(home, named)


@pytest.mark.parametrize(
    ("named", "before"),
    [
        ("2026-11-20", True),
        (" 2026-11-20 ", True),
        ("2026-11-21", False),
        ("2026-11-22", False),
        ("HEAD", False),
        ("", False),
    ],
)
def test_a_day_before_the_commit_that_it_means_is_told(named: str, *, before: bool) -> None:
    assert is_before(named, "2026-11-21T09:00:00+00:00") is before
    assert not is_before(named, "")
