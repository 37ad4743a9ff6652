"""A retracted claim comes into no prompt again, wherever it was written down, and a superseded one only marked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from agent_home.documents.entry import Entry
from agent_home.documents.standing import Standing
from agent_home.home import Home
from assembler.prompt import Request, assemble
from assembler.recalled.ended_claims import EndedClaims
from assembler.recalled.recall_section import PassageBlock, Room

Written = Callable[..., Home]
CLAIM = Entry(
    id="RC-0001", date="2026-11-18", title="Ines: The kiln is mine.",
    fields={"Sources": "s#m2", "State": "retracted 2026-11-19, s#m4: No, it is rented."},
)  # fmt: skip
LOG = """# 2026-11-20

### Facts

- Ines: The kiln is mine. (s#m2)
  Evidence: unchecked
- Ines: It fires at 1240 degrees. (s#m3)

### Lessons

- Open it slowly. (s#m5)
"""


def test_lines_with_the_claim_are_removed_and_headings_stay() -> None:
    claims = EndedClaims.of([CLAIM])
    assert claims.applied_to(LOG) == LOG.replace("- Ines: The kiln is mine. (s#m2)\n  Evidence: unchecked\n", "")
    assert claims.applied_to("- 2026-11-20: Ines: the kiln is mine (s#m2)\n") == ""
    assert claims.mark("s#m2", "The kiln is mine.") == "retracted (2026-11-19)"
    assert claims.mark("s#m2", "The kiln is mine. It is blue.") == "in part retracted (2026-11-19)"
    assert claims.mark("s#m3", "It fires.") == ""


def test_a_resolved_entry_makes_no_retracted_claim() -> None:
    done = CLAIM.changed(fields={"State": "resolved 2026-11-19"})
    assert EndedClaims.of([done]).applied_to(LOG) == LOG


def test_a_line_with_a_superseded_statement_is_marked_unless_a_live_entry_says_it_again() -> None:
    old = Entry(id="RC-0002", date="2026-11-18", title="Open it slowly.", fields={"Superseded-By": "RC-0003"})
    new = Entry(id="RC-0003", date="2026-11-19", title="Leave it shut.")
    marked = EndedClaims.of([old, new]).applied_to(LOG)
    assert marked == LOG.replace("(s#m5)", "(s#m5) [superseded by RC-0003 (2026-11-19)]")
    again = Entry(id="RC-0004", date="2026-11-20", title="Open it slowly")
    assert EndedClaims.of([old, new, again]).applied_to(LOG) == LOG


def test_the_daily_log_of_a_prompt_leaves_the_claim_out(written: Written, now: datetime) -> None:
    memory = f"# Memory\n\n## Recent Context\n\n{CLAIM.render()}"
    text = assemble(written({"MEMORY.md": memory, f"DailyActivity/{now:%Y-%m-%d}.md": LOG}), Request(now=now)).text
    assert "kiln is mine" not in text
    assert "1240 degrees" in text


def test_recalled_knowledge_has_no_retracted_claim_and_marks_the_turn(
    written: Written, now: datetime, found: Any, finder: Any
) -> None:
    taken_back = Standing(ended="retracted", date="2026-11-19", archived=True)
    hits = {
        "archive": [found(source="Archive/MEMORY-2026-11.md#RC-0001", text=CLAIM.render(), standing=taken_back)],
        "daily": [found(source="DailyActivity/2026-11-01.md#L3", text=LOG, ts="2026-11-01")],
        "sessions": [found(source="s#m2", session="s", text="The kiln is mine.", name="Ines", ts="2026-11-01T10:00")],
    }
    receipt = assemble(written({}), Request(now=now, message="Whose kiln?"), finder(hits, ended=(CLAIM,)))
    assert receipt.text.count("kiln is mine") == 1
    assert 'user "Ines", retracted (2026-11-19): The kiln is mine.' in receipt.text
    assert "1240 degrees" in receipt.text
    (line,) = [line for line in receipt.entries if line.id.endswith("RC-0001")]
    assert (line.action, line.reason) == ("dropped", "retracted (2026-11-19), archived")


def test_a_superseded_entry_is_shown_marked_behind_its_successor_or_not_at_all(
    written: Written, now: datetime, found: Any, finder: Any
) -> None:
    text = "- **[KD-0001]** 2026-03-01 The kiln fires at 1180 degrees.\n"
    old = Standing(ended="superseded", by="KD-0002", date="2026-11-02", archived=True)
    hits = {"archive": [found(source="Archive/MEMORY-2026-11.md#KD-0001", text=text, standing=old)]}
    memory = "# Memory\n\n## Key Decisions\n\n- **[KD-0002]** 2026-11-02 The kiln fires at 1240 degrees.\n"
    request = Request(now=now, message="How hot is the kiln?")
    shown = assemble(written({"MEMORY.md": memory}), request, finder(hits)).text
    assert shown.index("1240") < shown.index("[superseded by KD-0002 (2026-11-02), archived]") < shown.index("1180")
    assert "1180" not in assemble(written({"MEMORY.md": "# Memory\n"}), request, finder(hits)).text


def test_a_passage_of_which_only_retracted_claims_are_left_gives_its_room_back(found: Any) -> None:
    block = PassageBlock(count=lambda text: len(text.split()), room=Room(200), claims=EndedClaims.of([CLAIM]))
    text = "- Ines: The kiln is mine. (s#m2)\n- Ines: It fires. (s#m3)\n"
    passage = found(source="DailyActivity/2026-11-01.md#L3", text=text)
    block.add(passage)
    assert block.release({"s#m3"}) == [passage]
    assert (block.room.left, block.text({"s#m3"})) == (200, "")
