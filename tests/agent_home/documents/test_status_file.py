"""A status file is edited item by item, and every other byte stays."""

from __future__ import annotations

import pytest
from hypothesis import given
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


def test_what_a_person_wrote_is_read() -> None:
    status = StatusFile(BY_HAND)
    assert (status.field("Phase"), status.field("State"), status.field("Updated")) == ("Testing", "red", "")
    assert status.tasks == [StatusTask(text="Write the reader", done=True), StatusTask(text="Fixing test_auth")]
    assert [(ref.name, ref.output, ref.tokens) for ref in status.references] == [
        ("Test Results", "mem-20260123-123456-abcd", 12000), ("Build Log", "mem-20260123-123457-efgh", 3200),
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_edit_changes_its_item_alone(end: str) -> None:
    text = BY_HAND.replace("\n", end)
    edited = StatusFile(text).with_field("Phase", "Release").with_task("fixing TEST_AUTH", done=True)
    assert edited.text == text.replace("* **Phase**: Testing", "* **Phase**: Release").replace(
        "- [ ] Fixing test_auth", "- [x] Fixing test_auth"
    )
    added = StatusFile(text).with_task("Ship it")
    assert added.text == text.replace(f"- [ ] Fixing test_auth{end}", f"- [ ] Fixing test_auth{end}- [ ] Ship it{end}")
    again = added.with_reference(ContextReference(name="Build", output="mem-20260123-123457-efgh", tokens=5))
    assert "- Build: `mem-20260123-123457-efgh` (5 tokens)" in again.text
    assert len(again.references) == 2


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


@given(markdown_texts(), st.sampled_from(["Phase", "State", "Updated"]))
def test_any_file_keeps_its_lines_and_gets_what_was_added(text: str, name: str) -> None:
    for edited, found in (
        (StatusFile(text).with_field(name, "zebra"), lambda s: s.field(name) == "zebra"),  # type: ignore[arg-type]
        (StatusFile(text).with_task("zebra"), lambda s: StatusTask(text="zebra") in s.tasks),
        (
            StatusFile(text).with_reference(ContextReference(name="z", output="mem-z")),
            lambda s: "mem-z" in {ref.output for ref in s.references},
        ),
    ):
        rest = iter(edited.text.splitlines())
        kept = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("-", "*", "+"))]
        assert all(line in rest for line in kept), (text, edited.text)
        if not any(mark in text for mark in ("```", "~~~", "<")):  # these may swallow the rest of a file
            assert found(edited), (text, edited.text)
