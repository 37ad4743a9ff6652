"""What Slack's events say about messages."""

from __future__ import annotations

from typing import Any

import pytest

from interfaces.slack.message import changed_message, command_in, new_message, plain_text, time_of

SAID = {"type": "message", "channel": "C1", "user": "U1", "text": "hello", "ts": "1764400000.000200"}


def test_a_message_names_its_thread() -> None:
    first = new_message(SAID)
    later = new_message({**SAID, "ts": "1764400001.000300", "thread_ts": SAID["ts"], "channel_type": "im"})
    assert first is not None
    assert later is not None
    assert first.thread == later.thread == SAID["ts"]
    assert (first.direct, later.direct) == (False, True)
    assert first.key == "C1:1764400000.000200"


@pytest.mark.parametrize(
    "values",
    [
        {"subtype": "channel_join"}, {"subtype": "bot_message"}, {"bot_id": "B1"}, {"hidden": True}, {"user": ""},
        {"ts": "soon"}, {"user": ["U1"]}, {"channel": None},
    ],
)  # fmt: skip
def test_what_no_person_wrote_is_no_message(values: dict[str, Any]) -> None:
    assert new_message({**SAID, **values}) is None


def test_files_are_named() -> None:
    found = new_message({**SAID, "subtype": "file_share", "files": [{"name": "plan\nof work.pdf"}, {}, "odd"]})
    assert found is not None
    assert found.text == "hello\n[file: plan of work.pdf]"


def test_an_edit_and_a_deletion_are_changes() -> None:
    edited = {**SAID, "text": "hallo", "edited": {"user": "U1", "ts": "1764400009.000000"}}
    event = {"channel": "C1", "subtype": "message_changed", "ts": "1764400009.000100", "message": edited}
    change = changed_message({**event, "previous_message": SAID})
    assert change is not None
    assert change.now is not None
    assert (change.ts, change.at, change.now.text) == (SAID["ts"], "1764400009.000000", "hallo")
    gone = changed_message({
        "channel": "C1", "subtype": "message_deleted", "deleted_ts": SAID["ts"], "ts": "1764400010.0",
        "previous_message": {**SAID, "thread_ts": "1764300000.000000"},
    })  # fmt: skip
    assert gone is not None
    assert (gone.now, gone.thread) == (None, "1764300000.000000")
    tombstone = changed_message({**event, "message": {"subtype": "tombstone", "ts": SAID["ts"]}})
    assert tombstone is not None
    assert tombstone.now is None


def test_a_preview_of_a_link_changes_nothing() -> None:
    event = {"channel": "C1", "subtype": "message_changed", "ts": "1764400009.000100", "previous_message": SAID}
    assert changed_message({**event, "message": SAID}) is None
    assert changed_message({**event, "message": {**SAID, "edited": {"ts": "1764400001.0"}}}) is None
    assert changed_message(event) is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<@UAGENT> hi", "hi"), ("<@UAGENT|ada>, hi", "hi"), ("ask <@UAGENT>", "ask @UAGENT"),
        ("ask <@U2>", "ask @Mara"), ("in <#C1|general>", "in #general"), ("<!here> look", "@here look"),
        ("<!subteam^S1|@ops> look", "@ops look"), ("<https://a.example>", "https://a.example"),
        ("<https://a.example|a.example>", "a.example"), ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"), ("&amp;lt;", "&lt;"), ("<", "<"),
    ],
)  # fmt: skip
def test_text_reads_as_in_slack(text: str, plain: str) -> None:
    assert plain_text(text, lambda user: {"U2": "Mara"}.get(user, ""), agent="UAGENT") == plain


def test_a_command_in_a_thread_begins_with_its_name() -> None:
    assert command_in("!memory why") == "why"
    assert command_in("!memory") == ""
    assert command_in("what does !memory do?") is None
    assert command_in("!memorybank") is None


def test_a_time_stamp_is_a_time() -> None:
    assert time_of("0.0") == "1970-01-01T00:00:00+00:00"
    assert time_of("999999999999999.0") == time_of("soon") == ""
