"""Own the endpoints for those who run a service: what waits for a person, and figures."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from interfaces.answers import waiting_answer

from .callers import Caller
from .endpoint import HttpEndpoint, Service, agent_of

__all__ = ["OPERATION_ENDPOINTS"]


async def _review(_service: Service, caller: Caller, _request: Request) -> Response:
    caller.require("review", owner=True)
    found = await run_in_threadpool(agent_of(caller).review)
    return JSONResponse({"proposals": [waiting_answer(item) for item in found]})


async def _metrics(service: Service, caller: Caller, _request: Request) -> Response:
    return Response(await run_in_threadpool(service.metrics.text, caller.home), media_type="text/plain; version=0.0.4")


OPERATION_ENDPOINTS = (
    HttpEndpoint(
        methods=("GET",), path="/review", scope="review", handler=_review, summary="List what waits for a person"
    ),
    HttpEndpoint(
        methods=("GET",), path="/metrics", scope="metrics", handler=_metrics, text=True,
        summary="Figures for Prometheus",
    ),
)  # fmt: skip
