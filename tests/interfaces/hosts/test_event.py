"""Events of three hosts become one value, and bad input is an error that a hook keeps to itself."""

from __future__ import annotations

import json

import pytest

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
