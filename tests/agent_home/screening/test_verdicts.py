"""Rule files of a home are read, and a text is judged once under the same rules."""

from __future__ import annotations

import gzip

import pytest

from agent_home.home import Home
from agent_home.screening.verdicts import guard_settings
from guard import GuardError
from tests.consenting import agree

RULE = "[[rules]]\nid = 'house-code'\nregex = '''PURPLE-\\d\\d'''\nkeywords = ['purple']\n"


def naming(home: Home, path: str) -> Home:
    manifest = home.root / "agent.toml"
    manifest.write_text(f'{manifest.read_text()}\n[guard]\nrules = ["{path}"]\n')
    return agree(home)


def test_a_rule_file_is_read_relative_to_the_home(home: Home) -> None:
    (home.root / "house.toml").write_text(RULE)
    (rules,) = guard_settings(naming(home, "house.toml")).rule_sets()
    assert [rule.name for rule in rules.rules] == ["house-code"]


def test_a_compressed_rule_file_is_refused(home: Home) -> None:
    (home.root / "house.toml.gz").write_bytes(gzip.compress(RULE.encode()))
    with pytest.raises(GuardError, match=r"house\.toml\.gz is compressed\. Decompress it"):
        guard_settings(naming(home, "house.toml.gz"))


def test_a_rule_file_that_is_no_text_is_named(home: Home) -> None:
    (home.root / "house.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(GuardError, match=r"house\.toml cannot be read"):
        guard_settings(naming(home, "house.toml"))
