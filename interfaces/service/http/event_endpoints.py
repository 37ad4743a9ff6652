"""Own the endpoints for the event log: programs log events of their own, and the owner reads what happened."""

from __future__ import annotations

import json
from datetime import datetime

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_home.clock import now, parse_time
from interfaces.answers import event_answer

from .bodies import EventBody, EventQuery
from .callers import Caller
from .endpoint import HttpEndpoint, Service, agent_of, parsed_body
from .problem import HttpProblem

__all__ = ["EVENT_ENDPOINTS"]

#: Of a token other than the owner's: bytes of the details of an event, and events of a day.
_MOST_BYTES, _MOST_A_DAY = 1_024, 500
#: Events of each token: the day, and how many there were.
_LOGGED: dict[tuple[str, str], tuple[str, int]] = {}


async def _log(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, EventBody)
    session = caller.session(given.session or "events") if caller.lead else given.session
    if caller.lead:
        _require_room(caller, len(json.dumps(given.details)))
    done = await run_in_threadpool(agent_of(caller).event_log.log_execution, session, given.type, given.details)
    return JSONResponse({"event_id": done})


async def _events(_service: Service, caller: Caller, request: Request) -> Response:
    caller.require("read", owner=True)
    given = await parsed_body(request, EventQuery)
    found = await run_in_threadpool(
        agent_of(caller).event_log.retrieve_events, given.session, given.type, _time("start", given.start),
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


def _require_room(caller: Caller, size: int) -> None:
    """Refuse a caller other than the owner that would push the owner's events out of the log.

    Raises:
        HttpProblem: too large (413), or too many today (429).
    """
    if size > _MOST_BYTES:
        raise HttpProblem(413, f"details of more than {_MOST_BYTES} bytes are too many for this token")
    today = f"{now():%Y-%m-%d}"
    key = (str(caller.home.root), caller.key)
    day, count = _LOGGED.get(key, ("", 0))
    count = count + 1 if day == today else 1
    if count > _MOST_A_DAY:
        raise HttpProblem(429, f"{_MOST_A_DAY} events of this token are logged today already")
    _LOGGED[key] = (today, count)


def _time(name: str, text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError) as error:
        raise HttpProblem(422, f"{name}: no ISO 8601 time from 1900 to 9000") from error
