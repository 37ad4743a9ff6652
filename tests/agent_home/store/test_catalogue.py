"""The lists of documents and projects are functions of the folders, and tell nobody of what is closed to them."""

from __future__ import annotations

from datetime import datetime

from agent_home.home import Home
from agent_home.store import catalogue
from agent_home.store.gateway import WriteOutcome, transaction


def write(home: Home, path: str, text: str) -> None:
    target = home.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def refresh(home: Home, now: datetime) -> WriteOutcome:
    with transaction(home, actor="test", message="Refresh", now=now) as edits:
        catalogue.refresh(edits)
    return edits.outcome


def test_documents_are_listed_by_path_with_their_first_heading(home: Home) -> None:
    write(home, "Knowledge/b.md", "no heading\nmore\n")
    write(home, "Knowledge/deep/a.md", "---\nx: y\n---\n\n# The  title\n")
    write(home, "Knowledge/.hidden/c.md", "# Hidden\n")
    (home.root / "Knowledge/d.md").write_bytes(b"caf\xe9\n")
    lines = [line for line in catalogue.render(home, "KNOWLEDGE.md").splitlines() if line.startswith("- ")]
    assert lines == [
        "- `Knowledge/b.md` no heading",
        "- `Knowledge/d.md` (not UTF-8)",
        "- `Knowledge/deep/a.md` The title",
    ]


def test_refreshing_twice_changes_nothing(home: Home, now: datetime) -> None:
    write(home, "Knowledge/a.md", "# A\n")
    assert "KNOWLEDGE.md" in refresh(home, now).paths
    assert refresh(home, now).commit is None


def test_an_empty_file_and_an_empty_folder_are_said(home: Home) -> None:
    assert "\n- " not in catalogue.render(home, "PROJECTS.md")
    write(home, "Projects/p/PROJECT.md", "")
    assert "- `Projects/p/PROJECT.md`\n" in catalogue.render(home, "PROJECTS.md")


def test_past_the_limit_the_rest_is_counted(home: Home) -> None:
    for number in range(catalogue.MAX_LINES + 7):
        write(home, f"Knowledge/{number:04}.md", "")
    assert "and 7 more" in catalogue.render(home, "KNOWLEDGE.md").splitlines()[-1]


def test_a_document_closed_to_a_reader_of_the_list_is_not_named(home: Home) -> None:
    write(home, "Knowledge/open.md", "# Open\n")
    write(home, "Knowledge/closed/plan.md", "# Secret plan\n")
    manifest = home.root / "agent.toml"
    manifest.write_text(manifest.read_text() + '\n[audiences]\n"Knowledge/closed/" = ["trusted"]\n')
    text = catalogue.render(Home(home.root), "KNOWLEDGE.md")
    assert "Open" in text
    assert "plan" not in text
