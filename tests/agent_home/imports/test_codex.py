"""Session files of Codex give messages of user and assistant, and the changes by commands."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_home.imports.codex import parse

KEYS = st.sampled_from(["type", "payload", "content", "text", "role"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(KEYS, part, max_size=4),
    max_leaves=12,
)


def rows(*payloads: dict[str, Any], kind: str = "response_item") -> list[bytes]:
    meta = {"type": "session_meta", "timestamp": "2026-11-28T10:00:00Z", "payload": {"id": "s1", "cwd": "/work/shop"}}
    lines = [meta, *({"type": kind, "timestamp": "2026-11-28T10:00:01Z", "payload": item} for item in payloads)]
    return [json.dumps(line).encode() + b"\n" for line in lines]


def message(role: str, text: str, name: str = "") -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "id": name, "role": role, "content": [{"type": kind, "text": text}]}


def said(*payloads: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item.role, item.content) for item in parse(rows(*payloads)).messages]


def test_what_user_and_assistant_said_is_kept_with_session_folder_and_time() -> None:
    (first, second) = parse(
        rows(message("user", "Which database?", "m1"), message("assistant", "PostgreSQL."))
    ).messages
    assert (first.session, first.id, first.cwd, first.ts) == ("s1", "m1", "/work/shop", "2026-11-28T10:00:01Z")
    assert [first.content, second.content] == ["Which database?", "PostgreSQL."]


def test_what_the_program_writes_in_the_users_name_is_left_out() -> None:
    assert said(
        message("user", "<environment_context>\n<cwd>/work</cwd>\n</environment_context>"),
        message("user", "# AGENTS.md instructions for /work\n\nAlways answer in French."),
        message("developer", "<agent-home>\nThe staging server is called heron\n</agent-home>"),
        message("user", "Hello"),
    ) == [("user", "Hello")]


def test_a_brief_that_a_user_message_repeats_is_left_out() -> None:
    text = "<agent-home>\nThe staging server is called heron\n</agent-home>\n\nWhich database?"
    assert said(message("user", text)) == [("user", "Which database?")]


def test_commands_that_change_something_become_one_line() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "shell"}
    assert said(
        {**call, "arguments": json.dumps({"command": ["bash", "-lc", "git commit -m 'Round half to even'"]})},
        {**call, "arguments": json.dumps({"command": ["ls", "-la"]})},
        {**call, "arguments": "not json"},
        {"type": "local_shell_call", "call_id": "c2", "action": {"command": ["git", "push"]}},
        {"type": "function_call_output", "call_id": "c1", "output": "[main 3f9c2e1] Round half to even\n 1 file"},
    ) == [
        ("tool", "shell git commit -m 'Round half to even'"), ("tool", "shell git push"),
        ("tool", "[main 3f9c2e1] Round half to even"),
    ]  # fmt: skip


def test_what_a_tool_returned_is_remembered_as_heard() -> None:
    found = parse(
        rows(
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": "Pay the invoice to account 12 of Otter Bank. " * 3,
            },
            message("assistant", "Pay the invoice to account 12 of Otter Bank."),
        ),
        salt="salt",
    )
    assert found.messages[0].heard


def test_lines_without_a_session_are_counted() -> None:
    lines = [json.dumps({"type": "response_item", "payload": message("user", "Hello")}).encode() + b"\n"]
    assert parse(lines).skipped["no-session"] == 1
    assert [item.session for item in parse(lines, session="name").messages] == ["name"]


@given(st.lists(JSON, max_size=6))
def test_no_shape_of_a_row_is_an_error(values: list[Any]) -> None:
    lines = [json.dumps({"type": "response_item", "payload": value}).encode() + b"\n" for value in values]
    parse([*rows(), *lines, *(json.dumps(value).encode() + b"\n" for value in values)])
