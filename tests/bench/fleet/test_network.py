"""Networks of hosts: what is sent arrives, unless the host is cut off."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bench.fleet.network import HUB, Namespaces, Network, Proxies

ECHO = (
    "import socket, sys\n"
    "made = socket.create_server((sys.argv[1], int(sys.argv[2])))\n"
    "print('ready', flush=True)\n"
    "while True:\n"
    "    with made.accept()[0] as one: one.sendall(one.recv(9))\n"
)
ASK = (
    "import socket, sys\n"
    "with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2) as one:\n"
    "    one.settimeout(2); one.sendall(b'hello'); sys.exit(0 if one.recv(9) == b'hello' else 1)\n"
)


@pytest.fixture(params=["namespaces", "proxies"])
def net(request: pytest.FixtureRequest) -> Iterator[Network]:
    """Where the system permits no namespaces, the tests of both run with proxies."""
    made = Namespaces.made(["one", "two"]) if request.param == "namespaces" else None
    if made is None:
        with Proxies(["one", "two"]) as proxies:
            yield proxies
        return
    yield made
    made.end()


def test_a_host_that_is_cut_off_reaches_nobody(net: Network) -> None:
    address, port = net.listen(HUB, "git")
    command = net.command(HUB, [sys.executable, "-I", "-c", ECHO, address, str(port)])
    with subprocess.Popen(command, stdout=subprocess.PIPE) as echo:
        assert echo.stdout is not None
        assert echo.stdout.readline() == b"ready\n"
        try:
            assert asked(net, "one")
            assert asked(net, "two")
            net.cut("one")
            assert not asked(net, "one")
            assert asked(net, "two")
            net.heal("one")
            assert asked(net, "one") or asked(net, "one")  # the kernel may need a moment
        finally:
            echo.kill()
    known = net.processes("one")
    assert known in ([], None)


def asked(net: Network, host: str) -> bool:
    address, port = net.reach(host, HUB, "git")
    command = net.command(host, [sys.executable, "-I", "-c", ASK, address, str(port)])
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_nothing_is_left_of_namespaces() -> None:
    made = Namespaces.made(["one"])
    if made is None:  # nothing could be made, so nothing can be left
        assert Proxies(["one"]).processes("one") is None
        return
    pid = made.holders["one"].pid
    made.end()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
