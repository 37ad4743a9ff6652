"""The proof of a fleet finds what is lost, and who wrote beside another."""

from __future__ import annotations

from pathlib import Path

from agent_home.home import Home
from agent_home.lease.state_commit import STATE_REF
from bench.fleet.proof import prove
from interfaces.api import AgentHome
from tests.fleet import FleetHost, arrive, bare, entrusted, git, tip

NOTE = "We use PostgreSQL for billing."
MESSAGE = "We looked at the ledger."


def test_what_is_lost_or_written_by_two_is_found(home: Home, tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote.git")
    one, two = FleetHost(tmp_path / "one", "one", "a"), FleetHost(tmp_path / "two", "two", "b")
    entrusted(home, one, "ada", remote)
    held = arrive(one, "ada", 1, remote)
    AgentHome(held).remember(NOTE)
    AgentHome(held).append("s1", [{"role": "user", "content": MESSAGE}])
    AgentHome(held).close("s1")
    rows = [
        {"kind": "note", "text": NOTE}, {"kind": "message", "text": MESSAGE}, {"kind": "close", "text": "s1"}
    ]  # fmt: skip
    earlier = tip(remote)
    proof = prove("ada", Path(remote), rows)
    assert proof.problems == ()
    assert (proof.writes, proof.epochs) == (3, 1)
    lost = [{"kind": kind, "text": "absent"} for kind in ("note", "message", "close")]
    assert len(prove("ada", Path(remote), lost).problems) == 3
    arrive(two, "ada", 2, remote)
    assert prove("ada", Path(remote), rows).problems == ()
    git(remote, "update-ref", STATE_REF, earlier)  # as a host does that another has replaced
    assert "one published under the epoch 1 after the epoch 2" in prove("ada", Path(remote), rows).problems
