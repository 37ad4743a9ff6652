"""Own the semantic store in the Python API: what was said, found by its meaning and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agent_home.clock import now as present

from .event_log import as_moment

if TYPE_CHECKING:
    from recall.search.hybrid import Hit, SearchResult

__all__ = ["SemanticStore"]

#: Hits among which those of one session are looked for.
_MOST_HITS = 1000


class SemanticStore:
    """The conversations and the memory of a home as a store of messages."""

    def __init__(self, append: Callable[..., Any], search: Callable[..., SearchResult]) -> None:
        self._append, self._search = append, search

    def index_conversation(self, session_id: str, message: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Append a message to the transcript of a session, where every search finds it.

        Args:
            session_id: the session.
            message: what was said.
            metadata: optionally ``timestamp`` (ISO 8601, or seconds since 1970), ``role`` (``user`` without one),
                ``name`` and ``id``.

        Raises:
            ValueError: an unknown role, no content, or no time.
            Locked, GuardRefused, DocumentInvalid: nothing was written.
        """
        given = metadata or {}
        moment = as_moment(given.get("timestamp")) or present()
        row = {"role": given.get("role", "user"), "content": message, "ts": moment.isoformat()}
        self._append(session_id, [row | {key: given[key] for key in ("name", "id") if key in given}], now=moment)

    def retrieve_context(self, session_id: str, query: str, top_k: int = 5) -> list[dict[str, Any]]:
        """Return the *top_k* messages of a session that best fit *query*, best first.

        Each has ``message``, ``score``, ``timestamp`` and ``source``.
        """
        hits = self._search(query, k=_MOST_HITS, layers=("sessions",)).hits
        own = [hit for hit in hits if hit.source.rpartition("#")[0] == session_id]
        return [as_message(hit) for hit in own[: max(0, top_k)]]

    def retrieve_memory(self, query: str, top_k: int) -> SearchResult:
        """Return what all of memory knows for *query*: entries, conversations, daily log, knowledge and outputs."""
        return self._search(query, k=max(1, min(top_k, _MOST_HITS)))


def as_message(hit: Hit) -> dict[str, Any]:
    """Return a hit as a message of the store."""
    return {"message": hit.text, "score": hit.score, "timestamp": hit.ts, "source": hit.source, "layer": hit.layer}
