"""Session files of Gemini CLI give messages of user and assistant, without what hooks added."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_home.imports.gemini import parse

META = {"sessionId": "s1", "startTime": "2026-11-28T10:00:00Z", "kind": "main"}
KEYS = st.sampled_from(["type", "content", "text", "toolCalls", "args", "messages", "result"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(KEYS, part, max_size=4),
    max_leaves=12,
)


def lines(*rows: Any) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in (META, *rows)]


def row(kind: str, *texts: str, **more: Any) -> dict[str, Any]:
    parts = [{"text": text} for text in texts]
    return {"id": f"{kind}-1", "timestamp": "2026-11-28T10:00:01Z", "type": kind, "content": parts, **more}


def said(*rows: Any) -> list[tuple[str, str]]:
    return [(item.role, item.content) for item in parse(lines(*rows)).messages]


def test_what_user_and_assistant_said_is_kept() -> None:
    found = parse(lines(row("user", "Which database?"), {**row("gemini"), "content": "PostgreSQL."})).messages
    assert [(item.session, item.role, item.content) for item in found] == [
        ("s1", "user", "Which database?"), ("s1", "assistant", "PostgreSQL."),
    ]  # fmt: skip


def test_the_context_that_hooks_added_does_not_come_round_again() -> None:
    hook = "<hook_context>&lt;agent-home&gt;\nThe server is called heron\n&lt;/agent-home&gt;</hook_context>"
    assert said(row("user", f"{hook}\n\nWhich database?", hook)) == [("user", "Which database?")]
    assert said(row("user", hook)) == []


def test_the_context_of_the_session_is_left_out() -> None:
    context = {"$set": {"messages": [row("user", "<session_context>\nThis is the Gemini CLI.\n</session_context>")]}}
    assert said(context, row("user", "<session_context>\nThis is the Gemini CLI."), row("user", "Hello")) == [
        ("user", "Hello")
    ]


def test_one_object_with_all_messages_is_read_as_well() -> None:
    whole = json.dumps({**META, "messages": [row("user", "Hello"), row("gemini", "Hello, Sam.")]}).encode()
    assert [item.content for item in parse([whole]).messages] == ["Hello", "Hello, Sam."]


def test_tools_that_change_something_become_one_line() -> None:
    calls = [
        {"name": "run_shell_command", "args": {"command": "git commit -m x"}, "result": ["[main 3f9c2e1] x"]},
        {"name": "write_file", "args": {"file_path": "a.py"}},
        {"name": "read_file", "args": {"file_path": "b.py"}, "resultDisplay": "text"},
        {"name": "run_shell_command", "args": "ls"},
        7,
    ]
    assert said(row("gemini", "Done.", toolCalls=calls)) == [
        ("tool", "shell git commit -m x\n[main 3f9c2e1] x\nwrite_file a.py"), ("assistant", "Done."),
    ]  # fmt: skip


@given(st.lists(JSON, max_size=6))
def test_no_shape_of_a_row_is_an_error(values: list[Any]) -> None:
    parse(lines(*values, *({"type": "user", "content": value, "toolCalls": value} for value in values)))
