"""The doctor names damaged outputs and checkpoints."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent_home.checkpoints.making import make_checkpoint
from agent_home.home import Home
from agent_home.outputs.blobs import blob_path
from agent_home.outputs.entry import StoredOutput, record_path
from agent_home.outputs.store import store_output
from interfaces.doctor.health import examine
from interfaces.doctor.stored import outputs_check, redis_check
from recall.hot_state import drop_hot_state, hot_state
from recall.servers import REDIS_VARIABLE
from tests.own_redis import OwnRedis

LOG = b"".join(f"step {number}: compiled the harbour crane module\n".encode() for number in range(900))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.fixture
def stored(home: Home, now: datetime) -> StoredOutput:
    return store_output(home, [LOG], now=now)


def test_whole_outputs_are_counted(home: Home, stored: StoredOutput) -> None:
    assert outputs_check(home) == ("ok", "1 output")


def test_a_flipped_byte_is_named(home: Home, stored: StoredOutput, now: datetime) -> None:
    later = store_output(home, [b"fine"], now=now + timedelta(minutes=1))
    flip(blob_path(home, stored.digest))
    (check,) = [check for check in examine(home, now) if check.name == "outputs"]
    assert check.status == "failed"
    assert stored.id in check.detail
    assert later.id not in check.detail


def test_a_damaged_record_and_a_damaged_checkpoint_are_named(
    home: Home, stored: StoredOutput, now: datetime, tmp_path: Path
) -> None:
    made = make_checkpoint(home, now=now, folder=tmp_path)
    (home.root / "outputs" / "checkpoints" / f"{made.id}.json").write_text("{}")
    (home.root / record_path(stored.id)).write_bytes(b"{")
    status, detail = outputs_check(home)
    assert status == "failed"
    assert made.id in detail
    assert stored.id in detail


def test_a_content_beyond_what_is_read_must_be_there(
    home: Home, stored: StoredOutput, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interfaces.doctor.stored._MOST_READ", 0)
    assert "0 MB of them not read" in outputs_check(home)[1]
    blob_path(home, stored.digest).unlink()
    assert outputs_check(home)[0] == "failed"


def test_the_redis_server_is_named_with_what_is_wrong(
    home: Home, now: datetime, own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, detail = redis_check(home)
    assert (status, detail.partition(" answers in ")[0]) == ("ok", own_redis.url)
    hot_state(home).set_value("s1", "a", 1)
    assert redis_check(home)[0] == "ok"
    own_redis.client.config_set("maxmemory", 1)
    assert "its memory is full" in redis_check(home)[1]
    monkeypatch.setenv(REDIS_VARIABLE, own_redis.url + "?password=hunter2")
    own_redis.end()
    (check,) = [check for check in examine(home, now) if check.name == "redis"]
    assert check.status == "warning"
    assert f"{own_redis.url} does not answer" in check.detail
    assert "It is so since 20" in check.detail
    assert "hunter2" not in check.detail
    drop_hot_state(home)
    assert "What was forgotten is deleted there before its next use" in redis_check(home)[1]
    monkeypatch.delenv(REDIS_VARIABLE)
    assert redis_check(home)[0] == "info"


def test_a_home_without_redis_is_in_order(home: Home) -> None:
    assert redis_check(home) == ("ok", "not used. Hot state is kept in a file of this machine")
