"""Own references to outputs in Redis: what an output says in short, for another machine that serves the same home.

Outputs lie in files of one machine, and these answer sooner than a server does (``docs/hot-state.md`` has the figures).
So Redis keeps no content: only the id, the summary, for whom it is, and which machine has the rest. A reference lives
for an hour from the time at which the output was stored or fetched, and it is deleted with the output.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from agent_home.audience import Audience
from agent_home.errors import MachineKeyUnusable
from agent_home.home import Home
from agent_home.machine_key import sign
from agent_home.outputs.entry import OUTPUT_ID, StoredOutput

from .home_key import HomeKey, place_of
from .redis_server import or_none
from .state import shared_store

if TYPE_CHECKING:
    from .redis_server import Client

__all__ = ["POINTER_S", "OutputPointer", "drop_pointers", "output_pointer", "point_to"]

#: Seconds for which a reference lives.
POINTER_S = 3600.0
_MOST_BYTES, _BATCH = 64 << 10, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPointer:
    """A reference to an output. *ts* is when it was stored, and *audience* who may read it. *machine* has its content.

    *ends* is when the reference ends, in seconds since 1970.
    """

    id: str
    ts: str
    summary: str
    audience: str
    session: str
    tool: str
    tokens: int
    machine: str
    ends: float


def point_to(home: Home, output: StoredOutput, *, clock: Callable[[], float] = time.time) -> None:
    """Keep a reference to *output* in Redis for an hour. Without a server, nothing is kept."""
    try:
        pointer = OutputPointer(
            id=output.id, ts=output.ts, summary=output.summary, audience=str(Audience.owner), session=output.session,
            tool=output.tool, tokens=output.tokens, machine=_machine(), ends=clock() + POINTER_S,
        )  # fmt: skip
    except MachineKeyUnusable:
        return

    def kept(client: Client, key: HomeKey) -> None:
        body = json.dumps(asdict(pointer), ensure_ascii=False).encode()
        if len(body) <= _MOST_BYTES:
            client.set(key.output(output.id), key.sealed(place_of("output", output.id), body), px=int(POINTER_S * 1000))

    shared_store(home).ask_redis(kept, makes_key=True)


def output_pointer(
    home: Home, name: str, *, audience: str = Audience.owner, clock: Callable[[], float] = time.time
) -> OutputPointer | None:
    """Return the reference to the output *name*, a whole id, which another machine has and *audience* may read.

    Return ``None`` for an output of this machine: its files say whether there is one.
    """
    if not OUTPUT_ID.fullmatch(name):
        return None

    def read(client: Client, key: HomeKey) -> bytes | None:
        data = or_none(client.get, key.output(name))
        fits = isinstance(data, bytes) and len(data) <= 2 * _MOST_BYTES
        return key.opened(place_of("output", name), data) if fits else None

    body = shared_store(home).ask_redis(read)
    if body is None:
        return None
    row: dict[str, Any] = json.loads(body)
    try:
        found = OutputPointer(**row)
    except TypeError:  # a newer program wrote it
        return None
    may_read = audience in {Audience.owner, found.audience}
    return found if may_read and found.ends > clock() and found.machine != _machine() else None


def drop_pointers(home: Home, names: Sequence[str]) -> None:
    """Delete the references to outputs that are gone. Without a server, that happens before it is used again."""

    def dropped(client: Client, key: HomeKey, some: Sequence[str]) -> bool:
        client.delete(*(key.output(name) for name in some))
        return True

    parts = [names[start : start + _BATCH] for start in range(0, len(names), _BATCH)]
    if not all(shared_store(home).ask_redis(partial(dropped, some=part)) for part in parts):
        shared_store(home).drop("outputs")


def _machine() -> str:
    return sign("machine", b"outputs")[:16]
