"""A setting that widens something takes effect when a person on this machine agrees to its very value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_home.consent.settings_in_effect import (
    accept_settings,
    refuse_settings,
    remember_settings,
    settings_digest,
    settings_in_effect,
)
from agent_home.creation import create
from agent_home.home import Home
from agent_home.screening.verdicts import guard_settings
from agent_home.settings import MANIFEST, load_manifest
from distill.settings import DistillSettings
from guard import GuardSettings
from tests.conftest import NOW
from tests.consenting import agree

ENDPOINT = '\n[distill.endpoint]\nurl = "https://models.example/v1"\nmodel = "m"\nkey-env = "HOME"\n'
RULES = "[[rules]]\nid = \"acme\"\nregex = '''acme-[0-9]{6}'''\nkeywords = [\"acme-\"]\n"


def pulled(home: Home, text: str) -> Home:
    """The home after a pull that appended *text* to ``agent.toml``."""
    path = home.root / MANIFEST
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    return Home(home.root)


def waiting(home: Home) -> list[str]:
    return [item.key for item in home.manifest.waiting]


def test_a_pulled_endpoint_is_not_in_effect(home: Home) -> None:
    home = pulled(home, ENDPOINT)
    assert waiting(home) == ["distill.endpoint"]
    assert home.manifest.settings("distill", DistillSettings).endpoint is None
    assert agree(home).manifest.settings("distill", DistillSettings).endpoint is not None


def test_a_changed_value_waits_again_and_the_old_one_stays(home: Home) -> None:
    home = agree(pulled(home, ENDPOINT))
    path = home.root / MANIFEST
    path.write_text(path.read_text().replace("models.example", "evil.example"))
    home = Home(home.root)
    endpoint = home.manifest.settings("distill", DistillSettings).endpoint
    assert endpoint is not None
    assert endpoint.url == "https://models.example/v1"
    assert waiting(home) == ["distill.endpoint"]


def test_an_endpoint_may_be_taken_away(home: Home) -> None:
    home = agree(pulled(home, ENDPOINT))
    path = home.root / MANIFEST
    path.write_text(path.read_text().replace(ENDPOINT, ""))
    home = Home(home.root)
    assert waiting(home) == []
    assert home.manifest.settings("distill", DistillSettings).endpoint is None


def test_what_was_narrower_here_is_not_widened_by_a_pull(home: Home) -> None:
    narrow = '[guard]\nkeep_email = []\n[distill]\nreview = {"Key Decisions" = "propose"}\n'
    before = (home.root / MANIFEST).read_text()
    home = pulled(home, narrow)
    assert waiting(home) == []
    remember_settings(home.manifest, home.machine)
    (home.root / MANIFEST).write_text(before)
    home = Home(home.root)
    assert waiting(home) == ["distill.review", "guard.keep_email"]
    assert home.manifest.settings("guard", GuardSettings).keep_email == frozenset()
    assert home.manifest.settings("distill", DistillSettings).proposed_sections == {"Key Decisions"}


def test_an_audience_is_the_narrower_of_both_for_every_path(home: Home) -> None:
    before = (home.root / MANIFEST).read_text()
    home = agree(pulled(home, '[audiences]\n"Knowledge/private/" = []\n"outputs/" = ["job"]\n'))
    (home.root / MANIFEST).write_text(before)
    home = pulled(home, '[audiences]\n"Knowledge/" = ["group"]\n"MEMORY.md" = ["group"]\n"outputs/" = ["job"]\n')
    assert waiting(home) == ["audiences.Knowledge/private/", "audiences.MEMORY.md"]
    assert home.may_read("Knowledge/a.md", "group")
    assert not home.may_read("Knowledge/a.md", "job")  # what is narrower takes effect at once
    assert not home.may_read("Knowledge/private/a.md", "group")
    assert not home.may_read("MEMORY.md", "group")
    assert home.may_read("outputs/a.txt", "job")
    assert agree(home).may_read("MEMORY.md", "group")


def test_a_context_file_is_not_shown_to_more_people(home: Home) -> None:
    path = home.root / MANIFEST
    text = path.read_text()
    private = 'file = "USER.md"\nowner = "user"\naudiences = ["owner", '
    assert private in text
    path.write_text(text.replace(private, private + '"group", '))
    home = Home(home.root)
    assert waiting(home) == ["audiences.USER.md"]
    assert not home.may_read("USER.md", "group")


def test_harmless_settings_take_effect_at_once(home: Home) -> None:
    home = pulled(home, "[recall]\nvector_weight = 0.5\n[distill]\narchive-after-days = 30\n")
    assert waiting(home) == []
    assert home.manifest.settings("distill", DistillSettings).archive_after_days == 30


def test_consent_to_one_setting_leaves_the_others_waiting(home: Home) -> None:
    home = pulled(home, ENDPOINT + '[guard]\nmax-chars = 9\n[audiences]\n"MEMORY.md" = ["group"]\n')
    accept_settings(load_manifest(home.root / MANIFEST), home.machine, ["guard.max_chars", "audiences.MEMORY.md"])
    home = Home(home.root)
    assert waiting(home) == ["distill.endpoint"]
    assert home.manifest.settings("guard", GuardSettings).max_chars == 9
    assert home.may_read("MEMORY.md", "group")


def test_a_rule_file_counts_by_its_content(home: Home) -> None:
    (home.root / "own.toml").write_text(RULES)
    home = agree(pulled(home, '[guard]\nrules = ["own.toml"]\n'))
    (home.root / "own.toml").write_text("")  # a pull empties it
    home = Home(home.root)
    remember_settings(home.manifest, home.machine)
    home = Home(home.root)
    assert waiting(home) == ["guard.rules.own.toml"]
    (rules,) = guard_settings(home).rule_sets()
    assert [rule.name for rule in rules.rules] == ["acme"]
    accept_settings(load_manifest(home.root / MANIFEST), home.machine, ["guard.rules.own.toml"])
    home = Home(home.root)
    assert waiting(home) == []
    assert [len(found.rules) for found in guard_settings(home).rule_sets()] == [0]


@pytest.mark.parametrize("forgery", ["other key", "other home", "other name", "no record", "unsigned", "nested"])
def test_a_record_that_this_machine_did_not_make_for_this_home_counts_for_nothing(
    home: Home, forgery: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = agree(pulled(home, ENDPOINT))
    record = home.machine / "settings.json"
    if forgery == "other key":
        monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "other"))
    elif forgery == "other home":
        other = create(tmp_path / "other", now=NOW).home
        (other.root / MANIFEST).write_text((home.root / MANIFEST).read_text())
        agree(other)
        record.write_bytes((other.machine / "settings.json").read_bytes())
    elif forgery == "other name":
        record.write_bytes((home.machine / "settings.json").read_bytes().replace(b'"record"', b'"records"'))
    elif forgery == "no record":
        record.unlink()
    elif forgery == "unsigned":
        record.write_text(json.dumps({"record": json.loads(record.read_text())["record"], "mac": "0" * 64}))
    else:
        record.write_text("[" * 50_000)
    assert waiting(Home(home.root)) == ["distill.endpoint"]


def test_refused_settings_are_not_named_until_they_change(home: Home) -> None:
    home = pulled(home, ENDPOINT)
    refuse_settings(home.manifest, home.machine)
    assert Home(home.root).manifest.refused
    assert not pulled(home, "timeout-s = 3\n").manifest.refused


def test_the_digest_names_the_values_and_no_machine(home: Home, tmp_path: Path) -> None:
    other = create(tmp_path / "other", now=NOW).home
    digests = {settings_digest(pulled(one, ENDPOINT).manifest.waiting) for one in (home, other)}
    assert len(digests) == 1
    assert settings_digest(()) == ""
    assert settings_digest(pulled(home, "retries = 1\n").manifest.waiting) not in digests


def test_a_new_home_waits_for_nothing(tmp_path: Path) -> None:
    home = create(tmp_path / "new", now=NOW).home
    assert home.manifest.waiting == ()
    given = load_manifest(home.root / MANIFEST)
    assert settings_in_effect(given, tmp_path / "nowhere").waiting == ()
    assert settings_in_effect(given, home.machine).audiences == given.audiences
