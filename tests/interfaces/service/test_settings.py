"""Test the table ``[serve]`` of ``agent.toml``."""

from __future__ import annotations

import pytest

from agent_home.errors import SettingsInvalid
from agent_home.home import Home
from interfaces.service.settings import ServeSettings
from tests.consenting import agree


def with_table(home: Home, table: str) -> Home:
    with (home.root / "agent.toml").open("a") as manifest:
        manifest.write(f"\n[serve]\n{table}\n")
    return Home(home.root)


def serve_settings(home: Home) -> ServeSettings:
    return home.manifest.settings("serve", ServeSettings)


def test_a_home_without_the_table_has_the_defaults(home: Home) -> None:
    found = serve_settings(home)
    assert found == ServeSettings()
    assert found.autostart is False, "no pulled home may start a process here by itself"


def test_the_table_sets_what_it_names(home: Home) -> None:
    found = serve_settings(
        agree(with_table(home, "idle_minutes = 5\nmax_body_bytes = 2048\nrequests_per_minute = 7\nautostart = true"))
    )
    assert found == ServeSettings(idle_minutes=5, max_body_bytes=2048, requests_per_minute=7, autostart=True)


@pytest.mark.parametrize("table", ["autostart = true", "max_body_bytes = 9999999999", "requests_per_minute = 1000000"])
def test_what_a_pulled_table_opens_waits_for_a_person(home: Home, table: str) -> None:
    assert serve_settings(with_table(home, table)) == ServeSettings()


@pytest.mark.parametrize("table", ["idle = 5", 'idle_minutes = "5"', "requests_per_minute = true"])
def test_an_unknown_key_or_a_wrong_type_is_an_error(home: Home, table: str) -> None:
    with pytest.raises(SettingsInvalid):
        serve_settings(agree(with_table(home, table)))
