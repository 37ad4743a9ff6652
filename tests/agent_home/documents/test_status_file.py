"""A status file is edited item by item, and every other byte stays."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_home.documents.status_file import ContextReference, StatusFile, StatusTask
from tests.strategies import markdown_texts

BY_HAND = """# Tests of the importer

* **Phase**: Testing
* State: red
Some words of mine.

## Notes

- Phase: not this one

```
## Tasks
- [ ] in a fence
```

## Tasks

- [x] Write the reader
  - [ ] a step of it
- [ ] Fixing test_auth

Words below.

## Context References

- Test Results: `mem-20260123-123456-abcd` (12000 tokens)
- Build Log: `mem-20260123-123457-efgh` (3200 tokens)

Use `memory fetch <id>` to retrieve full content.
"""
FRONT = "---\ntitle: Status of the importer\n# a comment\n- Phase: none\n\ntags: [a]\n---\n"
LONG = 200_000
LONG_LINES = (
    "- " + " " * LONG, "- " + "a " * (LONG // 2), "- a" + " " * LONG + ": x", "- " + ":" * LONG,
    "- " + ": `mem-" * (LONG // 7), "- " + "`mem-a`" * (LONG // 7), "-" + "\t" * LONG + ":", "- " * (LONG // 2),
    "- a: `mem-" + "a" * LONG, "- [ ]" + " " * LONG, "- phase" + " " * LONG, "1. " * (LONG // 3), "*" * LONG,
    "- **" + "*" * LONG, "# a" + " " * LONG + "b", "# " + "# " * (LONG // 2) + "b", "> " * (LONG // 2), "#" * LONG,
    "- a: `mem-a`" + " " * LONG + "(", "---\n" + "-" * LONG, "---\n" + "a" * LONG, "- [" * (LONG // 3),
    "- a\n" * (LONG // 16), "---\n" + "--- x\n" * (LONG // 6), "- a\n  - b\n" * (LONG // 40), "\r" * LONG,
)  # fmt: skip


def test_what_a_person_wrote_is_read() -> None:
    status = StatusFile(BY_HAND)
    assert (status.field("Phase"), status.field("State"), status.field("Updated")) == ("Testing", "red", "")
    assert status.tasks == [
        StatusTask(text="Write the reader", done=True), StatusTask(text="a step of it"),
        StatusTask(text="Fixing test_auth"),
    ]  # fmt: skip
    assert [(ref.name, ref.output, ref.tokens) for ref in status.references] == [
        ("Test Results", "mem-20260123-123456-abcd", 12000), ("Build Log", "mem-20260123-123457-efgh", 3200),
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("lead", ["", FRONT, "\ufeff", "\n\n\n"])
def test_an_edit_changes_its_item_alone(end: str, lead: str) -> None:
    text = (lead + BY_HAND).replace("\n", end)
    edited = StatusFile(text).with_field("Phase", "Release").with_task("fixing TEST_AUTH", done=True)
    assert edited.text == text.replace("* **Phase**: Testing", "* **Phase**: Release").replace(
        "- [ ] Fixing test_auth", "- [x] Fixing test_auth"
    )
    added = StatusFile(text).with_task("Ship it")
    assert added.text == text.replace(f"- [ ] Fixing test_auth{end}", f"- [ ] Fixing test_auth{end}- [ ] Ship it{end}")
    again = added.with_reference(ContextReference(name="Build", output="mem-20260123-123457-efgh", tokens=5))
    assert again.text == added.text.replace(
        "Build Log: `mem-20260123-123457-efgh` (3200", "Build: `mem-20260123-123457-efgh` (5"
    )


def test_an_empty_file_becomes_a_status() -> None:
    status = StatusFile("").with_field("Phase", "Testing").with_field("State", "green").with_task("One")
    status = status.with_reference(ContextReference(name="Log", output="mem-1", tokens=7))
    assert status.text == (
        "# Status\n\n- Phase: Testing\n- State: green\n\n## Tasks\n\n- [ ] One\n\n"
        "## Context References\n\n- Log: `mem-1` (7 tokens)\n"
    )


def test_an_empty_section_gets_its_first_item() -> None:
    assert StatusFile("# S\n\n## Tasks\n\n## Other\n\nx\n").with_task("One").text == (
        "# S\n\n## Tasks\n\n- [ ] One\n\n## Other\n\nx\n"
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (FRONT, FRONT + "\n# Status\n\n- Phase: Release\n"),
        (FRONT + "Words.\n", FRONT + "\n- Phase: Release\n\nWords.\n"),
        (FRONT + "\n\nWords.\n", FRONT + "\n- Phase: Release\n\n\nWords.\n"),
        (FRONT.rstrip(), FRONT + "\n# Status\n\n- Phase: Release\n"),
        ("---\r\na: b\r\n---\r\n## T\r\n", "---\r\na: b\r\n---\r\n\r\n- Phase: Release\r\n\r\n## T\r\n"),
        ("---\n\nWords.\n", "- Phase: Release\n\n---\n\nWords.\n"),
        ("\n\n# S\n\n\n\nWords.\n", "\n\n# S\n\n- Phase: Release\n\n\n\nWords.\n"),
        ("\n\n", "\n\n# Status\n\n- Phase: Release\n"),
        ("# S\r\rWords.\r", "# S\r\r- Phase: Release\r\rWords.\r"),
        ("# S\n\n- Phase: Test\n  of the crane\n- State: red\n", "# S\n\n- Phase: Release\n- State: red\n"),
        ("- Phase:\n", "- Phase: Release\n"),
        ("1. **Phase:** Test  \n", "1. **Phase:** Release\n"),
        ("\ufeff# S\n", "\ufeff# S\n\n- Phase: Release\n"),
    ],
)  # fmt: skip
def test_a_field_changes_nothing_around_it(text: str, wanted: str) -> None:
    edited = StatusFile(text).with_field("Phase", "Release")
    assert edited.text == wanted
    assert edited.field("Phase") == "Release"
    assert edited.with_field("Phase", "Release") == edited


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("-\t[ ]\tShip  it\n", "-\t[x]\tShip  it\n"),
        ("1. [ ] Ship it\n2. [ ] Other\n", "1. [x] Ship it\n2. [ ] Other\n"),
        ("- Work\n  - [ ] ship it\n", "- Work\n  - [x] ship it\n"),
        ("- [ ] Ship\n  it\n", "- [x] Ship\n  it\n"),
        ("- [ ] Ship it\n  on Monday\n", "- [x] Ship it\n  on Monday\n"),
        ("10) [X] Ship it", "10) [x] Ship it"),
    ],
)
def test_a_task_in_any_list_is_marked_where_it_stands(before: str, after: str) -> None:
    assert StatusFile(f"## Tasks\n\n{before}").with_task("Ship it", done=True).text == f"## Tasks\n\n{after}"


@pytest.mark.parametrize("line", LONG_LINES, ids=range(len(LONG_LINES)))
def test_a_long_line_of_any_shape_is_read_at_once(line: str) -> None:
    begun = time.process_time()
    for text in (line, f"# S\n\n{line}\n\n## Tasks\n\n{line}\n\n## Context References\n\n{line}\n"):
        status = StatusFile(text)
        assert status.field("Phase") == ""
        assert len(status.tasks) + len(status.references) < LONG
        status.with_field("Phase", "x").with_task("y").with_reference(ContextReference(name="z", output="mem-z"))
    assert time.process_time() - begun < 10


def removed(text: str, edited: str) -> str:
    """What of *text* is not in *edited*, between the longest beginning and the longest end that both have."""
    start = next(
        (at for at, (a, b) in enumerate(zip(text, edited, strict=False)) if a != b), min(len(text), len(edited))
    )
    end = 0
    while end < min(len(text), len(edited)) - start and text[-1 - end] == edited[-1 - end]:
        end += 1
    return text[start : len(text) - end]


Edit = tuple[Callable[[StatusFile], StatusFile], Callable[[StatusFile], bool]]


def edits(name: str) -> list[Edit]:
    """Edits that add something, each with what finds it."""
    reference = ContextReference(name="z", output="mem-z")
    return [
        (lambda s: s.with_field(name, "zebra"), lambda s: s.field(name) == "zebra"),
        (lambda s: s.with_task("zebra"), lambda s: StatusTask(text="zebra") in s.tasks),
        (lambda s: s.with_reference(reference), lambda s: reference in s.references),
    ]


LEADS = st.sampled_from(
    ["", "", FRONT, "\ufeff", "\n\n", "# S\n\n- Phase: old\n\n", "## Tasks\n", "\r\r", "1. [ ] one\n"]
)


@given(LEADS, markdown_texts(), st.sampled_from(["Phase", "State", "Updated"]))
@example(FRONT, "", "State")
def test_any_file_keeps_every_byte_and_gets_what_was_added(lead: str, rest: str, name: str) -> None:
    text = lead + rest
    for edit, found in edits(name):
        status = StatusFile(text)
        edited = edit(status)
        assert removed(text, edited.text) in {"", "old"}, (text, edited.text)
        assert edited.text.startswith(lead if lead in {FRONT, "\ufeff"} else "")
        if not any(mark in text for mark in ("```", "~~~", "<")):  # these may swallow the rest of a file
            assert found(edited), (text, edited.text)
            assert edit(edited) == edited
