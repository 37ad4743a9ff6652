"""Tests of audiences: access is denied unless a rule allows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.audience import FOLDERS, Audience, may_read
from agent_home.home import Home
from tests.consenting import agree

OTHERS = [audience for audience in Audience if audience is not Audience.owner]
PATHS = st.lists(
    st.sampled_from(["Knowledge", "Projects", "a.md", "MEMORY.md", "..", ".", "", "x"]), min_size=1, max_size=5
)


@given(st.text(), st.sampled_from(OTHERS))
def test_a_path_without_a_rule_is_the_owners_alone(path: str, audience: str) -> None:
    assert not may_read({}, path, audience)
    assert may_read({}, path, Audience.owner)


@given(st.text().filter(lambda name: name not in set(Audience)), st.sampled_from(["MEMORY.md", "Knowledge/a.md"]))
def test_an_unknown_audience_reads_nothing(audience: str, path: str) -> None:
    assert not may_read({"MEMORY.md": list(Audience), "Knowledge/": [audience]}, path, audience)


@pytest.mark.parametrize("audience", OTHERS)
def test_the_longest_rule_decides_in_both_directions(audience: str) -> None:
    rules = {"Knowledge/": [audience], "Knowledge/private/": [], "Knowledge/private/open.md": [audience]}
    assert may_read(rules, "Knowledge/a.md", audience)
    assert not may_read(rules, "Knowledge/private/a.md", audience)
    assert may_read(rules, "Knowledge/private/open.md", audience)
    assert not may_read(rules, "Knowledge/private/open.md.bak", audience)


def test_a_folder_rule_needs_its_slash_and_a_file_rule_is_exact() -> None:
    assert not may_read({"Knowledge": ["group"]}, "Knowledge/a.md", "group")
    assert not may_read({"Knowledge/": ["group"]}, "KnowledgeBase/a.md", "group")
    assert not may_read({"USER.md": ["group"]}, "USER.md/x", "group")
    assert not may_read({"Knowledge/": ["group"]}, "knowledge/a.md", "group")


@given(PATHS, st.sampled_from(OTHERS))
def test_a_path_in_disguise_reads_nothing(parts: list[str], audience: str) -> None:
    path = "/".join(parts)
    allowed = may_read({"Knowledge/": [audience]}, path, audience)
    assert allowed == (parts[0] == "Knowledge" and len(parts) > 1 and not {"", ".", ".."} & set(parts))


def test_folders_that_the_manifest_does_not_name_have_the_default_rule() -> None:
    assert {folder for folder, allowed in FOLDERS.items() if Audience.group in allowed} == {"Knowledge/"}
    for folder in ("Archive/", "sessions/", "outputs/", "Knowledge/store/"):
        assert not any(may_read(FOLDERS, f"{folder}x", audience) for audience in OTHERS)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return tmp_path / "agent.toml"


def _home(manifest: Path, extra: str) -> Home:
    manifest.write_text(
        'version = 1\n[[context]]\nfile = "AGENT.md"\nowner = "user"\naudiences = ["group"]\ncut = "never"\n' + extra
    )
    return Home(manifest.parent)


def test_an_alias_has_the_rule_of_its_file(manifest: Path) -> None:
    home = _home(manifest, "")
    assert home.may_read("AGENTS.md", "group")
    assert home.may_read("AGENT.md", "group")
    assert not home.may_read("AGENTS.md", "trusted")


def test_a_rule_that_names_the_alias_itself_wins(manifest: Path) -> None:
    home = _home(manifest, '[audiences]\n"AGENTS.md" = []\n')
    assert not home.may_read("AGENTS.md", "group")
    assert home.may_read("AGENT.md", "group")


def test_the_manifest_can_open_and_close_a_folder(manifest: Path) -> None:
    home = agree(_home(manifest, '[audiences]\n"Knowledge/" = []\n"Archive/" = ["trusted"]\n'))
    assert not home.may_read("Knowledge/a.md", "group")
    assert home.may_read("Archive/MEMORY-2026-11.md", "trusted")
