"""Own what the hooks of the hosts tell: one value for the events of three programs. Imports nothing slow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["EVENTS", "HOSTS", "HostEvent", "answer", "parse_event"]

#: The hosts, and the name that each gives to our events.
HOSTS: Mapping[str, Mapping[str, str]] = {
    "claude-code": {
        "session-start": "SessionStart", "user-prompt": "UserPromptSubmit", "stop": "Stop",
        "pre-compact": "PreCompact", "session-end": "SessionEnd",
    },
    "codex": {
        "session-start": "SessionStart", "user-prompt": "UserPromptSubmit", "stop": "Stop",
        "pre-compact": "PreCompact", "session-end": "SessionEnd",
    },
    "gemini": {
        "session-start": "SessionStart", "user-prompt": "BeforeAgent", "stop": "AfterAgent",
        "pre-compact": "PreCompress", "session-end": "SessionEnd",
    },
}  # fmt: skip
EVENTS = ("session-start", "user-prompt", "stop", "pre-compact", "session-end")
#: Gemini gives the context of the first hook back inside the prompt.
_GIVEN_BACK = ("<hook_context>", "</hook_context>")


class HostEvent(NamedTuple):
    """An event of a session.

    *transcript* is the host's file, which may lag behind *last_message*, the agent's last answer. Each may be empty.
    """

    host: str
    kind: str
    session: str
    transcript: str = ""
    cwd: str = ""
    prompt: str = ""
    last_message: str = ""


def parse_event(host: str, kind: str, text: str) -> HostEvent:
    """Read the JSON that *host* gives its hook.

    Raises:
        ValueError: it is not JSON, or names no session.
    """
    try:
        given = json.loads(text)
    except RecursionError as error:
        raise ValueError("the event is nested too deeply") from error
    if not isinstance(given, dict):
        raise ValueError("the event is no JSON object")  # noqa: TRY004 - of the input, not of an argument
    event = HostEvent(
        host=host,
        kind=kind,
        session=_text(given, "session_id"),
        transcript=_text(given, "transcript_path"),
        cwd=_text(given, "cwd"),
        prompt=_without_hook_context(_text(given, "prompt")),
        last_message=_text(given, "last_assistant_message") or _text(given, "prompt_response"),
    )
    if not event.session.strip():
        raise ValueError("the event names no session")
    return event


def answer(event: HostEvent, context: str) -> str:
    """Return the JSON with which a hook adds *context* to the model's input."""
    name = HOSTS[event.host][event.kind]
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}})


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _without_hook_context(prompt: str) -> str:
    start, end = _GIVEN_BACK
    kept, at = [], 0
    while (begun := prompt.find(start, at)) >= 0 and (ended := prompt.find(end, begun)) >= 0:
        kept.append(prompt[at:begun])
        at = ended + len(end)
    return "".join([*kept, prompt[at:]]).strip()
