"""Own the part of mem0's REST interface that its client needs to add, search, list, read, change and delete memories.

Memories are items of the home (``interfaces.frameworks.stored_items``) in the namespace ``mem0``. The ids of user,
agent, app and run are part of each, and a search answers only with memories that have all the ids that it names.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_home.screening.service import ScreeningService
from interfaces.api import AgentHome
from interfaces.frameworks.stored_items import (
    FOLDER,
    MOST_HITS,
    ItemChange,
    ItemReader,
    StoredItem,
    item_path,
    levels,
    ranks,
    write_items,
)

from .bodies import Mem0AddBody, Mem0ListBody, Mem0Message, Mem0SearchBody, Mem0UpdateBody
from .callers import Caller
from .endpoint import HttpEndpoint, Service, parsed_body
from .problem import HttpProblem

__all__ = ["MEM0_ENDPOINTS"]

_NAMESPACE = ("mem0",)
_ACTOR = "mem0"
_IDS = ("user_id", "agent_id", "app_id", "run_id")
#: Who made a memory, if not the owner.
_MAKER = "made_by"
_PAGE = 100
#: Most levels of lists and mappings in metadata.
_MOST_LEVELS = 32
_ANYTHING = "*"
_DIGEST = re.compile(r"id-[a-z]{20}")

Filter = Callable[[Mapping[str, Any]], bool]


async def _ping(_service: Service, _caller: Caller, _request: Request) -> Response:
    # The client does not start without ids of an organisation and a project, and a home has neither.
    return JSONResponse({"status": "ok", "org_id": "agent-home", "project_id": "home", "user_email": None})


async def _add(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, Mem0AddBody)
    named = {name: value for name in _IDS if (value := getattr(given, name) or given.filters.get(name))}
    ids = await run_in_threadpool(_stored_ids, caller, named)
    if not ids or _ANYTHING in ids.values():
        raise HttpProblem(422, f"name one of {', '.join(_IDS)}, and not {_ANYTHING}, which stands for any")
    if set(given.filters) - set(_IDS):
        raise HttpProblem(422, f"filters: only {', '.join(_IDS)} say whose a memory is")
    _require_flat(given.metadata)
    texts = [_words(message) for message in given.messages if message.role == "user" or not given.infer]
    return JSONResponse({"results": await run_in_threadpool(_added, caller, texts, ids, given.metadata)})


def _added(
    caller: Caller, texts: Sequence[str], ids: Mapping[str, str], metadata: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Store the memories in one commit. One that is there with the same words and ids is not added again."""
    screening, path = ScreeningService(caller.home), item_path(_NAMESPACE, "any")
    # What is stored has lost what the guard redacts, so it is compared without that.
    verdicts = ((text, screening.verdict(path, text, caller.source)) for text in texts if text)
    kept = dict.fromkeys(verdict.text if verdict.stored else text for text, verdict in verdicts)
    values = [{"memory": text, **ids, "metadata": metadata, **_maker(caller)} for text in kept]
    known = {_seed(item.value): item for item in _reader(caller).below(_home(caller), _NAMESPACE).values()}
    new = {str(uuid.uuid4()): value for value in values if _seed(value) not in known}
    _write(caller, new)
    added = {_seed(value): name for name, value in new.items()}
    names = [added.get(_seed(value)) or known[_seed(value)].key for value in values]
    return [
        {"id": name, "memory": _found(caller, name).value["memory"], "event": "ADD" if name in new else "NONE"}
        for name in names
    ]


async def _search(service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, Mem0SearchBody)

    def work() -> list[dict[str, Any]]:
        wanted = _filter(caller, given.filters)
        found = _reader(caller).below(_home(caller), _NAMESPACE)
        result = AgentHome(caller.home).search(
            given.query, k=MOST_HITS, layers=("knowledge",), audience=caller.audience, unit="session"
        )
        service.metrics.of(caller.home).search(result)
        hits = [(path, score) for path, score in ranks(result).items() if path in found and wanted(found[path].value)]
        return [{**_row(found[path]), "score": round(score, 6)} for path, score in hits[: given.top_k]]

    return JSONResponse({"results": await run_in_threadpool(work)})


async def _list(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, Mem0ListBody)
    page, size = (_count(request, name, default) for name, default in (("page", 1), ("page_size", _PAGE)))

    def work() -> list[dict[str, Any]]:
        wanted = _filter(caller, given.filters)
        found = _reader(caller).below(_home(caller), _NAMESPACE).values()
        return [_row(item) for item in found if wanted(item.value)]

    rows = await run_in_threadpool(work)
    shown = rows[(page - 1) * size : page * size]
    follows, precedes = page * size < len(rows), page > 1
    return JSONResponse(
        {
            "count": len(rows), "results": shown,
            "next": f"/v3/memories/?page={page + 1}&page_size={size}" if follows else None,
            "previous": f"/v3/memories/?page={page - 1}&page_size={size}" if precedes else None,
        }
    )  # fmt: skip


async def _get(_service: Service, caller: Caller, request: Request) -> Response:
    found = await run_in_threadpool(_found, caller, request.path_params["memory"])
    return JSONResponse(_row(found))


async def _update(_service: Service, caller: Caller, request: Request) -> Response:
    given = await parsed_body(request, Mem0UpdateBody)
    _require_flat(given.metadata)
    name = request.path_params["memory"]

    def work() -> dict[str, Any]:
        value = dict(_own(caller, name).value)
        value |= {"memory": given.text} if given.text is not None else {}
        value |= {"metadata": given.metadata} if given.metadata is not None else {}
        _write(caller, {name: value})
        return _row(_found(caller, name))

    return JSONResponse(await run_in_threadpool(work))


async def _delete(_service: Service, caller: Caller, request: Request) -> Response:
    name = request.path_params["memory"]

    def work() -> None:
        _own(caller, name)
        _write(caller, {name: None})

    await run_in_threadpool(work)
    return JSONResponse({"message": "the memory is deleted. The history of the home still has it"})


def _endpoint(method: str, path: str, scope: str, handler: Any, summary: str, body: Any = None) -> HttpEndpoint:
    return HttpEndpoint(
        methods=(method,), path=path, scope=scope, handler=handler, body=body, summary=f"mem0: {summary}",
        schemes=("bearer", "token"), detail=True,
    )  # fmt: skip


MEM0_ENDPOINTS = (
    _endpoint("GET", "/v1/ping/", "read", _ping, "check a token"),
    _endpoint("POST", "/v3/memories/add/", "write", _add, "add memories", Mem0AddBody),
    _endpoint("POST", "/v3/memories/search/", "read", _search, "search memories", Mem0SearchBody),
    _endpoint("POST", "/v3/memories/", "read", _list, "list memories", Mem0ListBody),
    _endpoint("GET", "/v1/memories/{memory}/", "read", _get, "read a memory"),
    _endpoint("PUT", "/v1/memories/{memory}/", "write", _update, "change a memory", Mem0UpdateBody),
    _endpoint("DELETE", "/v1/memories/{memory}/", "write", _delete, "delete a memory"),
)


@lru_cache(maxsize=64)
def _readers(_root: str, audience: str) -> ItemReader:
    return ItemReader(audience)


def _reader(caller: Caller) -> ItemReader:
    """Return the reader of the caller's audience, which remembers files that did not change."""
    return _readers(str(caller.home.root), caller.audience)


def _home(caller: Caller) -> Any:
    return AgentHome(type(caller.home)(caller.home.root)).home


def _found(caller: Caller, name: str) -> StoredItem:
    item = _reader(caller).get(_home(caller), _NAMESPACE, name)
    if item is None:
        raise HttpProblem(404, "no such memory")
    return item


def _own(caller: Caller, name: str) -> StoredItem:
    """Return a memory that the caller may change: the owner any, and others those that they made.

    Raises:
        HttpProblem: there is none (404), or somebody else made it (403).
    """
    item = _found(caller, name)
    if caller.lead and item.value.get(_MAKER) != caller.lead:
        raise HttpProblem(403, "somebody else made this memory")
    return item


def _maker(caller: Caller) -> dict[str, str]:
    return {_MAKER: caller.lead} if caller.lead else {}


def _write(caller: Caller, values: Mapping[str, Mapping[str, Any] | None]) -> None:
    home = _home(caller)
    if not home.may_read(item_path(_NAMESPACE, "any"), caller.audience):
        raise HttpProblem(403, f"the audience of this token does not read {FOLDER}/{_NAMESPACE[0]}/")
    _require_own_topics(caller, values.values())
    changes = [ItemChange(namespace=_NAMESPACE, key=name, value=value) for name, value in values.items()]
    write_items(home, changes, actor=_ACTOR, audience=caller.audience, now=datetime.now(UTC), source=caller.source)


def _require_own_topics(caller: Caller, values: Iterable[Mapping[str, Any] | None]) -> None:
    """Refuse what only the owner decides, from anybody else: such a memory is knowledge of the agent at once.

    Raises:
        HttpProblem: with status 403.
    """
    if not caller.lead:
        return
    from distill.reading.foreign_topics import is_owners_topic

    if any(is_owners_topic(text) for value in values for text in _texts(value)):
        raise HttpProblem(403, "only the owner decides about money, access, rules and wishes. Use POST /entries to ask")


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value of few levels."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if name not in (*_IDS, _MAKER):
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _require_flat(metadata: Mapping[str, Any] | None) -> None:
    """Refuse metadata with more levels than are stored.

    Raises:
        HttpProblem: with status 422.
    """
    if levels(metadata, most=_MOST_LEVELS) > _MOST_LEVELS:
        raise HttpProblem(422, f"metadata: write at most {_MOST_LEVELS} levels of lists and mappings")


def _words(message: Mem0Message) -> str:
    parts = message.content if isinstance(message.content, list) else [{"text": message.content}]
    return "\n\n".join(text.strip() for part in parts if isinstance(text := part.get("text"), str) and text.strip())


def _seed(value: Mapping[str, Any]) -> tuple[Any, ...]:
    return (value.get("memory"), *(value.get(name) for name in _IDS))


def _row(item: StoredItem) -> dict[str, Any]:
    """Return a memory in the keys that mem0's client knows."""
    return {
        "id": item.key, "memory": item.value.get("memory", ""), **{name: item.value.get(name) for name in _IDS},
        "metadata": item.value.get("metadata") or None, "categories": [],
        "created_at": item.created_at.isoformat(), "updated_at": item.updated_at.isoformat(),
    }  # fmt: skip


def _count(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdigit() and 0 < int(given[:9]) <= 10**6):
        raise HttpProblem(422, f"{name}: write a number from 1 on")
    return int(given[:9])


def _stored_ids(caller: Caller, ids: Mapping[str, str]) -> dict[str, str]:
    """Return *ids* as memories have them. One that the guard would redact, such as an address, is a digest."""
    screening, path = ScreeningService(caller.home), item_path(_NAMESPACE, "any")

    def stored(value: str) -> str:
        if screening.allows(path, value, "agent") and not _DIGEST.fullmatch(value):
            return value
        digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=20).digest()
        return "id-" + "".join(chr(ord("a") + byte % 26) for byte in digest)

    return {name: stored(value) for name, value in ids.items()}


def _filter(caller: Caller, filters: Mapping[str, Any]) -> Filter:
    """Return what decides whether a memory is meant.

    Raises:
        HttpProblem: a filter is unknown, or none names an id, so that memories of everybody would be shown.
    """
    named: set[str] = set()
    wanted = _condition(caller, filters, named, depth=0)
    if not named:
        raise HttpProblem(422, f"filters: name one of {', '.join(_IDS)}")
    return wanted


def _condition(caller: Caller, filters: Mapping[str, Any], named: set[str], depth: int) -> Filter:
    """Return what *filters* ask for. *named* collects the ids without which no memory is meant."""
    if not isinstance(filters, dict) or depth > 8:
        raise HttpProblem(422, "filters: write a mapping of names and values")
    parts: list[Filter] = []
    for name, value in filters.items():
        if name == "AND" and isinstance(value, list):
            parts += [_condition(caller, item, named, depth + 1) for item in value]
        elif name == "OR" and isinstance(value, list) and value:
            choices: list[set[str]] = [set() for _ in value]
            pairs = zip(value, choices, strict=True)
            parts.append(_any([_condition(caller, item, own, depth + 1) for item, own in pairs]))
            named |= choices[0] if all(choices) else set()
        elif name in _IDS:
            named.add(name)
            parts.append(_id_condition(caller, name, value))
        elif name == "metadata" and isinstance(value, dict):
            parts.append(_metadata_condition(value))
        else:
            raise HttpProblem(422, f"filters: {', '.join(_IDS)}, metadata, AND and OR are known")
    return lambda memory: all(part(memory) for part in parts)


def _any(parts: Sequence[Filter]) -> Filter:
    return lambda memory: any(part(memory) for part in parts)


def _id_condition(caller: Caller, name: str, value: Any) -> Filter:
    """Return the condition on an id: one value, ``*`` for any, or one of those under the key ``in``."""
    if value == _ANYTHING:
        return lambda memory: memory.get(name) is not None
    choices = value["in"] if isinstance(value, dict) and value.keys() == {"in"} else [value]
    if not isinstance(choices, list) or not all(isinstance(item, str) for item in choices):
        raise HttpProblem(422, f"filters: {name} is a text, or a list of texts under the key in")
    stored = {_stored_ids(caller, {name: item})[name] for item in choices}
    return lambda memory: memory.get(name) in stored


def _metadata_condition(wanted: Mapping[str, Any]) -> Filter:
    def fits(memory: Mapping[str, Any]) -> bool:
        own = memory.get("metadata")
        return isinstance(own, dict) and all(key in own and own[key] == value for key, value in wanted.items())

    return fits
