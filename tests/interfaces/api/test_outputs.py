"""Test outputs in the Python API."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_home.checkpoints.pruning import prune
from agent_home.home import Home
from agent_home.outputs.reading import NoSuchOutput
from interfaces.api import AgentHome
from interfaces.api.outputs import OutputElsewhere
from recall.hot_state import use_hot_state_key
from recall.hot_state.home_key import ensure_key
from recall.hot_state.output_pointers import drop_pointers
from tests.own_redis import OwnRedis


def test_outputs_are_listed_by_what_they_are(agent: AgentHome) -> None:
    stored = agent.outputs.store("8 passed\n", tool="pytest", session="s1")
    agent.outputs.store(b"ok", tool="make", type="context")
    assert [output.id for output in agent.outputs.list(tool="pytest")] == [stored.id]
    assert [output.tool for output in agent.outputs.list(type="context")] == ["make"]
    with pytest.raises(ValueError, match="expected one of"):
        agent.outputs.store("x", type="zz")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="content is int"):
        agent.outputs.store(5)  # type: ignore[arg-type]


def test_another_machine_of_the_home_learns_what_was_stored(
    agent: AgentHome, own_redis: OwnRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = agent.outputs.store("8 passed, 1 failed (test_total)\n", tool="pytest", session="s1")
    key = ensure_key(agent.home)
    assert 3_590_000 < own_redis.client.pttl(key.output(stored.id)) <= 3_600_000
    shutil.copytree(agent.home.root, tmp_path / "there")
    shutil.rmtree(tmp_path / "there" / "outputs")
    with monkeypatch.context() as patch:
        patch.setenv("AGENT_HOME_STATE", str(tmp_path / "state there"))
        there = AgentHome(Home(tmp_path / "there"))
        with pytest.raises(NoSuchOutput) as unknown:
            there.outputs.get(stored.id)
        assert not isinstance(unknown.value, OutputElsewhere)
        use_hot_state_key(there.home, key.secret)
        with pytest.raises(OutputElsewhere, match="another machine") as known:
            list(there.outputs.fetch(stored.id) if there.outputs.get(stored.id) else [])
        assert known.value.pointer.summary == stored.summary
        assert (known.value.pointer.audience, known.value.pointer.session) == ("owner", "s1")
        with pytest.raises(NoSuchOutput):
            there.outputs.get(stored.id[-8:])
    done = prune(agent.home, now=datetime(2100, 1, 1, tzinfo=UTC), keep_days=1, apply=True)
    drop_pointers(agent.home, done.ids)
    with monkeypatch.context() as patch:
        patch.setenv("AGENT_HOME_STATE", str(tmp_path / "state there"))
        with pytest.raises(NoSuchOutput) as gone:
            there.outputs.get(stored.id)
        assert not isinstance(gone.value, OutputElsewhere)


def test_a_lost_output_of_this_machine_is_lost(agent: AgentHome, own_redis: OwnRedis) -> None:
    stored = agent.outputs.store("8 passed\n")
    shutil.rmtree(agent.home.root / "outputs")
    with pytest.raises(NoSuchOutput) as gone:
        agent.outputs.get(stored.id)
    assert not isinstance(gone.value, OutputElsewhere)
    assert own_redis.client.exists(ensure_key(agent.home).output(stored.id))


def test_outputs_are_stored_and_fetched_without_the_server(agent: AgentHome, own_redis: OwnRedis) -> None:
    first = agent.outputs.store("8 passed\n")
    own_redis.end()
    second = agent.outputs.store("9 passed\n")
    assert b"".join(agent.outputs.fetch(first.id)) == b"8 passed\n"
    assert b"".join(agent.outputs.fetch(second.id)) == b"9 passed\n"
