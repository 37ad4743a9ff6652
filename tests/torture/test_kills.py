"""A few of the kills and full disks of ``python -m tests.torture``, and a fault that must be found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_home.home import Home
from agent_home.store import transcript

from .faults import Fault, Faults, faults, missing
from .kills import kill_everywhere
from .scenarios import check, make, state

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.mark.parametrize(
    ("command", "fault", "first"), [("close", "kill", 97), ("forget", "kill", 61), ("accept", "full", 41)]
)
def test_a_fault_at_some_changes_loses_nothing(
    ready: Faults, tmp_path: Path, command: str, fault: Fault, first: int
) -> None:
    (report,) = kill_everywhere(ready, tmp_path, fault=fault, first=first, every=401, only=command)
    assert report.trials > 0
    assert report.findings == []


def test_a_fault_happens_at_the_chosen_change(ready: Faults, tmp_path: Path) -> None:
    home = tmp_path / "home"
    code, changes, _, _ = ready.run("init", str(home))
    assert (code, changes > 50) == (0, True)
    code, at, _, _ = ready.run("init", str(tmp_path / "other"), fault="kill", at=20)
    assert (code, at) == (-9, 20)
    assert not (tmp_path / "other" / ".git" / "HEAD").exists() or not (tmp_path / "other" / "agent.toml").exists()


def test_what_is_lost_is_found(tmp_path: Path) -> None:
    home = make(tmp_path / "home")
    wanted = state(home)
    assert list(check(home, wanted, "untouched")) == []
    text = (home.root / "MEMORY.md").read_text("utf-8")
    (home.root / "MEMORY.md").write_text(text.replace("Blue Heron", "Grey Heron"), "utf-8")
    next(file.path for file in transcript.sessions(home) if file.session == "known").unlink()
    kinds = [(finding.kind, finding.what.split(":")[0].split("#")[0]) for finding in check(home, wanted, "spoilt")]
    assert {("lost", "entry"), ("lost", "message known"), ("lost", "not in the last commit")} <= set(kinds)
    _damage_an_object(home)
    assert "corrupt" in {finding.kind for finding in check(home, wanted, "damaged")}


def _damage_an_object(home: Home) -> None:
    found = max((home.root / ".git" / "objects").rglob("*"), key=lambda path: path.is_file() and path.stat().st_size)
    found.chmod(0o644)
    found.write_bytes(found.read_bytes()[:-20])
