"""Notes written on purpose, and threads ended on purpose."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.errors import GuardRefused, NoSuchEntry
from agent_home.home import Home
from distill.entries.decay import archive
from distill.entries.notes import NoteType, finish, remember
from distill.errors import NotLive
from distill.forget import forget

from ..aged import archived_ids, keep, live_ids

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def live(home: Home, entry_id: str) -> Entry:
    found = parse(storage.read_text(home.root / "MEMORY.md")).entry(entry_id)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "section"),
    [
        ("preference", "Standing Preferences"),
        ("decision", "Key Decisions"),
        ("lesson", "Lessons Learned"),
        ("correction", "Corrections and root causes"),
        ("thread", "Open Threads"),
        ("fact", "Recent Context"),
    ],
)
def test_each_type_has_its_section(home: Home, kind: NoteType, section: str) -> None:
    done = remember(home, "The gate code changes in May.", now=NOW, kind=kind)
    assert done.section == section
    entries = parse(storage.read_text(home.root / "MEMORY.md")).section_entries(section)
    assert [(entry.id, entry.text, entry.date) for entry in entries if entry.id == done.id] == [
        (done.id, "The gate code changes in May.", "2026-11-21")
    ]


def test_a_note_of_which_nothing_would_be_left_is_refused(home: Home) -> None:
    before = storage.read_text(home.root / "MEMORY.md")
    with pytest.raises(
        GuardRefused, match=r"nothing would be left of it but \"my boss's phone is \[REDACTED:phone\]\""
    ):
        remember(home, "my boss's phone is +420 777 123 456", now=NOW)
    assert storage.read_text(home.root / "MEMORY.md") == before
    own = remember(home, "my phone is +420 777 123 456", now=NOW)  # one's own number stays in one's own memory
    assert (own.redacted, "my phone is +420 777 123 456" in live(home, own.id).raw) == (0, True)
    assert remember(home, "Call Honza at +420 777 123 456 about the contract", now=NOW).redacted == 1


def test_a_note_names_what_was_forgotten_and_supersedes_nothing_with_it(home: Home) -> None:
    older = remember(home, "We buy fabrics at Novatex", now=NOW)
    remember(home, "The supplier is Textilka", now=NOW)
    forget(home, "Textilka", now=NOW)
    with pytest.raises(GuardRefused, match="'Textilka' was forgotten with `memory forget`"):
        remember(home, "The supplier is Textilka", now=NOW)
    done = remember(home, "We buy fabrics at Textilka, not at Novatex", now=NOW)
    assert (done.forgotten, done.superseded) == ("Textilka", ())
    assert "Superseded-By" not in live(home, older.id).fields


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("Leo has a severe peanut allergy", "Recent Context"),
        ("Always answer in German", "Standing Preferences"),
        ("我们决定用 Postgres", "Key Decisions"),
        ("明天下午要交报告", "Open Threads"),
    ],
)
def test_words_decide_without_a_type(home: Home, text: str, section: str) -> None:
    assert remember(home, text, now=NOW).section == section


def test_a_note_names_its_author_its_subject_and_its_last_day(home: Home) -> None:
    done = remember(home, "Ana is on leave", now=NOW, about="Ana", until="2026-12-31", origin="agent")
    assert live(home, done.id).fields == {"Origin": "agent", "About": "Ana", "Until": "2026-12-31"}


def test_remembering_twice_adds_nothing_and_counts_as_a_reference(home: Home) -> None:
    first = remember(home, "The gate code is in the blue folder.", now=NOW)
    before = live_ids(home)
    again = remember(home, "the gate code is in the blue folder", now=NOW)
    assert (again.id, again.known) == (first.id, True)
    assert live_ids(home) == before
    assert first.id in storage.read_text(home.root / "ledger/references-2026-11.jsonl")


def test_a_dry_run_names_the_id_and_writes_nothing(home: Home) -> None:
    before = storage.read_text(home.root / "MEMORY.md")
    planned = remember(home, "The gate code changes in May.", now=NOW, dry_run=True)
    assert planned.commit is None
    assert storage.read_text(home.root / "MEMORY.md") == before
    assert remember(home, "The gate code changes in May.", now=NOW).id == planned.id


def test_a_secret_is_redacted(home: Home) -> None:
    done = remember(home, "Ana changes the token ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", now=NOW)
    assert done.redacted == 1
    assert "ghp_" not in storage.read_text(home.root / "MEMORY.md")


def test_an_empty_note_is_refused(home: Home) -> None:
    with pytest.raises(ValueError, match="empty"):
        remember(home, " \n", now=NOW)


def test_a_finished_thread_is_resolved_and_archived_next(home: Home) -> None:
    keep(home, "OT-0001", "2026-11-20", body="Send the deck to Ana")
    done = finish(home, "ot-0001", now=NOW, how="sent by mail")
    assert done.state == "resolved 2026-11-21: sent by mail"
    assert live(home, "OT-0001").retired
    archive(home, now=NOW, apply=True)
    assert "OT-0001" in archived_ids(home)


def test_finishing_twice_keeps_the_first_state(home: Home) -> None:
    keep(home, "OT-0001", "2026-11-20")
    first = finish(home, "OT-0001", now=NOW)
    again = finish(home, "OT-0001", now=NOW, how="again")
    assert (again.state, again.commit) == (first.state, None)


def test_a_dry_run_of_finishing_writes_nothing(home: Home) -> None:
    keep(home, "OT-0001", "2026-11-20")
    assert finish(home, "OT-0001", now=NOW, dry_run=True).state == "resolved 2026-11-21"
    assert not live(home, "OT-0001").resolved


def test_an_unknown_or_superseded_entry_cannot_be_finished(home: Home) -> None:
    keep(home, "KD-0001", "2026-11-01", fields={"Superseded-By": "KD-0002"})
    with pytest.raises(NotLive, match="KD-0002 superseded it"):
        finish(home, "KD-0001", now=NOW)
    with pytest.raises(NoSuchEntry):
        finish(home, "OT-ZZZZ", now=NOW)


def test_a_note_says_which_day_its_relative_words_mean(home: Home) -> None:
    done = remember(home, "Dentist next Wednesday at 3.", now=NOW, kind="thread")
    assert live(home, done.id).text == "Dentist next Wednesday (2026-11-25) at 3."


def test_a_note_supersedes_the_entry_that_it_names(home: Home) -> None:
    keep(home, "KD-0001", "2026-11-01", body="The demo is in the small room")
    done = remember(home, "We show it in the garden", now=NOW, replaces="kd-0001")
    assert (done.section, [link.older for link in done.superseded]) == ("Key Decisions", ["KD-0001"])
    assert live(home, "KD-0001").fields["Superseded-By"] == done.id
    assert live(home, done.id).fields["Supersedes"] == "KD-0001"


def test_a_known_note_supersedes_the_entry_that_it_names(home: Home) -> None:
    keep(home, "RC-0001", "2026-11-01", body="The demo is in the small room")
    first = remember(home, "We show it in the garden", now=NOW, kind="fact")
    again = remember(home, "We show it in the garden", now=NOW, replaces="RC-0001")
    assert (again.id, again.known) == (first.id, True)
    assert live(home, "RC-0001").fields["Superseded-By"] == first.id


def test_a_note_may_not_replace_a_resolved_a_protected_or_an_unknown_entry(home: Home) -> None:
    keep(home, "RC-0001", "2026-11-01", fields={"State": "resolved 2026-11-02"})
    keep(home, "RC-0002", "2026-11-01", body="The gate code is new", fields={"Protected": "Ana"})
    before = storage.read_text(home.root / "MEMORY.md")
    for entry_id, reason in (("RC-0001", "its state is"), ("RC-0002", "it is protected")):
        with pytest.raises(NotLive, match=reason):
            remember(home, "We show it in the garden", now=NOW, replaces=entry_id)
    with pytest.raises(NoSuchEntry):
        remember(home, "We show it in the garden", now=NOW, replaces="RC-9999")
    assert storage.read_text(home.root / "MEMORY.md") == before


def test_a_note_of_the_agent_replaces_nothing_of_the_user(home: Home) -> None:
    keep(home, "RC-0001", "2026-11-01", body="The demo is in the small room")
    with pytest.raises(NotLive, match="it is the user's, and a note of the agent replaces only entries of the agent"):
        remember(home, "We show it in the garden", now=NOW, replaces="RC-0001", origin="agent")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Format dates as DD/MM/YYYY.", "Format dates as YYYY-MM-DD."),
        ("Please write to me in English.", "From now on please write to me in Swedish."),
        ("报价用人民币。", "报价用美元。"),
    ],
)
def test_a_wish_without_a_type_supersedes_the_wish_before_it(home: Home, older: str, newer: str) -> None:
    first = remember(home, older, now=NOW)
    done = remember(home, newer, now=NOW)
    assert (first.section, done.section) == ("Standing Preferences", "Standing Preferences")
    assert [link.older for link in done.superseded] == [first.id]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I work at Acme.", "I don't work at Acme any more."),
        ("Deploys happen on Fridays.", "Never deploy on Fridays."),
        ("我对花生过敏。", "我对花生不过敏。"),
    ],
)
def test_a_note_names_the_entry_that_it_perhaps_contradicts(home: Home, older: str, newer: str) -> None:
    first = remember(home, older, now=NOW)
    done = remember(home, newer, now=NOW)
    assert (done.known, dict(done.doubted)) == (False, {first.id: older})
    assert remember(home, newer, now=NOW, replaces=first.id).superseded[0].older == first.id


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My sister is allergic to nuts.", "My brother is not allergic to nuts."),
        ("I like tea.", "I like coffee."),
        ("我爱喝茶。", "我爱喝咖啡。"),
    ],
)
def test_a_note_about_another_thing_contradicts_nothing(home: Home, older: str, newer: str) -> None:
    remember(home, older, now=NOW)
    assert not remember(home, newer, now=NOW).doubted


def test_a_note_in_the_place_of_an_entry_keeps_its_details(home: Home) -> None:
    first = remember(home, "Party on Friday at 6 pm in the main hall.", now=NOW)
    done = remember(home, "The party moved to Saturday.", now=NOW, replaces=first.id)
    assert done.text == "Party on Saturday at 6 pm in the main hall."
    last = remember(home, "We cancelled all of it.", now=NOW, replaces=done.id)
    assert "Instead of: Party on Saturday" in last.text


@pytest.mark.parametrize(
    ("known", "note"),
    [
        ("我老公对青霉素过敏,这个你记一下。", "我老公对青霉素和头孢都过敏"),
        ("My husband is allergic to penicillin.", "My husband is allergic to penicillin and aspirin."),
    ],
)
def test_a_note_that_says_more_is_stored(home: Home, known: str, note: str) -> None:
    first = remember(home, known, now=NOW)
    again = remember(home, note, now=NOW)
    assert (again.known, again.id != first.id) == (False, True)
    assert {first.id, again.id} <= set(live_ids(home))
