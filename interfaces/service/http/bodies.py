"""Own the shapes of requests. They are checked before anything runs, and the OpenAPI document is made from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "MESSAGES",
    "ChunkQuery",
    "CiteBody",
    "EntryBody",
    "EventBody",
    "EventQuery",
    "Mem0AddBody",
    "Mem0ListBody",
    "Mem0SearchBody",
    "Mem0UpdateBody",
    "MessageBody",
    "MessagesBody",
    "OutputBody",
    "OutputQuery",
    "PromptBody",
    "ResolveBody",
    "Role",
    "SearchBody",
    "StoreBody",
]

#: Most messages of one request.
MESSAGES = 1000
_TEXT = 65_536
_NAME = 256


Role = Literal["user", "assistant", "tool", "system", "participant"]
Tag = Annotated[str, Field(max_length=_NAME)]


class _Body(BaseModel):
    """A request body. An unknown key is an error, so that a mistyped one does not pass silently."""

    model_config = ConfigDict(extra="forbid", str_max_length=_TEXT)


class StoreBody(_Body):
    """A memory to store, as agents without a host do."""

    content: str = Field(min_length=1, max_length=_TEXT, description="The statement.")
    tags: list[Tag] = Field(default=[], max_length=32, description="Words by which it is found.")
    type: Literal["preference", "decision", "lesson", "correction", "thread", "fact"] | None = None


class SearchBody(_Body):
    """A question to memory, conversations and knowledge."""

    model_config = ConfigDict(
        extra="forbid",
        str_max_length=_TEXT,
        json_schema_extra={
            "anyOf": [
                {"required": ["query"], "properties": {"query": {"pattern": r"\S"}}},
                {"required": ["tags"], "properties": {"tags": {"minItems": 1}}},
            ]
        },
    )

    query: str = Field(default="", max_length=_TEXT)
    tags: list[Tag] = Field(default=[], max_length=32, description="Only entries that have all of these tags.")
    limit: int = Field(default=10, ge=1, le=1000)
    layers: list[Tag] = Field(default=[], max_length=16, description="Such as memory, sessions, knowledge.")
    mode: Literal["hybrid", "lexical", "vector"] = "hybrid"
    audience: Literal["", "owner", "trusted", "group", "job"] = ""

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, data: Any) -> Any:
        """Accept the names that clients of other memory servers use."""
        if not isinstance(data, dict):
            return data
        renamed = {"q": "query", "k": "limit", "top_k": "limit", "in": "layers"}
        return {renamed.get(name, name): value for name, value in data.items()}


class PromptBody(_Body):
    """A request for the system prompt."""

    message: str = Field(default="", max_length=_TEXT)
    window: int = Field(default=0, ge=0, le=10**9)
    used: int = Field(default=0, ge=0, le=10**9)
    audience: Literal["", "owner", "trusted", "group", "job"] = ""
    session: str = Field(default="", max_length=_NAME)
    resume: str = Field(default="", max_length=_NAME)


class MessageBody(_Body):
    """A message of a conversation."""

    model_config = ConfigDict(extra="forbid", str_max_length=4 << 20)

    role: Role
    content: str
    id: str = Field(default="", max_length=_NAME)
    ts: str = Field(default="", max_length=64)
    name: str = Field(default="", max_length=_NAME)
    account: str = Field(default="", max_length=_NAME)
    channel: str = Field(default="", max_length=_NAME)
    cwd: str = Field(default="", max_length=4096)


class MessagesBody(_Body):
    """Messages to append to a session."""

    model_config = ConfigDict(extra="forbid", str_max_length=4 << 20)

    messages: list[MessageBody] = Field(min_length=1, max_length=MESSAGES)


class EntryBody(_Body):
    """An entry to write on purpose."""

    text: str = Field(min_length=1, max_length=_TEXT)
    type: Literal["preference", "decision", "lesson", "correction", "thread", "fact"] | None = None
    about: str = Field(default="", max_length=_NAME)
    until: str = Field(default="", pattern=r"^(\d{4}-\d{2}-\d{2})?$")
    replaces: str = Field(default="", max_length=_NAME)
    tags: list[Tag] = Field(default=[], max_length=32)
    dry_run: bool = False


class ResolveBody(_Body):
    """The end of an entry, and how it came to it."""

    how: str = Field(default="", max_length=_TEXT)
    dry_run: bool = False


OutputKind = Literal["transcript", "output", "summary", "context", "chunk"]


class OutputBody(_Body):
    """An output of a tool. The content is a text, or bytes in base64."""

    model_config = ConfigDict(extra="forbid", str_max_length=4 << 20)

    content: str | None = None
    content_base64: str | None = None
    type: OutputKind = "output"
    tags: list[Tag] = Field(default=[], max_length=32)
    directory: str = Field(default="", max_length=4096, description="Absolute folder that it is about.")
    checkpoint: str = Field(default="", max_length=_NAME)
    session: str = Field(default="", max_length=_NAME)
    tool: str = Field(default="", max_length=_NAME)
    command: str = Field(default="", max_length=4096)
    exit_code: int | None = Field(default=None, ge=-(2**31), le=2**31)


class OutputQuery(_Body):
    """A choice of outputs."""

    limit: int = Field(default=20, ge=1, le=1000)
    type: Literal["", "transcript", "output", "summary", "context", "chunk"] = ""
    tag: str = Field(default="", max_length=_NAME)
    directory: str = Field(default="", max_length=4096)
    checkpoint: str = Field(default="", max_length=_NAME)
    session: str = Field(default="", max_length=_NAME)
    tool: str = Field(default="", max_length=_NAME)


class ChunkQuery(_Body):
    """A part of an output, or all of it."""

    chunk: int | None = Field(default=None, ge=0, le=10**9, description="The first is 0. Without it, everything.")


class EventBody(_Body):
    """An event of a program."""

    type: str = Field(pattern=r"^[a-z][a-z0-9_.-]{0,63}$", description="Such as test_run.")
    session: str = Field(default="", max_length=_NAME)
    details: dict[str, Any] = Field(default={}, description="At most 16 KB of JSON.")


class EventQuery(_Body):
    """A choice of events."""

    session: str = Field(default="", max_length=_NAME)
    type: str = Field(default="", max_length=64)
    start: str = Field(default="", max_length=64, description="ISO 8601 time from which on events count.")
    end: str = Field(default="", max_length=64, description="ISO 8601 time before which events count.")
    limit: int = Field(default=100, ge=1, le=1000)


class CiteBody(_Body):
    """Entries that were useful."""

    ids: list[Tag] = Field(min_length=1, max_length=200)
    session: str = Field(default="", max_length=_NAME)


class Mem0Message(_Body):
    """A message as mem0's client sends it. The content is a text, or a list of parts with texts."""

    role: Literal["user", "assistant", "system", "tool"] = "user"
    content: str | list[dict[str, Any]]
    name: str = Field(default="", max_length=_NAME)


class Mem0AddBody(_Body):
    """Memories to add through mem0's client. Every user message is one, and with ``infer`` off every message."""

    messages: list[Mem0Message] = Field(min_length=1, max_length=MESSAGES)
    user_id: str | None = Field(default=None, min_length=1, max_length=_NAME)
    agent_id: str | None = Field(default=None, min_length=1, max_length=_NAME)
    app_id: str | None = Field(default=None, min_length=1, max_length=_NAME)
    run_id: str | None = Field(default=None, min_length=1, max_length=_NAME)
    filters: dict[str, str] = Field(default={}, description="The ids, as newer clients name them.")
    metadata: dict[str, Any] = {}
    infer: bool = True


class Mem0ListBody(_Body):
    """A list of memories by their ids and metadata."""

    filters: dict[str, Any] = Field(description="At least one of user_id, agent_id, app_id and run_id.")


class Mem0SearchBody(Mem0ListBody):
    """A question to the memories of mem0's client."""

    query: str = Field(min_length=1, max_length=_TEXT)
    top_k: int = Field(default=10, ge=1, le=1000)
    rerank: bool = Field(default=True, description="Results are always reranked.")


class Mem0UpdateBody(_Body):
    """A new text or new metadata of a memory."""

    text: str | None = Field(default=None, min_length=1, max_length=_TEXT)
    metadata: dict[str, Any] | None = None
