"""Test by random histories that no namespace ever sees a row of another one through any door, but for shares."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agent_home.home import Home
from interfaces.api import AgentNamespace
from interfaces.cli import cli
from interfaces.service.http.tokens import add_token
from recall.namespaces.errors import NoSuchMemory, NoSuchNamespace
from recall.servers import DATABASE_VARIABLE
from tests.interfaces.service.running_service import ask_app, made_app
from tests.made_namespaces import NOW, made_namespace, query

#: A word of each namespace's texts that no other one's have, and what all of them talk about.
MARKS = ("aardvark", "badger", "cormorant", "dormouse")
TOPICS = ("logo", "boat", "garden", "invoice", "花园的颜色")
QUESTION = f"{' '.join(MARKS)} {' '.join(TOPICS)}"
PLACES = st.integers(0, len(MARKS) - 1)
PAIRS = st.tuples(PLACES, PLACES).filter(lambda pair: pair[0] != pair[1])
_OWN = (
    "SELECT m.id FROM agent_memory.long_term_memory m JOIN agent_memory.namespaces n ON n.id = m.namespace "
    "WHERE n.name = %s"
)


class Namespaces(RuleBasedStateMachine):
    """Four namespaces whose texts have a mark, and a model of who may read whose."""

    url: str
    app: Any
    home: Home
    token_of: Callable[[str], str]

    @initialize()
    def made(self) -> None:
        self.all: list[AgentNamespace] = [made_namespace(self.url) for _ in MARKS]
        self.tokens = [self.token_of(one.name) for one in self.all]
        self.shares: set[tuple[int, int]] = set()  # (reader, owner)
        self.there: set[int] = set()
        for place in range(len(MARKS)):
            self.record(place, TOPICS[place], "x")
            self.all[place].process(now=NOW)

    @rule(place=PLACES, topic=st.sampled_from(TOPICS), session=st.sampled_from("xy"))
    def record(self, place: int, topic: str, session: str) -> None:
        self.all[place].record(f"I prefer the {MARKS[place]} {topic}.", session=session, message_id=topic, now=NOW)
        self.there.add(place)

    @precondition(lambda self: self.there)
    @rule(place=PLACES, promoted=st.booleans())
    def work(self, place: int, promoted: bool) -> None:
        if place in self.there:
            self.all[place].process(now=NOW)
            if promoted:
                self.all[place].promote(now=NOW)

    @rule(pair=PAIRS)
    def share(self, pair: tuple[int, int]) -> None:
        owner, reader = pair
        if {owner, reader} <= self.there:
            assert self.all[owner].share_with(self.all[reader].name) is ((reader, owner) not in self.shares)
            self.shares.add((reader, owner))

    @precondition(lambda self: self.shares)
    @rule(place=st.integers(0, 11))
    def stop_sharing(self, place: int) -> None:
        reader, owner = sorted(self.shares)[place % len(self.shares)]
        assert self.all[owner].stop_sharing_with(self.all[reader].name)
        assert not self.all[owner].stop_sharing_with(self.all[reader].name)
        self.shares.discard((reader, owner))

    @rule(place=PLACES, other=PLACES)
    def forget(self, place: int, other: int) -> None:
        if place in self.there:
            self.all[place].forget(MARKS[other])

    @rule(place=PLACES)
    def delete(self, place: int) -> None:
        if place in self.there:
            self.all[place].delete()
            self.there.discard(place)
            self.shares = {pair for pair in self.shares if place not in pair}

    @rule(pair=PAIRS)
    def reach_for_a_memory_of_another_one(self, pair: tuple[int, int]) -> None:
        mine, other = pair
        for (number,) in query(self.url, _OWN, self.all[other].name)[:2] if mine in self.there else ():
            for reach in (lambda n=number: self.all[mine].forget(memory=n), lambda n=number: self.all[mine].split(n)):
                with pytest.raises(NoSuchMemory):
                    reach()

    @rule(pair=PAIRS)
    def ask_with_the_token_of_another_one(self, pair: tuple[int, int]) -> None:
        mine, other = pair
        path = f"/namespaces/{self.all[other].name}"
        for method, end in (("GET", "/memories?query=logo"), ("GET", "/stats"), ("DELETE", ""), ("POST", "/promote")):
            body: dict[str, str] | None = {} if method == "POST" else None
            assert ask_app(self.app, method, path + end, token=self.tokens[mine], json=body).status_code == 403
        shared = ask_app(self.app, "POST", f"/namespaces/{self.all[mine].name}/shares", token=self.tokens[mine],
                         json={"reader": self.all[other].name})  # fmt: skip
        assert shared.status_code == 403

    @rule(place=PLACES)
    def ask_over_every_door(self, place: int) -> None:
        name, token = self.all[place].name, self.tokens[place]
        over_http = ask_app(self.app, "GET", f"/namespaces/{name}/memories", token=token, params={"query": QUESTION})
        self.require_own(place, over_http.text)
        listed = ask_app(self.app, "GET", "/namespaces", token=token).json()["namespaces"]
        assert listed == ([name] if place in self.there else [])
        if place in self.there:
            command = CliRunner().invoke(cli, ["namespaces", "retrieve", name, QUESTION, "--json", "--limit", "20"])
            self.require_own(place, json.dumps(json.loads(command.stdout)))

    @invariant()
    def everybody_sees_their_own_rows_and_those_shared_with_them(self) -> None:
        seen = {}
        for place, namespace in enumerate(getattr(self, "all", ())):
            found = namespace.retrieve(QUESTION, now=NOW, limit=100, relevance=0.0, budget_tokens=50_000)
            self.require_own(place, f"{found}")
            seen[place] = {memory.namespace for memory in found.memories}
            if place not in self.there:
                assert found.memories == ()
                with pytest.raises(NoSuchNamespace):
                    namespace.stats()
        filled = {place for place, names in seen.items() if self.all[place].name in names}
        for place, names in seen.items():
            assert names == {self.all[other].name for other in self.readable(place) & filled}

    def readable(self, place: int) -> set[int]:
        return {place} | {owner for reader, owner in self.shares if reader == place}

    def require_own(self, place: int, text: str) -> None:
        seen = {other for other, mark in enumerate(MARKS) if mark in text.replace(QUESTION, "")}
        assert seen <= self.readable(place), (place, text)


def test_no_history_lets_a_namespace_see_another_ones_rows(
    home: Home, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    monkeypatch.setattr("interfaces.api.namespace.default_embedder", made_namespace(database_url)._open)

    def token_of(name: str) -> str:
        return add_token(home, name[:60], scopes=("read", "write"), audience="owner", now=NOW, namespaces=[name])

    Namespaces.url, Namespaces.home, Namespaces.app = database_url, home, made_app(home, per_minute=0)
    Namespaces.token_of = staticmethod(token_of)
    run_state_machine_as_test(
        Namespaces,
        settings=settings(
            max_examples=12, stateful_step_count=18, deadline=None, derandomize=True, verbosity=Verbosity.normal,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
