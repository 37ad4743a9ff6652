"""Rule files of a home are read, and a text is judged once under the same rules."""

from __future__ import annotations

import gzip
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent_home.home import Home
from agent_home.screening.verdicts import Verdicts, guard_settings
from guard import Action, GuardError, GuardSettings, Verdict
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


def test_threads_share_what_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_home.screening.verdicts.screen", lambda text, *_, **__: Verdict(
        action=Action.ALLOW, text=text, findings=(),
    ))  # fmt: skip
    verdicts = Verdicts(GuardSettings(), capacity=2)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            judged = list(pool.map(lambda number: verdicts.to_store(f"text {number}", "tool", "memory"), range(4_000)))
    finally:
        sys.setswitchinterval(before)
    assert [verdict.text for verdict in judged] == [f"text {number}" for number in range(4_000)]
