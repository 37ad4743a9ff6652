"""The neutral chat format: one JSON object a line, ``{"session","id","ts","role","name","content"}``.

``"cwd"``, the git repository that the session worked in, may be added. Other keys are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..store.transcript import Message
from .batch import Batch, Parsed, json_rows, label, timestamp

__all__ = ["parse"]

_ROLES: Mapping[str, str] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}


def parse(lines: Iterable[bytes], *, session: str = "") -> Parsed:
    """The messages in *lines*. One that names no session belongs to *session*.

    Content may be text, a number, or a list of texts and ``{"text": ...}`` parts, which become paragraphs. Reasons
    for leaving a line out: ``not-json``, ``not-utf8``, ``not-an-object``, ``too-long``, ``no-session``,
    ``unknown-role``, ``no-content``, ``empty``, ``injected``.
    """
    batch = Batch()
    for row in json_rows(lines, batch):
        owner = label(row.get("session"))
        owner = owner if owner.strip() else session
        role = _role(row.get("role"))
        content = _content(row.get("content"))
        if content is None or not owner or not role:
            batch.skipped["no-session" if not owner else "unknown-role" if not role else "no-content"] += 1
            continue
        batch.add(
            Message(
                session=owner, id=label(row.get("id")), ts=timestamp(row.get("ts")), role=role,
                name=label(row.get("name")), content=content, cwd=label(row.get("cwd")),
            )
        )  # fmt: skip
    return batch.result()


def _role(value: object) -> str:
    """The role as it is stored; a message without one is somebody's words; empty for a role nobody knows."""
    return "user" if value is None or value == "" else _ROLES.get(label(value).strip().lower(), "")


def _content(value: Any) -> str | None:
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in value]
        texts = [part for part in parts if isinstance(part, str) and part.strip()]
        return "\n\n".join(texts) if texts or not value else None
    if isinstance(value, dict):
        return _content(value.get("text"))
    if isinstance(value, float):
        return repr(value)
    text = label(value)
    return text if text or value == "" else None
