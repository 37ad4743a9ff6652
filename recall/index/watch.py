"""Keep the index in step with the files while they change.

The operating system's events only wake: what changed is decided by one look at the folder, so that nothing depends on
which events an editor, ``git checkout`` or a network drive gives or loses. A watcher never reads what it writes:
``.memory``, ``.git`` and everything hidden are neither observed nor searched.

No lock is held but :func:`recall.index.sync.sync`'s own, one sync long. What goes wrong is handed out as a
:class:`Problem` and tried again; nothing but :meth:`Watcher.stop` ends a watch.
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
from ..settings import RecallSettings
from .file_scan import scan
from .ingest import Progress
from .passage import FOLDERS
from .sync import SyncReport, pending_notice, sync

__all__ = ["Synced", "WatchEvent", "WatchProblem", "WatchTiming", "Watcher"]

#: Neither opening nor reading is among them: a sync reads every changed file.
_EVENTS: list[type[FileSystemEvent]] = [
    DirCreatedEvent, DirDeletedEvent, DirMovedEvent,
    FileClosedEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent,
]  # fmt: skip
#: Passages embedded before files are looked at again: some seconds of work, after which new words come first.
_VECTORS = 64
#: What inotify says when the user may not watch more folders, or not from more programs.
_LIMITS = {errno.ENOSPC: "fs.inotify.max_user_watches", errno.EMFILE: "fs.inotify.max_user_instances"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTiming:
    """When a change is acted upon, in seconds."""

    #: Changes must have paused for so long.
    quiet_s: float = 0.3
    #: Under constant change the index is brought up to date at least this often.
    limit_s: float = 5.0
    #: The folder is looked at even if nothing was told: events can be lost.
    look_s: float = 60.0
    #: What failed is tried again at the next change, or after this.
    retry_s: float = 5.0
    #: Between two looks where the system does not tell.
    poll_s: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """A sync is done: the words of what changed, or the vectors that were still to be made."""

    report: SyncReport
    phase: Literal["words", "vectors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchProblem:
    """What is not as it should be, in one line. *error* is there when a sync failed."""

    message: str
    error: Exception | None = None


WatchEvent = Synced | WatchProblem


class Watcher:
    """Watches *home*.

    *open_embedder* is called when there are vectors to be made; without it words alone are indexed. *polling* looks
    at all files every few seconds instead of being told, as some network drives need.
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
        self._seen: object = None  # the folder as it was before the last sync that succeeded
        self._pending = 0
        self._vectors_rest = False  # vectors cannot go on before the next change
        self._failed = False

    def stop(self) -> None:
        """End :meth:`run` at the next border between two steps. May be called from a signal handler or a thread."""
        self._stopped = True
        self._ticks.put(None)

    def run(self, *, once: bool = False) -> Generator[WatchEvent, None, None]:
        """Sync now and after every change, handing out what came of it, until :meth:`stop`.

        With *once* it ends when nothing has changed for ``quiet_s`` and nothing is left to do.
        """
        rung = True
        try:
            yield from self._observe(polling=self._polling)
            while not self._stopped:
                yield from self._update(told=rung)
                if once:
                    rung = self._rung(self._timing.quiet_s)
                    if not rung and (self._failed or not self._unfinished()):
                        return
                elif self._failed or not self._unfinished():
                    rung = self._rung(self._timing.retry_s if self._failed else self._timing.look_s)
        finally:
            if self._observed is not None:
                self._observed.close()

    def _update(self, *, told: bool) -> Iterator[WatchEvent]:
        """One round: wait for quiet, index the words of what changed, then make vectors until something changes."""
        told = self._settle() or told or self._failed
        yield from self._observe(polling=self._polling)
        seen = (_manifest_state(self._home), scan(self._home))
        if seen != self._seen and not self._stopped:
            report = self._attempt(None)
            if not isinstance(report, SyncReport):
                self._seen = None
                yield from report
                return
            self._seen, self._pending, self._vectors_rest = seen, report.pending, False
            yield Synced(report=_without_pending_notice(report), phase="words")
            if not told and report.added + report.changed + report.removed and not self._polling:
                yield WatchProblem(
                    message="files changed and the system did not tell; looking at all files by polling now"
                )
                yield from self._observe(polling=True)
        yield from self._make_vectors()

    def _make_vectors(self) -> Iterator[WatchEvent]:
        """Embed what is pending, some at a time, until all is done or files change."""
        if self._open_embedder is None or not self._unfinished():
            return
        embedder = self._embedder or self._open_embedder(self._home)
        if isinstance(embedder, NoEmbedder):
            self._vectors_rest = True
            yield WatchProblem(message=f"words only: {embedder.reason}")
            return
        self._embedder = embedder
        total = SyncReport()
        while self._unfinished() and self._ticks.empty():
            report = self._attempt(embedder, made=total.embedded)
            if not isinstance(report, SyncReport):
                self._vectors_rest = not any(isinstance(problem.error, Locked) for problem in report)
                yield from report
                return
            self._pending, self._vectors_rest = report.pending, not report.embedded
            total = _sum(total, report)
        yield Synced(report=total if self._vectors_rest else _without_pending_notice(total), phase="vectors")

    def _attempt(self, embedder: Embedder | None, *, made: int = 0) -> SyncReport | tuple[WatchProblem, ...]:
        """One sync, or why there was none; nothing when it was stopped."""

        def step(what: str, done: int, total: int) -> None:
            if self._stopped:  # between two transactions: the next sync goes on from here
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
        except Exception as error:  # noqa: BLE001 - whatever fails is reported and tried again; a watch goes on
            return (WatchProblem(message=" ".join(str(error).split()) or repr(error), error=error),)
        self._failed = False
        return report

    def _settings(self) -> RecallSettings:
        """The home's settings as they are now: the manifest may have changed, or be gone with its home."""
        if _manifest_state(self._home) is None:
            raise NoHome(self._home.root)
        settings = Home(self._home.root).manifest.settings("recall", RecallSettings)
        return replace(settings, sync_timeout_s=min(settings.sync_timeout_s, self._timing.retry_s))

    def _observe(self, *, polling: bool) -> Iterator[WatchProblem]:
        """Have the system tell about the folders that are there now; where it refuses, look by polling."""
        if self._observed is not None and polling != self._polling:
            self._observed.close()
            self._observed = None
        self._polling = polling
        try:
            if self._observed is None:
                self._observed = _FolderObserver(self._home, self._ring, self._timing.poll_s if polling else None)
            self._observed.follow()
        except OSError as error:
            if polling or error.errno not in _LIMITS:
                yield WatchProblem(
                    message=f"{self._home.root} cannot be watched: {error.strerror}; looking now and then"
                )
                return
            yield WatchProblem(message=_limit_reached(error))
            yield from self._observe(polling=True)

    def _ring(self) -> None:
        self._ticks.put(None)

    def _rung(self, timeout_s: float) -> bool:
        """Wait for a change or for the end. False when *timeout_s* passed without."""
        if self._stopped:  # the tick of the end may have been taken by an earlier wait
            return True
        try:
            self._ticks.get(timeout=timeout_s)
        except Empty:
            return False
        return True

    def _settle(self) -> bool:
        """Wait until changes pause, but not for ever. False when there were none."""
        end = time.monotonic() + self._timing.limit_s
        changed = False
        while not self._stopped and (left := end - time.monotonic()) > 0:
            if not self._rung(min(self._timing.quiet_s, left)):
                break
            changed = True
        return changed

    def _unfinished(self) -> bool:
        """Whether vectors can be made at once."""
        return self._open_embedder is not None and self._pending > 0 and not self._vectors_rest and not self._stopped


class _StopSync(Exception):
    """Somebody wants the watch to end while it syncs."""


class _FolderObserver:
    """What the system is asked to tell about: the files of the home itself, and the folders that are searched.

    Not the whole tree: ``.git`` and ``.memory`` are busy and large, and their events could push out the others.
    """

    def __init__(self, home: Home, ring: Callable[[], None], poll_s: float | None) -> None:
        self._home, self._ring = home, ring
        self._watches: dict[str, tuple[tuple[int, int], ObservedWatch]] = {}
        self._replaced: set[str] = set()
        self._observer: BaseObserver = Observer() if poll_s is None else PollingObserver(timeout=poll_s)
        self._observer.start()

    def follow(self) -> None:
        """Watch the folders that are there now, and no longer those that are gone or were replaced.

        Raises:
            OSError: the system's limit is reached, or a folder may not be watched.
        """
        wanted = dict(self._folders())
        for path, (identity, watch) in list(self._watches.items()):
            if wanted.get(path) != identity or path in self._replaced:
                self._replaced.discard(path)
                del self._watches[path]
                self._observer.unschedule(watch)
        for path, identity in wanted.items():
            if path not in self._watches:
                relay = _Relay(path, self._told)
                inner = path != str(self._home.root)
                try:
                    watch = self._observer.schedule(relay, path, recursive=inner, event_filter=_EVENTS)
                except (FileNotFoundError, NotADirectoryError):
                    continue  # gone since it was listed; the next round sees what is there then
                self._watches[path] = identity, watch

    def close(self) -> None:
        self._observer.stop()
        self._observer.join()

    def _folders(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for folder in (self._home.root, *(self._home.root / name for name in FOLDERS)):
            path = str(folder) if folder == self._home.root else os.path.realpath(folder)  # a link leads to its files
            try:
                status = folder.stat()
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                yield path, (status.st_dev, status.st_ino)

    def _told(self, event: FileSystemEvent) -> None:
        """Called in the observer's thread."""
        if event.is_directory:  # a new folder can have the number of the one before
            self._replaced.update({os.fsdecode(event.src_path), os.fsdecode(event.dest_path)} & self._watches.keys())
        self._ring()


class _Relay(FileSystemEventHandler):
    """Hands on the events below *base* that are not about hidden files alone."""

    def __init__(self, base: str, tell: Callable[[FileSystemEvent], None]) -> None:
        self._base, self._tell = base, tell

    def on_any_event(self, event: FileSystemEvent) -> None:
        if any(self._visible(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path):
            self._tell(event)

    def _visible(self, path: str) -> bool:
        inside = path.removeprefix(self._base)
        return f"{os.sep}." not in inside


def _manifest_state(home: Home) -> tuple[int, int] | None:
    """When the manifest changed; ``None`` when there is none."""
    try:
        status = (home.root / MANIFEST).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _sum(total: SyncReport, report: SyncReport) -> SyncReport:
    """*report* with what the syncs before it did."""
    return replace(
        report,
        added=total.added + report.added,
        changed=total.changed + report.changed,
        removed=total.removed + report.removed,
        embedded=total.embedded + report.embedded,
        seconds=total.seconds + report.seconds,
    )


def _without_pending_notice(report: SyncReport) -> SyncReport:
    """Vectors that follow by themselves are nothing to warn of."""
    return replace(
        report, degraded=tuple(line for line in report.degraded if line not in pending_notice(report.pending))
    )


def _limit_reached(error: OSError) -> str:
    name = _LIMITS[error.errno or 0]
    return (
        f"the system's limit for watching is reached ({error.strerror}), looking at all files by polling now; "
        f"raise {name} (`sysctl -w {name}=...`) and start again to be told at once"
    )
