"""Tests of the part about the project at hand: its own entries and sessions, whichever work tree they came from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.home import Home
from agent_home.store.transcript import Message, append
from agent_home.tokens import count_tokens
from interfaces.hosts.brief import brief
from interfaces.hosts.project_part import project_part

ENTRY = "- **[LL-00{0:02d}] 2026-11-{1:02d} Lesson {0}** - {2}\n  Sources: {3}#m1\n"


@pytest.fixture
def repositories(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that makes a repository, and a linked work tree of it for a name such as ``api+fix``."""

    def make(name: str) -> Path:
        main, _, tree = name.partition("+")
        (tmp_path / main / ".git" / "worktrees").mkdir(parents=True, exist_ok=True)
        if not tree:
            return tmp_path / main
        own, folder = tmp_path / main / ".git" / "worktrees" / tree, tmp_path / tree
        own.mkdir()
        folder.mkdir()
        (own / "commondir").write_text("../..\n")
        (own / "gitdir").write_text(f"{folder}/.git\n")
        (folder / ".git").write_text(f"gitdir: {own}\n")
        return folder

    return make


@pytest.fixture
def working(home: Home, repositories: Callable[[str], Path]) -> Home:
    """A home with sessions in two repositories, their entries, and a newer entry of none."""
    for session, place in (("api-1", repositories("api")), ("web-1", repositories("web"))):
        append(home, session, [Message(session=session, id="m1", content="Work.", cwd=str(place))], actor="test")
    entries = [
        ENTRY.format(1, 20, "The news letter goes out on Monday.", "chat-1"),
        ENTRY.format(2, 10, "The web server needs two workers.", "web-1"),
        ENTRY.format(3, 5, "The api key rotates weekly.", "api-1"),
    ]
    text = (home.root / "MEMORY.md").read_text("utf-8")
    text = text.replace("## Lessons Learned\n", "## Lessons Learned\n\n" + "".join(entries))
    (home.root / "MEMORY.md").write_text(text, "utf-8")
    (home.daily / "2026-11-20.md").write_text("# 2026-11-20\n\n- Rotated it by hand. (api-1#m1)\n- Else. (web-1#m1)\n")
    return home


def test_the_project_at_hand_stands_first_in_a_brief(
    working: Home, now: datetime, repositories: Callable[[str], Path]
) -> None:
    text = brief(working, session="s", most_chars=9_500, now=now, cwd=str(repositories("api") / "src"))
    assert text.startswith("<agent-home>\n# This project: api\n")
    places = [text.index(words) for words in ("api key rotates", "Rotated it by hand", "news letter", "web server")]
    assert places[:2] == sorted(places[:2])
    assert max(places[:2]) < min(places[2:])
    assert text.count("api key rotates") == 1
    assert len(text) <= 9_500


def test_a_work_tree_belongs_to_the_project_of_its_repository(
    working: Home, repositories: Callable[[str], Path]
) -> None:
    part = project_part(working, str(repositories("api+fix")), 500, count_tokens)
    assert part.entries == {"LL-0003"}
    assert "web" not in part.text


def test_a_folder_without_a_session_has_no_part(working: Home, tmp_path: Path, now: datetime) -> None:
    assert project_part(working, str(tmp_path / "new"), 500, count_tokens).text == ""
    assert project_part(working, "", 500, count_tokens).text == ""
    with_folder = brief(working, session="s", most_chars=9_500, now=now, cwd=str(tmp_path / "new"))
    assert with_folder == brief(working, session="s", most_chars=9_500, now=now)


@pytest.mark.parametrize("tokens", [5, 40, 80])
def test_the_part_keeps_its_room(working: Home, repositories: Callable[[str], Path], tokens: int) -> None:
    assert count_tokens(project_part(working, str(repositories("api")), tokens, count_tokens).text) <= tokens


def test_the_session_that_starts_is_left_out(working: Home, repositories: Callable[[str], Path]) -> None:
    assert project_part(working, str(repositories("api")), 500, count_tokens, session="api-1").text == ""


def test_a_line_of_the_log_that_an_entry_says_is_left_out(working: Home, repositories: Callable[[str], Path]) -> None:
    log = working.daily / "2026-11-20.md"
    log.write_text(log.read_text("utf-8") + "- The api key rotates weekly. (api-1#m1)\n", "utf-8")
    part = project_part(working, str(repositories("api")), 500, count_tokens)
    assert part.text.count("api key rotates weekly") == 1
    assert "Rotated it by hand" in part.text
