"""Measure a night of many homes on one, two and three hosts: ``python -m bench.fleet --homes 200``.

Each host has a network of its own, its worker and its homes. Every home has open sessions, which its nightly run turns
into memory and publishes to its repository. The time counts from the queueing of all runs to the end of the last one.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.measure.page import markdown
from interfaces.fleet.queue import defer_nightly, queue_state

from .network import Namespaces, network
from .process_fleet import ProcessFleet, await_true, pattern_home

#: Sessions of each home, and messages of each session.
_SESSIONS, _MESSAGES = 3, 8
_SAID = (
    "We keep the ledger of {0} in PostgreSQL, because two people write it.",
    "Remember that we review the plan of {0} on Mondays.",
    "The deployment of {0} failed: the certificate had expired. We renew it a week earlier now.",
    "What is left of {0} is the import of old invoices.",
    "I prefer short reports about {0}, with numbers first.",
    "The team decided to use Redis for the queue of {0}.",
    "Who answers for {0} while Maria is away?",
    "We measured {0}: the import takes nine minutes.",
)
_TOPICS = ("billing", "the warehouse", "the search")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table with a row for each number of workers."""
    parser = argparse.ArgumentParser(prog="bench.fleet", description=__doc__)
    parser.add_argument("--homes", type=int, default=200, metavar="N", help="homes in the fleet (default: 200)")
    parser.add_argument("--workers", default="1,2,3", help="numbers of workers, with commas (default: 1,2,3)")
    parser.add_argument("--folder", type=Path, help="folder for everything (default: the system's temporary folder)")
    given = parser.parse_args(arguments)
    rows = []
    for workers in map(int, given.workers.split(",")):
        with tempfile.TemporaryDirectory(dir=given.folder, prefix="fleet-") as folder:
            rows.append(_night(Path(folder), homes=given.homes, workers=workers))
            print(f"{workers} workers: {rows[-1]}", file=sys.stderr, flush=True)
    names = ["workers", "homes", "first arrival of all (s)", "night (s)", "homes a minute", "failed"]
    print(markdown(names, rows))
    kind = "network namespaces" if _has_namespaces() else "proxies"
    print(f"\n{os.cpu_count()} processors, shared by all hosts, the registry and the remotes, in {kind}.")


def _has_namespaces() -> bool:
    """Return whether hosts get namespaces on this machine."""
    made = Namespaces.made(["probe"])
    if made is None:
        return False
    made.end()
    return True


def _night(folder: Path, *, homes: int, workers: int) -> list[str]:
    hosts = [f"host-{number}" for number in range(workers)]
    messages = [
        (f"s{session}", _SAID[number % len(_SAID)].format(_TOPICS[session % len(_TOPICS)]))
        for session in range(_SESSIONS)
        for number in range(_MESSAGES)
    ]
    with network(hosts) as net:
        fleet = ProcessFleet(folder / "fleet", net, hosts, lease_s=30.0, kinds=("host", "worker"))
        fleet.folder.mkdir()
        os.environ["AGENT_HOME_STATE"] = str(fleet.folder / hosts[0] / "state")
        try:
            fleet.begin()
            pattern = pattern_home(fleet, messages)
            names = [f"home-{number:04}" for number in range(homes)]
            for name in names:
                fleet.add(name, pattern)
            begun = time.monotonic()
            for host in hosts:
                fleet.start(host, "host")
            fleet.await_settled(3600)
            arrived = time.monotonic() - begun
            for host in hosts:
                fleet.start(host, "worker")
            begun = time.monotonic()
            defer_nightly(fleet.url, names)
            await_true(
                lambda: (state := queue_state(fleet.url)).todo + state.doing == 0, 7200, lambda: "the night did not end"
            )
            spent = time.monotonic() - begun
            failed = queue_state(fleet.url).failed
        finally:
            fleet.end()
    return [str(workers), str(homes), f"{arrived:.0f}", f"{spent:.0f}", f"{homes / spent * 60:.0f}", str(failed)]


if __name__ == "__main__":
    main()
