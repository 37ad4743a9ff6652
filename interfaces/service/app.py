"""Own the ASGI application of the service: commands over the socket, HTTP for everybody else."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .activity import Activity
from .client import package, shared_environment
from .command_runner import run_command
from .source_stamp import SourceStamp

__all__ = ["application"]


def application(activity: Activity) -> Starlette:
    """Return the application. *activity* learns of each request."""
    stamp = SourceStamp()

    async def command(request: Request) -> Response:
        if request.scope["server"][1] is not None:  # a port: only the socket proves who asks
            return JSONResponse({"error": "not found"}, 404)
        given: Mapping[str, Any] = json.loads(await request.body())
        refused = _refusal(given, stamp)
        if refused:
            if stamp.changed():
                activity.end()
            return JSONResponse({"error": refused}, 409)
        answer = await run_in_threadpool(run_command, given["arguments"], Path(given["folder"]), given["environ"])
        return JSONResponse(answer._asdict())

    async def stop(request: Request) -> Response:
        if request.scope["server"][1] is not None:
            return JSONResponse({"error": "not found"}, 404)
        activity.end()
        return JSONResponse({"process": os.getpid()})

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    app = Starlette(
        routes=[
            Route("/command", command, methods=["POST"]),
            Route("/stop", stop, methods=["POST"]),
            Route("/health", health),
        ]
    )
    app.add_middleware(activity.middleware)
    return app


def _refusal(given: Mapping[str, Any], stamp: SourceStamp) -> str:
    """Return why this process would answer otherwise than the one that asks, or an empty string."""
    if given.get("package") != package() or stamp.changed():
        return "another version of agent-home"
    if given.get("shared") != shared_environment(os.environ):
        return "other environment variables"
    return ""
