"""Own one object for a namespace: memory as data, for an agent that has no folder.

Every method does what the command ``memory namespaces`` and the service do. Nothing is kept open between two calls, so
an object may be made for each request, and shared between threads and agents. Answers are kept for all objects of the
process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from agent_home.clock import now as present

if TYPE_CHECKING:
    from distill.namespaces.forgetting import ForgottenMemories
    from distill.namespaces.processing import ProcessedMessages
    from distill.namespaces.promotion import NamespacePromotion
    from distill.namespaces.recording import ExchangeAuthor, RecordedExchange, SaidExchange
    from guard import GuardSettings
    from recall.embedding.embedder import Embedder, NoEmbedder
    from recall.namespaces.answer_cache import AnswerCache, CacheCounts
    from recall.namespaces.registry import NamespaceCounts
    from recall.namespaces.retrieval import RetrievedMemories
    from recall.namespaces.settings import NamespaceSettings

__all__ = ["AgentNamespace", "cache_counts", "default_embedder", "open_namespace"]

OpenEmbedder = Callable[[], "Embedder | NoEmbedder"]


def open_namespace(
    database_url: str,
    name: str,
    *,
    settings: NamespaceSettings | None = None,
    embedder: OpenEmbedder | None = None,
    guard: GuardSettings | None = None,
) -> AgentNamespace:
    """Return the namespace *name* of a database. It is made when something is recorded. Nothing is asked yet.

    Args:
        database_url: address of PostgreSQL with pgvector. An empty one takes ``AGENT_HOME_DATABASE_URL``.
        name: 1 to 128 letters, digits and ``- . _ : @ +``.
        settings: thresholds and limits.
        embedder: opens the embedding model at its first use. The default is the model in this user's cache.
        guard: settings of the guard, where a home has its own.

    Raises:
        NamespaceRefused: a namespace cannot be called so.
        NoServer: no database is named.
    """
    from recall.namespaces.names import checked_name
    from recall.namespaces.settings import NamespaceSettings
    from recall.servers import DATABASE_VARIABLE, NoServer
    from recall.servers import database_url as configured_url

    url = database_url or configured_url()
    if not url:
        raise NoServer(f"no database is named. Set {DATABASE_VARIABLE}, as in postgresql://user@host/name")
    return AgentNamespace(url, checked_name(name), settings or NamespaceSettings(), embedder or default_embedder, guard)


@functools.cache
def default_embedder() -> Embedder | NoEmbedder:
    """Open the default embedding model of this user's cache, once a process. It is never built or downloaded here."""
    from recall.embedding.embedder import open_embedder
    from recall.embedding.model import EmbeddingSettings

    return open_embedder(EmbeddingSettings(), build_missing=False)


def cache_counts(settings: NamespaceSettings | None = None) -> CacheCounts:
    """Return how often this process gave an answer again, for all namespaces with the same *settings*."""
    from recall.namespaces.settings import NamespaceSettings

    return _cache((settings or NamespaceSettings()).cache_answers).counts()


@functools.cache
def _cache(most: int) -> AnswerCache[RetrievedMemories]:
    from recall.namespaces.answer_cache import AnswerCache

    return AnswerCache(most=most)


class AgentNamespace:
    """The memory of one namespace. Make it with :func:`open_namespace`."""

    def __init__(
        self,
        url: str,
        name: str,
        settings: NamespaceSettings,
        embedder: OpenEmbedder,
        guard: GuardSettings | None,
    ) -> None:
        from distill.namespaces.screening import NamespaceGuard

        self.name, self.settings = name, settings
        self._url, self._open, self._guard = url, embedder, NamespaceGuard(guard)

    def __repr__(self) -> str:
        return f"AgentNamespace({self.name!r})"

    def record(
        self,
        user_input: str = "",
        ai_output: str = "",
        *,
        session: str = "default",
        message_id: str = "",
        source: ExchangeAuthor = "user",
        user_name: str = "",
        agent_name: str = "",
        said: datetime | None = None,
        now: datetime | None = None,
    ) -> RecordedExchange:
        """Append what the user said and the agent answered to the log. What was returned is on the disk.

        Args:
            user_input: the user's words. Either side may be empty.
            ai_output: the agent's words.
            session: the conversation.
            message_id: names the exchange, so that it may be sent again and adds nothing then. Without one it is new.
            source: the author of *user_input*: user, participant, tool or web. The words of the last two are data.
            user_name: the user's name, and *agent_name* the agent's.
            said: the time, with a time zone.
            now: the present.

        Raises:
            NamespaceRefused: the exchange is empty, or a value cannot be used.
            GuardRefused: the guard cannot run. Nothing was recorded.
            ServerUnavailable: the server does not answer. Send the exchange again with the same id.
        """
        from distill.namespaces.recording import SaidExchange

        exchange = SaidExchange(
            user_input=user_input, ai_output=ai_output, session=session, message_id=message_id, source=source,
            user_name=user_name, agent_name=agent_name, said=said,
        )  # fmt: skip
        return self.record_all([exchange], now=now)[0]

    def record_all(self, exchanges: Sequence[SaidExchange], *, now: datetime | None = None) -> list[RecordedExchange]:
        """Append *exchanges* in one transaction, and return what became of each. See :meth:`record`."""
        from distill.namespaces.recording import record_exchanges

        return record_exchanges(self._url, self.name, exchanges, guard=self._guard, now=now or present())

    def process(self, *, most: int = 0, now: datetime | None = None) -> ProcessedMessages:
        """Turn unread messages into memories, at most *most* of them, or all with 0.

        Raises:
            NoSuchNamespace: nothing was recorded yet.
            GuardRefused, ServerUnavailable: the messages stay unread.
        """
        from distill.namespaces.processing import process_messages

        done = process_messages(
            self._url, self.name, settings=self.settings, embedder=self._embedder(), guard=self._guard,
            now=now or present(), most=most,
        )  # fmt: skip
        self._drop_answers()
        return done

    def promote(self, *, if_due: bool = False, now: datetime | None = None) -> NamespacePromotion:
        """Promote what is important, mentioned often and recent to short-term memory, and merge related memories.

        With *if_due*, nothing is done before the time of the next promotion.

        Raises:
            NoSuchNamespace: nothing was recorded yet.
        """
        from distill.namespaces.promotion import promote_namespace

        done = promote_namespace(
            self._url, self.name, settings=self.settings, embedder=self._embedder(), guard=self._guard,
            now=now or present(), if_due=if_due,
        )  # fmt: skip
        self._drop_answers()
        return done

    def retrieve(self, query: str, *, now: datetime | None = None, **limits: float) -> RetrievedMemories:
        """Return the memories that answer *query*, and their text for a prompt, fenced as data.

        A namespace without anything has an empty answer.

        Args:
            query: a question or words. A blank one gives essential memories alone.
            now: the present.
            **limits: ``limit``, ``essential``, ``budget_tokens`` or ``relevance`` in place of the setting.

        Raises:
            ServerUnavailable: the server does not answer.
            ValueError, TypeError: a limit is out of range or unknown.
        """
        from recall.embedding.embedder import NoEmbedder
        from recall.namespaces.errors import NoSuchNamespace
        from recall.namespaces.retrieval import RetrievedMemories, retrieve

        settings = replace(self.settings, **limits) if limits else self.settings  # type: ignore[arg-type]
        opened = self._open()
        reason = opened.reason if isinstance(opened, NoEmbedder) else ""
        try:
            return retrieve(
                self._url, self.name, query, settings=settings,
                embedder=None if isinstance(opened, NoEmbedder) else opened, now=now or present(),
                cache=_cache(self.settings.cache_answers), reason=reason,
            )  # fmt: skip
        except NoSuchNamespace:
            return RetrievedMemories()

    def share_with(self, reader: str, *, now: datetime | None = None) -> bool:
        """Let the namespace *reader* read the memories of this one. Return ``False`` if it does already.

        The reader cannot share them on, and this namespace does not read the reader's.

        Raises:
            NoSuchNamespace: one of both is not there.
        """
        from recall.namespaces.registry import find_namespace, start_sharing
        from recall.namespaces.schema import database

        with database(self._url) as conn:
            owner = find_namespace(conn, self.name)
            return start_sharing(conn, owner, find_namespace(conn, reader), now or present())

    def stop_sharing_with(self, reader: str) -> bool:
        """Take the permission of *reader* back, at once. Return ``False`` if it had none.

        Raises:
            NoSuchNamespace: one of both is not there.
        """
        from recall.namespaces.registry import find_namespace, stop_sharing
        from recall.namespaces.schema import database

        with database(self._url) as conn:
            return stop_sharing(conn, find_namespace(conn, self.name), find_namespace(conn, reader))

    def split(self, memory: int, *, now: datetime | None = None) -> list[int]:
        """Take a merged memory apart, and return the numbers of its parts. They stay apart.

        Raises:
            NoSuchMemory: the namespace has no merged memory of that number.
        """
        from distill.namespaces.merging import split_merged

        parts = split_merged(self._url, self.name, memory, settings=self.settings, now=now or present())
        self._drop_answers()
        return parts

    def forget(
        self, text: str = "", *, session: str = "", memory: int = 0, dry_run: bool = False, now: datetime | None = None
    ) -> ForgottenMemories:
        """Forget a text wherever it stands, a whole session, or one memory.

        Raises:
            NamespaceRefused: not exactly one of them is named, or the text is too short.
            NoSuchNamespace, NoSuchMemory: there is none.
        """
        from distill.namespaces.forgetting import forget_in_namespace

        done = forget_in_namespace(
            self._url, self.name, settings=self.settings, now=now or present(), text=text, session=session,
            memory=memory, dry_run=dry_run,
        )  # fmt: skip
        self._drop_answers()
        return done

    def delete(self) -> None:
        """Delete everything of the namespace, its shares too.

        Raises:
            NoSuchNamespace: there is none.
        """
        from distill.namespaces.forgetting import forget_namespace

        forget_namespace(self._url, self.name)
        self._drop_answers()

    def stats(self, *, now: datetime | None = None) -> NamespaceCounts:
        """Return numbers of rows, when the next promotion is due, and with whom memories are shared.

        Raises:
            NoSuchNamespace: there is none.
        """
        from recall.namespaces.registry import count_rows, find_namespace
        from recall.namespaces.schema import database

        with database(self._url) as conn:
            return count_rows(conn, find_namespace(conn, self.name), self.name, now or present())

    def _embedder(self) -> Embedder | None:
        from recall.embedding.embedder import NoEmbedder

        opened = self._open()
        return None if isinstance(opened, NoEmbedder) else opened

    def _drop_answers(self) -> None:
        _cache(self.settings.cache_answers).drop((self._url, self.name))
