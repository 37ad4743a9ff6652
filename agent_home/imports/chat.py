"""The neutral chat format: one JSON object a line, ``{"session","id","ts","role","name","content"}``.

Three keys are optional: ``"cwd"``, the git repository of the session, ``"account"``, the id of the speaker's account,
and ``"channel"``, where the conversation takes place. Other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..store.transcript import Message
from .batch import Batch, ParsedFile, json_rows, text_of, timestamp

__all__ = ["parse", "require_usable"]

_ROLES: Mapping[str, str] = {
    "user": "user",
    "human": "user",
    "participant": "participant",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}


def parse(lines: Iterable[bytes], *, session: str = "", salt: str = "") -> ParsedFile:
    """Return the messages in *lines*. A message without a session belongs to *session*.

    With *salt*, fingerprints of what hosts put into messages are kept.

    Content may be text, a number, or a list of texts and ``{"text": ...}`` parts, which become paragraphs. Reasons
    for skipping a line: ``not-json``, ``not-utf8``, ``not-an-object``, ``too-long``, ``no-session``,
    ``unknown-role``, ``no-content``, ``empty``, ``injected``.
    """
    batch = Batch(salt=salt)
    for row in json_rows(lines, batch):
        session_id = text_of(row.get("session"))
        session_id = session_id if session_id.strip() else session
        role = _role(row.get("role"))
        content = _content(row.get("content"))
        if content is None or not session_id or not role:
            batch.skipped["no-session" if not session_id else "unknown-role" if not role else "no-content"] += 1
            continue
        batch.add(
            Message(
                session=session_id, id=text_of(row.get("id")), ts=timestamp(row.get("ts")), role=role,
                name=text_of(row.get("name")), content=content, cwd=text_of(row.get("cwd")),
                account=text_of(row.get("account")), channel=text_of(row.get("channel")),
            ),
            sent_ts=row.get("ts"),
        )  # fmt: skip
    return batch.result()


def require_usable(rows: Iterable[Mapping[str, Any]]) -> None:
    """Refuse *rows* of a program that :func:`parse` would skip or guess at: for the role, the content or the time.

    Raises:
        ValueError: the first such row, by its number from 1, and what to write instead.
    """
    known = ", ".join(sorted(set(_ROLES.values())))
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise ValueError(f"message {number} is no mapping. Write one with role and content")  # noqa: TRY004 - as below
        if not row.get("role"):
            raise ValueError(f"message {number}: there is no role. Write one of {known}")
        if not _role(row["role"]):
            raise ValueError(f"message {number}: the role {row['role']!r} is unknown. Write one of {known}")
        if row.get("ts") and not timestamp(row["ts"]):
            raise ValueError(f"message {number}: the time {row['ts']!r} cannot be read. Write it as ISO 8601")
        if _content(row.get("content")) is None:
            raise ValueError(f"message {number}: there is no text under the key 'content'")


def _role(value: object) -> str:
    """Return the stored role: *user* for a message without one, empty for an unknown role."""
    return "user" if value is None or value == "" else _ROLES.get(text_of(value).strip().lower(), "")


def _content(value: Any) -> str | None:
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in value]
        texts = [part for part in parts if isinstance(part, str) and part.strip()]
        return "\n\n".join(texts) if texts or not value else None
    if isinstance(value, dict):
        return _content(value.get("text"))
    if isinstance(value, float):
        return repr(value)
    text = text_of(value)
    return text if text or value == "" else None
