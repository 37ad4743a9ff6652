"""The file of the machine takes Redis's place while the server does not answer, and nothing is lost by it."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import redis

from agent_home.home import Home
from recall.hot_state import HotState, drop_hot_state, hot_state, redis_state, settle_hot_state
from recall.hot_state.home_key import ensure_key, read_key, use_key
from recall.hot_state.redis_server import redis_server
from recall.hot_state.shared_store import HotStateKept
from recall.servers import REDIS_VARIABLE
from tests.own_redis import OwnRedis

OUTAGE = "hot-state-outage.json"


def test_a_stopped_server_costs_no_call_its_answer(home: Home, own_redis: OwnRedis) -> None:
    state = HotState(home)
    state.set_context("s1", {"before": 1})
    own_redis.end()
    assert state.get_context("s1") == {}
    assert "does not answer" in state.problem
    assert own_redis.url in state.problem
    began = time.perf_counter()
    for number in range(50):
        state.set_value("s1", f"k{number}", number)
        assert state.get_context("s1")[f"k{number}"] == number
    assert time.perf_counter() - began < 10
    assert HotState(home).get_context("s1") == {f"k{number}": number for number in range(50)}
    since = json.loads((home.machine / OUTAGE).read_text())["since"]
    assert redis_state(home).since == since


def test_values_come_back_with_the_server(home: Home, own_redis: OwnRedis) -> None:
    state = HotState(home)
    state.set_context("s1", {"a": "redis", "b": "redis"})
    state.set_tool_results("s1", "t", "redis")
    own_redis.signal(signal.SIGSTOP)
    began = time.perf_counter()
    assert state.get_context("s1") == {}
    assert time.perf_counter() - began < 10
    state.set_context("s1", {"b": "file", "c": "file"})
    state.set_tool_results("s1", "t", "file")
    assert state.get_context("s1") == {"b": "file", "c": "file"}
    own_redis.signal(signal.SIGCONT)
    own_redis.asked_again()
    assert state.get_context("s1") == {"a": "redis", "b": "file", "c": "file"}
    assert state.get_tool_results("s1", "t") == "file"
    assert state.problem == ""
    assert not (home.machine / OUTAGE).exists()
    own_redis.end()
    assert state.items() == []  # the file gave everything away


def test_of_two_values_the_later_one_stays(home: Home, own_redis: OwnRedis) -> None:
    mine, theirs = HotState(home), HotState(home)
    own_redis.signal(signal.SIGSTOP)
    mine.set_context("s1", {"a": "first", "b": "first"})
    mine.set_tool_results("s1", "t", "first")
    rows = mine.items()
    own_redis.signal(signal.SIGCONT)
    own_redis.asked_again()
    key = ensure_key(home)
    theirs.set_context("s1", {"a": "second"})  # which brings the others along
    theirs.set_tool_results("s1", "t", "second")
    assert mine.get_context("s1") == {"a": "second", "b": "first"}
    assert mine.get_tool_results("s1", "t") == "second"
    assert len(mine.items()) == len(rows)
    assert own_redis.client.exists(key.context("s1")) == 1


def test_a_home_takes_its_values_along_when_it_gets_a_server(
    home: Home, own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.delenv(REDIS_VARIABLE)
        HotState(home).set_context("s1", {f"k{n}": n for n in range(200)})
        HotState(home).set_value("s2", "task", "old", ttl_s=1)
    time.sleep(1)
    state = HotState(home)
    assert state.items_of(["s1"])[0].name == "k0"
    assert len(state.items()) == 200
    key = read_key(home)
    assert key is not None
    assert own_redis.client.hlen(key.context("s1")) == 200
    assert own_redis.client.dbsize() == 1
    own_redis.end()
    assert HotState(home).items() == []


def test_a_home_without_hot_state_asks_no_server(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REDIS_VARIABLE, f"unix://{tmp_path}/nobody.sock")
    state = HotState(home)
    assert state.get_context("s1") == {}
    assert state.problem == ""
    assert not list(home.machine.glob("hot-state*"))


@pytest.mark.parametrize("session", ["s1", ""])
def test_what_cannot_be_deleted_is_said(home: Home, own_redis: OwnRedis, session: str) -> None:
    state = HotState(home)
    state.set_value(session, "a", 1)
    own_redis.signal(signal.SIGSTOP)
    state.set_value(session, "b", 2)
    with pytest.raises(HotStateKept, match="was not deleted"):
        state.delete(session)
    assert state.get_context(session) == {}
    own_redis.signal(signal.SIGCONT)
    own_redis.asked_again()
    assert state.delete(session) == 1
    assert state.get_context(session) == {}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"maxmemory": "1", "maxmemory-policy": "noeviction"}, "its memory is full"),
        ({"requirepass": "other"}, "the name or the password is wrong or missing"),
        ({"min-replicas-to-write": "1"}, "error NOREPLICAS"),
    ],
)
def test_a_server_that_refuses_is_replaced_by_the_file(
    home: Home, own_redis: OwnRedis, settings: dict[str, str], problem: str
) -> None:
    state = HotState(home)
    state.set_value("s1", "before", 1)
    client = own_redis.client
    client.config_set("min-replicas-max-lag", 10)
    for name, value in settings.items():
        client.config_set(name, value)
    redis_server(own_redis.url).close()
    state.set_context("s1", {"task": "secret harbour"})
    assert "refuses" in state.problem
    assert "harbour" not in state.problem
    assert state.get_context("s1")["task"] == "secret harbour"
    found = redis_state(home)
    assert problem in found.problem
    client.config_set("maxmemory", 0)
    client.config_set("requirepass", "")
    client.config_set("min-replicas-to-write", 0)
    own_redis.asked_again()
    assert state.get_context("s1") == {"before": 1, "task": "secret harbour"}
    assert redis_state(home).problem == ""


def test_a_replica_is_read_and_the_file_is_written(home: Home, own_redis: OwnRedis) -> None:
    state = HotState(home)
    state.set_value("s1", "before", 1)
    own_redis.client.replicaof("127.0.0.1", "1")
    assert state.get_context("s1") == {"before": 1}
    assert state.problem == ""
    assert "only read" in redis_state(home).problem
    own_redis.asked_again()
    state.set_value("s1", "task", "x")
    assert "only read" in state.problem
    assert state.get_context("s1") == {"task": "x"}
    own_redis.asked_again()
    assert state.get_context("s1") == {"task": "x"}  # as long as it cannot be moved
    own_redis.client.replicaof("NO", "ONE")
    own_redis.asked_again()
    assert state.get_context("s1") == {"before": 1, "task": "x"}


def test_a_server_that_is_killed_in_the_middle_loses_nothing_of_the_file(home: Home, own_redis: OwnRedis) -> None:
    state = HotState(home)
    for number in range(40):
        if number == 20:
            own_redis.end()
        state.set_value("s1", f"k{number}", number)
    assert {f"k{number}" for number in range(20, 40)} <= state.get_context("s1").keys()
    own_redis.begin()
    own_redis.asked_again()
    assert state.get_context("s1")["k39"] == 39
    key = read_key(home)
    assert key is not None
    assert own_redis.client.hlen(key.context("s1")) >= 20


@pytest.mark.parametrize(
    "address",
    ["redis://:hunter2@127.0.0.1:1/0", "redis://:hunter2@no.such.host.example:6379", "redis://cache:hunter2/0",
     "http://:hunter2@host", "nonsense hunter2", "redis://host?no_such_option=hunter2", "unix:///no/such?password=hunter2",
     "redis://host?db=hunter2", "rediss://127.0.0.1:1?password=hunter2&socket_timeout=900"],
)  # fmt: skip
def test_an_address_that_leads_nowhere_is_said_without_its_password(
    home: Home, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(REDIS_VARIABLE, address)
    state = HotState(home)
    state.set_value("s1", "a", 1)
    assert state.get_context("s1") == {"a": 1}
    found = redis_state(home)
    assert found.problem
    assert "hunter2" not in f"{state.problem} {found}"


def test_nobody_is_kept_waiting_for_a_server_that_does_not_answer(
    home: Home, own_redis: OwnRedis, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hot_state(home).set_value("s1", "a", 1)
    own_redis.signal(signal.SIGSTOP)
    began = time.perf_counter()
    said: list[str] = []
    assert hot_state(home).items_of(["s1", ""], said.append) == []
    assert time.perf_counter() - began < 10
    assert len(said) == 1
    monkeypatch.setenv(REDIS_VARIABLE, redis_url)
    assert hot_state(home).items_of(["s1"]) == []
    assert hot_state(home).problem == ""


def test_what_is_forgotten_is_forgotten_in_redis(home: Home, tmp_path: Path, own_redis: OwnRedis) -> None:
    shutil.copytree(home.root, tmp_path / "other")
    other = Home(tmp_path / "other")
    for one in (home, other):
        HotState(one).set_context("s1", {f"k{n}": n for n in range(20)})
        key = ensure_key(one)
        own_redis.client.mset({key.tool("s", str(number)): "x" for number in range(1500)})
    own_redis.client.set("somebody's own", 1)
    assert drop_hot_state(home) == ()
    assert not list(own_redis.client.scan_iter(f"{ensure_key(home).prefix}:*"))
    assert own_redis.client.dbsize() == 1502
    assert HotState(home).items() == []
    assert len(HotState(other).get_context("s1")) == 20


@pytest.mark.parametrize("how", ["stopped", "not set"])
def test_what_cannot_be_forgotten_now_is_forgotten_before_it_is_read(
    home: Home, own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    state = HotState(home)
    state.set_value("s1", "a", "the text")
    with monkeypatch.context() as patch:
        if how == "stopped":
            own_redis.signal(signal.SIGSTOP)
        else:
            patch.delenv(REDIS_VARIABLE)
        (said,) = drop_hot_state(home)
    assert "deleted before it is read again" in said
    assert own_redis.url in said or REDIS_VARIABLE in said
    if how == "stopped":
        state.set_value("s1", "b", "another")
        own_redis.signal(signal.SIGCONT)
    own_redis.asked_again()
    assert state.get_context("s1") == ({"b": "another"} if how == "stopped" else {})
    assert own_redis.client.dbsize() == (1 if how == "stopped" else 0)


def test_a_home_that_never_used_redis_has_nothing_to_forget_there(home: Home, own_redis: OwnRedis) -> None:
    own_redis.signal(signal.SIGSTOP)
    assert drop_hot_state(home) == ()


def test_a_backup_of_the_file_has_what_is_in_redis(home: Home, tmp_path: Path, own_redis: OwnRedis) -> None:
    state = hot_state(home)
    state.set_context("s1", {"task": "x", "gone": 1})
    state.set_tool_results("s1", "t", [1])
    settle_hot_state(home)
    state.delete("s1", "gone")
    settle_hot_state(home)
    assert state.get_context("s1") == {"task": "x"}
    copy = Home(tmp_path / "copy")
    copy.machine.mkdir(parents=True)
    shutil.copyfile(home.machine / "hot-state.db", copy.machine / "hot-state.db")
    assert HotState(copy).get_context("s1") == {"task": "x"}
    assert HotState(copy).get_tool_results("s1", "t") == [1]
    state.set_value("s1", "task", "y")
    assert HotState(copy).get_context("s1") == {"task": "x"}
    own_redis.end()
    settle_hot_state(home)
    assert state.items() == []  # a copy is no value of the home that it was made in


def test_a_file_that_cannot_be_used_does_not_keep_redis_away(home: Home, own_redis: OwnRedis) -> None:
    (home.machine / "hot-state.db").mkdir(parents=True)
    state = HotState(home)
    state.set_value("s1", "a", 1)
    assert state.get_context("s1") == {"a": 1}
    assert state.problem == ""
    assert own_redis.client.dbsize() == 1


def test_a_machine_that_can_sign_nothing_uses_the_file(
    home: Home, own_redis: OwnRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("no folder")
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "state"))
    state = HotState(home)
    state.set_value("s1", "a", 1)
    assert state.get_context("s1") == {"a": 1}
    assert "machine.key" in state.problem
    assert own_redis.client.dbsize() == 0


def test_two_homes_with_one_key_share_their_values(home: Home, tmp_path: Path, own_redis: OwnRedis) -> None:
    HotState(home).set_value("s1", "a", 1)
    (tmp_path / "other" / ".git").mkdir(parents=True)
    other = Home(tmp_path / "other")
    values: list[Any] = [HotState(other).get_context("s1")]
    use_key(other, ensure_key(home).secret)
    values.append(HotState(other).get_context("s1"))
    assert values == [{}, {"a": 1}]
    assert isinstance(own_redis.client, redis.Redis)


def test_what_has_to_be_deleted_is_deleted_by_the_next_write_however_large_the_server_is(
    home: Home, own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = HotState(home)
    state.set_value("s1", "a", "the text")
    own_redis.signal(signal.SIGSTOP)
    drop_hot_state(home)
    own_redis.signal(signal.SIGCONT)
    own_redis.client.mset({f"somebody's {number}": 1 for number in range(30_000)})
    own_redis.asked_again()
    monkeypatch.setattr("recall.hot_state.shared_store.PROMPT_S", 0.001)
    assert state.get_context("s1") == {}
    assert state.problem
    own_redis.asked_again()
    state.set_value("s1", "b", 1)
    assert state.problem == ""
    monkeypatch.undo()
    monkeypatch.setenv(REDIS_VARIABLE, own_redis.url)
    assert own_redis.client.hkeys(ensure_key(home).context("s1")) == [b"b"]
    assert own_redis.client.dbsize() == 30_001
