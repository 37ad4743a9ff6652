"""Own the ASGI application of the service: commands over a socket, and HTTP."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..forwarding.client import package, shared_environment
from ..forwarding.command_runner import run_command
from ..forwarding.source_stamp import SourceStamp
from .activity import Activity
from .callers import Callers
from .endpoint import HttpEndpoint, Service
from .endpoint_table import ALL_ENDPOINTS
from .jobs import Jobs
from .metrics import Metrics
from .openapi import document
from .problem import LOGGER, HttpProblem, log_defect, problem_of
from .request_limits import BodyLimit, BodyTooLarge

__all__ = ["application", "page_application"]

#: Status of an answer that nobody waits for.
_GONE = 499
#: Headers that let a browser make nothing of an answer but text.
_AS_DATA = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

Answerer = Callable[[Request], Awaitable[Response]]


def application(
    callers: Callers, activity: Activity, *, jobs: Jobs | None = None, max_body_bytes: int = 1 << 20, address: str = ""
) -> Starlette:
    """Return the application. *callers* are the homes and who may ask, and *activity* learns of each request.

    *jobs* run the work behind requests. Whoever gives them closes them. *address* is the host and port at which
    requests come. Without one there is no page.
    """
    known_jobs = jobs or Jobs()
    metrics = Metrics(lambda home: known_jobs.waiting(str(home.root)))
    service = Service(callers=callers, jobs=known_jobs, metrics=metrics, activity=activity)
    described = json.dumps(document(ALL_ENDPOINTS)).encode()

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def openapi(_request: Request) -> Response:
        return Response(described, media_type="application/json")

    routes = [
        Route("/command", _command(callers, activity), methods=["POST"]),
        Route("/stop", _stop(callers, activity), methods=["POST"]),
        Route("/address", _address(callers, address)),
        Route("/health", _open(service, "/health", health)),
        Route("/openapi.json", _open(service, "/openapi.json", openapi)),
        *(Route(item.path, _answered(service, item), methods=list(item.methods)) for item in ALL_ENDPOINTS),
        *(_page(service) if address else ()),
    ]
    return _starlette(routes, activity, max_body_bytes)


def page_application(callers: Callers, activity: Activity, *, max_body_bytes: int = 1 << 20) -> Starlette:
    """Return an application that answers nothing but the page of the homes of *callers*."""
    service = Service(callers=callers, jobs=Jobs(), metrics=Metrics(lambda _home: 0), activity=activity)
    return _starlette(list(_page(service)), activity, max_body_bytes)


def _starlette(routes: list[Route], activity: Activity, max_body_bytes: int) -> Starlette:
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_found})
    app.router.redirect_slashes = False  # a redirect would repeat the Host of the request, unchecked
    app.add_middleware(BodyLimit, most_bytes=max_body_bytes)
    app.add_middleware(activity.middleware)
    return app


def _page(service: Service) -> Iterator[Route]:
    """Yield the routes of the page, which checks by itself that a request comes from a browser that signed in."""
    from interfaces.page.application import page_problem, page_routes  # a service without a port has no use for it

    def shown(request: Request, problem: HttpProblem) -> Response:
        return page_problem(request, problem.status, str(problem))

    for route in page_routes(service.callers.homes):
        answer = _open(service, route.path, route.endpoint, shown=shown)
        yield Route(route.path, answer, methods=list(route.methods or ()))


def _answered(service: Service, endpoint: HttpEndpoint) -> Answerer:
    """Return the answerer of an endpoint: identify the caller, check the scope, and turn errors into problems."""

    async def answer(request: Request) -> Response:
        caller = await run_in_threadpool(service.callers.identify, request, schemes=endpoint.schemes)
        request.state.caller, request.state.home = caller.name, caller.home
        request.state.private = caller.audience != "owner"
        caller.require(endpoint.scope)
        return await endpoint.handler(service, caller, request)

    return _open(service, endpoint.path, answer, detail=endpoint.detail)


def _open(
    service: Service, path: str, answer: Answerer, *, detail: bool = False,
    shown: Callable[[Request, HttpProblem], Response] | None = None,
) -> Answerer:  # fmt: skip
    """Return *answer* with a request id, a line in the log, and errors as problems (*detail*: see ``HttpEndpoint``).

    A path of the page has *shown*, which makes a page of a problem.
    """
    require_host = service.callers.require_own_host if shown is None else service.callers.require_known_host

    async def answered(request: Request) -> Response:
        begun = time.perf_counter()
        request_id = _request_id(request)
        request.state.caller, request.state.private, request.state.home = "", True, None
        try:
            require_host(request)
            response = await answer(request)
        except ClientDisconnect:
            response = Response(status_code=_GONE)
        except Exception as error:  # noqa: BLE001 - a process boundary: the answer and the log name it
            problem = _as_problem(error, private=request.state.private)
            response = (
                _problem_response(problem, request_id, detail=detail) if shown is None else shown(request, problem)
            )
            if response.status_code == 500:
                log_defect(error, request_id)
        response.headers["X-Request-Id"] = request_id
        response.headers.setdefault("Cache-Control", "no-store")
        spent = time.perf_counter() - begun
        if request.state.home is not None:
            service.metrics.of(request.state.home).request(path, response.status_code, spent)
        line = {
            "request": request_id, "method": request.method, "route": path, "status": response.status_code,
            "ms": round(spent * 1000, 1), "token": request.state.caller,
        }  # fmt: skip
        LOGGER.info("%s", json.dumps(line))
        return response

    return answered


def _request_id(request: Request) -> str:
    """Return the id that the caller gave, if it can stand in a log, else a new one."""
    given = request.headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _as_problem(error: Exception, *, private: bool) -> HttpProblem:
    if isinstance(error, BodyTooLarge):
        return HttpProblem(413, f"the body is larger than {error.most_bytes} bytes")
    return problem_of(error, private=private)


def _problem_response(problem: HttpProblem, request_id: str, *, detail: bool) -> Response:
    content = {"error": str(problem), "request": request_id}
    content |= {"detail": str(problem)} if detail else {}
    return JSONResponse(content, problem.status, headers=problem.headers)


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(getattr(error, "headers", None) or {})
    allowed = headers.get("Allow", headers.get("allow", ""))
    text = "no such path, or a name in it has a slash. /openapi.json lists the paths"
    if status != 404:
        text = f"another method is needed: {allowed}" if allowed else "another method is needed"
    request_id = _request_id(request)
    LOGGER.info("%s", json.dumps({"request": request_id, "method": request.method[:16], "status": status}))
    headers |= {"X-Request-Id": request_id, "Cache-Control": "no-store", **_AS_DATA}
    return JSONResponse({"error": text, "request": request_id}, status, headers=headers)


def _command(callers: Callers, activity: Activity) -> Answerer:
    """Return the answerer of commands that a process of this user passes on. A port has no such path."""
    stamp = SourceStamp()
    environment = shared_environment(os.environ)

    async def answer(request: Request) -> Response:
        if not callers.on_socket(request):
            raise HTTPException(404)
        try:
            given: Mapping[str, Any] = json.loads(await request.body())
            refused = _refusal(given, stamp, environment)
            if refused:
                if stamp.changed():
                    activity.end()
                return JSONResponse({"error": refused}, 409)
            done = await run_in_threadpool(
                run_command, given["arguments"], Path(given["folder"]), given["environ"], given.get("terminals", {})
            )
        except ClientDisconnect:  # it did not wait for our yes, and runs the command itself
            return Response(status_code=_GONE)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return JSONResponse({"error": f"no command: {type(error).__name__}"}, 400)
        except Exception as error:  # noqa: BLE001 - with AGENT_HOME_DEBUG the process that asks shows it
            log_defect(error, _request_id(request))
            return JSONResponse({"error": f"no answer: {type(error).__name__}"}, 500)
        return JSONResponse(done._asdict())

    return answer


def _refusal(given: Mapping[str, Any], stamp: SourceStamp, environment: Mapping[str, str]) -> str:
    """Return why this process would answer otherwise than the one that asks, or an empty string."""
    if given["package"] != package() or stamp.changed():
        return "another version of agent-home"
    if given["shared"] != environment:
        return "other environment variables"
    return ""


def _address(callers: Callers, address: str) -> Answerer:
    async def answer(request: Request) -> Response:
        if not callers.on_socket(request):
            raise HTTPException(404)
        return JSONResponse({"http": address})

    return answer


def _stop(callers: Callers, activity: Activity) -> Answerer:
    async def answer(request: Request) -> Response:
        if not callers.on_socket(request):
            raise HTTPException(404)
        activity.end()
        return JSONResponse({"process": os.getpid()})

    return answer
