"""Own ``HomeMemoryProvider``: a home as the memory of a Hermes agent, and the plugin that registers it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from agent_home.errors import HomeError
from agent_home.store.speakers import owner_settings
from distill.errors import DistillError, EmptySession, NoSuchSession
from interfaces.answers import finished_answer, remembered_answer, search_answer
from interfaces.api import AgentHome, open_home

from .extra import missing_extra

try:
    from agent.memory_provider import MemoryProvider
except ImportError as error:
    raise missing_extra("hermes", error) from error

__all__ = ["HomeMemoryProvider", "HomeNotNamed", "register"]

#: Platforms at which the person of this machine sits. At any other, anybody may write.
_OWN_PLATFORMS = frozenset({"", "cli", "tui"})
#: Contexts of Hermes in which nobody talks to the agent.
_SILENT_CONTEXTS = frozenset({"subagent", "cron", "flush"})
_FOUND = 8
_MOST_FOUND = 50
#: Characters of a passage that is recalled for a turn.
_PASSAGE_CHARS = 600
_TEXT = {"type": "string"}
_TOOLS: Mapping[str, dict[str, Any]] = {
    "home_search": {
        "description": "Search memory, past conversations and knowledge of the home.",
        "parameters": {
            "type": "object", "required": ["query"], "additionalProperties": False,
            "properties": {
                "query": {**_TEXT, "description": "A question or words."},
                "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_FOUND},
            },
        },
    },
    "home_remember": {
        "description": "Write one statement into memory, for later sessions. A person can revert it.",
        "parameters": {
            "type": "object", "required": ["text"], "additionalProperties": False,
            "properties": {
                "text": {**_TEXT, "description": "The statement, understandable on its own."},
                "kind": {**_TEXT, "enum": ["preference", "decision", "lesson", "correction", "thread", "fact"]},
            },
        },
    },
    "home_resolve": {
        "description": "End an open thread or an entry of yours that holds no longer.",
        "parameters": {
            "type": "object", "required": ["id"], "additionalProperties": False,
            "properties": {"id": {**_TEXT, "description": "Such as OT-7F3A."}, "how": _TEXT},
        },
    },
}  # fmt: skip


class HomeNotNamed(HomeError):
    """Nothing says which home is the memory of the agent."""

    def __init__(self) -> None:
        super().__init__("AGENT_HOME is not set. Set it to the folder of the home, for example in the .env of Hermes")


class HomeMemoryProvider(MemoryProvider):
    """A memory provider over a home: *agent*, else the one that ``$AGENT_HOME`` names.

    *audience* decides what is recalled and shown. On a platform other than the terminal, user messages are a
    participant's, unless their account is the owner's in ``agent.toml``. Nothing is written for subagents and jobs.
    """

    def __init__(self, agent: AgentHome | None = None, *, audience: str = "owner", window: int = 0) -> None:
        self._agent = agent
        self._audience = audience
        self._window = window
        self._session = ""
        self._speaker: dict[str, str] = {"role": "user"}
        self._writes = True

    @property
    def name(self) -> str:
        """Return the name under which Hermes configures this provider."""
        return "agent-home"

    def is_available(self) -> bool:
        """Return whether there is a home."""
        try:
            self._home()
        except HomeError:
            return False
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Set up a session. ``platform`` and ``user_id`` say who talks, and ``agent_context`` whether anybody does.

        Raises:
            HomeError: there is no home.
        """
        self._home()
        self._session = session_id
        self._writes = str(kwargs.get("agent_context") or "") not in _SILENT_CONTEXTS
        platform, account = str(kwargs.get("platform") or ""), str(kwargs.get("user_id") or "")
        if platform not in _OWN_PLATFORMS:
            owned = account and account in owner_settings(self._home().home).accounts
            self._speaker = {"role": "user" if owned else "participant", "account": account, "channel": platform}
        else:
            self._speaker = {"role": "user"}

    def system_prompt_block(self) -> str:
        """Return the prompt of the home: its context files and memory, within the budget for the window."""
        return self._home().prompt(window=self._window, audience=self._audience, session=self._session).text

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return the passages for *query*, one a line, without those of the session itself. Nothing found is empty."""
        if not query.strip():
            return ""
        found = self._home().search(query, k=2 * _FOUND, audience=self._audience)
        own = session_id or self._session
        hits = [hit for hit in found.hits if hit.session != own]
        return "\n".join(f"- {hit.source}: {_line(hit.text)}" for hit in hits[:_FOUND])

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,  # noqa: ARG002 - tool results are no words of the conversation
    ) -> None:
        """Append a turn to the transcript of the session.

        Raises:
            HomeError: the guard cannot run, or another process holds the home. Nothing was written.
        """
        rows = [{**self._speaker, "content": user_content}, {"role": "assistant", "content": assistant_content}]
        rows = [row for row in rows if row["content"] and row["content"].strip()]
        if rows and self._writes:
            self._home().append(session_id or self._session, rows)

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:  # noqa: ARG002 - each turn is stored already
        """Turn the session into memory."""
        self._closed()

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:  # noqa: ARG002 - the name is enough
        """Go on in another session."""
        self._session = new_session_id or self._session

    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:  # noqa: ARG002 - each turn is stored already
        """Turn the session so far into memory, and return the new entries for the summary."""
        return "\n".join(f"- {text}" for text in self._closed())

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str,
        metadata: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> None:
        """Remember what the built-in memory tool adds. What it replaces or removes stays.

        Raises:
            HomeError: nothing was written.
        """
        if action == "add" and content.strip() and self._writes:
            self._home().remember(content, kind="preference" if target == "user" else None)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the schemas of the tools: search, remember and resolve."""
        return [{"name": name, **schema} for name, schema in _TOOLS.items()]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:  # noqa: ARG002
        """Return the result of a tool as JSON, or the message of the error under ``error``."""
        work = {"home_search": self._search, "home_remember": self._remember, "home_resolve": self._resolve}
        try:
            _require(tool_name, args)
            return json.dumps(work[tool_name](args), ensure_ascii=False)
        except (HomeError, DistillError, ValueError) as error:
            return json.dumps({"error": str(error)}, ensure_ascii=False)

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the one setting: where the home is."""
        return [{"key": "home", "description": "Folder of the home", "required": True, "env_var": "AGENT_HOME"}]

    def backup_paths(self) -> list[str]:
        """Return the folder of the home, which is outside Hermes's own."""
        return [str(self._home().home.root)] if self.is_available() else []

    def _home(self) -> AgentHome:
        if self._agent is None:
            named = os.environ.get("AGENT_HOME")
            if not named:  # the working folder of an agent must not decide about its memory
                raise HomeNotNamed
            self._agent = open_home(named)
        return self._agent

    def _closed(self) -> list[str]:
        """Close the session, and return the statements of its new entries. A session without turns has none."""
        if not self._writes or not self._session:
            return []
        try:
            closed = self._home().close(self._session)
        except (NoSuchSession, EmptySession):
            return []
        return [entry.text for entry in closed.entries]

    def _search(self, args: Mapping[str, Any]) -> dict[str, Any]:
        found = self._home().search(args["query"], k=args.get("limit", _FOUND), audience=self._audience)
        answer = search_answer(found, found.degraded)
        keys = ("source", "text", "ts", "status")
        return {"hits": [{key: hit[key] for key in keys} for hit in answer["hits"]], "degraded": answer["degraded"]}

    def _remember(self, args: Mapping[str, Any]) -> dict[str, Any]:
        self._require_writes()
        done = self._home().remember(args["text"], kind=args.get("kind"))
        if done.quarantined:
            raise ValueError("the guard held it back. A person sees it with `memory review`")
        return remembered_answer(done, ())

    def _resolve(self, args: Mapping[str, Any]) -> dict[str, Any]:
        self._require_writes()
        return finished_answer(self._home().resolve(args["id"], how=args.get("how", "")), ())

    def _require_writes(self) -> None:
        if not self._writes:
            raise ValueError("nothing is written in this context. Leave it to the agent that a person talks to")


def _require(tool: str, args: Any) -> None:
    """Check the arguments of a tool, as its schema describes them.

    Raises:
        ValueError: the tool or an argument is unknown, missing or of another type.
    """
    if tool not in _TOOLS:
        raise ValueError(f"unknown tool {tool!r}. Known tools: {', '.join(_TOOLS)}")
    schema = _TOOLS[tool]["parameters"]
    if not isinstance(args, Mapping) or set(args) - set(schema["properties"]):
        raise ValueError(f"{tool}: unknown arguments. Known: {', '.join(schema['properties'])}")
    for name, rule in schema["properties"].items():
        if name not in args:
            if name in schema["required"]:
                raise ValueError(f"{tool}: {name} is missing")
            continue
        value = args[name]
        is_whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_FOUND
        if not (is_whole if rule["type"] == "integer" else isinstance(value, str)):
            raise ValueError(f"{tool}: {name} is no {rule['type']} as described")
        if "enum" in rule and value not in rule["enum"]:
            raise ValueError(f"{tool}: {name} is one of {', '.join(rule['enum'])}")


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _PASSAGE_CHARS else f"{words[:_PASSAGE_CHARS].rsplit(' ', 1)[0]} ..."


def register(context: Any) -> None:
    """Register the provider of ``$AGENT_HOME``: a plugin of Hermes needs this function and nothing else."""
    context.register_memory_provider(HomeMemoryProvider())
