"""Lines of the neutral chat format become messages with stable ids."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.imports.batch import MAX_LINE_BYTES
from agent_home.imports.chat import parse
from agent_home.screening.injected_context import marked

ROW = {"session": "s", "id": "m1", "ts": "2026-11-20T14:02:00", "role": "user", "name": "n", "content": "Hello"}


def line(**changes: Any) -> bytes:
    row = {key: value for key, value in (ROW | changes).items() if value is not ...}
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def test_a_line_becomes_a_message_with_every_field() -> None:
    (message,) = parse([line(cwd="/srv/repo")]).messages
    assert message.source == "s#m1"
    assert (message.ts, message.role, message.name) == ("2026-11-20T14:02:00", "user", "n")
    assert (message.content, message.cwd) == ("Hello", "/srv/repo")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{not json}\n", "not-json"),
        (b'{"session": "s", "content": "a\x00b"}\n', "not-json"),
        (b'{"content": "' + "预".encode()[:2] + b'"}\n', "not-utf8"),
        (b"42\n", "not-an-object"),
        (b"[1]\n", "not-an-object"),
        (b"null\n", "not-an-object"),
        (b"[" * 100_000 + b"\n", "not-json"),
        (b'{"n": ' + b"1" * 10_000 + b"}\n", "not-json"),
        (line(role="narrator"), "unknown-role"),
        (line(role=3), "unknown-role"),
        (line(content=None), "no-content"),
        (line(content=...), "no-content"),
        (line(content=True), "no-content"),
        (line(content=[1, None]), "no-content"),
        (line(content=""), "empty"),
        (line(content=[]), "empty"),
        (line(content=" \n "), "empty"),
        (line(content="\0"), "empty"),
        (line(content="<agent-home>old</agent-home>", role="system"), "injected"),
        (line(session=None), "no-session"),
        (line(session=["s"]), "no-session"),
    ],
)
def test_an_invalid_line_is_counted_and_the_others_are_read(bad: bytes, reason: str) -> None:
    parsed = parse([bad, line(id="m2")])
    assert [message.id for message in parsed.messages] == ["m2"]
    assert dict(parsed.skipped) == {reason: 1}
    assert not parsed.waiting


def test_a_line_over_the_limit_is_not_read() -> None:
    parsed = parse([b'{"content": "' + b"a" * MAX_LINE_BYTES + b'"}\n', line()])
    assert dict(parsed.skipped) == {"too-long": 1}
    assert len(parsed.messages) == 1


def test_a_half_written_last_line_is_left_for_the_next_import() -> None:
    for end in (10, -2, -3):
        parsed = parse([line(), line(id="m2", content="预算冻结")[:end]])
        assert [message.id for message in parsed.messages] == ["m1"]
        assert parsed.waiting
        assert not parsed.skipped


def test_a_number_without_a_newline_may_be_the_start_of_a_longer_one() -> None:
    assert parse([b"4"]).waiting


def test_a_complete_last_line_needs_no_newline() -> None:
    parsed = parse([line(), line(id="m2").rstrip()])
    assert [message.id for message in parsed.messages] == ["m1", "m2"]
    assert not parsed.waiting


def test_byte_order_mark_carriage_returns_and_blank_lines_are_ignored() -> None:
    lines = [b"\xef\xbb\xbf" + line().rstrip() + b"\r\n", b"\r\n", b"  \n", line(id="m2").rstrip() + b"\r\n"]
    parsed = parse(lines)
    assert [message.id for message in parsed.messages] == ["m1", "m2"]
    assert not parsed.skipped


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (2.5, "2.5"),
        (12, "12"),
        (["a", {"type": "text", "text": "b"}, {"type": "image"}], "a\n\nb"),
        ({"text": "a"}, "a"),
        ("  a\n", "a"),
        ("a\0b", "ab"),
        ("a\ud800b", "a\ufffdb"),
    ],
)
def test_content_of_other_kinds_becomes_text(content: Any, text: str) -> None:
    row = json.dumps(ROW | {"content": content}).encode() + b"\n"
    assert [message.content for message in parse([row]).messages] == [text]


@pytest.mark.parametrize("role", ["user", "participant"])
def test_text_that_this_machine_injected_is_no_part_of_a_humans_message(role: str) -> None:
    (message,) = parse([line(content=f"{marked('x')}\n\nReally?", role=role)]).messages
    assert (message.role, message.content) == (role, "Really?")


@pytest.mark.parametrize(
    ("given_role", "role"),
    [
        ("Human", "user"),
        ("AI", "assistant"),
        ("function", "tool"),
        ("developer", "system"),
        (None, "user"),
        ("", "user"),
    ],
)
def test_role_names_of_other_programs_are_mapped(given_role: str | None, role: str) -> None:
    assert parse([line(role=given_role)]).messages[0].role == role


@pytest.mark.parametrize(
    ("ts", "stored"),
    [
        ("2026-11-20T14:02:00Z", "2026-11-20T14:02:00Z"),
        ("2026-11-20", "2026-11-20"),
        ("20261120T140200", "2026-11-20T14:02:00"),
        (1_763_647_320, "2025-11-20T14:02:00+00:00"),
        (1_763_647_320_000, "2025-11-20T14:02:00+00:00"),
        ("yesterday", ""),
        (None, ""),
        (True, ""),
        (1e300, ""),
        ({"at": 1}, ""),
    ],
)
def test_a_timestamp_is_iso_8601_or_empty(ts: Any, stored: str) -> None:
    assert parse([line(ts=ts)]).messages[0].ts == stored


def test_session_ids_are_not_changed() -> None:
    for session in ("channel/2026/11", "会话 一", "x" * 5000, "../up", "#1"):
        assert parse([line(session=session)]).messages[0].session == session
    assert parse([line(session=7)]).messages[0].session == "7"


def test_a_line_without_a_session_belongs_to_the_file() -> None:
    for missing in (..., None, "", " "):
        assert parse([line(session=missing)], session="file").messages[0].session == "file"


def test_the_same_id_with_the_same_content_is_a_duplicate() -> None:
    parsed = parse([line(), line()])
    assert len(parsed.messages) == 1
    assert parsed.duplicates == 1


def test_the_same_id_with_other_content_keeps_both_messages() -> None:
    lines = [line(), line(content="Other"), line(content="Other"), line(session="t", content="Other")]
    parsed = parse(lines)
    first, second, elsewhere = parsed.messages
    assert first.source == "s#m1"
    assert second.id.startswith("m1~")
    assert second.content == "Other"
    assert elsewhere.source == "t#m1"
    assert parsed.duplicates == 1
    assert parse(lines).messages == parsed.messages


def test_equal_messages_without_an_id_are_numbered() -> None:
    parsed = parse([line(id=None), line(id=""), line(id=...), line(id=" ")])
    assert len({message.id for message in parsed.messages}) == 4
    assert parsed.duplicates == 0


ROWS = st.fixed_dictionaries(
    {"session": st.sampled_from(["a", "b"]), "role": st.sampled_from(["user", "assistant"]), "content": st.text()},
    optional={"id": st.sampled_from(["", "m1", "m2"]), "ts": st.sampled_from(["", "2026-11-20T10:00:00"])},
)


@given(rows=st.lists(ROWS, max_size=12), cut=st.integers(0, 12))
def test_ids_do_not_change_when_the_file_grows(rows: list[dict[str, str]], cut: int) -> None:
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    whole, part = parse(lines).messages, parse(lines[:cut]).messages
    assert whole[: len(part)] == part
    assert len({message.source for message in whole}) == len(whole)


@given(lines=st.lists(st.binary().map(lambda data: data.replace(b"\n", b"") + b"\n")))
def test_no_line_raises_an_error(lines: list[bytes]) -> None:
    parsed = parse([*lines, line()], session="s")
    assert parsed.messages[-1].content == "Hello"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(row=st.fixed_dictionaries({}, optional=dict.fromkeys(ROW, JSON)))
def test_every_message_can_be_stored(row: dict[str, Any]) -> None:
    for message in parse([json.dumps(row).encode() + b"\n"], session="s").messages:
        for text in (message.session, message.id, message.name, message.content):
            assert text.encode("utf-8").count(b"\0") == 0
        assert message.content.strip()
        assert message.id
