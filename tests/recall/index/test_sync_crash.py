"""Tests of a killed sync, and of readers during a sync."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_home.home import Home
from recall.index.sync import SyncReport, reindex, sync
from recall.index.verify import verify
from recall.search.hybrid import SearchResult
from recall.settings import RecallSettings
from tests.doomed import ForkServer

Say = Callable[..., Path]
Turns = Callable[[int], Iterator[str]]

SYNC = """
import sys
from pathlib import Path
from agent_home.home import Home
from recall.settings import RecallSettings
from recall.index import embedding_queue
from recall.index.sync import reindex, sync
from tests.recall.hashing_embedder import HashingEmbedder
home = Home(Path(sys.argv[1]))
print("begun", flush=True)
embedding_queue.EMBEDDING_BATCH = 8
(reindex if sys.argv[2] == "reindex" else sync)(home, RecallSettings(), HashingEmbedder())
print("done", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["sync", "reindex"])
def test_a_killed_sync_is_completed_by_the_next(
    home: Home, settings: RecallSettings, say: Say, write: Callable[[str, str], Path], many_turns: Turns,
    update: Callable[[], SyncReport], forks: ForkServer, verb: str,
) -> None:  # fmt: skip
    chance = random.Random(verb)  # noqa: S311 - when to kill, the same every time
    killed = 0
    for round_ in range(5):
        for number in range(3):
            say(f"s{number}", *many_turns(40 + round_))
        write(f"Knowledge/{round_ % 2}.md", "\n".join(f"## Part {n}\n\nwords{round_} of {n}\n" for n in range(30)))
        process = forks.start(SYNC, str(home.root), verb)
        assert process.stdout.readline() == "begun\n"
        time.sleep(chance.uniform(0.0, 0.06))
        process.kill_group()
        rest, _ = process.communicate()
        killed += "done" not in rest
        if home.index.exists():  # whatever is there is whole: only newer files may be missing from it
            problems = verify(home, settings).differences
            # A process that is killed before it made the tables leaves an empty file, and one that is killed before it
            # wrote its token leaves tables without rows. The next sync fills both.
            unfinished = ("Run `memory sync`", "schema version 0", "this machine did not make it")
            assert all(any(words in line for words in unfinished) for line in problems), problems
        assert update().pending == 0
        assert verify(home, settings).differences == ()
    assert killed > 0
    assert not list(home.index.parent.glob("*corrupt*"))


@pytest.mark.slow
def test_searches_work_while_another_thread_syncs(
    home: Home, settings: RecallSettings, say: Say, many_turns: Turns, ask: Callable[..., SearchResult],
    update: Callable[[], SyncReport],
) -> None:  # fmt: skip
    say("s0", "the falcon nests in the tower", *many_turns(50))
    update()
    problems: list[str] = []
    rounds = threading.Event()

    def write() -> None:
        try:
            for number in range(1, 8):
                say(f"s{number}", *many_turns(150))
                update()
            reindex(home, settings, None)
        finally:
            rounds.set()

    writer = threading.Thread(target=write)
    writer.start()
    searches = 0
    while not rounds.is_set():
        result = ask("where does the falcon nest")
        searches += 1
        if result.hits[0].source != "s0#m1" or result.degraded:
            problems.append(f"{[hit.source for hit in result.hits[:1]]} {result.degraded}")
    writer.join()
    assert problems == []
    assert searches > 3
    assert verify(home, settings).ok


def test_two_syncs_at_once_do_the_work_once(home: Home, settings: RecallSettings, say: Say, many_turns: Turns) -> None:
    say("s1", *many_turns(200))
    reports: list[SyncReport] = []
    threads = [threading.Thread(target=lambda: reports.append(sync(home, settings, None))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.added for report in reports) == [0, 0, 0, 200]
    assert verify(home, settings).ok
