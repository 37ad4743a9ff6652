"""Run long work behind a request, and keep what became of it for a while."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from .problem import log_defect, problem_of

__all__ = ["Job", "Jobs"]

State = Literal["queued", "running", "done", "failed"]
#: Jobs that are remembered after their end. The oldest is forgotten first.
_MOST_KEPT = 1000


@dataclass(slots=True)
class Job:
    """Work behind a request. *owner* is the caller that may ask about it. *answer* is its result or its error."""

    id: str
    kind: str
    owner: str
    state: State = "queued"
    status: int = 202
    answer: dict[str, Any] | None = None
    private: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the job as JSON."""
        return {"job": self.id, "kind": self.kind, "state": self.state, "result": self.answer}


class Jobs:
    """The jobs of a service. One runs at a time for each home, because closings take the home's lock."""

    def __init__(self, workers: int = 2) -> None:
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="job")
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = Lock()

    def waiting(self, home: str) -> int:
        """Return how many jobs of *home* are not done yet."""
        with self._lock:
            return sum(
                job.state in {"queued", "running"} and job.owner.partition("\0")[0] == home
                for job in self._jobs.values()
            )

    def start(
        self,
        kind: str,
        owner: str,
        work: Callable[[], dict[str, Any]],
        ended: Callable[[], None] = lambda: None,
        *,
        private: bool = False,
        job_id: str = "",
    ) -> Job:
        """Queue *work* and return its job. *ended* is called after it, whatever became of it.

        With *private*, its error says nothing of what the home holds. Without *job_id* it gets a new one.
        """
        job = Job(id=job_id or uuid.uuid4().hex[:16], kind=kind, owner=owner, private=private)
        with self._lock:
            self._jobs[job.id] = job
            done = [name for name, other in self._jobs.items() if other.state in {"done", "failed"}]
            for name in done[: max(0, len(self._jobs) - _MOST_KEPT)]:
                del self._jobs[name]
        self._pool.submit(self._run, job, work, ended)
        return job

    def find(self, job_id: str, owner: str) -> Job | None:
        """Return the job of that *owner*, or ``None``."""
        with self._lock:
            job = self._jobs.get(job_id)
        return job if job is not None and job.owner == owner else None

    def close(self, *, finish: bool = False) -> None:
        """Wait for the jobs that run, and with *finish* for all that are queued. The others are not started."""
        self._pool.shutdown(wait=True, cancel_futures=not finish)

    @staticmethod
    def _run(job: Job, work: Callable[[], dict[str, Any]], ended: Callable[[], None]) -> None:
        job.state = "running"
        try:
            job.answer, job.status = work(), 200
            job.state = "done"
        except Exception as error:  # noqa: BLE001 - the job's answer tells, as that of a request would
            problem = problem_of(error, private=job.private)
            job.answer, job.status = {"error": str(problem)}, problem.status
            job.state = "failed"
            if problem.status == 500:
                log_defect(error, job.id)
        finally:
            ended()
