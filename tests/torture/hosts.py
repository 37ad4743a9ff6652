"""Three hosts of a fleet in networks of their own: cut off, killed, stopped and moved between, while clients write.

Each round does something to a host or to a server. Clients write over HTTP all the time and note what was acknowledged,
homes are moved, and nightly runs are queued. At the end everything is healed, and the remotes must prove that no
acknowledged write is lost, that no home was written by two hosts, and that the queue is empty.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.fleet.network import HUB, network
from bench.fleet.process_fleet import TOKEN, ProcessFleet, await_true, pattern_home
from bench.fleet.proof import prove
from interfaces.fleet.queue import defer_nightly, queue_state
from recall.errors import RecallError
from tests.source_tree import ROOT

from .report import Finding, Report

__all__ = ["FAULTS", "work_on_hosts"]

HOSTS = ("one", "two", "three")
#: Ways in which a round goes wrong.
FAULTS = ("cut", "kill", "stop", "kill host", "kill worker", "registry", "git", "none")
#: Seconds for which a host is gone: longer than its lease.
_LEASE_S = 4.0
_GONE_S = 2.5 * _LEASE_S
_SETTLED_S = 240.0


def work_on_hosts(
    place: Path, *, homes: int = 6, rounds: int = 16, seed: int = 7, faults: Sequence[str] = (),
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None,
) -> Report:  # fmt: skip
    """Let three hosts serve *homes* for *rounds*, and prove at the end that nothing is lost.

    *faults* are those of the rounds in their order. Without them, *seed* decides.
    """
    drawn = random.Random(seed)
    chosen = list(faults) or [drawn.choice(FAULTS) for _ in range(rounds)]
    names = [f"home-{number}" for number in range(homes)]
    report = Report("three hosts")
    with network(HOSTS) as net:
        fleet = ProcessFleet(place / "fleet", net, HOSTS, lease_s=_LEASE_S)
        fleet.folder.mkdir()
        try:
            with _state(fleet):
                _begin(fleet, names)
                with _clients(fleet, names):
                    for number, fault in enumerate(chosen):
                        progress(fault, number, len(chosen))
                        _round(fleet, fault, names, drawn)
                report.add(_settled(fleet))
                rows = [json.loads(line) for line in (fleet.folder / "acknowledged.jsonl").read_text().splitlines()]
                for name in names:
                    report.add(_proven(fleet, name, [row for row in rows if row["home"] == name]))
                report.name = f"3 hosts, {len(chosen)} rounds, {len(rows)} writes"
        finally:
            fleet.end()
    return report


@contextmanager
def _state(fleet: ProcessFleet) -> Iterator[None]:
    """Use the machine key of the fleet in this process, too, which entrusts homes."""
    before = os.environ.get("AGENT_HOME_STATE")
    os.environ["AGENT_HOME_STATE"] = str(fleet.folder / HOSTS[0] / "state")
    try:
        yield
    finally:
        if before is None:
            del os.environ["AGENT_HOME_STATE"]
        else:
            os.environ["AGENT_HOME_STATE"] = before


def _begin(fleet: ProcessFleet, names: Sequence[str]) -> None:
    fleet.begin()
    pattern = pattern_home(fleet, [("first", "Remember that we review on Mondays.")])
    for host in HOSTS:
        fleet.start(host)
    for name in names:
        fleet.add(name, pattern)
    fleet.await_settled(_SETTLED_S)


@contextmanager
def _clients(fleet: ProcessFleet, names: Sequence[str]) -> Iterator[None]:
    """Let clients in the hub write to any host."""
    given = {
        "urls": [fleet.service(host) for host in HOSTS], "homes": list(names), "token": TOKEN, "threads": 2,
        "name": "c", "out": str(fleet.folder / "acknowledged.jsonl"),
    }  # fmt: skip
    (fleet.folder / "client.json").write_text(json.dumps(given))
    command = fleet.net.command(HUB, [sys.executable, "-m", "bench.fleet.client", str(fleet.folder / "client.json")])
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ROOT, start_new_session=True) as clients:
        yield
        clients.communicate(timeout=120)


def _round(fleet: ProcessFleet, fault: str, names: Sequence[str], drawn: random.Random) -> None:
    """Queue nightly runs, move two homes, and in the middle of that do *fault* to a host or a server."""
    host = drawn.choice(HOSTS)
    with suppress(RecallError):
        defer_nightly(fleet.url, drawn.sample(list(names), max(1, len(names) // 2)))
    for name in drawn.sample(list(names), min(2, len(names))):
        _want(fleet, name, drawn.choice(HOSTS))
    time.sleep(drawn.random() * 2)  # into the middle of closings, moves and runs
    match fault:
        case "cut":
            fleet.net.cut(host)
            time.sleep(_GONE_S)
            fleet.net.heal(host)
        case "kill":
            fleet.kill(host)
            time.sleep(_GONE_S)
            fleet.start(host)
        case "stop":  # a machine that sleeps past its lease, and wakes in the middle of a write
            fleet.signal(host, signal.SIGSTOP)
            time.sleep(_GONE_S)
            fleet.signal(host, signal.SIGCONT)
        case "kill host" | "kill worker":
            kind = fault.split(" ")[1]
            fleet.kill(host, kind)
            time.sleep(drawn.choice([0.1, _GONE_S]))
            fleet.start(host, kind)
        case "registry":
            _stop_registry(fleet, drawn.choice([1.0, _GONE_S]))
        case "git":
            fleet.stop_git()
            time.sleep(drawn.choice([1.0, _GONE_S]))
            fleet.start_git()
        case _:
            time.sleep(2)
    time.sleep(2)


def _want(fleet: ProcessFleet, name: str, host: str) -> None:
    from bench.fleet.process_fleet import with_registry

    with suppress(RecallError):
        with_registry(fleet.url, lambda registry: registry.want(name, host))


def _stop_registry(fleet: ProcessFleet, seconds: float) -> None:
    """Let PostgreSQL stand still, so that nobody gets an answer."""
    pid = int((fleet.folder / "servers" / "postgresql" / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pids = [pid, *map(int, children)]
    for one in pids:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGSTOP)
    time.sleep(seconds)
    for one in pids:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGCONT)


def _settled(fleet: ProcessFleet) -> Iterator[Finding]:
    """Yield what does not come to rest after everything is healed."""
    try:
        fleet.await_settled(_SETTLED_S)
        await_true(
            lambda: queue_state(fleet.url).todo + queue_state(fleet.url).doing == 0, _SETTLED_S,
            lambda: f"the queue is not empty: {queue_state(fleet.url)}",
        )  # fmt: skip
        await_true(lambda: not _left(fleet), _SETTLED_S, lambda: f"something is left to do: {_left(fleet)}")
    except TimeoutError as error:
        yield Finding("the end", "stuck", str(error))
    failed = queue_state(fleet.url).failed
    if failed:
        yield Finding("the queue", "stuck", f"{failed} nightly runs failed for good")


def _left(fleet: ProcessFleet) -> list[str]:
    """Return promised closings that are not done, and notes of writes that are not published."""
    names = ("promised-closings/*.json", "lease/unpublished")
    places = [fleet.place(host) for host in HOSTS]
    return [str(path) for place in places for name in names for path in place.glob(f"*/.git/agent-home/{name}")]


def _proven(fleet: ProcessFleet, name: str, acknowledged: Sequence[Mapping[str, str]]) -> Iterator[Finding]:
    proof = prove(name, fleet.remote(name), acknowledged)
    for problem in proof.problems:
        yield Finding(name, "lost" if "lost" in problem else "corrupt", problem)
