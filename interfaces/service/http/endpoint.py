"""Own what an HTTP endpoint is, what endpoints share, and how the body of a request is read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from agent_home.home import MEMORY
from agent_home.suggestions import did_you_mean, near_names
from interfaces.api import AgentHome

from .activity import Activity
from .callers import Caller, Callers
from .jobs import Jobs
from .metrics import Metrics
from .problem import HttpProblem

__all__ = ["HttpEndpoint", "Service", "agent_of", "parsed_body", "reads_memory", "require_memory"]

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


def agent_of(caller: Caller) -> AgentHome:
    return AgentHome(caller.home)


def reads_memory(caller: Caller) -> bool:
    """Return whether the caller may know what MEMORY.md says, which answers about entries tell."""
    return caller.home.may_read(MEMORY, caller.audience)


def require_memory(caller: Caller) -> None:
    if not reads_memory(caller):
        raise HttpProblem(403, "the audience of this token does not read MEMORY.md")


async def parsed_body(request: Request, kind: type[B]) -> B:
    """Return the body of *request*, or its query for a GET.

    Raises:
        HttpProblem: not JSON (400), or not as *kind* describes (422). The message names the place and not the value.
    """
    reads = request.method in {"GET", "HEAD"}
    if reads:
        given: Any = _query(request)
    else:
        try:
            body = await request.body()
            given = json.loads(body, parse_float=_number) if body else {}
        except (ValueError, RecursionError) as error:
            raise HttpProblem(400, "the body is not JSON") from error
    try:
        # A query has only texts. A body has types of its own, and `"true"` is none of them.
        return kind.model_validate(given, strict=not reads)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        told = _told(_model_at(kind, first["loc"]), str(first["type"]), place, str(first["msg"]))
        raise HttpProblem(422, f"{place[:200]}: {told}") from error


def _told(kind: type[BaseModel], error: str, place: str, message: str) -> str:
    """Return what is wrong with a value of *kind*, as one who writes requests reads it."""
    if error == "extra_forbidden":
        meant = did_you_mean(near_names(place.rpartition(".")[2], kind.model_fields))
        return f"no such key. {meant or 'Known keys: ' + ', '.join(kind.model_fields)}"
    return "write a JSON object" if error == "model_type" else message


def _model_at(kind: type[BaseModel], place: Sequence[str | int]) -> type[BaseModel]:
    """Return the model that has the last key of *place*: *kind*, or one in a list of it."""
    for part in place[:-1]:
        field = kind.model_fields.get(str(part))
        for inner in get_args(field.annotation) if field is not None else ():
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                kind = inner
    return kind


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
