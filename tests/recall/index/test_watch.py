"""Tests of the watcher inside a process: vectors after words, limits of the system, lost events."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers import Observer

from agent_home.home import Home
from recall.embedding.embedder import Embedder, NoEmbedder
from recall.embedding.model import ModelLocation
from recall.index.sync import sync_lock
from recall.index.watch import Synced, Watcher, WatchEvent, WatchProblem, WatchTiming

QUICK = WatchTiming(quiet_s=0.05, limit_s=0.5, look_s=0.3, retry_s=0.2, poll_s=0.1)


@pytest.fixture
def say_many(say: Callable[..., Path], many_turns: Callable[[int], Iterator[str]]) -> Callable[[str, int], Path]:
    return lambda session, count: say(session, *many_turns(count))


def phases(outcomes: list[WatchEvent]) -> list[str]:
    return [outcome.phase if isinstance(outcome, Synced) else outcome.message for outcome in outcomes]


def test_words_come_first_and_vectors_follow(
    home: Home, embedder: Embedder, say_many: Callable[[str, int], Path]
) -> None:
    say_many("s1", 150)
    done = list(Watcher(home, open_embedder=lambda _: embedder, timing=QUICK).run(once=True))
    assert phases(done) == ["words", "vectors"]
    reports = [outcome.report for outcome in done if isinstance(outcome, Synced)]
    assert [(report.added, report.embedded, report.pending) for report in reports] == [(150, 0, 150), (0, 150, 0)]
    assert [report.degraded for report in reports] == [(), ()]


def test_new_words_do_not_wait_for_old_vectors(
    home: Home, embedder: Embedder, say_many: Callable[[str, int], Path], say: Callable[..., Path]
) -> None:
    """Change a file while two hundred vectors are pending: its words are searchable before all vectors exist."""
    say_many("s1", 200)
    seen: list[tuple[str, int, int]] = []

    def progress(what: str, done: int, total: int) -> None:
        if what == "vectors" and done < 100 and not seen:
            seen.append((what, done, total))
            say("s2", "the falcon nests in the tower")
            threading.Event().wait(0.3)  # the event comes after a moment

    done = list(Watcher(home, open_embedder=lambda _: embedder, progress=progress, timing=QUICK).run(once=True))
    assert seen == [("vectors", 64, 200)]
    assert phases(done) == ["words", "vectors", "words", "vectors"]
    first, second, third, last = (outcome.report for outcome in done if isinstance(outcome, Synced))
    assert (first.pending, second.embedded, third.added, last.pending) == (200, 64, 1, 0)


def test_without_a_model_the_words_are_indexed(home: Home, say: Callable[..., Path]) -> None:
    say("s1", "falcon")
    location = ModelLocation(name="none", origin="none", ready=False, detail="no model here")
    none = NoEmbedder(reason="no model here", location=location)
    done = list(Watcher(home, open_embedder=lambda _: none, timing=QUICK).run(once=True))
    assert phases(done) == ["words", "search uses words only: no model here"]


def test_texts_that_cannot_be_embedded_do_not_keep_the_watcher_busy(
    home: Home, embedder: Any, say: Callable[..., Path]
) -> None:
    embedder.refused.append("walrus")
    say("s1", "falcon", "walrus")
    done = list(Watcher(home, open_embedder=lambda _: embedder, timing=QUICK).run(once=True))
    assert phases(done) == ["words", "vectors"]
    last = done[-1]
    assert isinstance(last, Synced)
    assert last.report.pending >= 1
    assert any("could not be embedded" in line for line in last.report.degraded)


def test_a_busy_index_is_retried_without_a_change(home: Home, say: Callable[..., Path]) -> None:
    say("s1", "falcon")
    watcher = Watcher(home, timing=QUICK)
    with closing(watcher.run()) as outcomes:
        with sync_lock(home, 1.0):
            first = next(outcomes)
        assert isinstance(first, WatchProblem)
        assert "sync.lock" in first.message
        following = next(outcome for outcome in outcomes if isinstance(outcome, Synced))
    assert following.report.added == 1


@pytest.mark.parametrize(
    ("number", "name"), [(errno.ENOSPC, "fs.inotify.max_user_watches"), (errno.EMFILE, "fs.inotify.max_user_instances")]
)
def test_at_the_systems_limit_the_watcher_polls(
    home: Home, say: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, number: int, name: str
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError(number, "limit reached")

    monkeypatch.setattr(Observer, "schedule", refuse)
    monkeypatch.setattr("recall.index.watch.PollingObserver.schedule", Observer.__mro__[1].schedule)  # type: ignore[attr-defined]
    with closing(Watcher(home, timing=QUICK).run()) as outcomes:
        first = next(outcomes)
        assert isinstance(first, WatchProblem)
        assert name in first.message
        assert "now polls all files" in first.message
        assert isinstance(next(outcomes), Synced)
        say("s1", "falcon")
        following = next(outcomes)
    assert isinstance(following, Synced)
    assert following.report.added == 1


def test_lost_events_are_replaced_by_polling(
    home: Home, say: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drop all events, as on a network drive: the next scan finds the change, and the watcher polls from then on."""
    monkeypatch.setattr("recall.index.watch._Relay.on_any_event", lambda *_: None)
    with closing(Watcher(home, timing=QUICK).run()) as outcomes:
        assert isinstance(next(outcomes), Synced)
        say("s1", "falcon")
        found, notice = next(outcomes), next(outcomes)
    assert isinstance(found, Synced)
    assert found.report.added == 1
    assert isinstance(notice, WatchProblem)
    assert "now polls all files" in notice.message


def test_constant_change_does_not_delay_a_sync_for_ever(home: Home, say: Callable[..., Path]) -> None:
    end = threading.Event()

    def chatter() -> None:
        number = 0
        while not end.wait(0.01):
            number += 1
            say("s1", f"turn {number}")

    watcher = Watcher(home, timing=QUICK)
    with closing(watcher.run()) as outcomes:
        next(outcomes)
        talking = threading.Thread(target=chatter)
        talking.start()
        try:
            following = [next(outcomes), next(outcomes)]
        finally:
            end.set()
            talking.join()
    assert all(isinstance(outcome, Synced) and outcome.report.added > 0 for outcome in following)


def test_stopping_ends_a_sync_between_two_steps(
    home: Home, embedder: Embedder, say_many: Callable[[str, int], Path]
) -> None:
    say_many("s1", 200)
    watcher = Watcher(
        home, open_embedder=lambda _: embedder, timing=QUICK,
        progress=lambda what, _done, _total: watcher.stop() if what == "vectors" else None,
    )  # fmt: skip
    done = list(watcher.run())
    assert phases(done)[0] == "words"
    last = list(Watcher(home, open_embedder=lambda _: embedder, timing=QUICK).run(once=True))[-1]
    assert isinstance(last, Synced)
    assert 0 < last.report.embedded < 200
    assert last.report.pending == 0
