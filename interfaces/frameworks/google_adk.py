"""Own ``HomeMemoryService``: the memory of Google ADK agents as transcripts of a home.

Each session is one transcript. The first part of its name is a digest of the app and the user, and a search looks at
the transcripts with the digest of the one who asks alone.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.screening.service import ScreeningService
from agent_home.store import transcript
from distill.errors import DistillError, EmptySession
from interfaces.api import AgentHome

from .extra import missing_extra

try:
    from google.adk.errors.input_validation_error import InputValidationError
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError as error:
    raise missing_extra("google-adk", error) from error

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

__all__ = ["HomeMemoryService", "MemoryRefused"]

T = TypeVar("T")
_USER = "user"
#: Name of the transcript of events that come without a session.
_NO_SESSION = "events"
#: Most hits that a search of the home gives. Those of other users are left out afterwards.
_MOST_HITS = 1000


class MemoryRefused(HomeError, InputValidationError):
    """The home does not take a session. Nothing was written."""

    def __init__(self, message: str) -> None:
        InputValidationError.__init__(self, message)


class HomeMemoryService(BaseMemoryService):
    """A memory service over a home.

    *owner_ids* are ids of users who are the owner of the home. Everybody else is a participant, whose words never count
    as the owner's. *audience* says who sees what is found: transcripts are the owner's unless ``agent.toml`` says
    otherwise. *results* is the number of memories of a search. With *close*, an added session becomes memory at once.
    """

    def __init__(
        self,
        agent: AgentHome,
        *,
        owner_ids: Sequence[str] = (),
        audience: str = "owner",
        results: int = 10,
        close: bool = False,
    ) -> None:
        self._agent = agent
        self._owner_ids = frozenset(owner_ids)
        self._audience = audience
        self._results = results
        self._close = close

    async def add_session_to_memory(self, session: Session) -> None:
        """Append the events of *session* that have text. Those that are there already add nothing.

        Raises:
            MemoryRefused: the guard cannot run or refuses the session, or another process holds the home.
        """
        await self._add(session.app_name, session.user_id, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002 - the home has no place for it
    ) -> None:
        """Append *events* that have text to a session. Errors are those of adding a session."""
        await self._add(app_name, user_id, session_id or _NO_SESSION, events)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return what was said in sessions of this user with this app, best first."""
        found = await asyncio.to_thread(self._search, _owner_name(app_name, user_id), query)
        return SearchMemoryResponse(memories=found)

    async def _add(self, app_name: str, user_id: str, session_id: str, events: Sequence[Event]) -> None:
        name = f"{_owner_name(app_name, user_id)}-{_letters(session_id)}"
        role = _USER if user_id in self._owner_ids else "participant"
        rows = [
            {
                "id": event.id, "ts": datetime.fromtimestamp(event.timestamp, UTC).isoformat(), "content": text,
                "channel": app_name,
                **({"role": role, "account": user_id} if event.author == _USER else _spoken(event.author)),
            }
            for event in events
            if (text := _text(event))
        ]  # fmt: skip
        if rows:
            await self._write(lambda: self._agent.append(name, rows))
        if rows and self._close:
            await self._write(lambda: self._closed(name))

    def _closed(self, name: str) -> None:
        try:
            self._agent.close(name)
        except EmptySession:
            return

    def _search(self, owner: str, query: str) -> list[MemoryEntry]:
        hits = self._agent.search(query, k=_MOST_HITS, layers=("sessions",), audience=self._audience).hits
        # A hit that says the same as another user's is named beside it, and only its own words may be shown.
        sources = (source for hit in hits for source in (hit.source, *hit.also))
        own = list(dict.fromkeys(source for source in sources if source.startswith(f"{owner}-")))[: self._results]
        home = AgentHome(Home(self._agent.home.root)).home
        screening = ScreeningService(home)
        said = _messages(home, {source.partition("#")[0] for source in own})
        return [_memory(said[source], screening) for source in own if source in said]

    async def _write(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except (HomeError, DistillError) as error:
            raise MemoryRefused(str(error)) from error


def _owner_name(app_name: str, user_id: str) -> str:
    return f"adk-{_letters(app_name, user_id)}"


def _letters(*parts: str) -> str:
    """Return a digest of *parts* in letters alone: digits could look like personal data, which a name may not have."""
    data = b"".join(len(part).to_bytes(8) + part for part in (part.encode("utf-8", "surrogatepass") for part in parts))
    return "".join(chr(ord("a") + byte % 26) for byte in hashlib.blake2b(data, digest_size=20).digest())


def _spoken(author: str) -> dict[str, str]:
    return {"role": "assistant", "name": author}


def _text(event: Event) -> str:
    """Return the words of *event*, without what the model only thought."""
    parts = (event.content.parts or []) if event.content else []
    return "\n\n".join(part.text for part in parts if part.text and part.text.strip() and not part.thought)


def _messages(home: Home, sessions: set[str]) -> dict[str, transcript.Message]:
    paths = (transcript.session_path(home, session) for session in sessions)
    turns = (turn for path in paths if path for turn in transcript.read(path))
    return {turn.message.source: turn.message for turn in turns}


def _memory(message: transcript.Message, screening: ScreeningService) -> MemoryEntry:
    text = screening.indexable(_TRANSCRIPT, message.content).text
    is_agent = message.role == "assistant"
    content = types.Content(role="model" if is_agent else _USER, parts=[types.Part(text=text)])
    author = message.name if is_agent and message.name else _USER
    fields: dict[str, Any] = {"id": message.id, "content": content, "author": author, "timestamp": message.ts}
    return MemoryEntry(**fields)


#: Stands for any transcript to the rules for texts.
_TRANSCRIPT = "sessions/name.jsonl"
