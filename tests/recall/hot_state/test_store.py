"""A file of the machine and Redis behave alike: the same suite holds both to it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_home.home import Home
from recall.hot_state import CONTEXT_S, TOOL_S, HotState, HotStateRefused
from recall.hot_state.home_key import read_key
from recall.hot_state.shared_store import SharedStore
from recall.hot_state.store import MOST_ITEMS, HotValue, unsaid

from .conftest import Clock

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def state(home: Home, clock: Clock) -> HotState:
    return HotState(home, clock=clock)


def test_the_values_are_where_the_test_thinks(home: Home, state: HotState, place: str, redis_url: str) -> None:
    state.set_value("s1", "a", 1)
    key = read_key(home)
    assert (home.machine / "hot-state.db").exists() == (place == "file")
    assert (key is not None) == (place == "redis")
    if key is not None:
        assert redis.Redis.from_url(redis_url).exists(f"{key.prefix}:session:s1:context")
    assert state.problem == ""


def test_context_comes_back_with_its_types_until_its_time_is_over(state: HotState, clock: Clock) -> None:
    state.set_context("s1", {"task": "Fixing test_auth", "tries": 2, "files": ["a.py"], "ok": None, "rate": 0.5})
    state.set_context("s2", {"task": "another"})
    context = {"task": "Fixing test_auth", "tries": 2, "files": ["a.py"], "ok": None, "rate": 0.5}
    assert state.get_context("s1") == context
    clock.now += CONTEXT_S - 1
    state.set_context("s1", {"tries": 3})
    clock.now += 2
    assert state.get_context("s1") == {**context, "tries": 3}
    assert state.get_context("s2") == {}
    clock.now += CONTEXT_S
    assert state.get_context("s1") == {}
    assert state.items() == []


def test_setting_context_wakes_nothing_and_shortens_nothing(state: HotState, clock: Clock) -> None:
    state.set_value("s1", "short", 1, ttl_s=10)
    state.set_value("s1", "long", 1, ttl_s=9_000)
    clock.now += 11
    state.set_context("s1", {"new": 1}, ttl_s=100)
    assert state.get_context("s1") == {"long": 1, "new": 1}
    assert [(item.name, item.left_s) for item in state.items("s1")] == [("long", 8_989), ("new", 100)]
    state.set_context("s1", {}, ttl_s=9_999)
    assert [item.left_s for item in state.items("s1")] == [9_999, 9_999]


def test_one_value_has_a_life_of_its_own(state: HotState, clock: Clock) -> None:
    state.set_context("s1", {"a": 1, "b": 2})
    state.set_value("s1", "a", 3, ttl_s=5)
    state.set_value("s1", "c", 4, ttl_s=7_200)
    clock.now += 6
    assert state.get_context("s1") == {"b": 2, "c": 4}
    clock.now += CONTEXT_S
    assert state.get_context("s1") == {"c": 4}
    assert state.items("s1")[0].left_s == 7_200 - 6 - CONTEXT_S


def test_results_of_tools_end_sooner_and_are_no_context(state: HotState, clock: Clock) -> None:
    state.set_tool_results("s1", "pytest", {"passed": 40})
    state.set_tool_results("s1", "ruff", None)
    assert state.get_tool_results("s1", "pytest") == {"passed": 40}
    assert state.get_tool_results("s1", "ruff") is None
    assert state.get_tool_results("s2", "pytest") is None
    assert state.get_context("s1") == {}
    assert [item.name for item in state.items("s1")] == ["pytest", "ruff"]
    clock.now += TOOL_S - 1
    state.set_context("s1", {"task": "goes on"})
    state.set_tool_results("s1", "ruff", [1])
    clock.now += 2
    assert state.get_tool_results("s1", "pytest") is None
    assert [(item.kind, item.name) for item in state.items("s1")] == [("context", "task"), ("tool", "ruff")]


def test_values_are_deleted_one_by_one_or_with_their_session(state: HotState, clock: Clock) -> None:
    state.set_context("s1", {"a": 1, "b": 2})
    state.set_tool_results("s1", "a", 3)
    state.set_value("s2", "a", 4)
    assert state.delete("s1", "a") == 1
    assert state.delete("s1", "a") == 0
    assert state.get_tool_results("s1", "a") == 3
    assert state.get_context("s1") == {"b": 2}
    assert state.delete("s1") == 2
    assert state.items("s1") == []
    assert state.get_tool_results("s1", "a") is None
    assert state.get_context("s2") == {"a": 4}
    clock.now += CONTEXT_S + 1
    assert state.delete("s2") == 0


def test_a_session_keeps_so_many_values_that_are_alive(state: HotState, clock: Clock) -> None:
    state.set_context("s1", {f"k{n}": n for n in range(200)})
    for number in range(56):
        state.set_tool_results("s1", f"t{number}", number)
    with pytest.raises(HotStateRefused, match=str(MOST_ITEMS)):
        state.set_context("s1", {"k0": "changed", "one more": 1})
    with pytest.raises(HotStateRefused, match=str(MOST_ITEMS)):
        state.set_tool_results("s1", "one more", 1)
    assert state.get_context("s1")["k0"] == 0
    state.set_context("s1", {"k0": "changed"})
    state.set_tool_results("s1", "t0", "changed")
    state.set_value("s2", "another", 1)
    assert len(state.items("s1")) == MOST_ITEMS
    clock.now += TOOL_S + 1
    state.set_context("s1", {f"n{n}": n for n in range(56)})
    assert len(state.items("s1")) == MOST_ITEMS
    clock.now += CONTEXT_S + 1
    state.set_context("s1", {f"x{n}": n for n in range(MOST_ITEMS)})
    assert len(state.get_context("s1")) == MOST_ITEMS


def test_items_come_by_session_kind_and_name(state: HotState) -> None:
    for session in ("s2", "s10", "", "日", "S"):
        state.set_tool_results(session, "b", 1)
        state.set_context(session, {"z": 1, "a": 2, "é": 3, "🙂": 4, "ﬀ": 5}, audience="group")
    places = [(item.session, item.kind, item.name) for item in state.items()]
    assert places == sorted(places)
    assert len(places) == 30
    assert [item.audience for item in state.items("s2")] == ["group"] * 5 + ["owner"]
    assert state.items_of(["日", "S", "日"]) == [*state.items("S"), *state.items("日")]
    assert state.items_of([]) == []


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("a:b", "c"), ("a", "b:c"), ("a:context", "tools"), ("a", "tools"), ("", "x"), ("a*", "[b]?"), ("{a}", "{b}"),
        ("a%3Ab", "c%3A"), ("会话 1", "任务：一"), ("🙂", "a b"), ("a/b\\c", "'\""), ("..", "~"),
        ("long " * 60 + "name", "name " * 39 + "end"),
    ],
)  # fmt: skip
def test_any_name_is_kept_apart_from_any_other(state: HotState, session: str, name: str) -> None:
    others = [("a:b", "c"), ("a", "b:c"), ("a", "b"), ("a:b:tools", "c"), ("a", "x"), ("a%3Ab", "c")]
    for number, other in enumerate(others):
        state.set_tool_results(other[0], other[1], number)
        state.set_value(*other, number)
    state.set_value(session, name, "mine")
    state.set_tool_results(session, name, "mine, too")
    assert state.get_context(session)[name] == "mine"
    assert state.get_tool_results(session, name) == "mine, too"
    for number, other in enumerate(others):
        if other != (session, name):
            assert state.get_tool_results(*other) == number
            assert state.get_context(other[0])[other[1]] == number
    assert {(item.session, item.name) for item in state.items()} == {*others, (session, name)}


def test_what_cannot_be_a_name_is_not_there(state: HotState) -> None:
    state.set_value("s1", "a", 1)
    assert state.get_context("no such") == {}
    assert state.get_tool_results("s1", "x" * 5_000) is None
    assert state.delete("s1", "x" * 5_000) == 0
    assert state.get_context("s1") == {"a": 1}


def test_large_values_come_back_whole(state: HotState) -> None:
    text = "the harbour crane 起重机 " * 2_900
    state.set_context("s1", {f"k{n}": text[n:] for n in range(5)})
    state.set_tool_results("s1", "t", {"out": text})
    assert state.get_context("s1") == {f"k{n}": text[n:] for n in range(5)}
    assert state.get_tool_results("s1", "t") == {"out": text}


def test_threads_and_objects_share_one_state(home: Home) -> None:
    states = [HotState(home), HotState(Home(home.root))]

    def work(number: int) -> None:
        for step in range(15):
            states[number % 2].set_value(f"s{number % 3}", f"k{number}-{step}", step)
            states[number % 2].set_tool_results(f"s{number % 3}", f"t{number}", step)
            states[number % 2].set_context(f"s{number % 3}", {f"c{number}": step})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [state.problem for state in states] == ["", ""]
    for session in range(3):
        numbers = (session, session + 3)
        context = {f"k{number}-{step}": step for number in numbers for step in range(15)}
        assert states[0].get_context(f"s{session}") == context | {f"c{number}": 14 for number in numbers}
        assert [states[1].get_tool_results(f"s{session}", f"t{number}") for number in numbers] == [14, 14]


def test_two_processes_share_one_state(home: Home) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from agent_home.home import Home; from recall.hot_state import hot_state\n"
        "state = hot_state(Home(Path(sys.argv[1])))\n"
        "for n in range(20): state.set_value('s1', f'{sys.argv[2]}{n}', n); state.set_context('s1', {sys.argv[2]: n})\n"
        "assert state.problem == '', state.problem\n"
    )
    others = [subprocess.Popen([sys.executable, "-c", code, str(home.root), name]) for name in "xy"]
    assert [other.wait(60) for other in others] == [0, 0]
    wanted = {f"{name}{n}": n for name in "xy" for n in range(20)} | {"x": 19, "y": 19}
    assert HotState(home).get_context("s1") == wanted


def test_an_extension_loses_no_value_that_another_sets_meanwhile(home: Home) -> None:
    state, done = HotState(home), threading.Event()

    def extend() -> None:
        while not done.is_set():
            HotState(home).set_context("s1", {"extended": 1})

    thread = threading.Thread(target=extend)
    thread.start()
    try:
        for number in range(60):
            state.set_value("s1", "counter", number)
            assert state.get_context("s1")["counter"] == number
    finally:
        done.set()
        thread.join()
    assert state.problem == ""


def test_the_real_time_ends_values_as_well(home: Home, place: str, redis_url: str) -> None:
    state = HotState(home)
    state.set_value("s1", "a", 1, ttl_s=1)
    state.set_tool_results("s1", "t", 1, ttl_s=1)
    state.set_value("s2", "a", 1, ttl_s=60)
    assert len(state.items()) == 3
    time.sleep(1.1)
    assert [item.session for item in state.items()] == ["s2"]
    key = read_key(home)
    if place == "redis" and key is not None:
        client = redis.Redis.from_url(redis_url)
        assert list(client.scan_iter(f"{key.prefix}:*")) == [f"{key.prefix}:session:s2:context".encode()]
        assert 0 < client.pttl(f"{key.prefix}:session:s2:context") <= 60_000


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12) | st.sampled_from(
    ["a:b", "a", "b", ":", "::", "a:context", "tools", "a:tools:b", "%3A", "*", ""]
)
TEXTS = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=20), st.lists, max_leaves=5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.dictionaries(st.tuples(NAMES, st.sampled_from(["context", "tool"]), NAMES), TEXTS, max_size=8))
def test_any_values_come_back_from_their_home_alone(values: dict[Any, Any], tmp_path_factory: Any) -> None:
    import json

    root = tmp_path_factory.mktemp("homes")
    stores = []
    for name in "ab":
        Path(root, name, ".git").mkdir(parents=True)
        stores.append(SharedStore(Home(root / name)))
    kept = [
        HotValue(
            session=session, kind=kind, name=name, text=json.dumps(value), audience="owner", written=100.0, ends=200.0
        )
        for (session, kind, name), value in values.items()
    ]  # fmt: skip
    for value in kept:
        stores[0].put(value.session, [value], now=100.0)
        stores[1].put(value.session, [], now=100.0, extend_to=300.0)
    assert stores[0].values(None, 150.0) == sorted(kept, key=lambda value: value.place)
    assert all(stores[0].value(*value.place, 150.0) == value for value in kept)
    assert stores[1].values(None, 150.0) == []
    assert all(stores[1].value(*value.place, 150.0) is None for value in kept)
    assert stores[1].values([value.session for value in kept], 150.0, unsaid) == []
    assert [store.problem for store in stores] == ["", ""]
