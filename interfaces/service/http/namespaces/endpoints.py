"""Own the endpoints of namespaces. Each needs a scope, and a token that names the namespace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_home.clock import parse_time
from agent_home.screening.verdicts import guard_settings
from interfaces.answers import (
    forgotten_answer,
    namespace_promotion_answer,
    namespace_stats_answer,
    processed_answer,
    recorded_answer,
    retrieved_answer,
)
from interfaces.api.namespace import AgentNamespace, open_namespace
from interfaces.indexing import home_embedder

from ..callers import Caller
from ..endpoint import HttpEndpoint, Service, parsed_body
from ..problem import HttpProblem, problem_of
from .bodies import ExchangeBody, ForgetInNamespaceBody, ProcessBody, PromoteBody, RecordBody, RetrieveBody, ShareBody
from .grants import grants_namespace, prefixes

if TYPE_CHECKING:
    from distill.namespaces.recording import SaidExchange

__all__ = ["NAMESPACE_ENDPOINTS"]

#: Names in one answer.
_MOST_NAMES = 1000


def _granted(caller: Caller, request: Request) -> str:
    """Return the name of the namespace of the path, if the caller may use it.

    Raises:
        HttpProblem: with status 403, whether there is such a namespace or not.
    """
    name = str(request.path_params["namespace"])
    _require(caller, name)
    return name


def _opened(caller: Caller, name: str) -> AgentNamespace:
    embedder = functools.partial(home_embedder, caller.home, lambda _line: None, build_missing=False)
    return open_namespace("", name, embedder=embedder, guard=guard_settings(caller.home))


def _require(caller: Caller, name: str) -> None:
    if not grants_namespace(caller.namespaces, name):
        raise HttpProblem(
            403, "this token may not use that namespace. Make one: memory token add NAME --namespace NAME"
        )


async def _list(_service: Service, caller: Caller, _request: Request) -> Response:
    def names() -> list[str]:
        from recall.namespaces.registry import namespace_names
        from recall.namespaces.schema import database
        from recall.servers import database_url

        if not caller.namespaces:
            return []
        exact = {name for name in caller.namespaces if not name.endswith("*")}
        with database(database_url()) as conn:
            found = {name for name in exact if name in namespace_names(conn, prefix=name, limit=1)}
            for prefix in prefixes(caller.namespaces):
                found |= set(namespace_names(conn, prefix=prefix, limit=_MOST_NAMES))
        return sorted(found)[:_MOST_NAMES]

    return JSONResponse({"namespaces": await run_in_threadpool(names)})


async def _record(_service: Service, caller: Caller, request: Request) -> Response:
    name = _granted(caller, request)
    given = await parsed_body(request, RecordBody)
    said = [_said(exchange) for exchange in given.messages]
    done = await run_in_threadpool(_opened(caller, name).record_all, said)
    return JSONResponse({"messages": [recorded_answer(one) for one in done]})


def _said(given: ExchangeBody) -> SaidExchange:
    from distill.namespaces.recording import SaidExchange

    try:
        said = parse_time(given.said) if given.said else None
    except (ValueError, OverflowError) as error:
        raise HttpProblem(422, "said: no ISO 8601 time from 1900 to 9000") from error
    if said is not None and datetime.fromisoformat(given.said.strip()).tzinfo is None:
        raise HttpProblem(422, "said: write a time zone, as in 2026-11-29T10:00:00+00:00")
    return SaidExchange(**given.model_dump(exclude={"said"}), said=said)


async def _process(_service: Service, caller: Caller, request: Request) -> Response:
    name = _granted(caller, request)
    given = await parsed_body(request, ProcessBody)
    done = await run_in_threadpool(_opened(caller, name).process, most=given.most)
    return JSONResponse({**processed_answer(done), "degraded": list(caller.shown(done.degraded))})


async def _retrieve(service: Service, caller: Caller, request: Request) -> Response:
    name = _granted(caller, request)
    given = await parsed_body(request, RetrieveBody)
    limits = given.model_dump(exclude={"query"}) | {"essential": min(given.essential, given.limit)}
    found = await run_in_threadpool(functools.partial(_opened(caller, name).retrieve, given.query, **limits))
    service.metrics.of(caller.home).namespace_answer(found)
    return JSONResponse({**retrieved_answer(found), "degraded": list(caller.shown(found.degraded))})


async def _promote(_service: Service, caller: Caller, request: Request) -> Response:
    name = _granted(caller, request)
    given = await parsed_body(request, PromoteBody)
    done = await run_in_threadpool(_opened(caller, name).promote, if_due=given.if_due)
    return JSONResponse(namespace_promotion_answer(done))


async def _share(_service: Service, caller: Caller, request: Request) -> Response:
    # The reader's prompts get what is shared, so the caller must be allowed to use both.
    name = _granted(caller, request)
    given = await parsed_body(request, ShareBody)
    _require(caller, given.reader)
    new = await run_in_threadpool(_opened(caller, name).share_with, given.reader)
    return JSONResponse({"reader": given.reader, "new": new})


async def _stop_sharing(_service: Service, caller: Caller, request: Request) -> Response:
    from recall.namespaces.errors import NoSuchNamespace

    namespace, reader = _opened(caller, _granted(caller, request)), str(request.path_params["reader"])
    try:
        stopped = await run_in_threadpool(namespace.stop_sharing_with, reader)
    except NoSuchNamespace as error:
        if error.name != reader:
            raise
        stopped = False  # whether there is such a reader is not told: the token need not name it
    return JSONResponse({"reader": reader, "stopped": stopped})


async def _forget(_service: Service, caller: Caller, request: Request) -> Response:
    name = _granted(caller, request)
    given = await parsed_body(request, ForgetInNamespaceBody)
    done = await run_in_threadpool(functools.partial(_opened(caller, name).forget, **given.model_dump()))
    return JSONResponse(forgotten_answer(done))


async def _split(_service: Service, caller: Caller, request: Request) -> Response:
    name, number = _granted(caller, request), str(request.path_params["memory"])
    if not (number.isascii() and number.isdecimal() and int(number) < 2**63):
        raise HttpProblem(422, "memory: write the number of a merged memory")
    return JSONResponse({"parts": await run_in_threadpool(_opened(caller, name).split, int(number))})


async def _delete(_service: Service, caller: Caller, request: Request) -> Response:
    namespace = _opened(caller, _granted(caller, request))
    await run_in_threadpool(namespace.delete)
    return JSONResponse({"deleted": namespace.name})


async def _stats(_service: Service, caller: Caller, request: Request) -> Response:
    namespace = _opened(caller, _granted(caller, request))
    answer = namespace_stats_answer(await run_in_threadpool(namespace.stats))
    for key in ("reads", "read_by"):  # names of namespaces that the caller may not use say nothing to it
        answer[key] = [name for name in answer[key] if grants_namespace(caller.namespaces, name)]
    return JSONResponse(answer)


_Handler = Callable[[Service, Caller, Request], Any]


def _telling(handler: _Handler) -> _Handler:
    """Return *handler* with the messages of namespaces' errors for every caller.

    They say what the request named, which the token may use, and nothing of a home.
    """

    async def answer(service: Service, caller: Caller, request: Request) -> Response:
        from recall.namespaces.errors import NamespaceRefused, NoSuchNamespace

        try:
            response: Response = await handler(service, caller, request)
        except (NamespaceRefused, NoSuchNamespace) as error:
            raise problem_of(error) from error
        return response

    return answer


def _endpoint(method: str, path: str, scope: str, handler: _Handler, summary: str, **given: Any) -> HttpEndpoint:
    place = f"/namespaces/{{namespace}}{path}"
    return HttpEndpoint(methods=(method,), path=place, scope=scope, handler=_telling(handler), summary=summary, **given)


NAMESPACE_ENDPOINTS = (
    HttpEndpoint(
        methods=("GET",), path="/namespaces", scope="read", handler=_list,
        summary="List the namespaces that the token may use",
    ),
    _endpoint("POST", "/messages", "write", _record, "Append exchanges to the log of a namespace", body=RecordBody),
    _endpoint("POST", "/process", "write", _process, "Turn unread messages into memories", body=ProcessBody),
    HttpEndpoint(
        methods=("GET", "POST"), path="/namespaces/{namespace}/memories", scope="read", handler=_telling(_retrieve),
        body=RetrieveBody, summary="Retrieve the memories that answer a question",
    ),
    _endpoint("POST", "/memories/{memory}/split", "write", _split, "Take a merged memory apart"),
    _endpoint("POST", "/promote", "write", _promote, "Promote and merge memories", body=PromoteBody),
    _endpoint("POST", "/shares", "write", _share, "Let another namespace read this one's memories", body=ShareBody),
    _endpoint("DELETE", "/shares/{reader}", "write", _stop_sharing, "Let it read them no more"),
    _endpoint("POST", "/forget", "write", _forget, "Forget a text, a session or a memory", body=ForgetInNamespaceBody),
    _endpoint("GET", "/stats", "read", _stats, "Count what a namespace holds"),
    _endpoint("DELETE", "", "write", _delete, "Delete a namespace with everything of it"),
)  # fmt: skip
