"""Test that a prompt leaves out superseded entries, and that the receipt names their successors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from agent_home.home import Home
from assembler.prompt import Request, assemble
from assembler.receipt import EntryLine
from assembler.section import make_section

Written = Callable[..., Home]
DECISIONS = """# Memory

## Key Decisions

- **[KD-0003] 2026-11-03 Ship on Wednesday**
  Supersedes: KD-0002
- **[KD-0002] 2026-11-02 Ship on Tuesday**
- **[KD-0001] 2026-11-01 Ship on Monday**
  Superseded-By: KD-0002

## Lessons Learned

- **[LL-0001] 2026-11-01 Check the budget**
"""


def words(text: str) -> int:
    return len(text.split())


def test_superseded_entries_are_not_in_the_prompt_and_the_receipt_says_why(written: Written, now: datetime) -> None:
    receipt = assemble(written({"MEMORY.md": DECISIONS}), Request(now=now))
    assert "Wednesday" in receipt.text
    assert "Supersedes: KD-0002" in receipt.text
    assert "Tuesday" not in receipt.text
    assert "Monday" not in receipt.text
    assert [line for line in receipt.entries if line.reason.startswith("superseded")] == [
        EntryLine(id="KD-0002", action="dropped", reason="superseded by KD-0003", tokens=0),
        EntryLine(id="KD-0001", action="dropped", reason="superseded by KD-0002", tokens=0),
    ]


def test_resolved_and_retracted_entries_are_not_in_the_prompt(written: Written, now: datetime) -> None:
    text = DECISIONS.replace("Check the budget**", "Check the budget**\n  State: retracted 2026-11-20, s#m1")
    receipt = assemble(written({"MEMORY.md": text}), Request(now=now))
    assert "Check the budget" not in receipt.text
    assert [line.reason for line in receipt.entries if line.id == "LL-0001"] == ["retracted 2026-11-20, s#m1"]


def test_superseded_entries_are_left_out_of_a_partial_memory(
    written: Written, now: datetime, memory: Callable[..., str]
) -> None:
    text = memory(400).replace("  Evidence: unchecked 7\n", "  Superseded-By: KD-0008\n")
    receipt = assemble(written({"MEMORY.md": text}), Request(now=now, window=64_000))
    assert any(line.action == "indexed" for line in receipt.entries)
    assert "KD-0008" in receipt.text
    assert "[KD-0007]" not in receipt.text
    assert [line.reason for line in receipt.entries if line.id == "KD-0007"] == ["superseded by KD-0008"]


def test_the_lines_around_a_superseded_entry_stay_as_they_are() -> None:
    text = make_section("MEMORY", DECISIONS, "oldest-first", words).text
    assert text == DECISIONS.replace("- **[KD-0002] 2026-11-02 Ship on Tuesday**\n", "").replace(
        "- **[KD-0001] 2026-11-01 Ship on Monday**\n  Superseded-By: KD-0002\n", ""
    )


def test_a_section_with_only_superseded_entries_is_left_out() -> None:
    text = "# M\n\n## A\n\n- **[KD-0001] x**\n  Superseded-By: KD-0002\n\n## B\n\n- **[LL-0001] y**\n"
    assert make_section("M", text, "oldest-first", words).text == "# M\n\n## B\n\n- **[LL-0001] y**\n"
    alone = make_section("M", text.partition("## B")[0], "oldest-first", words)
    assert (alone.text, alone.superseded) == ("", (("KD-0001", "KD-0002"),))


@pytest.mark.parametrize("field", ["Supersedes", "Superseded-By"])
def test_entries_that_supersede_each_other_are_all_shown(field: str) -> None:
    text = f"# M\n\n- **[KD-0001] x**\n  {field}: KD-0002\n- **[KD-0002] y**\n  {field}: KD-0001\n"
    assert make_section("M", text, "oldest-first", words).text == text
