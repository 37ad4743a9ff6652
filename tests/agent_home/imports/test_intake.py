"""Importing stores new messages once, screened, and reports counts."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_home.home import Home
from agent_home.imports import (
    batch,
    host_messages,
    import_chat,
    import_claude_code,
    import_host,
    import_messages,
)
from agent_home.imports.batch import file_lines
from agent_home.screening.injected_context import marked
from agent_home.store import transcript

KEY = "AKIA" + "Q3EGRT5L" + "WX2NPK7D"


def row(content: str, name: str, session: str = "s", **changes: Any) -> str:
    return json.dumps(
        {"session": session, "id": name, "ts": "2026-11-20T14:02:00", "role": "user", "content": content, **changes}
    )


def write(path: Path, *rows: str, end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(("\n".join(rows) + end).encode("utf-8"))
    return path


def stored(home: Home, session: str) -> list[str]:
    path = transcript.session_path(home, session)
    assert path is not None
    return [turn.message.content for turn in transcript.read(path)]


def test_messages_are_stored_in_order_and_counted(home: Home, tmp_path: Path, now: datetime) -> None:
    file = write(tmp_path / "a.jsonl", row("one", "1"), "{", row("elsewhere", "1", "t"), row("two", "2"))
    done = import_chat(home, [file], now=now)
    assert (done.files, done.messages, done.duplicates) == (1, 3, 0)
    assert done.sessions == ("s", "t")
    assert dict(done.skipped) == {"not-json": 1}
    assert stored(home, "s") == ["one", "two"]
    assert stored(home, "t") == ["elsewhere"]


def test_importing_again_adds_nothing(home: Home, tmp_path: Path, now: datetime) -> None:
    rows = [row("one", "1"), row("other words", "1"), row("no id", ""), row("no id", ""), row(f"key {KEY}", "5")]
    file = write(tmp_path / "a.jsonl", *rows)
    first = import_chat(home, [file], now=now)
    before = {path: path.read_bytes() for path in home.sessions.rglob("*.jsonl")}
    again = import_chat(home, [file, file], now=now)
    assert first.messages == 5
    assert (again.messages, again.sessions, again.duplicates) == (0, (), 5)
    assert {path: path.read_bytes() for path in home.sessions.rglob("*.jsonl")} == before


def test_a_grown_file_adds_its_new_messages(home: Home, tmp_path: Path, now: datetime) -> None:
    file = write(tmp_path / "a.jsonl", row("one", "1"), row("预算冻结", "2")[:-4], end="")
    first = import_chat(home, [file], now=now)
    assert (first.messages, first.waiting, first.skipped.total()) == (1, 1, 0)
    write(file, row("one", "1"), row("预算冻结", "2"), row("three", "3"), end="")
    second = import_chat(home, [file], now=now)
    assert (second.messages, second.waiting, second.duplicates) == (2, 0, 1)
    assert stored(home, "s") == ["one", "预算冻结", "three"]


def test_a_secret_is_redacted_before_anything_is_stored(home: Home, tmp_path: Path, now: datetime) -> None:
    done = import_chat(home, [write(tmp_path / "a.jsonl", row(f"the key is {KEY}, keep it", "1"))], now=now)
    assert done.redacted == 1
    assert not [path for path in home.root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert "keep it" in stored(home, "s")[0]


def test_a_secret_in_a_name_is_not_stored(home: Home, tmp_path: Path, now: datetime) -> None:
    file = write(tmp_path / "a.jsonl", row("words", f"call {KEY}", KEY, cwd=f"/srv/{KEY}", ts=KEY))
    assert import_chat(home, [file], now=now).messages == 1
    assert import_chat(home, [file], now=now).messages == 0
    assert not [path for path in home.root.rglob("*") if KEY in str(path)]
    assert not [path for path in home.root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert stored(home, KEY) == ["words"]


def test_injected_text_is_not_imported(home: Home, tmp_path: Path, now: datetime) -> None:
    file = write(
        tmp_path / "a.jsonl",
        row(f"{marked('# Memory')}\n\nWhat is open?", "1"),
        row("<agent-home-recall session='s'>fact</agent-home-recall>", "2", role="system"),
    )
    done = import_chat(home, [file], now=now)
    assert stored(home, "s") == ["What is open?"]
    assert dict(done.skipped) == {"injected": 1}


def test_a_folder_imports_the_session_files_below_it(home: Home, tmp_path: Path, now: datetime) -> None:
    def line(words: str) -> str:
        return json.dumps({"type": "user", "uuid": words, "message": {"role": "user", "content": words}})

    write(tmp_path / "projects" / "a" / "one.jsonl", line("first"))
    write(tmp_path / "projects" / "b" / "deep" / "two.jsonl", line("second"))
    write(tmp_path / "projects" / "notes.txt", "no session")
    (tmp_path / "projects" / "folder.jsonl").mkdir()
    done = import_claude_code(home, [tmp_path / "projects"], now=now)
    assert (done.files, done.sessions) == (2, ("one", "two"))
    assert stored(home, "two") == ["second"]


def test_any_session_id_can_be_imported(home: Home, tmp_path: Path, now: datetime) -> None:
    names = ["channel/2026", "会话 一", "x" * 3000, "../../up", "a\nb", "C:\\x", "." * 3]
    file = write(tmp_path / "a.jsonl", *(row(name, "1", name) for name in names))
    done = import_chat(home, [file], now=now)
    assert done.sessions == tuple(transcript.session_name(home, name) for name in names)
    assert [name for name, kept in zip(names, done.sessions, strict=True) if name != kept] == ["x" * 3000, "a\nb"]
    for name in names:
        assert stored(home, name) == [name]
    assert import_chat(home, [file], now=now).messages == 0
    assert not [path for path in tmp_path.rglob("*.jsonl") if home.root not in path.parents and path != file]


def test_an_unreadable_file_is_named_and_the_others_are_imported(home: Home, tmp_path: Path, now: datetime) -> None:
    missing, file = tmp_path / "missing.jsonl", write(tmp_path / "a.jsonl", row("one", "1"))
    done = import_chat(home, [missing, file], now=now)
    assert [(item.path, bool(item.reason)) for item in done.unread] == [(missing, True)]
    assert done.messages == 1


def test_bytes_written_during_reading_are_left_for_the_next_import(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", row("one", "1"), row("two", "2")[:9], end="")
    lines = []
    for line in file_lines(file):
        lines.append(line)
        with file.open("ab") as writer:
            writer.write(b"more\n")
    assert len(lines) == 2
    assert lines[1] == row("two", "2")[:9].encode()


def test_a_huge_line_is_skipped_without_reading_it_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MAX_LINE_BYTES", 100)
    file = tmp_path / "a.jsonl"
    for tail in (b"\n", b"", b"\nlast"):
        file.write_bytes(b"first\n" + b"x" * 1000 + tail)
        lines = list(file_lines(file))
        assert [len(line) for line in lines[:2]] == [6, 101 + tail.startswith(b"\n")]
        assert lines[2:] == ([b"last"] if tail == b"\nlast" else [])


def test_messages_of_a_host_are_appended_once(home: Home, now: datetime) -> None:
    rows = [{"id": "1", "role": "user", "content": "Hello"}, {"id": "2", "role": "assistant", "content": "Hello, Sam."}]
    assert import_messages(home, "talk", rows, now=now).messages == 2
    again = import_messages(home, "talk", [*rows, {"id": "3", "role": "user", "content": "Bye"}], now=now)
    assert (again.messages, again.duplicates) == (1, 2)


def test_a_host_that_names_no_folder_gets_that_of_the_session(home: Home, now: datetime, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text('{"sessionId": "s1"}\n{"id": "m1", "type": "user", "content": "Hello"}\n')
    assert [message.content for message in host_messages("gemini", file, "s1")] == ["Hello"]
    import_host(home, "gemini", file, session="s1", cwd="/srv/shop", now=now)
    (stored,) = [turn.message for item in transcript.sessions(home) for turn in transcript.read(item.path)]
    assert stored.cwd == "/srv/shop"


HOST_FILES: dict[str, tuple[dict[str, Any], ...]] = {
    "claude-code": (
        {
            "type": "user", "uuid": "u1", "sessionId": "s1", "cwd": "/srv",
            "message": {"role": "user", "content": "Hello"},
        },
        {
            "type": "assistant", "uuid": "u2", "sessionId": "s1", "cwd": "/srv",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello, Sam."}]},
        },
    ),
    "codex": (
        {"type": "session_meta", "payload": {"id": "s1", "cwd": "/srv"}},
        *(
            {"type": "response_item", "payload": {"type": "message", "role": role, "content": [{"text": text}]}}
            for role, text in (("user", "Hello"), ("assistant", "Hello, Sam."))
        ),
    ),
    "gemini": (
        {"sessionId": "s1", "kind": "main"},
        {"id": "m1", "type": "user", "content": [{"text": "Hello"}]},
        {"id": "m2", "type": "gemini", "content": "Hello, Sam."},
    ),
}  # fmt: skip


@pytest.fixture(params=list(HOST_FILES))
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def host_file(host: str, tmp_path: Path) -> Path:
    return write(tmp_path / "s1.jsonl", *map(json.dumps, HOST_FILES[host]))


def test_a_session_of_each_host_is_imported_once_and_goes_on(
    home: Home, host: str, host_file: Path, now: datetime
) -> None:
    lines = host_file.read_bytes().splitlines(keepends=True)
    host_file.write_bytes(b"".join(lines[:-1]) + lines[-1][:12])
    first = import_host(home, host, host_file, session="s1", now=now)
    assert (first.sessions, first.messages, first.waiting) == (("s1",), 1, 1)
    host_file.write_bytes(b"".join(lines))
    second = import_host(home, host, host_file, session="s1", now=now)
    assert (second.messages, second.duplicates) == (1, 1)
    assert import_host(home, host, host_file, session="s1", now=now).messages == 0
    assert stored(home, "s1") == ["Hello", "Hello, Sam."]


def test_the_folder_of_the_file_counts_before_that_of_the_session(
    home: Home, host: str, host_file: Path, now: datetime
) -> None:
    import_host(home, host, host_file, session="s1", cwd="/elsewhere", now=now)
    path = transcript.session_path(home, "s1")
    assert path is not None
    assert {turn.message.cwd for turn in transcript.read(path)} == {"/elsewhere" if host == "gemini" else "/srv"}


def test_messages_of_a_host_stand_as_they_are_and_nothing_is_stored(
    home: Home, host: str, host_file: Path, now: datetime
) -> None:
    found = host_messages(host, host_file, "s1")
    assert [(item.session, item.role, item.content) for item in found] == [
        ("s1", "user", "Hello"), ("s1", "assistant", "Hello, Sam."),
    ]  # fmt: skip
    assert list(transcript.sessions(home)) == []


def test_rows_of_another_session_are_left_out_and_counted(
    home: Home, host: str, host_file: Path, now: datetime
) -> None:
    done = import_host(home, host, host_file, session="s2", now=now)
    assert (done.sessions, done.messages, done.skipped["other-session"]) == ((), 0, 2)
    assert host_messages(host, host_file, "s2") == ()
    assert list(transcript.sessions(home)) == []


def test_an_unknown_host_is_an_error_and_a_missing_file_is_named(
    home: Home, host: str, host_file: Path, now: datetime
) -> None:
    with pytest.raises(KeyError):
        import_host(home, "no-host", host_file, session="s1", now=now)
    host_file.unlink()
    assert [item.path for item in import_host(home, host, host_file, session="s1", now=now).unread] == [host_file]
    with pytest.raises(FileNotFoundError):
        host_messages(host, host_file, "s1")


def test_a_secret_in_a_file_of_a_host_is_not_stored(home: Home, host: str, host_file: Path, now: datetime) -> None:
    host_file.write_text(host_file.read_text().replace("Hello, Sam.", f"The key is {KEY}"))
    assert import_host(home, host, host_file, session="s1", now=now).redacted == 1
    assert KEY not in "".join(stored(home, "s1"))
    assert [KEY in item.content for item in host_messages(host, host_file, "s1")] == [False, True]


def test_appended_rows_belong_to_the_session_that_is_named(home: Home, now: datetime) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "session": "other", "role": "user", "content": "Hello"},
        {"id": "2", "role": "nobody", "content": "x"},
        {"id": "3", "role": "user"},
        {"id": "4", "role": "user", "content": marked("The server is called heron")},
    ]
    done = import_messages(home, "talk", rows, now=now)
    assert (done.sessions, done.messages, done.skipped.total()) == (("talk",), 1, 3)
    assert stored(home, "talk") == ["Hello"]
    assert transcript.session_path(home, "other") is None


def test_a_known_id_with_other_words_is_kept_beside_the_first(home: Home, now: datetime) -> None:
    assert import_messages(home, "talk", [{"id": "1", "role": "user", "content": "Hello"}], now=now).revised == 0
    changed = import_messages(home, "talk", [{"id": "1", "role": "user", "content": "Hello there"}], now=now)
    assert (changed.messages, changed.revised) == (1, 1)
    assert stored(home, "talk") == ["Hello", "Hello there"]


def test_no_rows_make_no_session(home: Home, now: datetime) -> None:
    assert import_messages(home, "talk", [], now=now).sessions == ()
    assert transcript.session_path(home, "talk") is None
