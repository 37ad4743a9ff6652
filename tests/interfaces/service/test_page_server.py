"""``memory page`` serves one home on this machine alone, on its usual port or on a free one."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from agent_home import clock
from agent_home.home import Home
from interfaces.page.access import visitor_of
from interfaces.service import page_server
from interfaces.service.page_server import local_address
from tests.interfaces.service.running_service import MEMORY, PATIENCE_S, environment

pytestmark = pytest.mark.xdist_group("test_page_server.py")


@dataclass(frozen=True)
class Served:
    """A running ``memory page``, and what it printed first."""

    process: subprocess.Popen[str]
    link: str
    said: str

    @property
    def port(self) -> int:
        return int(self.link.split(":")[2].partition("/")[0])

    @property
    def url(self) -> str:
        return self.link.partition("/page/")[0]


@pytest.fixture
def served(home: Home) -> Iterator[Served]:
    command = [sys.executable, "-c", MEMORY, "page", "--as", "Kim", "--home", str(home.root)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(AGENT_HOME_CACHE="/nowhere")
    ) as process:
        assert process.stdout is not None
        try:
            link, said = process.stdout.readline().strip(), process.stdout.readline().strip()
            assert link, process.stderr.read() if process.stderr else ""
            yield Served(process, link, said)
        finally:
            process.kill()


def test_a_person_follows_the_link_and_ends_the_page(served: Served, home: Home) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/page/sign-in\?code=[\w-]{43}", served.link)
    assert served.said == "signs in Kim, once, within 15 minutes. The page is there until Ctrl-C"
    with httpx.Client(timeout=PATIENCE_S, trust_env=False, follow_redirects=True) as client:
        answer = client.get(served.link)
        assert (answer.status_code, answer.url.path) == (200, "/page/review")
        assert "Kim" in answer.text
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers
        assert client.get(served.link).status_code == 401
        assert client.get(f"{served.url}/page/review", headers={"Host": "evil.example"}).status_code == 421
        assert client.get(f"{served.url}/search?q=x").status_code == 404
        assert client.post(f"{served.url}/command", json={}).status_code == 404
    with pytest.raises(ConnectionRefusedError):  # of all addresses of this machine it has one
        socket.create_connection(("127.0.0.2", served.port), timeout=PATIENCE_S).close()
    served.process.send_signal(2)
    assert served.process.wait(PATIENCE_S) == 0
    assert served.process.stderr is not None
    assert served.process.stderr.read() == ""
    (cookie,) = client.cookies.jar  # the port is anybody's now, and browsers send it the cookie
    assert visitor_of(home, cookie.value or "", clock.now()) is None


def test_a_port_that_another_program_has_leads_to_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(page_server, "_PORT", taken.getsockname()[1])
        with page_server._listening() as made:
            assert made.getsockname()[0] == "127.0.0.1"
            assert made.getsockname()[1] != taken.getsockname()[1]


@pytest.mark.parametrize(
    ("host", "port", "address"),
    [
        ("127.0.0.1", 8377, "127.0.0.1:8377"),
        ("0.0.0.0", 80, "127.0.0.1:80"),  # noqa: S104 - nothing is bound
        ("::", 80, "[::1]:80"),
        ("::1", 80, "[::1]:80"),
        ("192.0.2.7", 80, "192.0.2.7:80"),
    ],
)
def test_a_browser_of_this_machine_gets_an_address_that_it_reaches(host: str, port: int, address: str) -> None:
    class Listening:
        def getsockname(self) -> tuple[str, int]:
            return host, port

    assert local_address(Listening()) == address  # type: ignore[arg-type]
