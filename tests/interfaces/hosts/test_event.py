"""Events of three hosts become one value, and bad input is an error that a hook keeps to itself."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.cli.commands.host_hook import EVENTS as COMMAND_EVENTS
from interfaces.cli.commands.install import HOSTS as COMMAND_HOSTS
from interfaces.hosts.event import EVENTS, HOSTS, HostEvent, answer, parse_event


def test_the_commands_name_the_same_hosts_and_events() -> None:
    assert tuple(HOSTS) == COMMAND_HOSTS
    assert EVENTS == COMMAND_EVENTS
    assert all(set(names) == set(EVENTS) for names in HOSTS.values())


def test_the_last_message_stands_under_the_name_of_each_host() -> None:
    claude = parse_event("claude-code", "stop", json.dumps({"session_id": "s", "last_assistant_message": "Done."}))
    gemini = parse_event("gemini", "stop", json.dumps({"session_id": "s", "prompt_response": "Done."}))
    assert claude.last_message == gemini.last_message == "Done."


def test_what_a_hook_of_gemini_added_is_no_part_of_the_prompt() -> None:
    prompt = "<hook_context>&lt;agent-home&gt;\nold\n&lt;/agent-home&gt;</hook_context>\n\nWhich database?"
    assert parse_event("gemini", "user-prompt", json.dumps({"session_id": "s", "prompt": prompt})).prompt == (
        "Which database?"
    )


def test_a_person_who_writes_only_the_beginning_of_the_tag_keeps_every_word() -> None:
    prompt = "What does <hook_context> mean?"
    assert parse_event("gemini", "user-prompt", json.dumps({"session_id": "s", "prompt": prompt})).prompt == prompt


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", "{}", '{"session_id": 7}', '{"session_id": " "}', "[" * 90_000]
)
def test_input_without_a_session_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_event("claude-code", "stop", text)


def test_values_of_a_wrong_type_are_left_out() -> None:
    event = parse_event("codex", "stop", json.dumps({"session_id": "s", "cwd": 5, "prompt": ["x"], "source": None}))
    assert event == HostEvent("codex", "stop", "s")


@pytest.mark.parametrize(("host", "name"), [("claude-code", "UserPromptSubmit"), ("gemini", "BeforeAgent")])
def test_the_answer_names_the_event_as_the_host_does(host: str, name: str) -> None:
    given = json.loads(answer(HostEvent(host, "user-prompt", "s"), "words"))
    assert given == {"hookSpecificOutput": {"hookEventName": name, "additionalContext": "words"}}


def test_what_each_host_tells_becomes_one_value() -> None:
    told = {
        "session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/srv", "source": "startup", "prompt": "Which one?",
        "hook_event_name": "SessionStart", "permission_mode": "default", "model": "opus", "timestamp": "2026-11-28",
    }  # fmt: skip
    for host in HOSTS:
        assert parse_event(host, "session-start", json.dumps(told)) == HostEvent(
            host, "session-start", "s", "/t.jsonl", "/srv", "Which one?", ""
        )


def test_every_context_that_hooks_added_is_left_out() -> None:
    added = "<hook_context>one</hook_context>"
    given_back = f"{added}Which {added}database?{added}\n"
    event = parse_event("gemini", "user-prompt", json.dumps({"session_id": "s", "prompt": given_back}))
    assert event.prompt == "Which database?"


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("context", ['"quotes" and \\', "<agent-home>\n</agent-home>", "\0\ud800\u2028", "港口", ""])
def test_the_answer_is_one_line_of_ascii_with_the_context_unchanged(host: str, context: str) -> None:
    for kind in EVENTS:
        printed = answer(HostEvent(host, kind, "s"), context)
        assert printed.isascii()
        assert "\n" not in printed
        assert json.loads(printed) == {
            "hookSpecificOutput": {"hookEventName": HOSTS[host][kind], "additionalContext": context}
        }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=4), part, max_size=3),
    max_leaves=6,
)
KEYS = ["session_id", "transcript_path", "cwd", "source", "prompt", "last_assistant_message", "prompt_response"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_no_value_of_a_key_gives_anything_but_texts(told: dict[str, Any]) -> None:
    named = isinstance(told.get("session_id"), str) and told["session_id"].strip()
    if not named:
        with pytest.raises(ValueError, match="names no session"):
            parse_event("codex", "stop", json.dumps(told))
        return
    event = parse_event("codex", "stop", json.dumps(told))
    assert all(isinstance(value, str) for value in event)
    assert event.session == told["session_id"]


@given(st.text() | st.text(alphabet='{}[]":,\\u d8'))
def test_no_text_raises_anything_but_a_value_error(text: str) -> None:
    try:
        event = parse_event("gemini", "stop", text)
    except ValueError:
        return
    assert event.session


@pytest.mark.parametrize("unit", ["<hook_context>", "</hook_context>", "<hook_context></hook_context>", "<"])
def test_a_hostile_prompt_takes_time_that_grows_with_it(unit: str) -> None:
    def seconds(size: int) -> float:
        text = json.dumps({"session_id": "s", "prompt": unit * (size // len(unit))})
        start = time.process_time()
        parse_event("gemini", "user-prompt", text)
        return time.process_time() - start

    small = min(seconds(60_000) for _ in range(3))
    assert min(seconds(480_000) for _ in range(2)) < 24 * max(small, 0.003)
