"""Test that a killed writer or server loses nothing acknowledged, and that sending again doubles nothing."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest

from bench.measure import servers
from recall.postgres.connections import close_pools
from recall.servers import ServerUnavailable
from tests.doomed import ForkServer
from tests.made_namespaces import NOW, made_name, made_namespace, query

#: A server whose acknowledged transactions survive the machine's power.
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
_IDS = (
    "SELECT c.message_id, count(*) FROM agent_memory.chat_history c JOIN agent_memory.namespaces n "
    "ON n.id = c.namespace WHERE n.name = %s GROUP BY c.message_id"
)
_WRITER = """
import sys
from tests.made_namespaces import made_namespace
namespace = made_namespace({url!r}, {name!r})
for number in range(100_000):
    done = namespace.record(f"fact number {{number}}", message_id=f"m{{number}}")
    assert not done.known
    print(done.message_id, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_acknowledged(database_url: str, forks: ForkServer) -> None:
    name = made_name()
    child = forks.start(_WRITER.format(url=database_url, name=name))
    told = [child.stdout.readline().strip() for _ in range(50)]
    child.kill_group()
    rest, _ = child.communicate()
    told += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    told = [line.strip() for line in told]
    rows = dict(query(database_url, _IDS, name))
    assert set(told) <= set(rows)
    assert len(rows) - len(told) <= 1  # the one that was on its way
    namespace = made_namespace(database_url, name)
    known = [namespace.record(f"fact number {number}", message_id=f"m{number}", now=NOW).known for number in range(60)]
    assert known == [f"m{number}" in rows for number in range(60)]
    assert set(dict(query(database_url, _IDS, name)).values()) == {1}


def kill_backend(url: str, _folder: Path) -> None:
    """Kill a process of the server with the signal that none can catch. The server ends all others and recovers."""
    ((pid,), *_) = query(url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
    os.kill(pid, signal.SIGKILL)


def end_at_once(_url: str, folder: Path) -> None:
    """End the server without a checkpoint, and start it again. It recovers from its log."""
    servers.stop(folder)
    servers.postgresql(folder, DURABLE)


@pytest.mark.slow
@pytest.mark.parametrize("crash", [kill_backend, end_at_once])
def test_a_killed_server_loses_nothing_that_was_acknowledged(
    tmp_path: Path, crash: Callable[[str, Path], None]
) -> None:
    url, name = servers.postgresql(tmp_path, DURABLE), made_name()
    told: SimpleQueue[str] = SimpleQueue()
    problems: list[str] = []
    over = threading.Event()

    def write(agent: int) -> None:
        namespace = made_namespace(url, name)
        ids = (f"a{agent}-{number}" for number in itertools.takewhile(lambda _: not over.is_set(), itertools.count()))
        try:
            for one in ids:
                told.put(namespace.record(f"fact {one}", message_id=one).message_id)
        except ServerUnavailable as error:
            problems.append(str(error))

    try:
        made_namespace(url, name).record("the first one", message_id="first")
        writers = [threading.Thread(target=write, args=(agent,)) for agent in range(4)]
        for writer in writers:
            writer.start()
        while told.qsize() < 200:
            time.sleep(0.01)
        crash(url, tmp_path)
        wait_for(url)
        over.set()
        for writer in writers:
            writer.join()
        close_pools()  # with what they remember of the outage
        wait_for(url)
        assert all("AGENT_HOME_DATABASE_URL" in problem for problem in problems)
        rows = dict(query(url, _IDS, name))
        acknowledged = {told.get() for _ in range(told.qsize())}
        assert acknowledged <= set(rows)
        assert len(rows) <= len(acknowledged) + 5  # the first one, and what was on its way
        assert set(rows.values()) == {1}
        namespace = made_namespace(url, name)
        assert namespace.record("fact a0-0", message_id="a0-0").known
        assert namespace.stats().pending == len(rows)
    finally:
        servers.stop(tmp_path)
        close_pools()


def wait_for(url: str) -> None:
    """Wait until the server answers again."""
    end = time.monotonic() + 60
    while True:
        try:
            query(url, "SELECT 1")
        except ServerUnavailable:
            assert time.monotonic() < end
            time.sleep(0.2)
        else:
            return
