"""Load the service over HTTP: concurrent sessions append, search and prompt, while it is killed and started again.

    python -m bench.measure.service_load [--sessions 50] [--seconds 60] [--kills 1] [--json]

Each session is a thread with a connection of its own. It appends a message with an id, searches for an earlier one and
asks for a prompt, in turns. A request that meets a dead service is sent again with the same id. At the end every
acknowledged message must stand in a transcript exactly once. The sizes of the process at the start and at the end, and
the number of its children, show what a long use leaves behind.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_home.clock import now
from agent_home.consent.settings_in_effect import accept_settings
from agent_home.creation import create
from agent_home.home import Home
from agent_home.settings import load_manifest
from interfaces.service.http.tokens import add_token

_NOUNS = ("invoice", "importer", "ledger", "router", "harbour", "orchard", "report", "queue", "migration", "backup")
_VERBS = ("breaks", "moves", "waits", "fails", "grows", "ends", "begins", "returns", "stalls", "recovers")
_RETRY_S = 0.1


@dataclass
class Tally:
    """Counts of all sessions: seconds of each kind of request, statuses, and acknowledged ids by session."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    retried: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class ServiceProcess:
    """A `memory serve` process over HTTP, which can be killed and started again."""

    def __init__(self, home: Home, token: str) -> None:
        self.home, self.token = home, token
        self._log = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - as long as the process
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "interfaces.cli", "serve", "--home", str(self.home.root)]
        process = subprocess.Popen(
            [*command, "--http", f"127.0.0.1:{self.port}"], stdout=subprocess.PIPE, stderr=self._log
        )
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def kill(self) -> None:
        """Kill the process, as a machine that runs out of memory does, and start another one."""
        self.process.kill()
        self.process.wait()
        self.process = self._start()

    def stop(self) -> None:
        """End the process as an operator does."""
        self.process.terminate()
        self.process.wait(timeout=60)

    def ask(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Send one request. A refused or broken connection raises OSError."""
        return self._answer(path, json.dumps(body).encode())

    def get(self, path: str) -> tuple[int, dict[str, Any]]:
        """Get one answer. A refused or broken connection raises OSError."""
        return self._answer(path, None)

    def _answer(self, path: str, body: bytes | None) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", body, {"Authorization": f"Bearer {self.token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - our own address
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    @property
    def defects(self) -> list[str]:
        """Lines of the log that name an error and its place."""
        self._log.seek(0)
        return [line.decode("utf-8", "replace").strip() for line in self._log if b'"error"' in line]

    @property
    def kilobytes(self) -> int:
        """Resident memory of the process."""
        text = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return int(text.partition("VmRSS:")[2].split()[0])

    @property
    def children(self) -> int:
        """Child processes that the service has."""
        return len(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text("utf-8").split())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the load showed. Return 1 when a message was lost, doubled, or a request failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.measure.service_load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kills", type=int, default=1, help="times that the service is killed meanwhile")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        home = create(Path(folder) / "home", name="Load", now=now()).home
        allow_many_requests(home)
        token = add_token(home, "load", scopes=("read", "write"), audience="owner", now=now())
        service = ServiceProcess(home, token)
        try:
            found = _load(service, options.sessions, options.seconds, options.kills)
        finally:
            service.stop()
        found |= _lost(home, found.pop("acknowledged"))
    print(json.dumps(found, indent=2))
    return 0 if not (found["lost"] or found["doubled"] or found["failed"]) else 1


def allow_many_requests(home: Home) -> None:
    """Take the limit of requests away, and consent to that."""
    manifest = home.root / "agent.toml"
    manifest.write_text(manifest.read_text("utf-8") + "\n[serve]\nrequests_per_minute = 0\n", "utf-8")
    accept_settings(load_manifest(manifest), home.machine)


def _load(service: ServiceProcess, sessions: int, seconds: float, kills: int) -> dict[str, Any]:
    tally, ends = Tally(), time.monotonic() + seconds
    service.ask("/prompt", {"message": "warm up"})
    before = service.kilobytes
    threads = [threading.Thread(target=_session, args=(service, f"load-{n}", ends, tally)) for n in range(sessions)]
    for thread in threads:
        thread.start()
    for number in range(kills):
        time.sleep(seconds * (number + 1) / (kills + 1) - (seconds * number / (kills + 1)))
        service.kill()
    for thread in threads:
        thread.join()
    time.sleep(1.0)
    return {
        "sessions": sessions, "seconds": seconds, "kills": kills,
        "requests": {kind: _spread(spent) for kind, spent in sorted(tally.seconds.items())},
        "statuses": dict(tally.statuses), "retried": tally.retried,
        "failed": sum(count for status, count in tally.statuses.items() if status != "200"),
        "defects": service.defects,
        "kilobytes_before": before, "kilobytes_after": service.kilobytes, "children_after": service.children,
        "acknowledged": tally.acknowledged,
    }  # fmt: skip


def _session(service: ServiceProcess, name: str, ends: float, tally: Tally) -> None:
    words = random.Random(name)  # noqa: S311
    number = 0
    while time.monotonic() < ends:
        number += 1
        said = f"The {words.choice(_NOUNS)} {words.choice(_VERBS)} at step {number} of {name}."
        message = {"role": "user", "content": said, "id": f"m{number}"}
        if _timed(service, tally, "append", f"/sessions/{name}/messages", {"messages": [message]}) == 200:
            with tally.lock:
                tally.acknowledged[name].append(f"m{number}")
        _timed(
            service,
            tally,
            "search",
            "/memory/search",
            {"query": f"which {words.choice(_NOUNS)} {words.choice(_VERBS)}"},
        )
        if number % 3 == 0:
            _timed(service, tally, "prompt", "/prompt", {"message": f"What about the {words.choice(_NOUNS)}?"})


def _timed(service: ServiceProcess, tally: Tally, kind: str, path: str, body: dict[str, Any]) -> int:
    """Send a request until the service answers, and note the time of the answer that came."""
    while True:
        begun = time.perf_counter()
        try:
            status, _ = service.ask(path, body)
        except OSError:
            with tally.lock:
                tally.retried += 1
            time.sleep(_RETRY_S)
            continue
        with tally.lock:
            tally.seconds[kind].append(time.perf_counter() - begun)
            tally.statuses[str(status)] += 1
        return status


def _lost(home: Home, acknowledged: dict[str, list[str]]) -> dict[str, int]:
    """Count acknowledged messages that no transcript has, and ids that one has twice."""
    stored: dict[str, Counter[str]] = defaultdict(Counter)
    for path in home.sessions.glob("**/*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            stored[row["session"]][row["id"]] += 1
    lost = sum(stored[name][message] == 0 for name, ids in acknowledged.items() for message in ids)
    doubled = sum(count - 1 for counts in stored.values() for count in counts.values())
    return {"appended": sum(map(len, acknowledged.values())), "lost": lost, "doubled": doubled}


def _spread(spent: Sequence[float]) -> dict[str, float]:
    ordered = sorted(spent)
    at = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    found = {
        name: round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1) for name, share in at.items()
    }
    return {"n": len(ordered), "mean_ms": round(statistics.mean(ordered) * 1000, 1), **found}


if __name__ == "__main__":
    sys.exit(main())
