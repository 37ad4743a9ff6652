"""Own the endpoints for what memory holds: statements, search, the prompt."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_home.documents.entry import Entry, parse_entry
from distill.entries.notes import Remembered
from interfaces.answers import (
    cited_answer,
    finished_answer,
    lineage_answer,
    prompt_answer,
    remembered_answer,
    search_answer,
)

from .bodies import CiteBody, EntryBody, PromptBody, ResolveBody, SearchBody, StoreBody
from .callers import Caller
from .endpoint import HttpEndpoint, Service, agent_of, parsed_body, reads_memory, require_memory
from .problem import HttpProblem

__all__ = ["ENTRY_ENDPOINTS"]


async def _store(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, StoreBody)
    done = await run_in_threadpool(
        agent_of(caller).remember, given.content, kind=given.type, tags=given.tags, **caller.author
    )
    service.metrics.of(caller.home).guard(
        stored=int(not done.quarantined), redacted=done.redacted, quarantined=len(done.quarantined)
    )
    answer = remembered_answer(done, ())
    if not reads_memory(caller):
        return JSONResponse({"success": not done.quarantined, "waits": done.waits}, _status(done))
    if done.quarantined:
        why = "the guard held it back. A person sees it with `memory review`"
        return JSONResponse({"success": False, "error": why, **answer}, 422)
    return JSONResponse({"success": True, **answer, "tags": given.tags}, _status(done))


async def _search(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, SearchBody)
    audience = caller.audience_for(given.audience)
    agent = agent_of(caller)
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
        agent_of(caller).prompt, given.message, window=given.window, used=given.used,
        audience=caller.audience_for(given.audience), session=caller.session(given.session), resume=given.resume,
    )  # fmt: skip
    service.metrics.of(caller.home).prompt(receipt)
    return JSONResponse(prompt_answer(receipt, caller.audience_for(given.audience)))


async def _remember(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, EntryBody)
    if given.replaces:
        require_memory(caller)
    done = await run_in_threadpool(
        agent_of(caller).remember, given.text, kind=given.type, about=given.about, until=given.until,
        replaces=given.replaces, tags=given.tags, dry_run=given.dry_run, **caller.author,
    )  # fmt: skip
    service.metrics.of(caller.home).guard(
        stored=int(not done.quarantined), redacted=done.redacted, quarantined=len(done.quarantined)
    )
    answer = remembered_answer(done, (), dry_run=given.dry_run) if reads_memory(caller) else {"waits": done.waits}
    return JSONResponse(answer, _status(done))


async def _entry(_service: Service, caller: Caller, request: Request) -> Response:
    caller.require("read", owner=True)
    found = await run_in_threadpool(agent_of(caller).history, request.path_params["entry"])
    return JSONResponse(lineage_answer(found))


async def _resolve(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, ResolveBody)
    require_memory(caller)
    done = await run_in_threadpool(
        agent_of(caller).resolve, request.path_params["entry"], how=given.how, dry_run=given.dry_run, **caller.speaker
    )
    return JSONResponse(finished_answer(done, (), dry_run=given.dry_run))


async def _cite(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, CiteBody)
    require_memory(caller)
    await run_in_threadpool(caller.require_live, given.ids)
    done = await run_in_threadpool(agent_of(caller).cite, given.ids, session=caller.session(given.session))
    return JSONResponse(cited_answer(done, ()))


ENTRY_ENDPOINTS = (
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
)  # fmt: skip


def _status(done: Remembered) -> int:
    """Return the status for a note: stored, held back by the guard, or waiting for a person."""
    if done.quarantined:
        return 422
    return 202 if done.waits and not done.known else 200


def _hit_row(hit: dict[str, Any]) -> dict[str, Any]:
    """Return a hit in the keys that agents of other memory servers know."""
    entry = parse_entry(hit["text"] + "\n") if hit["layer"] in {"memory", "archive"} else None
    plain = {"id": hit["source"], "content": hit["text"], "tags": [], "created_at": hit["ts"]}
    row = _entry_row(entry) if entry else plain
    return {**row, "source": hit["source"], "layer": hit["layer"], "score": hit["score"]}


def _entry_row(entry: Entry) -> dict[str, Any]:
    return {"id": entry.id, "content": entry.text, "tags": list(entry.tags), "created_at": entry.date}
