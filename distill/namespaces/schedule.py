"""Do what is due: read new messages of namespaces, and promote those whose time has come.

A scheduler calls :func:`run_due` as often as it likes, from as many processes as it likes. A namespace is worked on by
one of them at a time, and the others go on with the next one. A promotion is due six hours after the last one, and two
under load (``recall.namespaces.short_term.note_processed``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from recall.embedding.embedder import Embedder
from recall.namespaces.errors import NoSuchNamespace
from recall.namespaces.registry import due_namespaces
from recall.namespaces.schema import database
from recall.namespaces.settings import NamespaceSettings
from recall.servers import ServerUnavailable

from .processing import ProcessedMessages, process_messages
from .promotion import NamespacePromotion, promote_namespace
from .screening import NamespaceGuard

__all__ = ["DueRun", "run_due"]

LOGGER = logging.getLogger("agent_home.namespaces")


@dataclass(frozen=True, slots=True, kw_only=True)
class DueRun:
    """Counts of a run: numbers of *namespaces*, *messages*, *memories* and *promoted* ones. *failed* names namespaces.

    *left* says that more is due than one run does.
    """

    namespaces: int = 0
    messages: int = 0
    memories: int = 0
    promoted: int = 0
    busy: int = 0
    failed: tuple[str, ...] = ()
    left: bool = False


def run_due(
    url: str,
    *,
    settings: NamespaceSettings,
    embedder: Embedder | None,
    guard: NamespaceGuard,
    clock: Callable[[], datetime],
    most: int = 1000,
) -> DueRun:
    """Process and promote up to *most* namespaces each. One that fails is named, and stops no other.

    Raises:
        ServerUnavailable: the server does not answer. What was done until then is kept.
    """
    with database(url) as conn:
        due = due_namespaces(conn, clock(), most=most)
    processed, promoted, failed = list[ProcessedMessages](), list[NamespacePromotion](), list[str]()
    for one in due:
        try:
            if one.unread:
                processed.append(
                    process_messages(url, one.name, settings=settings, embedder=embedder, guard=guard, now=clock())
                )
            promoted.append(
                promote_namespace(
                    url, one.name, settings=settings, embedder=embedder, guard=guard, now=clock(), if_due=True
                )
            )
        except NoSuchNamespace:
            continue  # deleted meanwhile
        except ServerUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one message that a reader fails on must not stop all others
            failed.append(one.name)
            LOGGER.warning("namespace %s failed: %s", one.name, type(error).__name__)
    return DueRun(
        namespaces=len(due) - len(failed), messages=sum(done.messages for done in processed),
        memories=sum(done.added for done in processed), promoted=sum(len(done.promoted) for done in promoted),
        busy=sum(done.busy for done in processed) + sum(done.busy for done in promoted), failed=tuple(failed),
        left=max(sum(one.unread for one in due), sum(one.promotion for one in due)) >= most,
    )  # fmt: skip
