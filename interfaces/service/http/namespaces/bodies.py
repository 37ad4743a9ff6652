"""Own the shapes of requests about namespaces."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "ExchangeBody",
    "ForgetInNamespaceBody",
    "ProcessBody",
    "PromoteBody",
    "RecordBody",
    "RetrieveBody",
    "ShareBody",
]

#: Exchanges of one request, and messages that one request may turn into memories: that takes some seconds.
_MOST_EXCHANGES, _MOST_PROCESSED = 200, 256
_TEXT, _NAME = 65_536, 256
_LONG_TEXT = 4 << 20


class _NamespaceBody(BaseModel):
    """A request body. An unknown key is an error."""

    model_config = ConfigDict(extra="forbid", str_max_length=_TEXT)


class ExchangeBody(_NamespaceBody):
    """Words of a user and the answer of an agent. Either may be empty."""

    model_config = ConfigDict(extra="forbid", str_max_length=_LONG_TEXT)

    user_input: str = ""
    ai_output: str = ""
    session: str = Field(default="default", max_length=_NAME)
    message_id: str = Field(default="", max_length=_NAME, description="Names the exchange, so that it can be resent.")
    source: Literal["user", "participant", "tool", "web"] = "user"
    user_name: str = Field(default="", max_length=_NAME)
    agent_name: str = Field(default="", max_length=_NAME)
    said: str = Field(default="", max_length=64, description="ISO 8601 time with a time zone.")


class RecordBody(_NamespaceBody):
    """Exchanges to append to the log."""

    model_config = ConfigDict(extra="forbid", str_max_length=_LONG_TEXT)

    messages: list[ExchangeBody] = Field(min_length=1, max_length=_MOST_EXCHANGES)


class ProcessBody(_NamespaceBody):
    """A limit of messages that are turned into memories now."""

    most: int = Field(default=64, ge=1, le=_MOST_PROCESSED)


class RetrieveBody(_NamespaceBody):
    """A question to the memories of a namespace."""

    query: str = Field(default="", max_length=_TEXT)
    limit: int = Field(default=5, ge=1, le=100)
    essential: int = Field(default=2, ge=0, le=100, description="Memories of short-term memory, at most `limit`.")
    budget_tokens: int = Field(default=2000, ge=1, le=100_000)
    relevance: float = Field(default=0.6, ge=0, le=1)


class PromoteBody(_NamespaceBody):
    """A promotion, at once or when its time has come."""

    if_due: bool = False


class ShareBody(_NamespaceBody):
    """The namespace that may read the memories of this one."""

    reader: str = Field(min_length=1, max_length=_NAME)


class ForgetInNamespaceBody(_NamespaceBody):
    """Choice of what is forgotten: a text, a session or a memory."""

    text: str = Field(default="", max_length=_TEXT)
    session: str = Field(default="", max_length=_NAME)
    memory: int = Field(default=0, ge=0, lt=2**63)
    dry_run: bool = False
