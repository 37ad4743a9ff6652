"""Own the endpoints for outputs of tools: store, list, fetch.

A caller other than the owner has outputs of its own, as it has sessions of its own, and learns of no other's.
"""

from __future__ import annotations

import base64
import binascii
from itertools import chain, islice

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from agent_home.outputs.reading import OutputFilter
from interfaces.answers import output_answer

from .bodies import ChunkQuery, OutputBody, OutputQuery
from .callers import Caller
from .endpoint import HttpEndpoint, Service, agent_of, parsed_body
from .own_outputs import author_of_output, own_output, own_outputs, require_output_room, session_of_output
from .problem import HttpProblem

__all__ = ["OUTPUT_ENDPOINTS"]


async def _store(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, OutputBody)
    if caller.lead and given.directory:
        raise HttpProblem(403, "directory: only a token of the owner names folders of this machine")
    await run_in_threadpool(require_output_room, caller)
    stored = await run_in_threadpool(
        agent_of(caller).outputs.store, _content(given), type=given.type, tags=given.tags, directory=given.directory,
        checkpoint=given.checkpoint, session=session_of_output(caller, given.session), tool=given.tool,
        command=given.command, exit_code=given.exit_code, author=author_of_output(caller),
    )  # fmt: skip
    service.metrics.of(caller.home).guard(stored=1, redacted=stored.redacted, quarantined=0)
    return JSONResponse(output_answer(stored))


async def _list(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, OutputQuery)
    wanted = OutputFilter(
        type=given.type, tag=given.tag, directory=given.directory, checkpoint=given.checkpoint, tool=given.tool,
        session=caller.session(given.session),
    )  # fmt: skip
    found = await run_in_threadpool(lambda: list(islice(own_outputs(caller, wanted), given.limit)))
    return JSONResponse({"outputs": [output_answer(output) for output in found]})


async def _show(_service: Service, caller: Caller, request: Request) -> Response:
    return JSONResponse(output_answer(await run_in_threadpool(own_output, caller, request.path_params["output"])))


async def _fetch(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, ChunkQuery)
    output = await run_in_threadpool(own_output, caller, request.path_params["output"])
    parts = await run_in_threadpool(agent_of(caller).outputs.fetch, output.id, chunk=given.chunk)
    first = await run_in_threadpool(next, parts, b"")  # a damaged beginning gives a status that says so
    return StreamingResponse(
        chain((first,), parts),
        media_type="application/octet-stream" if output.binary else "text/plain; charset=utf-8",
        headers={"X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment"},
    )


OUTPUT_ENDPOINTS = (
    HttpEndpoint(
        methods=("POST",), path="/outputs", scope="write", handler=_store, body=OutputBody,
        summary="Store what a tool printed",
    ),
    HttpEndpoint(
        methods=("GET",), path="/outputs", scope="read", handler=_list, body=OutputQuery,
        summary="List outputs, newest first",
    ),
    HttpEndpoint(
        methods=("GET",), path="/outputs/{output}", scope="read", handler=_show,
        summary="Show an output's summary and where its parts are",
    ),
    HttpEndpoint(
        methods=("GET",), path="/outputs/{output}/content", scope="read", handler=_fetch, body=ChunkQuery, text=True,
        summary="Fetch the content of an output, or a chunk of it",
    ),
)  # fmt: skip


def _content(given: OutputBody) -> bytes:
    if (given.content is None) == (given.content_base64 is None):
        raise HttpProblem(422, "give content or content_base64")
    if given.content is not None:
        return given.content.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(given.content_base64 or "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise HttpProblem(422, "content_base64: write base64 (letters, digits, + and /)") from error
