"""The doctor names a repository that was not packed for long, and the sizes of the machine's records."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_home.creation import create
from agent_home.git import packing
from agent_home.home import Home
from interfaces.doctor import growth
from interfaces.doctor.health import examine

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create(tmp_path / "home", name="Ada", now=NOW).home


def test_a_repository_that_was_never_packed_is_named_with_the_command(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert growth.packing_check(home)[0] == "ok"
    monkeypatch.setattr(packing, "LEAST_LOOSE", 1)
    status, detail = growth.packing_check(home)
    assert status == "warning"
    assert "never packed. `memory distill` packs them" in detail


def test_who_turned_packing_off_is_not_reminded(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LEAST_LOOSE", 1)
    with (home.root / ".git" / "config").open("a") as config:
        config.write("[gc]\nauto = 0\n")
    status, detail = growth.packing_check(home)
    assert status == "ok"
    assert "`gc.auto = 0` leaves packing to you" in detail


def test_records_are_listed_with_their_sizes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.machine / "audit-0001.jsonl").write_bytes(b"x" * 200_000)
    (home.machine / "events-000001.jsonl").write_bytes(b"x" * 300_000)
    (home.machine / "index.db.corrupt-1").write_bytes(b"x" * 300_000)
    assert growth.records_check(home) == ("ok", "audit 0.2 MB, events 0.3 MB, copies of a damaged index 0.3 MB")
    monkeypatch.setattr(growth, "_LARGE_BYTES", 100_000)
    status, detail = growth.records_check(home)
    assert status == "warning"
    assert "Move old audit-*.jsonl and index.db.corrupt-* away" in detail


def test_the_doctor_has_both_checks(home: Home) -> None:
    names = [check.name for check in examine(home, NOW)]
    assert {"packing", "records"} <= set(names)
