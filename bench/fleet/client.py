"""Clients that write to homes of a fleet over HTTP, and note each write that was acknowledged.

As a program: ``python -m bench.fleet.client FILE`` reads a JSON object with the keys ``urls``, ``homes``, ``token``,
``out``, ``threads`` and ``name`` from FILE. It writes until its standard input ends. The file ``out`` gets a line of
JSON for each acknowledged write.
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

__all__ = ["Client"]

_TIMEOUT_S = 20.0
_MESSAGES_BEFORE_CLOSING = 4


class Client:
    """One client, which does one thing after another. *random_source* decides what."""

    def __init__(self, given: dict[str, Any], name: str, out: TextIO, lock: threading.Lock) -> None:
        self._given, self._name, self._out, self._lock = given, name, out, lock
        self._random = random.Random(name)  # noqa: S311 - the same in every run
        self._number = 0
        self._sessions: dict[str, tuple[str, int]] = {}

    def work(self, ended: threading.Event) -> None:
        """Write until *ended* is set."""
        while not ended.is_set():
            self._number += 1
            home = self._random.choice(self._given["homes"])
            try:
                if self._random.random() < 0.3:
                    self._note(home)
                else:
                    self._message(home)
            except (OSError, http.client.HTTPException, ValueError):  # not acknowledged
                time.sleep(0.2)

    def _note(self, home: str) -> None:
        text = f"Measurement {self._name}-{self._number} is kept in folder {self._name}/{self._number}."
        status, _ = self._ask(home, "/memory/store", {"content": text})
        if status == 200:
            self._acknowledge(home, "note", text)

    def _message(self, home: str) -> None:
        session, count = self._sessions.get(home, (f"{self._name}-{self._number}", 0))
        text = f"Message {self._name}-{self._number}: we looked at the ledger and agreed on the next step."
        status, _ = self._ask(home, f"/sessions/{session}/messages", {"messages": [{"role": "user", "content": text}]})
        if status != 200:
            return
        self._acknowledge(home, "message", text)
        self._sessions[home] = (session, count + 1)
        if count + 1 >= _MESSAGES_BEFORE_CLOSING:
            del self._sessions[home]
            status, _ = self._ask(home, f"/sessions/{session}/close", {})
            if status == 202:
                self._acknowledge(home, "close", session)

    def _acknowledge(self, home: str, kind: str, text: str) -> None:
        with self._lock:
            self._out.write(json.dumps({"home": home, "kind": kind, "text": text}) + "\n")
            self._out.flush()

    def _ask(self, home: str, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        address = urlsplit(self._random.choice(self._given["urls"]))
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_TIMEOUT_S)
        try:
            headers = {"Authorization": f"Bearer {self._given['token']}", "Content-Type": "application/json"}
            connection.request("POST", f"/homes/{home}{path}", json.dumps(body), headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status not in {200, 202}:
            time.sleep(0.1)
        return answer.status, data


def main(file: Path) -> None:
    """Run the clients that *file* describes, until standard input ends."""
    given = json.loads(file.read_text())
    ended, lock = threading.Event(), threading.Lock()
    with Path(given["out"]).open("a", encoding="utf-8") as out:
        clients = [Client(given, f"{given['name']}{number}", out, lock) for number in range(given["threads"])]
        threads = [threading.Thread(target=client.work, args=(ended,)) for client in clients]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        ended.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
