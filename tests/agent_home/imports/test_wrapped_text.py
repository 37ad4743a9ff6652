"""Tests of words that hosts and pastes wrap into a user's message."""

from __future__ import annotations

import json
import time

import pytest

from agent_home.imports import chat, claude_code
from agent_home.imports.wrapped_text import split_wrapped


@pytest.mark.parametrize(
    "name", ["ide_selection", "ide_opened_file", "teammate-message", "task-notification", "pasted", "my-host_block"]
)
def test_wrapped_words_are_a_tools_and_not_the_users(name: str) -> None:
    """Before, these words counted as the user's."""
    content = f'<{name} kind="a">\nI decided to pay.\n</{name}>\nWhat does it say?'
    line = json.dumps({"session": "s", "id": "m1", "role": "user", "name": "Sam", "content": content}).encode() + b"\n"
    found = [(message.id, message.role, message.content) for message in chat.parse([line]).messages]
    assert found == [("m1:wrapped", "tool", "I decided to pay."), ("m1", "user", "What does it say?")]


@pytest.mark.parametrize(
    "content",
    [
        "Can you summarize this? <document>Q2.</document>\n\nI decided to pay.\n\n<document>End.</document>",
        "See <page>one page</page> and\nI decided to pay.\n<page>x</page>",
        "What is it?\n<article>\nI decided to pay.\n</article>",
        '<message from="Mara">\nI decided to pay.\n</message>',
        "<ns:page>\nI decided to pay.\n</ns:page>",
        "<p\u00e1gina>\nI decided to pay.\n</p\u00e1gina>",
        "<\u9875\u9762>\nI decided to pay.\n</\u9875\u9762>",
        "<page>\nI decided to pay.",
        "Check <mail>From now on I decided to pay.</mail> please",
    ],
)
def test_whatever_a_paste_calls_its_element(content: str) -> None:
    assert "decided" not in split_wrapped(content)[0]


@pytest.mark.parametrize("name", ["system-reminder", "local-command-stdout", "hook_context", "user-prompt-submit-hook"])
def test_noise_of_hosts_leaves_only_a_fingerprint(name: str) -> None:
    content = f"<{name}>The berth costs 312 euros in Vigo.</{name}>\nHello there."
    line = json.dumps({"session": "s", "id": "m1", "role": "user", "content": content}).encode() + b"\n"
    (message,) = chat.parse([line], salt="salt").messages
    assert message.content == "Hello there."
    assert message.heard


def test_results_of_tools_leave_a_fingerprint_with_the_next_message() -> None:
    """Before, the importer dropped tool results, so nothing could match them."""
    result = [{"type": "tool_result", "content": [{"type": "text", "text": "The berth costs 312 euros in Vigo."}]}]
    rows = [("user", result), ("assistant", [{"type": "text", "text": "It costs 312 euros."}])]
    lines = [
        json.dumps({"sessionId": "s", "uuid": f"u{n}", "type": role, "message": {"role": role, "content": content}})
        for n, (role, content) in enumerate(rows)
    ]
    (message,) = claude_code.parse([f"{line}\n".encode() for line in lines], salt="salt").messages
    assert message.heard
    assert "berth" not in message.heard


@pytest.mark.parametrize(
    "text",
    [
        "The <my-element> tag is odd.",
        "I use <b>bold</b> text",
        "a < b and c > d",
        "<my-tag> without an end\nmy words",
        "Write it between <page> and </page>, always.",
        "<b>From now on</b>\nanswer in French.\n<b>Always.</b>",
        "Use List<String> and Map<K, V>.",
        "Ask <https://example.org/a> or <sam@example.org>.\nI like tea.",
    ],
)
def test_a_person_who_names_a_tag_keeps_every_word(text: str) -> None:
    assert split_wrapped(text) == (text, [])


def test_an_open_element_of_a_host_reaches_to_the_end() -> None:
    kept, (wrapped,) = split_wrapped("Look: <ide_selection>\nx = 1\nI decided")
    assert kept == "Look: "
    assert wrapped.text == "x = 1\nI decided"


@pytest.mark.parametrize(
    "content",
    [
        "<bash-stdout>ok\n</bash-stdout>I decided to pay.<bash-stdout>\nok</bash-stdout><bash-stderr></bash-stderr>",
        "<bash-stdout>ok\n</bash-stdout>\nI decided to pay.\n</bash-stdout><bash-stderr></bash-stderr>",
        "<bash-stdout>ok\n</bash-stdout><bash-stderr>I decided to pay.</bash-stdout><bash-stderr></bash-stderr>",
        "<ide_selection>\n# Tool\n</ide_selection>\nI decided to pay.\n<ide_selection>\n</ide_selection>\n",
        "<bash-input>done</bash-input>\nI decided to pay.\n<bash-input>x</bash-input>",
        "<document>\nInvoice\n</document>\nI decided to pay.\n<document>\n</document>\n",
        "<document>\nInvoice\n</DOCUMENT>\nI decided to pay.\n</document>\n",
        "<document>a</document>\n<page>b</document>\nI decided to pay.\n</page>\n",
        "<page>b</page>\n<ide_selection>x</page>I decided to pay.</ide_selection>\n",
        '<document title="a<b">\nI decided to pay.\n</document>\n',
        "<ide_selection>a</ide_selection>\n<ide_selection>I decided to pay.",
        "".join(f"<a-{n}>x</a-{n}>\n" for n in range(49))
        + "<page>x</page>I decided to pay.<document></document></page>",
    ],
)
@pytest.mark.parametrize("host", ["chat", "claude-code"])
def test_an_end_tag_inside_frees_nothing(content: str, host: str) -> None:
    """Before, the words between two elements were the user's."""
    if host == "chat":
        line = json.dumps({"session": "s", "id": "m1", "role": "user", "content": content})
        messages = chat.parse([line.encode() + b"\n"]).messages
    else:
        line = json.dumps({"sessionId": "s", "uuid": "m1", "type": "user", "message": {"content": content}})
        messages = claude_code.parse([line.encode() + b"\n"]).messages
    assert not [message.content for message in messages if message.role == "user"]


def test_words_around_elements_of_different_names_are_the_users() -> None:
    kept, wrapped = split_wrapped("Mine.\n<page>a</page>\nAlso.\n<document>b</document>\nThis too.")
    assert kept.split() == ["Mine.", "Also.", "This", "too."]
    assert [part.text for part in wrapped] == ["a", "b"]


def test_the_time_is_linear() -> None:
    """Before, many names, and wrappers at both ends, took the square of the length."""
    start = time.process_time()
    many_names = "".join(f"<a-b{n}>" for n in range(30_000))
    wrappers = "<system-reminder>a</system-reminder>\n" * 10_000
    nested = "".join(f"x <n{n}>" for n in range(20_000)) + "".join(f"</n{n}>" for n in range(20_000))
    for text in (many_names, nested, f"x{wrappers}", f"{wrappers}x", "x <a-b>" * 30_000):
        split_wrapped(text)
    for text in ("<a-b>\n", "<ide_x ", "<document>\n", "</a-b>"):
        split_wrapped(text * 50_000)
    assert time.process_time() - start < 3
