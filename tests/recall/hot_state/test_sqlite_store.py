"""The file of the machine survives damage, links and other processes, and carries copies of what is in Redis."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import apsw

from agent_home.home import Home
from recall.hot_state import HotState, drop_hot_state, hot_state, settle_hot_state
from recall.hot_state.sqlite_store import HotStateFile
from recall.hot_state.store import HotValue


def test_a_damaged_file_is_made_anew(home: Home) -> None:
    state = HotState(home)
    state.set_value("s1", "a", 1)
    for other in home.machine.glob("hot-state.db-*"):
        other.unlink()
    (home.machine / "hot-state.db").unlink()
    (home.machine / "hot-state.db").write_bytes(b"no database at all" * 1000)
    state.set_value("s1", "b", 2)
    assert state.get_context("s1") == {"b": 2}


def test_a_state_that_another_process_made_anew_is_the_one_that_counts(home: Home) -> None:
    mine, theirs = HotState(home), HotState(home)
    mine.set_value("s1", "a", 1)
    drop_hot_state(home)
    theirs.set_value("s1", "b", 2)
    assert mine.get_context("s1") == {"b": 2}
    mine.set_value("s1", "c", 3)
    assert theirs.get_context("s1") == {"b": 2, "c": 3}


def test_a_damaged_value_is_left_out_and_a_link_is_not_followed(home: Home) -> None:
    state = HotState(home)
    state.set_context("s1", {"a": 1, "b": 2})
    path = home.machine / "hot-state.db"
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("UPDATE items SET value = '{' WHERE name = 'a'")
    assert state.get_context("s1") == {"b": 2}
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("UPDATE items SET value = CAST(x'ff7b' AS TEXT) WHERE name = 'a'")
    assert state.get_context("s1") in ({"b": 2}, {})
    target = home.root.parent / "elsewhere.db"
    drop_hot_state(home)
    path.symlink_to(target)
    HotState(home).set_context("s1", {"c": 3})
    assert not target.exists()
    assert HotState(home).get_context("s1") == {"c": 3}


def test_a_copy_of_the_settled_file_has_everything(home: Home, tmp_path: Path) -> None:
    settle_hot_state(home)  # there is none yet
    assert not (home.machine / "hot-state.db").exists()
    hot_state(home).set_value("s1", "task", "x")
    settle_hot_state(home)
    copy = Home(tmp_path / "copy")
    copy.machine.mkdir(parents=True)
    (copy.machine / "hot-state.db").write_bytes((home.machine / "hot-state.db").read_bytes())
    assert HotState(copy).get_context("s1") == {"task": "x"}


def test_a_damaged_state_stops_nobody_who_settles_it(home: Home) -> None:
    home.machine.mkdir(parents=True, exist_ok=True)
    (home.machine / "hot-state.db").write_bytes(b"no database at all" * 100)
    settle_hot_state(home)


def value(name: str, *, written: float = 100.0, ends: float = 200.0) -> HotValue:
    return HotValue(
        session="s1", kind="context", name=name, text='"x"', audience="owner", written=written, ends=ends
    )  # fmt: skip


def test_the_file_of_an_earlier_version_keeps_its_values(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "hot-state.db"))) as conn:
        conn.execute(
            "CREATE TABLE items(session TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, "
            "audience TEXT NOT NULL, expires REAL NOT NULL, PRIMARY KEY (session, kind, name)) WITHOUT ROWID;"
            "INSERT INTO items VALUES ('s1', 'context', 'a', '\"x\"', 'owner', 200.0)"
        )
    stores = [HotStateFile(tmp_path), HotStateFile(tmp_path)]
    assert [store.values(None, 150.0) for store in stores] == [[value("a", written=0.0)]] * 2


def test_all_that_begin_the_file_at_once_keep_their_values(tmp_path: Path) -> None:
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        stores = [HotStateFile(folder) for _ in range(4)]
        barrier = threading.Barrier(4)

        def put(name: str, store: HotStateFile, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            store.put("s1", [value(name)], now=100.0)

        threads = [threading.Thread(target=put, args=(f"n{at}", store)) for at, store in enumerate(stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [one.name for one in HotStateFile(folder).values(None, 150.0)] == ["n0", "n1", "n2", "n3"]


def test_a_value_that_was_set_again_is_not_forgotten(tmp_path: Path) -> None:
    store = HotStateFile(tmp_path)
    assert store.is_empty
    store.put("s1", [value("a"), value("b")], now=100.0)
    store.put("s1", [value("b", written=101.0)], now=101.0)
    store.forget([value("a"), value("b")], 150.0)
    assert store.values(None, 150.0) == [value("b", written=101.0)]
    store.forget([], 201.0)
    assert store.is_empty


def test_copies_count_where_they_were_not_made(tmp_path: Path) -> None:
    store = HotStateFile(tmp_path, lambda: "here")
    store.copy([value("a"), value("b")], "here")
    store.copy([value("b"), value("c")], "here")
    assert store.is_empty
    store.settle()
    again = HotStateFile(tmp_path, lambda: "here")
    again.put("s1", [value("d")], now=100.0)
    assert [one.name for one in again.values(None, 150.0)] == ["d"]
    elsewhere = HotStateFile(tmp_path, lambda: "")
    assert [one.name for one in elsewhere.values(None, 150.0)] == ["b", "c", "d"]
    assert [one.name for one in HotStateFile(tmp_path, lambda: "").values(None, 150.0)] == ["b", "c", "d"]
