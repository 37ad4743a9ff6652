"""Record exchanges in the log of a namespace. What was returned is on the disk, and may be sent again."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from agent_home.store.speakers import speaker_label
from guard.lazy_regex import lazy_regex
from recall.namespaces.chat_log import NamespaceExchange, append_exchanges
from recall.namespaces.errors import NamespaceRefused
from recall.namespaces.registry import ensure_namespace
from recall.namespaces.schema import database

from .entities import entities_in
from .screening import NamespaceGuard

__all__ = ["AUTHORS", "ExchangeAuthor", "RecordedExchange", "SaidExchange", "record_exchanges", "stand_in_name"]

#: Authors of a user's side. What a tool or a page says is data: no memory is read from it.
ExchangeAuthor = Literal["user", "participant", "tool", "web"]
AUTHORS: tuple[ExchangeAuthor, ...] = get_args(ExchangeAuthor)
_MOST_NAME_CHARS = 200
#: Characters of both sides that are searched for entities.
_READ_CHARS = 20_000
_NAME = lazy_regex(r"[^\s\x00-\x1f\x7f-\x9f#](?:[^\x00-\x1f\x7f-\x9f#\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f#])?")
#: Bytes of the digest in place of a name that may not be stored.
_STAND_IN_BYTES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidExchange:
    """Words of a user and the answer of an agent, as a program gives it.

    Attributes:
        user_input: the user's words. Empty where the agent speaks by itself.
        ai_output: the agent's words. Empty where there is no answer.
        session: the conversation.
        message_id: names the exchange in its namespace, so that it can be sent again. Empty for a new one each time.
        source: the author of *user_input*.
        user_name: the user's name, and *agent_name* the agent's. They stand before what they said.
        said: the time, or ``None`` for the present. A later time than the present is the present.
    """

    user_input: str = ""
    ai_output: str = ""
    session: str = "default"
    message_id: str = ""
    source: ExchangeAuthor = "user"
    user_name: str = ""
    agent_name: str = ""
    said: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExchange:
    """Fate of an exchange.

    *known* says that it was there before. *held* says why the guard holds it back, and *redacted* that it replaced
    something.
    """

    message_id: str
    known: bool
    held: str
    redacted: bool


def record_exchanges(
    url: str, name: str, exchanges: Sequence[SaidExchange], *, guard: NamespaceGuard, now: datetime
) -> list[RecordedExchange]:
    """Append *exchanges* to the log of the namespace *name* in one transaction, and make the namespace if it lacks.

    Returns:
        one row for each exchange, in their order.

    Raises:
        NamespaceRefused: the name, an author or a time cannot be used, or an exchange is empty.
        GuardRefused: the guard cannot run. Nothing was recorded.
        ServerUnavailable: the server does not answer. Send the same exchanges again.
    """
    screened = [_screened(exchange, guard, now) for exchange in exchanges]
    with database(url) as conn:
        namespace = ensure_namespace(conn, name, now)
        done = append_exchanges(conn, namespace, [row for row, _ in screened], now) if screened else []
    return [
        RecordedExchange(message_id=row.message_id, known=row.known, held=exchange.held, redacted=redacted)
        for row, (exchange, redacted) in zip(done, screened, strict=True)
    ]


def _screened(said: SaidExchange, guard: NamespaceGuard, now: datetime) -> tuple[NamespaceExchange, bool]:
    """Return the row of the log, and whether the guard replaced something in it."""
    if not (said.user_input.strip() or said.ai_output.strip()):
        raise NamespaceRefused("an exchange says nothing. Give user_input or ai_output")
    if said.source not in AUTHORS:
        raise NamespaceRefused(f"unknown author {said.source!r}. Known authors: {', '.join(AUTHORS)}")
    if said.said is not None and said.said.tzinfo is None:
        raise NamespaceRefused("the time of an exchange has no time zone. Give one, as in 2026-11-29T10:00:00+00:00")
    clean = guard.exchange(said.user_input, said.ai_output, said.source)
    exchange = NamespaceExchange(
        session=_name(said.session or "default", guard),
        message_id=_name(said.message_id or uuid.uuid4().hex, guard),
        source=said.source, user_name=_speaker(said.user_name, guard), agent_name=_speaker(said.agent_name, guard),
        user_input=clean.user_input, ai_output=clean.ai_output, said=min(said.said or now, now),
        entities=entities_in(clean.user_input[:_READ_CHARS], clean.ai_output[:_READ_CHARS]) if not clean.held else (),
        held=clean.held,
    )  # fmt: skip
    return exchange, clean.redacted


def _name(given: str, guard: NamespaceGuard) -> str:
    """Return the name of a session or a message, or a digest of one that may not be stored."""
    if len(given) <= _MOST_NAME_CHARS and _NAME.fullmatch(given) and guard.allows(given):
        return given
    return stand_in_name(given)


def stand_in_name(given: str) -> str:
    """Return the name under which a session or a message stands whose own may not be stored."""
    digest = hashlib.blake2b(given.encode("utf-8", "surrogatepass"), digest_size=_STAND_IN_BYTES).hexdigest()
    return f"n-{''.join(chr(ord('a') + int(digit, 16)) for digit in digest)}"  # digits may look private


def _speaker(given: str, guard: NamespaceGuard) -> str:
    label = speaker_label(given)
    return label if label and guard.allows(label) else ""
