"""Updates of the index while files change.

Events of the operating system only wake the watcher. A scan of the folder then finds the changes, so it does not matter
which events an editor, ``git checkout`` or a network drive sends or loses. The watcher ignores ``.memory``, ``.git``
and every hidden file, so it never reacts to its own writes.

The only lock is :func:`recall.index.sync.sync`'s own, for one sync at a time. A failure is reported as a
:class:`WatchProblem` and retried. Only :meth:`Watcher.stop` ends a watch.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Literal

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch
from watchdog.observers.polling import PollingObserver

from agent_home.errors import Locked, NoHome
from agent_home.home import Home
from agent_home.settings import MANIFEST

from ..embedding.embedder import Embedder, NoEmbedder
from ..embedding.model import words_only
from ..settings import RecallSettings
from .file_scan import scan
from .ingest import Progress
from .passage import FOLDERS
from .sync import SyncReport, pending_notice, sync

__all__ = ["Synced", "WatchEvent", "WatchProblem", "WatchTiming", "Watcher"]

#: Opening and reading are left out, because a sync reads every changed file.
_EVENTS: list[type[FileSystemEvent]] = [
    DirCreatedEvent, DirDeletedEvent, DirMovedEvent,
    FileClosedEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent,
]  # fmt: skip
#: Passages embedded between two scans of the files: some seconds of work. New words come first after that.
_VECTORS = 64
#: Errors of inotify when the user's limit of watched folders or of watching programs is reached.
_LIMITS = {errno.ENOSPC: "fs.inotify.max_user_watches", errno.EMFILE: "fs.inotify.max_user_instances"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTiming:
    """Delays of a watcher, in seconds."""

    #: A sync waits for a pause of this length.
    quiet_s: float = 0.3
    #: Under constant change a sync runs at least this often.
    limit_s: float = 5.0
    #: The folder is scanned this often even without events, because events can be lost.
    look_s: float = 60.0
    #: A failed sync is retried at the next change, or after this time.
    retry_s: float = 5.0
    #: Time between two scans where the system sends no events.
    poll_s: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """Report of a finished sync: of the words of changed files, or of pending vectors."""

    report: SyncReport
    phase: Literal["words", "vectors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchProblem:
    """A problem in one line. *error* is set when a sync failed."""

    message: str
    error: Exception | None = None


WatchEvent = Synced | WatchProblem


class Watcher:
    """Watcher of *home*.

    *open_embedder* is called when vectors are pending. Without it, words alone are indexed. With *polling* the watcher
    scans all files every few seconds and uses no events, as some network drives need.
    """

    def __init__(
        self,
        home: Home,
        *,
        open_embedder: Callable[[Home], Embedder | NoEmbedder] | None = None,
        progress: Progress | None = None,
        timing: WatchTiming | None = None,
        polling: bool = False,
    ) -> None:
        self._home = home
        self._open_embedder = open_embedder
        self._progress = progress
        self._timing = timing or WatchTiming()
        self._polling = polling
        self._ticks: SimpleQueue[None] = SimpleQueue()
        self._observed: _FolderObserver | None = None
        self._embedder: Embedder | None = None
        self._stopped = False
        self._last_state: object = None  # of the folder, before the last sync that succeeded
        self._pending = 0
        self._vectors_blocked = False  # until the next change
        self._failed = False

    def stop(self) -> None:
        """Stop :meth:`run` at the next border between two steps. A signal handler or another thread may call this."""
        self._stopped = True
        self._ticks.put(None)

    def run(self, *, once: bool = False) -> Generator[WatchEvent, None, None]:
        """Sync now and after every change until :meth:`stop`. Yield the results.

        With *once* the generator ends when nothing has changed for ``quiet_s`` and no work is left.
        """
        woken = True
        try:
            yield from self._observe(polling=self._polling)
            while not self._stopped:
                yield from self._update(notified=woken)
                if once:
                    woken = self._wait(self._timing.quiet_s)
                    if not woken and (self._failed or not self._has_pending_vectors()):
                        return
                elif self._failed or not self._has_pending_vectors():
                    woken = self._wait(self._timing.retry_s if self._failed else self._timing.look_s)
        finally:
            if self._observed is not None:
                self._observed.close()

    def _update(self, *, notified: bool) -> Iterator[WatchEvent]:
        """Run one round: wait for a pause, index the words of changed files, then embed until files change."""
        notified = self._settle() or notified or self._failed
        yield from self._observe(polling=self._polling)
        state = (_manifest_state(self._home), scan(self._home))
        if state != self._last_state and not self._stopped:
            report = self._attempt(None)
            if not isinstance(report, SyncReport):
                self._last_state = None
                yield from report
                return
            self._last_state, self._pending, self._vectors_blocked = state, report.pending, False
            yield Synced(report=_without_pending_notice(report), phase="words")
            if not notified and report.added + report.changed + report.removed and not self._polling:
                yield WatchProblem(
                    message="files changed and the system sent no event. The watcher now polls all files"
                )
                yield from self._observe(polling=True)
        yield from self._make_vectors()

    def _make_vectors(self) -> Iterator[WatchEvent]:
        """Embed pending passages, some at a time, until none is left or files change."""
        if self._open_embedder is None or not self._has_pending_vectors():
            return
        embedder = self._embedder or self._open_embedder(self._home)
        if isinstance(embedder, NoEmbedder):
            self._vectors_blocked = True
            yield WatchProblem(message=words_only(embedder.reason))
            return
        self._embedder = embedder
        total = SyncReport()
        while self._has_pending_vectors() and self._ticks.empty():
            report = self._attempt(embedder, made=total.embedded)
            if not isinstance(report, SyncReport):
                self._vectors_blocked = not any(isinstance(problem.error, Locked) for problem in report)
                yield from report
                return
            self._pending, self._vectors_blocked = report.pending, not report.embedded
            total = _sum(total, report)
        yield Synced(report=total if self._vectors_blocked else _without_pending_notice(total), phase="vectors")

    def _attempt(self, embedder: Embedder | None, *, made: int = 0) -> SyncReport | tuple[WatchProblem, ...]:
        """Run one sync. Return its report, or its problems, which are none when the watcher was stopped."""

        def step(what: str, done: int, total: int) -> None:
            if self._stopped:  # between two transactions: the next sync resumes here
                raise _StopSync
            if self._progress is not None:
                more = what == "vectors"
                self._progress(what, done + (made if more else 0), max(self._pending + made, total) if more else total)

        self._failed = True
        try:
            settings = self._settings()
            limit = _VECTORS if embedder is not None else None
            report = sync(self._home, settings, embedder, progress=step, embed_limit=limit)
        except _StopSync:
            return ()
        except Exception as error:  # noqa: BLE001 - every failure is reported and retried, and the watch goes on
            return (WatchProblem(message=" ".join(str(error).split()) or repr(error), error=error),)
        self._failed = False
        return report

    def _settings(self) -> RecallSettings:
        """Read the home's current settings. The manifest may have changed, or be gone with its home."""
        if _manifest_state(self._home) is None:
            raise NoHome(self._home.root)
        settings = Home(self._home.root).manifest.settings("recall", RecallSettings)
        return replace(settings, sync_timeout_s=min(settings.sync_timeout_s, self._timing.retry_s))

    def _observe(self, *, polling: bool) -> Iterator[WatchProblem]:
        """Request events of the existing folders. Where the system refuses, poll."""
        if self._observed is not None and polling != self._polling:
            self._observed.close()
            self._observed = None
        self._polling = polling
        try:
            if self._observed is None:
                self._observed = _FolderObserver(self._home, self._wake, self._timing.poll_s if polling else None)
            self._observed.follow()
        except OSError as error:
            if polling or error.errno not in _LIMITS:
                yield WatchProblem(
                    message=f"{self._home.root} cannot be watched: {error.strerror}. The watcher scans it now and then"
                )
                return
            yield WatchProblem(message=_limit_reached(error))
            yield from self._observe(polling=True)

    def _wake(self) -> None:
        self._ticks.put(None)

    def _wait(self, timeout_s: float) -> bool:
        """Wait for a change or for :meth:`stop`. Return False when *timeout_s* passed without either."""
        if self._stopped:  # an earlier wait may have taken the tick of the stop
            return True
        try:
            self._ticks.get(timeout=timeout_s)
        except Empty:
            return False
        return True

    def _settle(self) -> bool:
        """Wait until changes pause, at most ``limit_s``. Return False when there were none."""
        end = time.monotonic() + self._timing.limit_s
        changed = False
        while not self._stopped and (left := end - time.monotonic()) > 0:
            if not self._wait(min(self._timing.quiet_s, left)):
                break
            changed = True
        return changed

    def _has_pending_vectors(self) -> bool:
        """Return whether passages are pending that can be embedded now."""
        return self._open_embedder is not None and self._pending > 0 and not self._vectors_blocked and not self._stopped


class _StopSync(Exception):
    """The watcher was stopped during a sync."""


class _FolderObserver:
    """Subscription to events of the home's own files and of the searched folders.

    The rest of the tree is left out: ``.git`` and ``.memory`` are busy and large. Their events could displace others.
    """

    def __init__(self, home: Home, wake: Callable[[], None], poll_s: float | None) -> None:
        self._home, self._wake = home, wake
        self._watches: dict[str, tuple[tuple[int, int], ObservedWatch]] = {}
        self._replaced: set[str] = set()
        self._observer: BaseObserver = Observer() if poll_s is None else PollingObserver(timeout=poll_s)
        self._observer.start()

    def follow(self) -> None:
        """Watch the existing folders, and stop watching those that were deleted or replaced.

        Raises:
            OSError: the system's limit is reached, or a folder may not be watched.
        """
        existing = dict(self._folders())
        for path, (identity, watch) in list(self._watches.items()):
            if existing.get(path) != identity or path in self._replaced:
                self._replaced.discard(path)
                del self._watches[path]
                self._observer.unschedule(watch)
        for path, identity in existing.items():
            if path not in self._watches:
                relay = _Relay(path, self._on_event)
                inner = path != str(self._home.root)
                try:
                    watch = self._observer.schedule(relay, path, recursive=inner, event_filter=_EVENTS)
                except (FileNotFoundError, NotADirectoryError):
                    continue  # deleted since it was listed: the next round lists again
                self._watches[path] = identity, watch

    def close(self) -> None:
        self._observer.stop()
        self._observer.join()

    def _folders(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for folder in (self._home.root, *(self._home.root / name for name in (*FOLDERS, *self._home.links))):
            path = str(folder) if folder == self._home.root else os.path.realpath(folder)  # a link leads to its files
            try:
                status = folder.stat()
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                yield path, (status.st_dev, status.st_ino)

    def _on_event(self, event: FileSystemEvent) -> None:
        """Wake the watcher. The observer's thread calls this."""
        if event.is_directory:  # a new folder can have the inode number of the deleted one
            self._replaced.update({os.fsdecode(event.src_path), os.fsdecode(event.dest_path)} & self._watches.keys())
        self._wake()


class _Relay(FileSystemEventHandler):
    """Filter of the events below *base*: those of hidden files alone are dropped."""

    def __init__(self, base: str, forward: Callable[[FileSystemEvent], None]) -> None:
        self._base, self._forward = base, forward

    def on_any_event(self, event: FileSystemEvent) -> None:
        if any(self._visible(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path):
            self._forward(event)

    def _visible(self, path: str) -> bool:
        inside = path.removeprefix(self._base)
        return f"{os.sep}." not in inside


def _manifest_state(home: Home) -> tuple[int, int] | None:
    """Return modification time and size of the manifest, or ``None`` when there is none."""
    try:
        status = (home.root / MANIFEST).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _sum(total: SyncReport, report: SyncReport) -> SyncReport:
    """Return *report* with the counts of the syncs before it added."""
    return replace(
        report,
        added=total.added + report.added,
        changed=total.changed + report.changed,
        removed=total.removed + report.removed,
        embedded=total.embedded + report.embedded,
        seconds=total.seconds + report.seconds,
    )


def _without_pending_notice(report: SyncReport) -> SyncReport:
    """Remove the notice of pending vectors, which the watcher computes next."""
    return replace(
        report, degraded=tuple(line for line in report.degraded if line not in pending_notice(report.pending))
    )


def _limit_reached(error: OSError) -> str:
    name = _LIMITS[error.errno or 0]
    return (
        f"the system's limit for watching is reached ({error.strerror}), so the watcher now polls all files. "
        f"Raise {name} (`sysctl -w {name}=...`) and start again to get events"
    )
