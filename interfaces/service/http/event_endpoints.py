"""Own the endpoints for the event log: programs log events of their own, and the owner reads what happened."""

from __future__ import annotations

from datetime import datetime

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_home.clock import parse_time
from interfaces.answers import event_answer

from .bodies import EventBody, EventQuery
from .callers import Caller
from .endpoint import HttpEndpoint, Service, agent_of, parsed_body
from .problem import HttpProblem

__all__ = ["EVENT_ENDPOINTS"]


async def _log(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, EventBody)
    session = caller.session(given.session or "events") if caller.lead else given.session
    done = await run_in_threadpool(agent_of(caller).log_execution, session, given.type, given.details)
    return JSONResponse({"event_id": done})


async def _events(_service: Service, caller: Caller, request: Request) -> Response:
    caller.require("read", owner=True)
    given = await parsed_body(request, EventQuery)
    found = await run_in_threadpool(
        agent_of(caller).retrieve_events, given.session, given.type, _time("start", given.start),
        _time("end", given.end), given.limit,
    )  # fmt: skip
    return JSONResponse({"events": [event_answer(event) for event in found]})


EVENT_ENDPOINTS = (
    HttpEndpoint(
        methods=("POST",), path="/events", scope="write", handler=_log, body=EventBody,
        summary="Log an event of a program",
    ),
    HttpEndpoint(
        methods=("GET",), path="/events", scope="read", handler=_events, body=EventQuery,
        summary="Read the newest events, in order of time",
    ),
)  # fmt: skip


def _time(name: str, text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError) as error:
        raise HttpProblem(422, f"{name}: no ISO 8601 time from 1900 to 9000") from error
