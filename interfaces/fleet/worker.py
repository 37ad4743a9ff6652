"""The worker of a host: it runs the nightly maintenance of the homes that its host holds, from the queue.

A run whose worker died goes back into the queue when the heartbeat of that worker is old. The home is written by one
host at a time in any case: a run on a host that lost the home is refused at its first write, and at its last.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_home.clock import now
from agent_home.errors import Locked, NotHeld
from agent_home.lease.host_clock import elapsed
from agent_home.lease.record import seconds_left
from recall.errors import RecallError

from ..indexing import index_changes
from ..nightly_run import maintain
from .errors import FleetError
from .host_folder import HostFolder, leases_in
from .queue import NIGHTLY, defer_again, empty_app, prepare_queue, queue_of
from .registry import Registry

if TYPE_CHECKING:
    import procrastinate

__all__ = ["NightlyFailed", "WorkerOptions", "run_worker"]

_log = logging.getLogger(__name__)
#: Seconds before a run is tried again: for one that found the home elsewhere or locked, and for others the first time.
_ELSEWHERE_S, _FIRST_S = 10, 60
#: Tries of a run that fails, and the longest time between two.
_MOST_TRIES, _LONGEST_S = 6, 3600
#: Hours for which finished runs are kept, and seconds between two looks for older ones.
_KEPT_HOURS, _CLEARED_S = 7 * 24, 3600.0


class NightlyFailed(FleetError):
    """A part of a nightly run failed. The parts that did not are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Options of a worker.

    Attributes:
        concurrency: runs at the same time. They share one interpreter, so more than two gain little.
        once: end when no run waits for a home of this host.
        poll_s: seconds between two looks for runs and homes.
        stalled_s: seconds without a heartbeat after which a worker counts as dead.
        environ: the variables with the keys of language models.
    """

    concurrency: int = 1
    once: bool = False
    poll_s: float = 5.0
    stalled_s: float = 30.0
    environ: Mapping[str, str]
    done: Callable[[str], None] = lambda _home: None


def run_worker(folder: HostFolder, url: str, stop: threading.Event, options: WorkerOptions) -> None:
    """Work until *stop* is set. A database that does not answer is waited for.

    Raises:
        NotJoined: the folder is not that of a host.
        NoServer: no database is named, or its client is not installed.
    """
    from recall.servers import ServerUnavailable

    folder.identity()
    while True:
        try:
            prepare_queue(url)
            break
        except ServerUnavailable as error:
            _log.warning("%s", error)
            if stop.wait(options.poll_s):
                return
    asyncio.run(_Worker(folder, url, stop, options).run())


class _Worker:
    """One worker, in the event loop of its process."""

    def __init__(self, folder: HostFolder, url: str, stop: threading.Event, options: WorkerOptions) -> None:
        self._folder, self._url, self._stop, self._options = folder, url, stop, options

    async def run(self) -> None:
        """Work until the stop, whatever becomes of the database meanwhile."""
        from procrastinate.exceptions import ConnectorException

        silent = False
        while not self._stop.is_set():
            try:
                async with self._app().open_async() as app:
                    silent = False
                    await self._work(app)
            except (ConnectorException, OSError) as error:
                level = logging.DEBUG if silent else logging.WARNING
                _log.log(level, "the queue does not answer: %s", " ".join(str(error).split()))
                silent = True
                await asyncio.sleep(self._options.poll_s)
            else:
                return

    async def _work(self, app: procrastinate.App) -> None:
        cleared = -_CLEARED_S
        while not self._stop.is_set():
            if elapsed() - cleared >= _CLEARED_S:
                await app.job_manager.delete_old_jobs(nb_hours=_KEPT_HOURS, include_failed=True)
                cleared = elapsed()
            homes = self._homes()
            await self._requeue_stalled(app, set(homes))
            if homes:
                await self._listen(app, homes)
            if self._options.once:
                return
            await self._sleep(self._options.poll_s)

    async def _listen(self, app: procrastinate.App, homes: Sequence[str]) -> None:
        """Run what waits for *homes*. Begin anew when the host gets or loses a home meanwhile."""
        working = asyncio.create_task(
            app.run_worker_async(
                queues=[queue_of(home) for home in homes], name=self._folder.identity().name, wait=False,
                concurrency=self._options.concurrency, install_signal_handlers=False, listen_notify=False,
                update_heartbeat_interval=self._options.stalled_s / 3, stalled_worker_timeout=self._options.stalled_s,
            )
        )  # fmt: skip
        while not working.done():
            await asyncio.wait([working], timeout=self._options.poll_s)
            if not working.done() and (self._stop.is_set() or set(self._homes()) != set(homes)):
                working.cancel()  # what runs is finished first
                with suppress(asyncio.CancelledError):
                    await working
                return
        await working

    async def _requeue_stalled(self, app: procrastinate.App, homes: set[str]) -> None:
        """Put runs of dead workers back into the queue, if their home is here. Another host does so for its own."""
        from procrastinate.exceptions import UniqueViolation
        from procrastinate.jobs import Status

        manager, seconds = app.job_manager, max(1, round(self._options.stalled_s))
        for job in await manager.get_stalled_jobs(task_name=NIGHTLY, seconds_since_heartbeat=seconds):
            if job.lock not in homes:
                continue
            try:
                await manager.retry_job(job)
            except UniqueViolation:  # the next run of the home waits already
                await manager.finish_job(job, status=Status.ABORTED, delete_job=False)
            _log.warning("the worker that ran the home %s died. The run begins again", job.lock)

    def _homes(self) -> list[str]:
        """Return the homes that this host may write now."""
        return [
            name for name, lease in leases_in(self._folder).items() if lease.state == "held" and seconds_left(lease)
        ]

    def _app(self) -> procrastinate.App:
        app = empty_app(self._url, asynchronous=True)

        @app.task(name=NIGHTLY)
        async def nightly(home: str, tries: int = 0) -> None:
            try:
                await asyncio.to_thread(self._maintain, home)
            except (NotHeld, Locked) as error:
                _log.warning("%s. The run waits", error)
                await self._again(app, home, tries, _ELSEWHERE_S)
            except Exception as error:
                if tries + 1 >= _MOST_TRIES:
                    raise
                _log.warning("the home %s: %s", home, " ".join(str(error).split()))
                await self._again(app, home, tries + 1, min(_LONGEST_S, _FIRST_S * 4**tries))

        return app

    async def _again(self, app: procrastinate.App, home: str, tries: int, seconds: float) -> None:
        """Queue the next try, unless the home has left the fleet: nobody would run it."""
        if await asyncio.to_thread(self._is_in_fleet, home):
            await defer_again(app, home, tries, seconds)

    def _is_in_fleet(self, home: str) -> bool:
        registry = Registry(self._url)
        try:
            return bool(registry.remote(home))
        except RecallError:  # it is not known, and the run must not be lost
            return True
        finally:
            registry.close()

    def _maintain(self, name: str) -> None:
        """Run the maintenance of a home, and make all vectors that its index lacks, in a thread.

        Raises:
            NotHeld: the home is not here any more.
            NightlyFailed: a part of it failed.
        """
        home = self._folder.home(name)
        if name not in leases_in(self._folder):
            raise NotHeld(f"the home {name} is not on this host")
        night, degraded = maintain(home, now=now(), environ=self._options.environ, warn=_log.warning)
        # A home arrives without an index, and nobody runs `memory sync` on a host.
        degraded += index_changes(home, _log.warning, most=sys.maxsize)
        for line in dict.fromkeys(degraded):
            _log.warning("the home %s: %s", name, line)
        if night.failed:
            first = night.failed[0]
            more = f", and {len(night.failed) - 1} more" if len(night.failed) > 1 else ""
            raise NightlyFailed(f"the home {name}: {first.session}: {first.error}{more}")
        self._options.done(name)

    async def _sleep(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / 0.1))):
            if self._stop.is_set():
                return
            await asyncio.sleep(min(0.1, seconds))
