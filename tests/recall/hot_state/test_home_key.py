"""The key of a home's values in Redis is its own, and signs what is kept."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.home import Home
from recall.hot_state.home_key import HomeKey, KeyRefused, KnownKey, ensure_key, owe, paid, read_key, use_key

KEY = HomeKey("ab" * 32)
NAMES = st.text(max_size=12) | st.sampled_from(["a", "b", "a:b", ":", "context", "tools", "a:tools", "%3A", ""])


def test_a_key_is_made_once(home: Home) -> None:
    assert read_key(home) is None
    made: list[HomeKey] = []
    threads = [threading.Thread(target=lambda: made.append(ensure_key(Home(home.root)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({key.secret for key in made}) == 1
    assert read_key(home) == made[0] == ensure_key(home)
    assert (home.machine / "hot-state-key.json").stat().st_mode & 0o077 == 0


def test_a_copy_of_a_home_makes_a_key_of_its_own(home: Home, tmp_path: Path) -> None:
    own = ensure_key(home)
    shutil.copytree(home.root, tmp_path / "copy")
    copy = Home(tmp_path / "copy")
    assert read_key(copy) is None
    assert ensure_key(copy).prefix != own.prefix
    assert read_key(home) == own


def test_a_key_that_this_machine_did_not_sign_counts_as_absent(home: Home) -> None:
    own = ensure_key(home)
    path = home.machine / "hot-state-key.json"
    row = json.loads(path.read_text())
    records: tuple[Any, ...] = ({"key": "cd" * 32, "owed": ""}, {"key": 1, "owed": ""}, [], None)
    for record in records:
        path.write_text(json.dumps({**row, "record": record}))
        assert read_key(home) is None
    path.write_text("{")
    assert read_key(home) is None
    assert ensure_key(home).secret not in {own.secret, "cd" * 32}


def test_two_machines_share_a_key_that_a_person_gives_them(home: Home, tmp_path: Path) -> None:
    shutil.copytree(home.root, tmp_path / "other")
    other = Home(tmp_path / "other")
    known = KnownKey(other)
    first = ensure_key(other)
    assert known.get() == first
    assert use_key(other, f" {ensure_key(home).secret.upper()}\n").prefix == ensure_key(home).prefix
    assert known.get() == ensure_key(home)
    for text in ("", "ab" * 31, "zz" * 32, "ab" * 33):
        with pytest.raises(KeyRefused):
            use_key(other, text)
    assert read_key(other) == ensure_key(home)


def test_what_has_to_be_deleted_is_noted_until_it_is(home: Home) -> None:
    assert owe(home, "all") is None
    ensure_key(home)
    outputs = owe(home, "outputs")
    assert outputs is not None
    assert outputs.owed == "outputs"
    every = owe(home, "all")
    assert every == owe(home, "outputs")
    assert every is not None
    assert every.owed == "all"
    paid(home, outputs)
    assert read_key(home) == every
    paid(home, every)
    assert ensure_key(home).owed == ""


@given(NAMES, NAMES, NAMES, NAMES)
def test_different_places_never_share_a_key(session: str, tool: str, other: str, other_tool: str) -> None:
    mine = [KEY.context(session), KEY.tools(session), KEY.tool(session, tool)]
    theirs = [KEY.context(other), KEY.tools(other), KEY.tool(other, other_tool)]
    assert len(set(mine)) == 3
    assert (mine[0] == theirs[0]) == (mine[1] == theirs[1]) == (session == other)
    assert (mine[2] == theirs[2]) == ((session, tool) == (other, other_tool))
    assert mine[2] not in theirs[:2]
    assert all(key.isascii() and key.startswith(f"{KEY.prefix}:") for key in mine)


def test_keys_are_those_that_the_documentation_names() -> None:
    lead = f"{KEY.prefix}:session"
    assert KEY.context("s-1") == f"{lead}:s-1:context"
    assert KEY.tool("s-1", "pytest") == f"{lead}:s-1:tools:pytest"
    assert KEY.tool("a:b", "c d") == f"{lead}:a%3Ab:tools:c%20d"
    assert KEY.secret not in KEY.prefix


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=120))
def test_a_signature_holds_for_its_place_and_body_alone(place: bytes, body: bytes, other: bytes) -> None:
    sealed = KEY.sealed(place, body)
    assert KEY.opened(place, sealed) == body
    assert KEY.opened(place + b"x", sealed) is None
    assert HomeKey("ac" * 32).opened(place, sealed) is None
    assert KEY.opened(place, sealed[:-1] + bytes([sealed[-1] ^ 1])) is None
    assert KEY.opened(place, other) is None
