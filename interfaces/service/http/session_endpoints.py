"""Own the endpoints for sessions: append, close, and the job of a closing."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_home.home import Home
from interfaces.answers import imported_answer
from interfaces.kept_promises import keep_promise
from interfaces.promised_closings import PromisedClosing, left_closings, promise

from .activity import Activity
from .bodies import MessagesBody
from .callers import Caller
from .endpoint import HttpEndpoint, Service, agent_of, parsed_body
from .jobs import Job, Jobs
from .problem import HttpProblem

__all__ = ["SESSION_ENDPOINTS", "start_closing", "start_left_closings"]


async def _messages(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, MessagesBody)
    rows = [caller.said(message.model_dump(exclude_defaults=True)) for message in given.messages]
    await run_in_threadpool(caller.require_room, len(rows))
    done = await run_in_threadpool(agent_of(caller).append, caller.session(request.path_params["session"]), rows)
    service.metrics.of(caller.home).guard(
        stored=done.messages, redacted=done.redacted, quarantined=len(done.quarantined)
    )
    return JSONResponse(imported_answer(done))


async def _close(service: Service, caller: Caller, request: Request) -> Response:
    session = caller.session(request.path_params["session"])
    await run_in_threadpool(agent_of(caller).require_session, session)
    await run_in_threadpool(caller.require_room)
    promised = await run_in_threadpool(
        promise, caller.home, session, caller=caller.key or caller.name, audience=caller.audience
    )
    job = start_closing(service.jobs, service.activity, caller.home, promised)
    return JSONResponse(job.as_dict(), 202, headers={"Location": f"/jobs/{job.id}", "Retry-After": "1"})


async def _job(service: Service, caller: Caller, request: Request) -> Response:
    job = service.jobs.find(request.path_params["job"], _job_owner(caller.home, caller.key or caller.name))
    if job is None:
        raise HttpProblem(404, "no such job. Jobs are forgotten when the service ends")
    return JSONResponse(job.as_dict(), 200 if job.state in {"done", "failed"} else 202)


SESSION_ENDPOINTS = (
    HttpEndpoint(
        methods=("POST",), path="/sessions/{session}/messages", scope="write", handler=_messages, body=MessagesBody,
        summary="Append messages to a session",
    ),
    HttpEndpoint(
        methods=("POST",), path="/sessions/{session}/close", scope="write", handler=_close,
        summary="Turn a session into memory, in a job", statuses=(202,),
    ),
    HttpEndpoint(
        methods=("GET",), path="/jobs/{job}", scope="write", handler=_job, summary="Ask about a job",
        statuses=(200, 202),
    ),
)  # fmt: skip


def start_closing(jobs: Jobs, activity: Activity, home: Home, promised: PromisedClosing) -> Job:
    """Queue the job of a promised closing. Call it in the event loop."""
    loop = asyncio.get_running_loop()
    activity.begin()

    def ended() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is over, and with it the activity
            loop.call_soon_threadsafe(activity.finish)

    return jobs.start(
        "close", _job_owner(home, promised.caller), lambda: keep_promise(home, promised), ended,
        private=promised.audience != "owner", job_id=promised.id,
    )  # fmt: skip


def start_left_closings(jobs: Jobs, activity: Activity, home: Home) -> None:
    """Queue the promised closings of *home* that are neither done nor under way. Call it in the event loop."""
    for promised in left_closings(home):
        job = jobs.find(promised.id, _job_owner(home, promised.caller))
        if job is None or job.state == "failed":
            start_closing(jobs, activity, home, promised)


def _job_owner(home: Home, caller: str) -> str:
    """Return whose a job is. *caller* is the key of a token: a later one of the same name does not see it."""
    return f"{home.root}\0{caller}"
