"""Own the hot state of one home in Redis, Valkey or DragonflyDB, with plain commands alone.

| key, behind the home's prefix | type | holds |
|---|---|---|
| ``session:{id}:context`` | hash | the values of the context by name |
| ``session:{id}:tools:{tool}`` | string | what a tool returned |
| ``session:{id}:tools`` | sorted set | the names of these tools by the time at which their results end |

A value carries its own end, because a field of a hash has none before Redis 7.4, and its signature
(``recall.hot_state.home_key``). A key lives as long as its longest value. A writer watches the keys of the session, so
of two writers at once one begins again. A key of another type is deleted, because nobody else can have made it by
chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from ..servers import ServerUnavailable
from .home_key import HomeKey, place_of
from .redis_server import RedisServer, is_other_type, or_none
from .store import MOST_ITEMS, HotValue, Kind, OnProblem, require_room, unsaid

if TYPE_CHECKING:
    from .redis_server import Client

__all__ = ["RedisStore"]

#: Times that a writer begins again because others wrote the same session.
_MOST_TRIES = 100
#: Keys of one step of a scan, steps of a scan, and bytes of a value that can be ours.
_SCANNED, _MOST_STEPS, _MOST_BYTES = 1000, 1_000_000, 1 << 20
#: Contexts, and results of tools, that are read in one step.
_BATCH = 100
Item = TypeVar("Item")


class RedisStore:
    """The store of the home with that *key*, at *server*. An object may be shared between threads."""

    def __init__(self, server: RedisServer, key: HomeKey) -> None:
        self._server, self._key = server, key

    @property
    def problem(self) -> str:
        """Nothing, because an error says what is wrong."""
        return ""

    def put(self, session: str, values: Sequence[HotValue], *, now: float, extend_to: float = 0.0) -> None:
        """Keep values of a session (:meth:`recall.hot_state.store.HotStore.put`)."""
        self._server.run(partial(self._write, session=session, values=values, now=now, extend_to=extend_to))

    def merge(self, values: Sequence[HotValue], now: float) -> None:
        """Keep those of *values* that were written after what is there, whatever their number."""
        for session in dict.fromkeys(value.session for value in values):
            own = [value for value in values if value.session == session and value.ends > now]
            self._server.run(partial(self._write, session=session, values=own, now=now, newer_only=True))

    def values(self, sessions: Collection[str] | None, now: float, on_problem: OnProblem = unsaid) -> list[HotValue]:
        """Return what is alive (:meth:`recall.hot_state.store.HotStore.values`)."""
        if sessions is None:
            found = self._of_all()
        else:
            found = self._server.run(partial(self._of_sessions, sessions=list(sessions), now=now))
        own = [value for value in found if value is not None]
        if len(own) < len(found):
            count = len(found) - len(own)
            said = "a value" if count == 1 else f"{count} values"
            on_problem(f"Redis at {self._server.shown} has {said} that this home did not write, left out")
        return sorted((value for value in own if value.ends > now), key=lambda value: value.place)

    def value(self, session: str, kind: Kind, name: str, now: float) -> HotValue | None:
        """Return one value (:meth:`recall.hot_state.store.HotStore.value`)."""
        data = self._server.run(partial(self._one, session=session, kind=kind, name=name))
        found = self._opened(session, kind, name, data) if isinstance(data, bytes) else None
        return found if found is not None and found.ends > now else None

    def delete(self, session: str, name: str, now: float) -> int:
        """Delete values of a session (:meth:`recall.hot_state.store.HotStore.delete`)."""
        alive = [self.value(session, "context", name, now)] if name else self.values([session], now)
        self._server.run(partial(self._drop, session=session, name=name))
        return len([value for value in alive if value is not None])

    def clear(self, what: str = "") -> int:
        """Delete every key of the home that begins with *what*, and return their number.

        Raises:
            ServerUnavailable: the server stopped to answer. Some keys may be left.
        """
        return sum(self._server.run(partial(_deleted, keys=keys)) for keys in self._scanned(what))

    def _write(
        self, client: Client, session: str, values: Sequence[HotValue], now: float, *, extend_to: float = 0.0,
        newer_only: bool = False,
    ) -> None:  # fmt: skip
        from redis.exceptions import ResponseError, TimeoutError, WatchError  # noqa: A004

        context, tools = self._key.context(session), self._key.tools(session)
        for _ in range(_MOST_TRIES):
            pipe = client.pipeline()
            try:
                pipe.watch(context, tools)
                self._queue(pipe, session, values, now, extend_to=extend_to, newer_only=newer_only)
                pipe.execute()
            except WatchError:
                continue
            except ResponseError as error:
                if not is_other_type(error):
                    raise
                self._drop_other_types(client, session)
            else:
                return
            finally:
                _give_back(pipe)
        raise TimeoutError("others write to the same session all the time")

    def _queue(
        self, pipe: Client, session: str, values: Sequence[HotValue], now: float, *, extend_to: float,
        newer_only: bool,
    ) -> None:  # fmt: skip
        """Read what is needed to write *values*, and queue the commands."""
        context, tools = self._key.context(session), self._key.tools(session)
        known: dict[str, HotValue | None] = {}
        crowded = pipe.hlen(context) + pipe.zcard(tools) + len(values) > MOST_ITEMS
        if extend_to or newer_only or crowded:
            known = self._fields(session, pipe.hgetall(context))
        alive = {name: value for name, value in known.items() if value is not None and value.ends > now}
        if newer_only:
            values = [value for value in values if self._is_newer(pipe, value, alive)]
        elif crowded and values:
            names = {_text(name) for name in pipe.zrangebyscore(tools, f"({now!r}", "+inf")}
            texts, results = ({value.name for value in values if value.kind == kind} for kind in ("context", "tool"))
            require_room(len(alive.keys() | texts) + len(names | results))
        longer = {name: replace(value, ends=extend_to) for name, value in alive.items() if value.ends < extend_to}
        new = longer | {value.name: value for value in values if value.kind == "context"}
        returned = {value.name: value for value in values if value.kind == "tool"}
        lives = {key: pipe.pttl(key) if some else 0 for key, some in ((context, new), (tools, returned))}
        pipe.multi()
        over = [_bytes(name) for name in known if name not in alive and name not in new]
        if over:
            pipe.hdel(context, *over)
        if new:
            pipe.hset(context, mapping={_bytes(name): self._sealed(value) for name, value in new.items()})
            pipe.pexpire(context, max(lives[context], *(_life_ms(value, now) for value in new.values())))
        for name, value in returned.items():
            pipe.set(self._key.tool(session, name), self._sealed(value), px=_life_ms(value, now))
        if returned:
            pipe.zadd(tools, {_bytes(name): value.ends for name, value in returned.items()})
            pipe.zremrangebyscore(tools, "-inf", now)
            pipe.pexpire(tools, max(lives[tools], *(_life_ms(value, now) for value in returned.values())))

    def _is_newer(self, pipe: Client, value: HotValue, alive: Mapping[str, HotValue]) -> bool:
        if value.kind == "context":
            there = alive.get(value.name)
        else:
            data = or_none(pipe.get, self._key.tool(value.session, value.name))
            there = self._opened(value.session, "tool", value.name, data) if isinstance(data, bytes) else None
        return there is None or there.written < value.written

    def _one(self, client: Client, session: str, kind: Kind, name: str) -> Any:
        if kind == "tool":
            return or_none(client.get, self._key.tool(session, name))
        return or_none(client.hget, self._key.context(session), _bytes(name))

    def _of_sessions(self, client: Client, sessions: Sequence[str], now: float) -> list[HotValue | None]:
        with client.pipeline(transaction=False) as pipe:
            for session in sessions:
                pipe.hgetall(self._key.context(session))
                pipe.zrangebyscore(self._key.tools(session), f"({now!r}", "+inf", start=0, num=MOST_ITEMS)
            answers = _answers(pipe)
        found: list[HotValue | None] = []
        places: list[tuple[str, str]] = []
        for session, fields, names in zip(sessions, answers[::2], answers[1::2], strict=True):
            found += [None] if fields is None else self._fields(session, fields).values()
            found += [None] if names is None else []
            places += [(session, _text(name)) for name in names or ()]
        return found + self._results(client, places)

    def _results(self, client: Client, places: Sequence[tuple[str, str]]) -> list[HotValue | None]:
        """Return what tools returned, by session and tool. What is gone meanwhile is left out."""
        data = client.mget([self._key.tool(*place) for place in places]) if places else []
        pairs = zip(places, data, strict=True)
        return [self._opened(session, "tool", name, one) for (session, name), one in pairs if one is not None]

    def _of_all(self) -> list[HotValue | None]:
        contexts: set[str] = set()
        places: set[tuple[str, str]] = set()
        for keys in self._scanned("session:"):
            for key in keys:
                match _text(key).removeprefix(f"{self._key.prefix}:session:").split(":"):
                    case [session, "context"]:
                        contexts.add(_unquoted(session))
                    case [session, "tools", tool]:
                        places.add((_unquoted(session), _unquoted(tool)))
        found: list[HotValue | None] = []
        for sessions in _batches(sorted(contexts)):
            found += self._server.run(partial(self._contexts, sessions=sessions))
        for some in _batches(sorted(places)):
            found += self._server.run(partial(self._results, places=some))
        return found

    def _contexts(self, client: Client, sessions: Sequence[str]) -> list[HotValue | None]:
        with client.pipeline(transaction=False) as pipe:
            for session in sessions:
                pipe.hgetall(self._key.context(session))
            answers = _answers(pipe)
        found: list[HotValue | None] = []
        for session, fields in zip(sessions, answers, strict=True):
            found += [None] if fields is None else self._fields(session, fields).values()
        return found

    def _fields(self, session: str, fields: Mapping[bytes, bytes]) -> dict[str, HotValue | None]:
        """Return the values of a context by name, and ``None`` for one that this home did not write."""
        return {_text(name): self._opened(session, "context", _text(name), data) for name, data in fields.items()}

    def _scanned(self, what: str) -> Iterator[list[bytes]]:
        """Yield the keys of the home that begin with *what*. A key may come twice."""
        cursor, pattern = 0, f"{self._key.prefix}:{what}*"
        for _ in range(_MOST_STEPS):
            cursor, keys = self._server.run(partial(_scan_step, cursor=cursor, pattern=pattern))
            yield keys
            if cursor == 0:
                return
        raise ServerUnavailable("Redis", self._server.url, "its list of keys has no end")

    def _drop(self, client: Client, session: str, name: str) -> None:
        context, tools = self._key.context(session), self._key.tools(session)
        if not name:
            names = or_none(client.zrange, tools, 0, -1) or ()
            client.delete(context, tools, *(self._key.tool(session, _text(one)) for one in names))
        elif or_none(client.hdel, context, _bytes(name)) is None:
            client.delete(context)

    def _drop_other_types(self, client: Client, session: str) -> None:
        """Delete the keys of a session that another program gave another type."""
        for key, kind in ((self._key.context(session), b"hash"), (self._key.tools(session), b"zset")):
            if client.type(key) != kind:
                client.delete(key)

    def _sealed(self, value: HotValue) -> bytes:
        head = f"{value.written!r} {value.ends!r} {json.dumps(value.audience)}"
        return self._key.sealed(place_of("value", *value.place), f"{head}\n{value.text}".encode())

    def _opened(self, session: str, kind: Kind, name: str, data: bytes) -> HotValue | None:
        """Return the value in *data*, or ``None`` where this home did not write it in that place."""
        if len(data) > _MOST_BYTES:
            return None
        body = self._key.opened(place_of("value", session, kind, name), data)
        if body is None:
            return None
        head, _, text = body.decode().partition("\n")
        written, ends, audience = head.split(" ", 2)
        return HotValue(
            session=session, kind=kind, name=name, text=text, audience=_audience(audience),
            written=float(written), ends=float(ends),
        )  # fmt: skip


@lru_cache(maxsize=64)
def _audience(text: str) -> str:
    return str(json.loads(text))


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _unquoted(name: str) -> str:
    return unquote(name, errors="replace")


def _life_ms(value: HotValue, now: float) -> int:
    return max(1, math.ceil((value.ends - now) * 1000))


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _scan_step(client: Client, cursor: int, pattern: str) -> tuple[int, list[bytes]]:
    following, keys = client.scan(cursor, match=pattern, count=_SCANNED)
    return int(following), list(keys)


def _deleted(client: Client, keys: Sequence[bytes]) -> int:
    return int(client.delete(*keys)) if keys else 0


def _answers(pipe: Client) -> list[Any]:
    """Return what the queued commands gave, and ``None`` for a key of another type."""
    answers = pipe.execute(raise_on_error=False)
    for answer in answers:
        if isinstance(answer, Exception) and not is_other_type(answer):
            raise answer
    return [None if isinstance(answer, Exception) else answer for answer in answers]


def _give_back(pipe: Client) -> None:
    """Give the connection of *pipe* back. One that still watches keys is closed, because a goodbye would wait again."""
    if pipe.connection is not None and pipe.watching:
        pipe.connection.disconnect()
        pipe.watching = False
    pipe.reset()
