"""An entry leads to its commits, its sessions and the turns that it cites, wherever it is now."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home.documents.entry import Entry
from agent_home.errors import NoSuchEntry
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.lineage import lineage
from agent_home.store.proposals import ProposalDraft
from agent_home.store.transcript import Message

ENTRY = Entry(id="KD-7F3A", date="2026-11-20", title="Ship on Monday", fields={"Sources": "s-1#m2, s-9#m1"})


@pytest.fixture(autouse=True)
def _said(home: Home, now: datetime) -> None:
    said = [
        Message(session="s-1", id="m1", ts="2026-11-20T10:00:00", content="When?"),
        Message(session="s-1", id="m2", ts="2026-11-20T10:01:00", role="assistant", content="Ship on Monday."),
    ]
    transcript.append(home, "s-1", said, actor="import", now=now)
    with transaction(home, actor="close", message="Close", session="s-1", now=now) as edits:
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", ENTRY))
        edits.trailer("Evidence", "verified 3f9c2e1")


def test_a_live_entry_leads_to_its_commit_session_and_turns(home: Home) -> None:
    found = lineage(home, " [kd-7f3a] ")
    assert (found.id, found.state, found.path) == ("KD-7F3A", "live", "MEMORY.md")
    (event,) = found.events
    assert (event.action, event.session, event.evidence, event.actor) == ("added", "s-1", "verified 3f9c2e1", "close")
    cited, elsewhere = found.turns
    assert (cited.source, cited.role, cited.text, cited.ts) == (
        "s-1#m2", "assistant", "Ship on Monday.", "2026-11-20T10:01:00",
    )  # fmt: skip
    assert (elsewhere.source, elsewhere.found) == ("s-9#m1", False)


def test_an_archived_entry_and_a_removed_one_are_told_as_well(home: Home, now: datetime) -> None:
    with transaction(home, actor="archive", message="Archive", now=now) as edits:
        edits.write("MEMORY.md", edits.read("MEMORY.md").without_entry("KD-7F3A"))
        edits.write("Archive/MEMORY-2026-11.md", f"# Archive\n\n## Key Decisions\n\n{ENTRY.render()}")
    archived = lineage(home, "KD-7F3A")
    assert (archived.state, [event.action for event in archived.events]) == ("archived", ["added", "archived"])
    with transaction(home, actor="test", message="Remove", now=now) as edits:
        edits.write("Archive/MEMORY-2026-11.md", "# Archive\n")
    removed = lineage(home, "KD-7F3A")
    assert (removed.state, removed.events[-1].action) == ("removed", "removed")
    assert removed.entry is not None
    assert (removed.entry.title, removed.turns[0].text) == ("Ship on Monday", "Ship on Monday.")


def test_the_state_says_what_ended_an_entry_and_when(home: Home, now: datetime) -> None:
    newer = Entry(id="KD-0002", date="2026-11-25", title="Ship on Friday", fields={"Supersedes": "KD-7F3A"})
    state = {"State": "retracted 2026-11-26, s-1#m2: No, never."}
    taken_back = Entry(id="RC-0003", date="2026-11-20", title="It ships", fields=state)
    with transaction(home, actor="close", message="m", now=now) as edits:
        memory = edits.read("MEMORY.md")
        edits.write("MEMORY.md", memory.with_entries([("Key Decisions", newer), ("Recent Context", taken_back)]))
    old = lineage(home, "KD-7F3A")
    assert (old.state, old.words) == ("superseded", "superseded by KD-0002 (2026-11-25)")
    assert (lineage(home, "KD-0002").state, lineage(home, "KD-0002").supersedes) == ("live", ("KD-7F3A",))
    gone = lineage(home, "RC-0003")
    assert (gone.words, gone.standing.reason) == ("retracted (2026-11-26)", "s-1#m2: No, never.")


def test_a_proposed_entry_has_the_event_of_its_proposal(home: Home, now: datetime) -> None:
    entry = Entry(id="KD-0PPP", date="2026-11-20", title="Propose me", fields={"Sources": "s-1#m1"})
    trailers = {"Session": "s-1", "Actor": "close", "Evidence": "unchecked"}
    with transaction(home, actor="close", message="m", now=now) as edits:
        edits.propose(
            ProposalDraft(
                id=entry.id, path="MEMORY.md", section="Key Decisions", text=entry.render(), message="Propose it",
                trailers=trailers,
            )
        )  # fmt: skip
    found = lineage(home, entry.id)
    assert (found.state, [event.action for event in found.events]) == ("proposed", ["proposed"])
    assert (found.events[0].session, found.turns[0].text) == ("s-1", "When?")


def test_an_id_of_near_spelling_is_suggested(home: Home) -> None:
    with pytest.raises(NoSuchEntry, match=r"no entry KD-7F3 in .*Did you mean KD-7F3A\?"):
        lineage(home, "KD-7F3")


@pytest.mark.parametrize("spelled", ["KD-9999", "nonsense", ""])
def test_an_id_that_nobody_has_is_an_error(home: Home, spelled: str) -> None:
    with pytest.raises(NoSuchEntry):
        lineage(home, spelled)
