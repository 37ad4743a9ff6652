"""Own ``HomeSession``: a conversation of the OpenAI Agents SDK as a transcript of a home."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agent_home.errors import HomeError
from agent_home.home import Home
from distill.errors import DistillError
from interfaces.api import AgentHome

from .extra import missing_extra
from .session_items import add_items, items, remove_items

try:
    from agents.exceptions import AgentsException
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
except ImportError as error:
    raise missing_extra("openai-agents", error) from error

if TYPE_CHECKING:
    from distill.closing_result import Closed

__all__ = ["HomeSession", "SessionRefused"]

T = TypeVar("T")
#: Roles of messages, as transcripts have them.
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class SessionRefused(HomeError, AgentsException):
    """The home does not take the items of a session. Nothing was written."""


class HomeSession:
    """A session whose items are kept in a home, and which becomes memory when it is closed.

    Items come back as they were added, besides what the guard redacts or holds back in their texts. *audience* says who
    talks to the agent. Only the owner's words count as the owner's, and an audience gets back its own items alone.
    Popped and cleared items are not given back. The transcript keeps them, and closing and search see their words.
    """

    def __init__(
        self,
        session_id: str,
        agent: AgentHome,
        *,
        audience: str = "owner",
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._agent = agent
        self._audience = audience

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, oldest first. *limit*, or else that of the settings, keeps the latest ones."""
        most = limit if limit is not None else self.session_settings.limit if self.session_settings else None
        found = await asyncio.to_thread(items, self._home, self.session_id, audience=self._audience)
        kept = found if most is None or most < 0 else found[len(found) - min(most, len(found)) :]
        return cast("list[TResponseInputItem]", kept)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append *items* in one write.

        Raises:
            SessionRefused: an item is no JSON, the guard cannot run or refuses it, or another process holds the home.
        """
        added = [(item, self._message(item)) for item in cast("list[Mapping[str, Any]]", items)]
        if added:
            await self._write(
                lambda: add_items(self._home, self.session_id, added, audience=self._audience, now=datetime.now(UTC))
            )

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item away and return it, or ``None`` if there is none. Errors are those of adding."""
        removed = await self._remove(last=True)
        return removed[-1] if removed else None

    async def clear_session(self) -> None:
        """Take all items away. Errors are those of adding."""
        await self._remove(last=False)

    async def close(self) -> Closed:
        """Turn the new turns of the session into memory. The session can go on, and be closed again.

        Raises:
            SessionRefused: nothing was written, for example because nothing was said.
        """
        return await self._write(lambda: self._agent.close(self.session_id))

    @property
    def _home(self) -> Home:
        return AgentHome(Home(self._agent.home.root)).home

    async def _remove(self, *, last: bool) -> list[TResponseInputItem]:
        removed = await self._write(
            lambda: remove_items(self._home, self.session_id, audience=self._audience, now=datetime.now(UTC), last=last)
        )
        return cast("list[TResponseInputItem]", removed)

    async def _write(self, work: Callable[[], T]) -> T:
        """Return the result of *work* in a thread, with errors of the home as the SDK's own."""
        try:
            return await asyncio.to_thread(work)
        except (HomeError, DistillError, ValueError) as error:
            raise SessionRefused(str(error)) from error

    def _message(self, item: Mapping[str, Any]) -> dict[str, str] | None:
        """Return the message that says in words what *item* says, or ``None``."""
        if item.get("type", "message") == "message" and item.get("role") in _ROLES:
            role = _ROLES[item["role"]]
            if role == "user" and self._audience != "owner":
                role = "participant"
            return {"role": role, "content": _text(item.get("content"))}
        if str(item.get("type", "")).endswith("_output"):
            return {"role": "tool", "content": _text(item.get("output"))}
        return None


def _text(content: Any) -> str:
    """Return the words of the content of a message or of an output. Images and sounds have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") or part.get("refusal") or "" for part in parts if isinstance(part, Mapping)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)
