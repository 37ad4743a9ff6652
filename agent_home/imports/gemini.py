"""Parser of the session files of Gemini CLI: JSON lines, or one JSON object with ``messages`` of earlier versions.

Each line with a ``type`` of ``user`` or ``gemini`` becomes one message. The text that hooks added comes back inside it
as ``<hook_context>`` and is left out, and so is the ``<session_context>`` that the program begins with. Shell commands
that change git or files become one line of a message with the role ``tool``. Of what tools return, fingerprints are
kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from ..store.transcript import Message
from .batch import BOM, MAX_LINE_BYTES, Batch, ParsedFile, json_rows, text_of, timestamp
from .tool_notes import command_note, commit_lines, strings_in

__all__ = ["parse"]

_ROLES = {"user": "user", "gemini": "assistant"}
_HOOK, _HOOK_END = "<hook_context>", "</hook_context>"
_BEGINNING = "<session_context>"
_FILE_TOOLS = frozenset({"write_file", "replace", "edit"})


def parse(lines: Iterable[bytes], *, session: str = "", salt: str = "") -> ParsedFile:
    """Return the messages in *lines*. The session is the one that the file names, else *session*.

    With *salt*, fingerprints of what tools returned are kept with the next message.

    Reasons for skipping a line, besides those of ``json_rows``: ``unknown-type``, ``meta``, ``tool-use``, ``empty``,
    ``injected``, ``no-session``.
    """
    batch = Batch(salt=salt)
    for row in json_rows(_rows_of(lines), batch):
        session = text_of(row.get("sessionId")) or session
        messages = row["messages"] if isinstance(row.get("messages"), list) else [row]
        for message in messages:
            if isinstance(message, dict):
                _add(batch, message, session)
    return batch.result()


def _rows_of(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Return *lines*, or those of an indented document of an earlier version as one line."""
    waiting = iter(lines)
    first = next(waiting, b"")
    if first.removeprefix(BOM).strip() != b"{":
        return chain([first], waiting)
    parts, size, last = [first.strip()], len(first), first
    for last in waiting:
        size += len(last)
        if size <= MAX_LINE_BYTES:
            parts.append(last.strip(b"\r\n"))
    whole = b" ".join(parts) if size <= MAX_LINE_BYTES else b"x" * (MAX_LINE_BYTES + 1)
    return iter([whole + (b"\n" if last.endswith(b"\n") else b"")])


def _add(batch: Batch, row: Mapping[str, Any], session: str) -> None:
    role = _ROLES.get(text_of(row.get("type")), "")
    if not role or not session.strip():
        batch.skipped["no-session" if role else "meta"] += 1
        return
    parts = [text for text in map(_without_hooks, _texts(row.get("content"))) if text.strip()]
    if parts and parts[0].lstrip().startswith(_BEGINNING):
        batch.hear(session, *parts)
        batch.skipped["meta"] += 1
        return
    _add_tools(batch, row, session)
    if parts:
        batch.add(_message(row, session, role, "\n\n".join(parts)), parts=parts if role == "user" else ())
    else:
        batch.skipped["empty"] += 1


def _add_tools(batch: Batch, row: Mapping[str, Any], session: str) -> None:
    """Keep fingerprints of what tools returned, and a line for each call that changed something."""
    notes = []
    calls = row.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            continue
        told = "\n".join(strings_in([call.get("result"), call.get("resultDisplay")]))
        batch.hear(session, told)
        notes += [note for note in (_note(call), *commit_lines(told)) if note]
    if notes:
        batch.add(_message(row, session, "tool", "\n".join(notes), suffix=":tool"))


def _note(call: Mapping[str, Any]) -> str:
    name, given = text_of(call.get("name")), call.get("args")
    if not isinstance(given, dict):
        return ""
    if name in _FILE_TOOLS:
        path = text_of(given.get("file_path"))
        return f"{name} {path}" if path else ""
    return command_note("shell", text_of(given.get("command"))) if name == "run_shell_command" else ""


def _message(row: Mapping[str, Any], session: str, role: str, content: str, suffix: str = "") -> Message:
    name = text_of(row.get("id"))
    ts = timestamp(row.get("timestamp"))
    return Message(session=session, id=name + suffix if name else "", ts=ts, role=role, content=content)


def _without_hooks(text: str) -> str:
    """Return *text* without what hooks had added to it. Linear, whatever stands there."""
    kept, at = [], 0
    while (start := text.find(_HOOK, at)) >= 0:
        end = text.find(_HOOK_END, start)
        if end < 0:  # somebody wrote only the beginning
            break
        kept.append(text[at:start])
        at = end + len(_HOOK_END)
    return "".join([*kept, text[at:]])


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]
