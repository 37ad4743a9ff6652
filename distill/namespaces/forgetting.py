"""Forget a text, a session or a memory of a namespace, in one transaction, and look that nothing is left.

A text is found as ``memory forget`` finds one in a home: in any case, spacing and Unicode form, and behind escapes.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from agent_home.forgetting.text_matcher import Phrase
from recall.namespaces.chat_log import LoggedExchange
from recall.namespaces.erasure import (
    FORGOTTEN,
    delete_with_parts,
    every_exchange,
    every_summary,
    exchanges_after,
    exchanges_of_session,
    read_again,
    rename_session,
    rewrite_exchange,
)
from recall.namespaces.errors import NamespaceRefused, NoSuchMemory
from recall.namespaces.memories import memories_of_messages, memories_with
from recall.namespaces.registry import changed, delete_namespace, find_namespace, lock_namespace
from recall.namespaces.schema import database
from recall.namespaces.settings import NamespaceSettings
from recall.postgres.connections import Connection
from recall.postgres.storable_text import storable_text
from recall.text.han import chinese_characters

from .entities import entities_in
from .filling import fill_short_term
from .recording import stand_in_name

__all__ = ["ForgottenMemories", "forget_in_namespace", "forget_namespace"]

#: Shorter texts are part of too many words. A Chinese character counts twice.
_LEAST_CHARS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenMemories:
    """Memories that were forgotten, or with *dry_run* would be.

    *messages* and *memories* are numbers of exchanges that were changed and of memories that were deleted. *remaining*
    is the number of places that still have the text, which is 0 unless something new came meanwhile.
    """

    messages: int = 0
    memories: int = 0
    remaining: int = 0
    dry_run: bool = False


def forget_in_namespace(
    url: str,
    name: str,
    *,
    settings: NamespaceSettings,
    now: datetime,
    text: str = "",
    session: str = "",
    memory: int = 0,
    dry_run: bool = False,
) -> ForgottenMemories:
    """Forget a *text* wherever it stands, a whole *session*, or one *memory*, in the namespace *name*.

    Exchanges with the text keep the rest of their words, and are read again. A forgotten memory leaves its exchanges as
    they are. A merged one goes with its parts.

    Raises:
        NamespaceRefused: none or several of the three are named, or the text is too short.
        NoSuchNamespace, NoSuchMemory: there is none.
    """
    if sum(map(bool, (text.strip(), session, memory))) != 1:
        raise NamespaceRefused("name one thing to forget: a text, a session or a memory")
    if text.strip() and len(text.strip()) + chinese_characters(text) < _LEAST_CHARS:
        raise NamespaceRefused(
            f"the text {text.strip()!r} is part of too many words. Give at least {_LEAST_CHARS} characters"
        )
    with database(url) as conn:
        namespace = find_namespace(conn, name)
        lock_namespace(conn, namespace, wait=True)
        if memory:
            found = memories_with(conn, namespace, [memory])
            if memory not in found:
                raise NoSuchMemory(name, memory)
            numbers = [memory, *found[memory].parts]  # its parts say the same, and would be found again
            done = ForgottenMemories(memories=len(numbers), dry_run=dry_run)
            if not dry_run:
                done = replace(done, memories=delete_with_parts(conn, namespace, numbers))
        else:
            done = _forget_words(conn, namespace, Phrase(text.strip()), session, dry_run=dry_run)
        if not dry_run:
            fill_short_term(conn, namespace, settings, now)
            changed(conn, namespace)
    return done


def forget_namespace(url: str, name: str) -> None:
    """Delete the namespace *name* with everything of it, its shares too.

    Raises:
        NoSuchNamespace: there is none.
    """
    with database(url, patient=True) as conn:  # a large one takes the server minutes
        delete_namespace(conn, find_namespace(conn, name))


def _forget_words(
    conn: Connection, namespace: int, phrase: Phrase, session: str, *, dry_run: bool
) -> ForgottenMemories:
    """Forget *phrase*, or where it is blank the exchanges of *session*."""
    if session:
        names = storable_text(session), stand_in_name(session)
        found = [one for known in names for one in exchanges_of_session(conn, namespace, known)]
        rewritten = [_emptied(exchange) for exchange in found]
    else:
        mark, stand_in = f"[forgotten f-{secrets.token_hex(4)}]", f"forgotten-{secrets.token_hex(4)}"
        found = [one for one in every_exchange(conn, namespace) if any(map(phrase.occurs_in, _texts(one)))]
        rewritten = [_redacted(exchange, phrase, mark, stand_in) for exchange in found]
    numbers = {exchange.id for exchange in found}
    near = numbers | exchanges_after(conn, namespace, numbers)
    memories = {one.id: one.messages for one in memories_of_messages(conn, namespace, near)} if near else {}
    saying = [] if session else [one for one in every_summary(conn, namespace) if phrase.occurs_in(one.summary)]
    # A memory may say the text where no exchange does: its speaker's name, or the day that "yesterday" was.
    told = {number for one in saying if one.id not in memories for number in one.messages}
    gone = {*memories, *(one.id for one in saying)}
    if dry_run:
        return ForgottenMemories(messages=len(found), memories=len(gone), dry_run=True)
    for before, after in zip(found, rewritten, strict=True):
        rewrite_exchange(conn, namespace, after)
        if after.session != before.session:
            rename_session(conn, namespace, before.session, after.session)
    deleted = delete_with_parts(conn, namespace, gone)
    again = numbers | {number for messages in memories.values() for number in messages}
    read_again(conn, namespace, again - told)  # who reads those again tells them in the same words
    remaining = 0 if session else _places(conn, namespace, phrase)
    return ForgottenMemories(messages=len(found), memories=deleted, remaining=remaining)


def _texts(exchange: LoggedExchange) -> tuple[str, ...]:
    return (
        exchange.user_input, exchange.ai_output, exchange.session, exchange.message_id, exchange.user_name,
        exchange.agent_name, *exchange.entities,
    )  # fmt: skip


def _redacted(exchange: LoggedExchange, phrase: Phrase, mark: str, stand_in: str) -> LoggedExchange:
    """Return *exchange* with *mark* in place of the words. A name with them gets another one."""
    said = [phrase.redact(text, mark) for text in (exchange.user_input, exchange.ai_output)]
    return replace(
        exchange, user_input=said[0], ai_output=said[1], entities=_without(entities_in(*said), phrase),
        session=stand_in if phrase.occurs_in(exchange.session) else exchange.session,
        message_id=f"{stand_in}-{exchange.id}" if phrase.occurs_in(exchange.message_id) else exchange.message_id,
        user_name="" if phrase.occurs_in(exchange.user_name) else exchange.user_name,
        agent_name="" if phrase.occurs_in(exchange.agent_name) else exchange.agent_name,
    )  # fmt: skip


def _emptied(exchange: LoggedExchange) -> LoggedExchange:
    return replace(exchange, user_input="", ai_output="", user_name="", agent_name="", entities=(), held=FORGOTTEN)


def _without(entities: Iterable[str], phrase: Phrase) -> tuple[str, ...]:
    return tuple(entity for entity in entities if not phrase.occurs_in(entity))


def _places(conn: Connection, namespace: int, phrase: Phrase) -> int:
    logged = sum(any(map(phrase.occurs_in, _texts(one))) for one in every_exchange(conn, namespace))
    return logged + sum(phrase.occurs_in(one.summary) for one in every_summary(conn, namespace))
