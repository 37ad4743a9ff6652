"""Parser of the session files ("rollouts") of Codex: JSON lines with a ``type`` and a ``payload``.

A ``response_item`` with a message of the user or the assistant becomes one message. Messages of developers, and those
that the program writes in the user's name (``<environment_context>``, instructions of AGENTS.md), are skipped. Commands
that change git or files become one line of a message with the role ``tool``. Of what tools return, fingerprints are
kept (``agent_home.store.fingerprints``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from guard.lazy_regex import lazy_regex

from ..store.transcript import Message
from .batch import Batch, ParsedFile, json_rows, text_of, timestamp
from .tool_notes import command_note, commit_lines, strings_in

__all__ = ["parse"]

_WRITTEN_BY_THE_PROGRAM = lazy_regex(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|skill|subagent_notification)\b"
    r"|# AGENTS\.md instructions)"
)
_ROLES = {"user": "user", "assistant": "assistant"}
_CALLS = frozenset({"function_call", "local_shell_call", "custom_tool_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


def parse(lines: Iterable[bytes], *, session: str = "", salt: str = "") -> ParsedFile:
    """Return the messages in *lines*. The session is the one that the file's first line names, else *session*.

    With *salt*, fingerprints of what tools returned are kept with the next message.

    Reasons for skipping a line, besides those of ``json_rows``: ``unknown-type``, ``meta``, ``malformed``,
    ``tool-result``, ``tool-use`` (a call that changes nothing), ``empty``, ``injected``, ``no-session``.
    """
    batch = Batch(salt=salt)
    cwd, named = "", False
    for number, row in enumerate(json_rows(lines, batch)):
        kind, payload = text_of(row.get("type")), row.get("payload")
        if not isinstance(payload, dict):
            batch.skipped["unknown-type"] += 1
            continue
        if kind == "session_meta" and not named:  # a fork repeats the head of its parent behind its own
            session, named = text_of(payload.get("id")) or session, True
        if kind in {"session_meta", "turn_context"}:
            cwd = text_of(payload.get("cwd")) or cwd
        if kind != "response_item":
            batch.skipped["meta"] += 1
        elif not session.strip():
            batch.skipped["no-session"] += 1
        else:
            _add(batch, payload, _RolloutLine(session, timestamp(row.get("timestamp")), cwd, number))
    return batch.result()


class _RolloutLine:
    """The session, the time and the folder of a line, and its number in the file, for ids that the program repeats."""

    def __init__(self, session: str, ts: str, cwd: str, number: int) -> None:
        self.session, self.ts, self.cwd, self.number = session, ts, cwd, number

    def message(self, payload: Mapping[str, Any], role: str, content: str) -> Message:
        name = text_of(payload.get("id")) or text_of(payload.get("call_id")) or f"line-{self.number}"
        return Message(session=self.session, id=name, ts=self.ts, role=role, content=content, cwd=self.cwd)


def _add(batch: Batch, payload: Mapping[str, Any], place: _RolloutLine) -> None:
    kind = text_of(payload.get("type"))
    if kind == "message":
        _add_message(batch, payload, place)
    elif kind in _CALLS:
        note = command_note("shell", _command(payload))
        if note:
            batch.add(place.message(payload, "tool", note))
        else:
            batch.skipped["tool-use"] += 1
    elif kind in _OUTPUTS:
        _add_output(batch, payload, place)
    else:
        batch.skipped["unknown-type"] += 1


def _add_message(batch: Batch, payload: Mapping[str, Any], place: _RolloutLine) -> None:
    role = _ROLES.get(text_of(payload.get("role")), "")
    parts = list(_texts(payload.get("content")))
    if not role or (role == "user" and parts and _WRITTEN_BY_THE_PROGRAM.match(parts[0])):
        batch.hear(place.session, *parts)
        batch.skipped["meta"] += 1
        return
    batch.add(place.message(payload, role, "\n\n".join(parts)), parts=parts if role == "user" else ())


def _add_output(batch: Batch, payload: Mapping[str, Any], place: _RolloutLine) -> None:
    output = payload.get("output")
    text = output if isinstance(output, str) else "\n".join(strings_in(output))
    batch.hear(place.session, text)
    commits = list(commit_lines(text))
    if commits:
        batch.add(place.message({"id": f"{text_of(payload.get('call_id'))}:result"}, "tool", "\n".join(commits)))
    else:
        batch.skipped["tool-result"] += 1


def _command(payload: Mapping[str, Any]) -> str:
    """Return the shell command of a call, or an empty text."""
    given: Any = payload.get("action", payload.get("arguments", payload.get("input", "")))
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return ""
    command = given.get("command", given.get("cmd", "")) if isinstance(given, dict) else ""
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        # A shell in front (bash -lc "...") says nothing. Its last word is the command.
        return words[-1] if len(words) == 3 and words[1] in {"-c", "-lc"} else " ".join(words)
    return text_of(command)


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
