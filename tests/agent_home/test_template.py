"""Tests of the template's files: complete, lossless, private where necessary, and small."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from agent_home.audience import Audience, may_read
from agent_home.documents.document import parse
from agent_home.documents.entry import SECTIONS
from agent_home.home import Home
from agent_home.settings import Manifest, load_manifest
from agent_home.tokens import count_tokens

TEMPLATE = Path(str(files("agent_home.template")))
#: Prompt order: what changes least comes first.
ORDER = (
    "SOUL.md",
    "IDENTITY.md",
    "PRINCIPLES.md",
    "AGENT.md",
    "TOOLS.md",
    "STEERING.md",
    "USER.md",
    "BOOTSTRAP.md",
    "PROJECTS.md",
    "KNOWLEDGE.md",
    "EVOLUTION.md",
    "MEMORY.md",
)
PRIVATE = ("USER.md", "MEMORY.md", "EVOLUTION.md")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return load_manifest(TEMPLATE / "agent.toml")


def test_the_manifest_names_every_markdown_file_in_prompt_order(manifest: Manifest) -> None:
    assert tuple(item.file for item in manifest.context) == ORDER
    assert sorted(path.name for path in TEMPLATE.glob("**/*.md")) == sorted(ORDER)


def test_the_floors_fit_the_smallest_regular_budget_with_room_to_spare(manifest: Manifest) -> None:
    assert sum(item.floor for item in manifest.context) < 6000
    assert {item.file: item.floor for item in manifest.context}["MEMORY.md"] == 1500


def test_the_owner_reads_every_context_file(manifest: Manifest) -> None:
    for item in manifest.context:
        assert Audience.owner in item.audiences
        assert may_read(manifest.audiences, item.file, Audience.owner)


@pytest.mark.parametrize("audience", [Audience.group, Audience.trusted])
def test_a_private_file_reaches_neither_a_group_nor_a_trusted_person(manifest: Manifest, audience: Audience) -> None:
    for file in PRIVATE:
        assert not may_read(manifest.audiences, file, audience)


def test_onboarding_is_between_the_agent_and_its_owner(manifest: Manifest) -> None:
    readers = [audience for audience in Audience if may_read(manifest.audiences, "BOOTSTRAP.md", audience)]
    assert readers == [Audience.owner]


def test_every_audience_gets_the_character_and_the_safety_directives(manifest: Manifest) -> None:
    for audience in Audience:
        for file in ("SOUL.md", "IDENTITY.md", "PRINCIPLES.md", "AGENT.md"):
            assert may_read(manifest.audiences, file, audience)


@pytest.mark.parametrize("name", ORDER)
def test_parsing_and_rendering_gives_the_file_back(name: str) -> None:
    text = (TEMPLATE / name).read_bytes().decode("utf-8")
    assert parse(text).render() == text


@pytest.mark.parametrize("name", ORDER)
def test_a_file_has_one_title_and_ends_in_one_newline(name: str) -> None:
    text = (TEMPLATE / name).read_text(encoding="utf-8")
    assert len(parse(text).sections(level=1)) == 1
    assert text.startswith("# ")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_memory_starts_with_its_sections_in_order_and_no_entry() -> None:
    document = parse((TEMPLATE / "MEMORY.md").read_text(encoding="utf-8"))
    assert [section.title for section in document.sections()] == [rule.title for rule in SECTIONS]
    assert not list(document.entries())
    assert not [block for block in document.blocks if block.kind == "item"]


def test_evolution_starts_with_its_four_sections_and_no_entry() -> None:
    document = parse((TEMPLATE / "EVOLUTION.md").read_text(encoding="utf-8"))
    titles = [section.title for section in document.sections()]
    assert titles == ["Corrections", "Capabilities", "Competences", "Failed attempts"]
    assert not list(document.entries())


def test_only_the_name_is_left_to_fill_in() -> None:
    places = {
        path.name: set(re.findall(r"\{\{(\w+)\}\}", path.read_text(encoding="utf-8")))
        for path in TEMPLATE.iterdir()
        if path.is_file() and path.suffix != ".py"
    }
    assert {name: found for name, found in places.items() if found} == {
        "IDENTITY.md": {"name"},
        "agent.toml": {"name"},
    }


def test_no_file_contains_the_fence_that_marks_injected_text() -> None:
    for name in ORDER:
        assert "<agent-home" not in (TEMPLATE / name).read_text(encoding="utf-8")
        assert "<!--" not in (TEMPLATE / name).read_text(encoding="utf-8")


def test_git_ignores_machine_state_and_transcripts_and_merges_ledgers() -> None:
    ignored = (TEMPLATE / "gitignore").read_text(encoding="utf-8").splitlines()
    assert {".memory/", "sessions/", "outputs/"} <= set(ignored)
    attributes = (TEMPLATE / "gitattributes").read_text(encoding="utf-8").splitlines()
    assert "ledger/*.jsonl merge=union" in attributes


def test_the_profile_starts_blank() -> None:
    text = (TEMPLATE / "USER.md").read_text(encoding="utf-8")
    for field in ("Name", "Role", "Timezone", "Languages", "Working style"):
        assert re.search(rf"^- \*\*{field}:\*\*$", text, re.MULTILINE)


def test_the_template_leaves_most_of_the_smallest_budget_to_memory() -> None:
    tokens = {name: count_tokens((TEMPLATE / name).read_text(encoding="utf-8")) for name in ORDER}
    assert sum(tokens.values()) < 3000
    assert sum(tokens[name] for name in ORDER[:4]) < 1400


def test_a_floor_is_not_much_larger_than_a_steady_file(manifest: Manifest) -> None:
    """Compare floors with steady files: they are protected whole, and AGENT.md in its first half."""
    for item in manifest.context[:4]:
        assert item.floor <= count_tokens((TEMPLATE / item.file).read_text(encoding="utf-8")) * 1.3


def test_a_new_home_holds_the_template_word_for_word(home: Home) -> None:
    """Create a home: the guard that screens its first commit finds no attack and no secret."""
    for name in (*ORDER, "agent.toml"):
        written = (home.root / name).read_text(encoding="utf-8")
        assert written == (TEMPLATE / name).read_text(encoding="utf-8").replace("{{name}}", "Test")
    assert not home.quarantine.exists() or not list(home.quarantine.iterdir())
