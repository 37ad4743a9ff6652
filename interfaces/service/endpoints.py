"""Own the HTTP endpoints: each checks its request, calls one method of the Python API and renders the answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_home.documents.entry import Entry, parse_entry
from agent_home.home import MEMORY, Home
from distill.entries.notes import Remembered
from interfaces.answers import (
    cited_answer,
    finished_answer,
    imported_answer,
    lineage_answer,
    prompt_answer,
    remembered_answer,
    search_answer,
    waiting_answer,
)
from interfaces.api import AgentHome
from interfaces.promised_closings import PromisedClosing, keep_promise, promise

from .activity import Activity
from .bodies import CiteBody, EntryBody, MessagesBody, PromptBody, ResolveBody, SearchBody, StoreBody
from .callers import Caller, Callers
from .jobs import Job, Jobs
from .metrics import Metrics
from .problem import HttpProblem

__all__ = ["ENDPOINTS", "HttpEndpoint", "Service", "parsed_body", "start_closing"]

B = TypeVar("B", bound=BaseModel)
#: Up to here a float holds every integer.
_LARGEST_INTEGER = 2**53
_LISTS = frozenset({"tags", "layers", "in", "ids"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The parts that endpoints share."""

    callers: Callers
    jobs: Jobs
    metrics: Metrics
    activity: Activity


Handler = Callable[[Service, Caller, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEndpoint:
    """An endpoint: methods and path, the scope that it needs, its handler, and what the OpenAPI document says.

    *schemes* are the words before a token in the header ``Authorization``. *detail* adds the message of an error under
    the key ``detail``, where a client of another service looks for it.
    """

    methods: tuple[str, ...]
    path: str
    scope: str
    handler: Handler
    summary: str
    body: type[BaseModel] | None = None
    text: bool = False  # the answer is no JSON
    statuses: tuple[int, ...] = (200,)
    schemes: tuple[str, ...] = ("bearer",)
    detail: bool = False


async def _store(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, StoreBody)
    done = await run_in_threadpool(
        _agent(caller).remember, given.content, kind=given.type, tags=given.tags, **caller.author
    )
    service.metrics.of(caller.home).guard(
        stored=int(not done.quarantined), redacted=done.redacted, quarantined=len(done.quarantined)
    )
    answer = remembered_answer(done, ())
    if not _reads_memory(caller):
        return JSONResponse({"success": not done.quarantined, "waits": done.waits}, _status(done))
    if done.quarantined:
        why = "the guard held it back. A person sees it with `memory review`"
        return JSONResponse({"success": False, "error": why, **answer}, 422)
    return JSONResponse({"success": True, **answer, "tags": given.tags}, _status(done))


async def _search(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, SearchBody)
    audience = caller.audience_for(given.audience)
    agent = _agent(caller)
    if not given.query.strip():
        if not given.tags:
            raise HttpProblem(422, "query: write a question or words, or name tags")
        entries = await run_in_threadpool(agent.tagged, given.tags, audience=audience)
        rows = [_entry_row(entry) for entry in entries[: given.limit]]
        return JSONResponse({"success": True, "content": rows, "hits": [], "degraded": []})
    found = await run_in_threadpool(
        agent.search, given.query, k=given.limit, layers=given.layers or None, mode=given.mode, audience=audience,
        tags=given.tags,
    )  # fmt: skip
    service.metrics.of(caller.home).search(found)
    answer = search_answer(found, caller.shown(found.degraded))
    return JSONResponse({"success": True, "content": [_hit_row(hit) for hit in answer["hits"]], **answer})


async def _prompt(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, PromptBody)
    if given.resume:
        caller.require("read", owner=True)
    receipt = await run_in_threadpool(
        _agent(caller).prompt, given.message, window=given.window, used=given.used,
        audience=caller.audience_for(given.audience), session=caller.session(given.session), resume=given.resume,
    )  # fmt: skip
    service.metrics.of(caller.home).prompt(receipt)
    return JSONResponse(prompt_answer(receipt, caller.audience_for(given.audience)))


async def _messages(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, MessagesBody)
    rows = [caller.said(message.model_dump(exclude_defaults=True)) for message in given.messages]
    await run_in_threadpool(caller.require_room, len(rows))
    done = await run_in_threadpool(_agent(caller).append, caller.session(request.path_params["session"]), rows)
    service.metrics.of(caller.home).guard(
        stored=done.messages, redacted=done.redacted, quarantined=len(done.quarantined)
    )
    return JSONResponse(imported_answer(done))


async def _close(service: Service, caller: Caller, request: Request) -> Response:
    session = caller.session(request.path_params["session"])
    await run_in_threadpool(_agent(caller).require_session, session)
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


async def _remember(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, EntryBody)
    if given.replaces:
        _require_memory(caller)
    done = await run_in_threadpool(
        _agent(caller).remember, given.text, kind=given.type, about=given.about, until=given.until,
        replaces=given.replaces, tags=given.tags, dry_run=given.dry_run, **caller.author,
    )  # fmt: skip
    service.metrics.of(caller.home).guard(
        stored=int(not done.quarantined), redacted=done.redacted, quarantined=len(done.quarantined)
    )
    answer = remembered_answer(done, (), dry_run=given.dry_run) if _reads_memory(caller) else {"waits": done.waits}
    return JSONResponse(answer, _status(done))


async def _entry(_service: Service, caller: Caller, request: Request) -> Response:
    caller.require("read", owner=True)
    found = await run_in_threadpool(_agent(caller).history, request.path_params["entry"])
    return JSONResponse(lineage_answer(found))


async def _resolve(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, ResolveBody)
    _require_memory(caller)
    done = await run_in_threadpool(
        _agent(caller).resolve, request.path_params["entry"], how=given.how, dry_run=given.dry_run, **caller.speaker
    )
    return JSONResponse(finished_answer(done, (), dry_run=given.dry_run))


async def _cite(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, CiteBody)
    _require_memory(caller)
    await run_in_threadpool(caller.require_live, given.ids)
    done = await run_in_threadpool(_agent(caller).cite, given.ids, session=caller.session(given.session))
    return JSONResponse(cited_answer(done, ()))


async def _review(_service: Service, caller: Caller, _request: Request) -> Response:
    caller.require("review", owner=True)
    found = await run_in_threadpool(_agent(caller).review)
    return JSONResponse({"proposals": [waiting_answer(item) for item in found]})


async def _metrics(service: Service, caller: Caller, _request: Request) -> Response:
    return Response(await run_in_threadpool(service.metrics.text, caller.home), media_type="text/plain; version=0.0.4")


ENDPOINTS = (
    HttpEndpoint(
        methods=("POST",), path="/memory/store", scope="write", handler=_store, body=StoreBody,
        summary="Store a statement, with tags", statuses=(200, 202, 422),
    ),
    HttpEndpoint(
        methods=("GET", "POST"), path="/memory/search", scope="read", handler=_search, body=SearchBody,
        summary="Search memory, conversations and knowledge",
    ),
    HttpEndpoint(
        methods=("GET", "POST"), path="/prompt", scope="read", handler=_prompt, body=PromptBody,
        summary="Assemble the system prompt",
    ),
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
    HttpEndpoint(
        methods=("POST",), path="/entries", scope="write", handler=_remember, body=EntryBody,
        summary="Write an entry on purpose", statuses=(200, 202, 422),
    ),
    HttpEndpoint(
        methods=("POST",), path="/entries/cite", scope="write", handler=_cite, body=CiteBody,
        summary="Record that entries were useful",
    ),
    HttpEndpoint(
        methods=("GET",), path="/entries/{entry}", scope="read", handler=_entry,
        summary="Show where an entry comes from",
    ),
    HttpEndpoint(
        methods=("POST",), path="/entries/{entry}/resolve", scope="write", handler=_resolve, body=ResolveBody,
        summary="End an entry",
    ),
    HttpEndpoint(
        methods=("GET",), path="/review", scope="review", handler=_review, summary="List what waits for a person"
    ),
    HttpEndpoint(
        methods=("GET",), path="/metrics", scope="metrics", handler=_metrics, text=True,
        summary="Figures for Prometheus",
    ),
)  # fmt: skip


def _agent(caller: Caller) -> AgentHome:
    return AgentHome(caller.home)


def _reads_memory(caller: Caller) -> bool:
    """Return whether the caller may know what MEMORY.md says, which answers about entries tell."""
    return caller.home.may_read(MEMORY, caller.audience)


def _require_memory(caller: Caller) -> None:
    if not _reads_memory(caller):
        raise HttpProblem(403, "the audience of this token does not read MEMORY.md")


def _status(done: Remembered) -> int:
    """Return the status for a note: stored, held back by the guard, or waiting for a person."""
    if done.quarantined:
        return 422
    return 202 if done.waits and not done.known else 200


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


def _job_owner(home: Home, caller: str) -> str:
    """Return whose a job is. *caller* is the key of a token: a later one of the same name does not see it."""
    return f"{home.root}\0{caller}"


async def parsed_body(request: Request, kind: type[B]) -> B:
    """Return the body of *request*, or its query for a GET.

    Raises:
        HttpProblem: not JSON (400), or not as *kind* describes (422). The message names the place and not the value.
    """
    if request.method == "GET":
        given: Any = _query(request)
    else:
        try:
            given = json.loads(await request.body(), parse_float=_number)
        except (ValueError, RecursionError) as error:
            raise HttpProblem(400, "the body is not JSON") from error
    try:
        # A query has only texts. A body has types of its own, and `"true"` is none of them.
        return kind.model_validate(given, strict=request.method != "GET")
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise HttpProblem(422, f"{place[:200]}: {first['msg']}") from error


def _number(text: str) -> float:
    """Return a number as JSON means it: 8.0 is the integer 8."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _LARGEST_INTEGER else number


def _query(request: Request) -> dict[str, Any]:
    """Return the query of *request*. Lists may be given with commas, or with a name for each value."""
    given: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        parts = [part.strip() for value in values for part in value.split(",") if part.strip()]
        given[name] = parts if name in _LISTS else values[-1]
    return given


def _hit_row(hit: dict[str, Any]) -> dict[str, Any]:
    """Return a hit in the keys that agents of other memory servers know."""
    entry = parse_entry(hit["text"] + "\n") if hit["layer"] in {"memory", "archive"} else None
    plain = {"id": hit["source"], "content": hit["text"], "tags": [], "created_at": hit["ts"]}
    row = _entry_row(entry) if entry else plain
    return {**row, "source": hit["source"], "layer": hit["layer"], "score": hit["score"]}


def _entry_row(entry: Entry) -> dict[str, Any]:
    return {"id": entry.id, "content": entry.text, "tags": list(entry.tags), "created_at": entry.date}
