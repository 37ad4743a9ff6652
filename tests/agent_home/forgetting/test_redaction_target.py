"""Every kind of file without a text: the rest stays, JSON stays JSON, and a transcript's offsets stay right."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.documents.document import parse
from agent_home.documents.entry import superseded_by
from agent_home.forgetting.redaction_target import (
    RedactionTarget,
    find_entries,
    matching_lines,
    redacted,
    without_empty_entries,
)
from agent_home.forgetting.text_matcher import Phrase

HERON = RedactionTarget((Phrase("blue heron"),), name="f-0a1b2c3d")
MARK = "[forgotten f-0a1b2c3d]"
MEMORY = """# Memory

## Key Decisions

- **[KD-7F3A] 2026-11-20 Code word** - it is Blue Heron, said twice.
  Sources: a#m1
- **[KD-2M0Q] 2026-11-19 Blue
  heron**
- **[KD-9X1Z] 2026-11-19 Use apsw** - stock builds lack extensions.

## Lessons Learned
"""


def test_a_mark_replaces_a_passage_and_an_emptied_entry_is_removed() -> None:
    only = MEMORY.replace("Blue\n  heron", "Blue heron")
    done = redacted("MEMORY.md", only, HERON)
    assert [entry.id for entry in parse(done).entries()] == ["KD-7F3A", "KD-9X1Z"]
    assert f"it is {MARK}, said twice." in done
    assert "stock builds lack extensions" in done
    assert done.endswith("\n## Lessons Learned\n")


LINKED = """# Memory

## Key Decisions

- **[KD-7F3A]** 2026-11-20 meet at the blue heron
  Supersedes: KD-9X1Z · Superseded-By: KD-0D0D
- **[KD-9X1Z]** 2026-11-19 meet at the inn
  Sources: a#m1 · Superseded-By: KD-7F3A · Origin: user
- **[KD-0D0D]** 2026-11-21 meet at home
  Supersedes: KD-7F3A, KD-5A5A · Origin: user

- **[KD-1B1B]** 2026-11-22 KD-7F3A is no link
  Supersedes: KD-7F3A
"""


@pytest.mark.parametrize("target", [RedactionTarget((), "KD-7F3A", "f-0a1b2c3d"), RedactionTarget(
    (Phrase("meet at the blue heron"),), name="f-0a1b2c3d")])  # fmt: skip
def test_links_to_a_forgotten_entry_go_and_what_it_superseded_stays_superseded(target: RedactionTarget) -> None:
    done = redacted("MEMORY.md", LINKED, target)
    entries = {entry.id: entry for entry in parse(done).entries()}
    assert list(entries) == ["KD-9X1Z", "KD-0D0D", "KD-1B1B"]
    assert entries["KD-9X1Z"].fields == {"Sources": "a#m1", "Superseded-By": MARK, "Origin": "user"}
    assert superseded_by(entries.values()).keys() == {"KD-9X1Z", "KD-5A5A"}
    assert entries["KD-0D0D"].fields == {"Supersedes": "KD-5A5A", "Origin": "user"}
    assert entries["KD-1B1B"].text == "KD-7F3A is no link"
    assert entries["KD-1B1B"].fields == {}
    assert "\n\n- **[KD-1B1B]" in done
    assert redacted("MEMORY.md", done, target) == done


def test_links_from_another_file_are_found() -> None:
    archive = LINKED[LINKED.index("- **[KD-9X1Z]") : LINKED.index("- **[KD-0D0D]")]
    target = RedactionTarget((), "KD-7F3A", "f-0a1b2c3d")
    assert target.may_occur_in(archive.encode())
    assert matching_lines("Archive/2026-11.md", archive, target) == [2]
    assert "KD-7F3A" not in redacted("Archive/2026-11.md", archive, target)


LESSON = """- **[CR-Y9HE]** 2026-11-20 {}
  Wrong: on Tuesdays
  Occurrences: 1 (2026-11-20)
  Sources: a#m1 · Origin: user
"""


@pytest.mark.parametrize("path", ["EVOLUTION.md", "Archive/EVOLUTION-2026-11.md", "Projects/p/notes.md"])
def test_an_entry_with_only_lines_about_an_erased_statement_is_removed(path: str) -> None:
    text = "# Evolution\n\n## Corrections\n\n{}\n## Capabilities\n"
    assert redacted(path, text.format(LESSON.format("Blue Heron.")), HERON) == text.format("")
    kept = text.format(LESSON.format("The word is [forgotten f-0a1b2c3d]"))
    assert redacted(path, text.format(LESSON.format("The word is Blue Heron")), HERON) == kept
    noted = text.format(LESSON.format(MARK).replace("Wrong:", "Call Ana on Monday. Wrong:"))
    assert without_empty_entries(path, noted) == noted
    assert without_empty_entries(path, text.format(LESSON.format(MARK))) == text.format("")
    assert without_empty_entries(path, kept) == kept


def test_an_empty_entry_of_a_person_stays() -> None:
    text = "# M\n\n- **[KD-7F3A]**\n- **[KD-7F3B]** [forgotten f-0a1b2c3d] and more\n"
    assert without_empty_entries("MEMORY.md", text) == text


def test_an_entry_is_removed_with_all_its_paragraphs() -> None:
    text = MEMORY.replace("  Sources: a#m1\n", "  Sources: a#m1\n\n  A second paragraph.\n\n")
    done = redacted("MEMORY.md", text, RedactionTarget((), "KD-7F3A"))
    assert "Code word" not in done
    assert "second paragraph" not in done
    assert [entry.id for entry in parse(done).entries()] == ["KD-9X1Z"]
    assert "**[KD-2M0Q] 2026-11-19 Blue" in done


def test_a_passage_over_two_blocks_is_found() -> None:
    done = redacted("Knowledge/k.md", "# Blue\n\nheron is the word\n", HERON)
    assert done == f"# {MARK} is the word\n"


def test_entries_are_found_in_any_version() -> None:
    (entry,) = find_entries(MEMORY, "KD-7F3A")
    assert entry.body == "it is Blue Heron, said twice."
    assert list(find_entries(MEMORY, "KD-0000")) == []


def row(content: str, **more: str) -> str:
    values = {"session": "s", "id": "m1", "ts": "", "role": "user", "name": "", "content": content, "source": "user"}
    return json.dumps({**values, **more}, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    "content",
    ["The word is Blue Heron.", "blue heron", "blue heron " * 9, "蓝 \uff22lue Heron 鹭", 'a "Blue\nHeron" b'],
)
def test_a_line_of_a_transcript_keeps_its_length_and_its_other_fields(content: str) -> None:
    text = row("before") + row(content, name="Blue Heron") + row("after")
    done = redacted("sessions/2026/11/s.jsonl", text, HERON)
    lines, old = done.encode().split(b"\n"), text.encode().split(b"\n")
    assert [len(line) for line in lines] == [len(line) for line in old]
    assert (lines[0], lines[2]) == (old[0], old[2])
    values = json.loads(lines[1])
    assert not HERON.occurs_in(values["content"] + values["name"])
    assert {key: values[key] for key in ("session", "id", "role")} == {"session": "s", "id": "m1", "role": "user"}
    assert "]" in values["content"]


def test_a_shorter_mark_is_used_in_a_short_line() -> None:
    short = RedactionTarget((Phrase("a bc"),), name="f-0a1b2c3d")
    text = '{"session":"s","id":"m","content":"a bc a bc a bc"}\n'
    done = redacted("sessions/2026/11/s.jsonl", text, short)
    assert len(done.encode()) == len(text)
    assert json.loads(done) == {"session": "s", "id": "m", "content": "  "}
    roomy = redacted("sessions/2026/11/s.jsonl", text.replace(",", ",  "), short)
    assert json.loads(roomy)["content"] == "[…] […] […]"


@given(st.text(min_size=1), st.integers(0, 3), st.booleans())
def test_no_line_of_a_transcript_ever_changes_its_length(content: str, times: int, escaped: bool) -> None:
    said = content + "blue  heron" * times
    line = json.dumps({"session": "s", "id": "m", "content": said}, ensure_ascii=escaped) + "\n"
    if not escaped:
        line = line.encode("utf-8", "backslashreplace").decode()
    done = redacted("sessions/2026/11/s.jsonl", line, HERON)
    assert len(done.encode()) == len(line.encode())
    assert done.endswith("\n")
    assert not HERON.occurs_in(done)
    assert matching_lines("sessions/2026/11/s.jsonl", done, HERON) == []


def test_field_names_are_not_redacted() -> None:
    said = RedactionTarget((Phrase("content"),))
    line = row("nothing")
    assert redacted("sessions/2026/11/s.jsonl", line, said) == line
    assert json.loads(redacted("sessions/2026/11/s.jsonl", row("my content"), said))["content"].startswith("my [")


def test_an_invalid_json_line_is_redacted_too() -> None:
    done = redacted("sessions/2026/11/s.jsonl", '{"content": "Blue Heron\n', HERON)
    assert "Heron" not in done
    assert len(done.encode()) == len('{"content": "Blue Heron\n')


def test_a_json_document_keeps_its_shape() -> None:
    text = json.dumps({"id": "q-1", "text": "Blue Heron", "findings": [{"kind": "x"}]}, indent=1)
    done = redacted(".memory/quarantine/q-1.json", text, HERON)
    assert done == text.replace("Blue Heron", MARK)


def test_the_mark_never_contains_the_target() -> None:
    for said in ("forgotten", "removed", "f-0a1b2c3d", "0a1b"):
        target = RedactionTarget((Phrase(said),), name="f-0a1b2c3d")
        assert not target.occurs_in(target.redact(f"x {said} y"))


def test_lines_are_counted_from_one() -> None:
    assert matching_lines("MEMORY.md", MEMORY, HERON) == [5, 7]
    assert matching_lines("MEMORY.md", MEMORY, RedactionTarget((), "KD-9X1Z")) == [9]
    assert matching_lines("a.jsonl", '{"a":"x"}\n{"a":"blue heron"}\n', HERON) == [2]


@pytest.mark.parametrize("key", ["session", "id", "name", "content", "cwd", "account", "channel", "thread"])
def test_no_text_of_a_host_in_a_line_of_a_transcript_stays(key: str) -> None:
    row = {"session": "s", "id": "m1", "ts": "2026-11-20", "role": "user", "name": "", "content": "hello"}
    line = json.dumps({**row, "source": "user", "said": "0011", key: "the blue heron of the north"}) + "\n"
    path = "sessions/2026/11/s.jsonl"
    done = redacted(path, line, HERON)
    assert "heron" not in done
    assert len(done) == len(line)
    assert matching_lines(path, line, HERON) == [1]
