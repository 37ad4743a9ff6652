"""A reference to an output says what its own machine wrote, for an hour and as long as the output is there."""

from __future__ import annotations

import signal
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.home import Home
from agent_home.outputs.entry import StoredOutput
from agent_home.outputs.store import store_output
from recall.hot_state import drop_hot_state
from recall.hot_state.home_key import HomeKey, ensure_key, read_key
from recall.hot_state.output_pointers import drop_pointers, output_pointer, point_to
from recall.hot_state.redis_server import redis_server
from tests.own_redis import OwnRedis


@pytest.fixture
def stored(home: Home, now: datetime, own_redis: OwnRedis) -> StoredOutput:
    made = store_output(home, [b"8 passed\n"], now=now, tool="pytest")
    point_to(home, made)
    return made


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as another machine does, which has another mark."""
    monkeypatch.setattr("recall.hot_state.output_pointers._machine", lambda: "another")


@pytest.mark.usefixtures("stored")
def test_a_reference_is_for_other_machines(home: Home, stored: StoredOutput) -> None:
    assert output_pointer(home, stored.id) is None


@pytest.mark.usefixtures("elsewhere")
def test_a_reference_ends_after_an_hour(home: Home, now: datetime, own_redis: OwnRedis) -> None:
    made = store_output(home, [b"8 passed\n"], now=now)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recall.hot_state.output_pointers._machine", lambda: "this")
        point_to(home, made, clock=lambda: 1000.0)
    found = output_pointer(home, made.id, clock=lambda: 4599.0)
    assert found is not None
    assert (found.id, found.summary, found.tokens) == (made.id, made.summary, made.tokens)
    assert output_pointer(home, made.id, clock=lambda: 4601.0) is None
    assert output_pointer(home, made.id, audience="group", clock=lambda: 4599.0) is None
    assert output_pointer(home, made.id[4:]) is None
    assert own_redis.client.dbsize() == 1


def test_a_reference_goes_with_its_output(
    home: Home, stored: StoredOutput, own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch, elsewhere: None
) -> None:
    assert output_pointer(home, stored.id) is not None
    drop_pointers(home, [])
    own_redis.signal(signal.SIGSTOP)
    drop_pointers(home, [stored.id])
    key = read_key(home)
    assert key is not None
    assert key.owed == "outputs"
    own_redis.signal(signal.SIGCONT)
    own_redis.asked_again()
    assert output_pointer(home, stored.id) is None
    assert own_redis.client.dbsize() == 0
    point_to(home, stored)
    drop_pointers(home, [f"mem-20261128-100000-{number:08x}" for number in range(1200)] + [stored.id])
    assert own_redis.client.dbsize() == 0
    point_to(home, stored)
    drop_hot_state(home)
    assert own_redis.client.dbsize() == 0


@pytest.mark.usefixtures("elsewhere")
def test_nobody_else_writes_a_reference(home: Home, stored: StoredOutput, own_redis: OwnRedis) -> None:
    key, client = ensure_key(home), own_redis.client
    mine = client.get(key.output(stored.id))
    assert isinstance(mine, bytes)
    other = stored.id[:-1] + ("0" if stored.id[-1] != "0" else "1")
    for data in (b"", b"{}", mine[:64] + b"{}", mine + b" ", HomeKey("cd" * 32).sealed(b"", b"{}"), b"x" * 1_000_000):
        client.set(key.output(stored.id), data)
        assert output_pointer(home, stored.id) is None
    client.set(key.output(other), mine)
    assert output_pointer(home, other) is None
    client.delete(key.output(stored.id))
    client.rpush(key.output(stored.id), "another type")
    assert output_pointer(home, stored.id) is None
    assert redis_server(own_redis.url).backoff.wait_s == 0


def test_without_an_address_nothing_is_asked(home: Home, now: datetime, tmp_path: Path) -> None:
    made = store_output(home, [b"8 passed\n"], now=now)
    point_to(home, made)
    drop_pointers(home, [made.id])
    assert output_pointer(home, made.id) is None
    assert read_key(home) is None
