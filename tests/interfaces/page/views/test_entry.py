"""An entry is shown from its sentence down to its turns, commits and uses."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from agent_home.errors import NoSuchEntry
from agent_home.home import Home
from interfaces.api import AgentHome
from interfaces.page.views.entry import entry_view


def test_an_entry_has_its_section_history_and_uses(home: Home, now: datetime) -> None:
    api = AgentHome(home)
    made = api.remember("The ledger runs on PostgreSQL.", about="ledger", now=now)
    for days in range(3):
        api.cite(made.id, now=now + timedelta(days=days))
    view = entry_view(home, made.id, now)
    assert view.section == made.section
    assert view.lineage.entry is not None
    assert [event.action for event in view.events][-1] == "added"
    assert [ts[:10] for ts, _ in view.uses] == ["2026-11-23", "2026-11-22", "2026-11-21"]
    assert "Evidence" not in view.fields
    assert "Sources" not in view.fields


def test_an_id_is_found_however_it_is_spelled(home: Home, now: datetime) -> None:
    made = AgentHome(home).remember("The ledger runs on PostgreSQL.", now=now)
    for spelled in (made.id.lower(), f"[{made.id}]", f" {made.id} "):
        assert entry_view(home, spelled, now).lineage.id == made.id


@pytest.mark.parametrize("entry_id", ["KD-ZZZZ", "", "x", "..", "--all", "\0", "KD-ZZZZ\n", "%00", "é" * 1000])
def test_an_unknown_id_is_refused(home: Home, now: datetime, entry_id: str) -> None:
    with pytest.raises(NoSuchEntry):
        entry_view(home, entry_id, now)
