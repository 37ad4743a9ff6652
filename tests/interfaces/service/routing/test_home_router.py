"""Requests for homes of a fleet come to the host that has the home, whichever host they are sent to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import uvicorn

from agent_home.home import MEMORY, Home
from interfaces.fleet.moves import move
from interfaces.fleet.routing import AtHost, HomeRoutes
from interfaces.service.http.activity import Activity
from interfaces.service.http.app import application
from interfaces.service.http.callers import Callers
from interfaces.service.http.jobs import Jobs
from interfaces.service.http.tokens import add_token
from interfaces.service.routing.home_router import ForwardMode, HomeRouter
from tests.conftest import NOW
from tests.fleet import on_remote
from tests.interfaces.fleet.conftest import Fleet, RunningHost, fleet, until

__all__ = ["fleet"]


@dataclass
class Doors:
    """Two hosts with their services. The home ``ada`` is on the first."""

    fleet: Fleet
    hosts: tuple[RunningHost, RunningHost]
    urls: tuple[str, str]
    routes: tuple[HomeRoutes, HomeRoutes]
    token: str
    mode: list[ForwardMode]

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@contextmanager
def listening(made: socket.socket, routes: HomeRoutes, mode: ForwardMode) -> Iterator[None]:
    jobs = Jobs()
    app = HomeRouter(application(Callers({}), Activity(0), jobs=jobs), routes=routes, mode=mode, max_body_bytes=100_000)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
    thread.start()
    until(lambda: server.started)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(30)
        jobs.close()


@pytest.fixture(params=["forward"])
def doors(request: pytest.FixtureRequest, fleet: Fleet, home: Home) -> Iterator[Doors]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        urls = [f"http://127.0.0.1:{made.getsockname()[1]}" for made in sockets]
        one = fleet.host("one", address=urls[0], lease_s=5.0)
        fleet.add("ada", home, one)
        held = fleet.await_holder("ada", "one")
        token = add_token(held, "app", scopes=["read", "write"], audience="owner", now=NOW)
        two = fleet.host("two", address=urls[1], lease_s=5.0)
        routes = (HomeRoutes(one.folder, fleet.url), HomeRoutes(two.folder, fleet.url))
        for known in routes:
            stack.callback(known.close)
        for made, known in zip(sockets, routes, strict=True):
            stack.enter_context(listening(made, known, request.param))
        yield Doors(fleet, (one, two), (urls[0], urls[1]), routes, token, [request.param])


def remember(url: str, auth: dict[str, str], text: str, path: str = "/homes/ada", **headers: str) -> httpx.Response:
    body = {"content": text, "type": "decision"}
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.post(f"{url}{path}/memory/store", json=body, headers={**auth, **headers})


def test_a_request_is_answered_whichever_host_it_comes_to(doors: Doors) -> None:
    first, second = doors.urls
    for number, (url, path, header) in enumerate(
        [(first, "/homes/ada", ""), (second, "/homes/ada", ""), (second, "", "ada"), (first, "", "ada")]
    ):
        headers = {"X-Agent-Home": header} if header else {}
        text = f"We keep the ledger {number} in PostgreSQL."
        answer = remember(url, doors.auth, text, path, **headers)
        assert answer.status_code == 200, answer.text
        assert text in on_remote(str(doors.fleet.place / "ada.git"), MEMORY)
    assert remember(second, {}, "x").status_code == 401  # the holder checks the token
    assert remember(second, doors.auth, "x", "/homes/bob").status_code == 404
    assert remember(second, doors.auth, "x" * 200_000).status_code == 413
    unnamed = remember(first, doors.auth, "x", "")
    assert (unnamed.status_code, "name the home" in unnamed.text) == (400, True)
    assert httpx.get(f"{first}/health", trust_env=False).json() == {"status": "ok"}
    # A token works after a move, and so does the host that had the home.
    move(doors.fleet.registry, "ada", "two")
    doors.fleet.await_holder("ada", "two")
    until(lambda: isinstance(doors.routes[0].find("ada"), AtHost))
    answer = remember(first, doors.auth, "The team reviews on Mondays.")
    assert answer.status_code == 200, answer.text
    assert "Mondays" in (doors.hosts[1].home("ada").root / MEMORY).read_text()


def test_a_closing_and_its_job_are_asked_for_through_another_host(doors: Doors) -> None:
    with httpx.Client(base_url=f"{doors.urls[1]}/homes/ada", headers=doors.auth, trust_env=False, timeout=60) as client:
        rows = {"messages": [{"role": "user", "content": "Remember that we deploy on Fridays."}]}
        assert client.post("sessions/s1/messages", json=rows).status_code == 200
        begun = client.post("sessions/s1/close")
        assert begun.status_code == 202
        place = begun.headers["location"]
        assert place.startswith("/homes/ada/jobs/")
        with httpx.Client(base_url=doors.urls[1], headers=doors.auth, trust_env=False, timeout=60) as plain:
            until(lambda: plain.get(place).json()["state"] == "done")
    assert "Fridays" in on_remote(str(doors.fleet.place / "ada.git"), MEMORY)


def test_a_request_is_forwarded_once_at_most(doors: Doors) -> None:
    answer = remember(doors.urls[1], doors.auth, "x", **{"X-Agent-Home-Hops": "1"})
    assert answer.status_code == 421
    assert answer.headers["x-agent-home-address"] == doors.urls[0]


def test_a_host_that_has_lost_the_home_sends_the_request_on(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    move(doors.fleet.registry, "ada", "two")
    doors.fleet.await_holder("ada", "two")
    second = doors.routes[1]
    wrong = iter([AtHost(host="one", address=doors.urls[0])])
    find = second.find
    monkeypatch.setattr(second, "find", lambda name: next(wrong, None) or find(name))
    until(lambda: isinstance(doors.routes[0].find("ada"), AtHost))
    answer = remember(doors.urls[1], doors.auth, "The team reviews on Mondays.")
    assert answer.status_code == 503  # the home is here by now: the client asks again
    assert remember(doors.urls[1], doors.auth, "The team reviews on Mondays.").status_code == 200


def test_a_host_that_does_not_answer_is_not_waited_for(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        gone = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(doors.routes[1], "find", lambda _name: AtHost(host="one", address=gone))
    answer = remember(doors.urls[1], doors.auth, "x")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


def test_a_host_that_hangs_keeps_no_other_home_from_being_served(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    first, find = doors.routes[0], doors.routes[0].find
    with socket.create_server(("127.0.0.1", 0), backlog=100) as hanging:
        gone = AtHost(host="two", address=f"http://127.0.0.1:{hanging.getsockname()[1]}")
        monkeypatch.setattr(first, "find", lambda name: gone if name == "bob" else find(name))
        with ThreadPoolExecutor(42) as pool, ExitStack() as taken:
            waiting = [pool.submit(remember, doors.urls[0], {}, "x", "/homes/bob") for _ in range(42)]
            for _ in waiting:
                taken.enter_context(hanging.accept()[0])  # taken, and never answered
            answer = httpx.get(
                f"{doors.urls[0]}/homes/ada/memory/search?query=x", headers=doors.auth, trust_env=False, timeout=20
            )
        assert {one.result().status_code for one in waiting} == {503}
        assert answer.status_code == 200


@pytest.mark.parametrize("doors", ["redirect"], indirect=True)
def test_a_client_can_be_told_the_right_host(doors: Doors) -> None:
    answer = remember(doors.urls[1], doors.auth, "The team reviews on Mondays.")
    assert (answer.status_code, answer.headers["location"]) == (307, f"{doors.urls[0]}/homes/ada/memory/store")
    with httpx.Client(trust_env=False, timeout=60, follow_redirects=True) as client:
        found = client.get(f"{doors.urls[0]}/homes/ada/memory/search", params={"query": "x"}, headers=doors.auth)
    assert found.status_code == 200
    assert Path(doors.fleet.place).exists()
