"""Merging of duplicate entries and superseding of contradicted ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_home.documents.check import text_problems
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import SECTIONS, Entry, section_of, superseded_by
from agent_home.home import MEMORY
from bench.promotion_data import pairs
from distill.entries.consolidation import Consolidation, consolidate, relate_entries
from recall.embedding.embedder import Vector

ARCHIVE = "Archive/MEMORY-2026-11.md"


def memory(*entries: Entry) -> Document:
    document = parse("# Memory\n\n" + "\n".join(f"## {rule.title}\n" for rule in SECTIONS))
    for entry in entries:
        rule = section_of(entry.prefix)
        assert rule is not None
        document = document.with_entry(rule.title, entry)
    return parse(document.render())


def entry(entry_id: str, text: str, day: str = "2026-11-01", **fields: str) -> Entry:
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return Entry(id=entry_id, date=day, title=text, fields={"Sources": f"{entry_id}-s#1", **named})


def consolidated(
    *entries: Entry, vectors: Mapping[str, Vector] | None = None, fresh: set[str] | None = None
) -> Consolidation:
    return consolidate({MEMORY: memory(*entries)}, archive=ARCHIVE, vectors=vectors, fresh=fresh)


def live(result: Consolidation) -> dict[str, Entry]:
    return {entry.id: entry for entry in result.documents[MEMORY].entries()}


MONDAY = entry("KD-0001", "Deploy billing on Monday")
THURSDAY = entry("KD-0002", "Deploy billing on Thursday", "2026-11-08")


def test_contradicted_entry_stays_and_is_linked_both_ways() -> None:
    result = consolidated(MONDAY, THURSDAY)
    assert [(link.older, link.newer) for link in result.superseded] == [("KD-0001", "KD-0002")]
    assert live(result)["KD-0001"].fields["Superseded-By"] == "KD-0002"
    assert live(result)["KD-0002"].fields["Supersedes"] == "KD-0001"
    assert superseded_by(live(result).values()) == {"KD-0001": "KD-0002"}
    assert not text_problems(MEMORY, result.documents[MEMORY].render())


def test_consolidating_twice_changes_nothing() -> None:
    once = consolidated(MONDAY, THURSDAY, entry("KD-0003", "deploy billing on thursday.", "2026-11-09"))
    again = consolidate(once.documents, archive=ARCHIVE)
    assert again.unchanged
    assert {path: document.render() for path, document in again.documents.items()} == {
        path: document.render() for path, document in once.documents.items()
    }


def test_only_the_last_of_several_decisions_is_not_superseded() -> None:
    friday = entry("KD-0003", "Deploy billing on Friday", "2026-11-15")
    monday = entry("KD-0004", "Deploy billing on Monday", "2026-11-22")
    result = consolidated(MONDAY, THURSDAY, friday, monday)
    assert set(live(result)) - set(superseded_by(live(result).values())) == {"KD-0004"}


def test_duplicate_is_merged_into_the_older_entry_with_all_sources_and_the_newer_date() -> None:
    result = consolidated(MONDAY, entry("KD-0002", "deploy billing on Monday!", "2026-11-08", Origin="web"))
    (kept,) = live(result).values()
    assert (kept.id, kept.date, kept.title) == ("KD-0001", "2026-11-08", "Deploy billing on Monday")
    assert kept.fields == {"Sources": "KD-0001-s#1, KD-0002-s#1", "Origin": "web"}


def test_merged_entry_is_archived_with_a_link() -> None:
    result = consolidated(MONDAY, entry("KD-0002", "deploy billing on Monday!", "2026-11-08"))
    archived = result.documents[ARCHIVE].entry("KD-0002")
    assert archived is not None
    assert archived.fields["Superseded-By"] == "KD-0001"
    assert not text_problems(ARCHIVE, result.documents[ARCHIVE].render())


def test_merged_fresh_entry_leaves_only_its_sources() -> None:
    result = consolidated(MONDAY, entry("KD-0002", "deploy billing on Monday!", "2026-11-08"), fresh={"KD-0002"})
    assert ARCHIVE not in result.documents
    assert live(result)["KD-0001"].fields["Sources"] == "KD-0001-s#1, KD-0002-s#1"


def test_only_pairs_with_a_fresh_entry_are_compared() -> None:
    assert consolidated(MONDAY, THURSDAY, fresh={"KD-0003"}).unchanged
    assert consolidated(MONDAY, THURSDAY, fresh={"KD-0002"}).superseded


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (entry("KD-0001", "Deploy billing on Monday", Protected="yes"), THURSDAY),
        (MONDAY, entry("KD-0002", "Deploy billing on Thursday", "2026-11-08", Origin="web")),
        (entry("KD-0001", "Deploy billing on Monday", ""), THURSDAY),
        (MONDAY, entry("RC-0002", "Deploy billing on Thursday instead of Monday", "2026-11-08")),
        (MONDAY, entry("LL-0002", "Deploy billing on Thursday", "2026-11-08")),
        (MONDAY, entry("KD-0002", "Deploy billing on Thursday", "2026-11-08", Sources="KD-0001-s#9")),
    ],
    ids=["protected", "less trusted", "undated", "a conclusion", "another section", "said in one session"],
)
def test_entries_that_may_not_be_replaced_stay_unlinked(older: Entry, newer: Entry) -> None:
    assert consolidated(older, newer).unchanged


def test_agent_statement_does_not_replace_a_user_statement() -> None:
    own = entry("KD-0002", "Deploy billing on Thursday", "2026-11-08", Origin="agent")
    assert consolidated(entry("KD-0001", "Deploy billing on Monday", Origin="user"), own).unchanged
    assert consolidated(entry("KD-0001", "Deploy billing on Monday", Origin="agent"), own).superseded


def test_correction_replaces_the_entry_with_the_sentence_it_names() -> None:
    wrong = entry("RC-0001", "MEAGS is at -8 %")
    right = Entry(
        id="CO-0002", date="2026-11-01", title="MEAGS is at -12 %", detail="Instead of: MEAGS is at -8 %",
        fields={"Sources": "RC-0001-s#4"},
    )  # fmt: skip
    assert [(link.older, link.newer) for link in consolidated(wrong, right).superseded] == [("RC-0001", "CO-0002")]


def test_correction_replaces_the_entry_with_the_value_it_names() -> None:
    wrong = entry("RC-0001", "MEAGS gap is -8 %, mainly from three slips")
    right = entry("CO-0002", "No, MEAGS is -12 %, not -8 %.", "2026-11-02")
    assert consolidated(wrong, right).superseded


def test_vectors_merge_paraphrases_but_never_another_number() -> None:
    near: dict[str, Vector] = {
        "LL-0001": np.array([1, 0], np.float32), "LL-0002": np.array([0.9, 0.4359], np.float32),
        "LL-0003": np.array([0.9, 0.4359], np.float32),
    }  # fmt: skip
    first = entry("LL-0001", "Tests that wait for the real clock are flaky, inject a fake clock")
    same = entry("LL-0002", "Inject a fake clock: tests relying on the real system clock are flaky", "2026-11-02")
    other = entry("LL-0003", "Inject 2 fake clocks: tests relying on the real system clock are flaky", "2026-11-03")
    assert consolidated(first, same).unchanged
    assert [link.older for link in consolidated(first, same, other, vectors=near).merged] == ["LL-0002"]


UNRELATED = (
    (
        "Ship the index with its own SQLite",
        "Move Birch to best case",
        "Hire a contractor for the port",
        "Drop the export",
    ),
    ("索引自带数据库", "合同交给法务", "发布推迟到周一", "预算冻结到明年"),
)


@pytest.mark.parametrize("texts", UNRELATED, ids=["English", "Chinese"])
@pytest.mark.parametrize("cosine", [None, 0.99])
def test_unrelated_entries_with_the_same_provenance_are_not_merged(
    texts: tuple[str, ...], cosine: float | None
) -> None:
    provenance = {"Evidence": "verified, commit 3f9c2e1; DailyActivity/2026-11-01.md#s-1a2b3c", "Sources": "s#1"}
    entries = [
        Entry(id=f"KD-000{n}", date="2026-11-01", title=text, detail="Detail: as agreed", fields=provenance)
        for n, text in enumerate(texts)
    ]
    near = np.full(4, 0.5, np.float32) if cosine else None
    vectors: dict[str, Vector] = {} if near is None else dict.fromkeys((entry.id for entry in entries), near)
    assert consolidated(*entries, vectors=vectors).unchanged


def test_unrelated_entries_keep_every_byte() -> None:
    others = (
        "- **[KD-0101] 2026-10-01 Deploy search on Monday** - as KD-0001\n  By hand,  two spaces\n  Evidence: none\n",
        "- **[KD-0102] 2026-10-01 The text KD-0001 is quoted here**\n  Evidence: verified, commit 3f9c2e1\n",
        "- no entry, but KD-0001 is named\n",
    )
    document = parse(
        memory(MONDAY, THURSDAY).render().replace("## Key Decisions\n", "## Key Decisions\n\n" + "".join(others))
    )
    result = consolidate({MEMORY: document}, archive=ARCHIVE).documents[MEMORY].render()
    assert all(text in result for text in others)
    changed = {line for line in result.splitlines() if line not in document.render().splitlines()}
    assert changed == {
        "  Sources: KD-0001-s#1 · Superseded-By: KD-0002",
        "  Sources: KD-0002-s#1 · Supersedes: KD-0001",
    }


def test_the_name_of_the_speaker_is_no_part_of_the_statement() -> None:
    older = entry("KD-0001", "Maya: Deploy billing on Monday")
    newer = entry("KD-0002", "Maya: Deploy billing on Thursday instead of Monday", "2026-11-08")
    assert relate_entries(older, newer).kind == "replaced"
    assert (
        relate_entries(older, entry("KD-0002", "Maya (to Leo): Deploy billing on Monday", "2026-11-08")).kind == "same"
    )


def test_the_words_in_brackets_behind_the_speaker_are_not_compared() -> None:
    older = entry("RC-0001", 'User (on "the rent is 900 now"): my sister plays the cello in Ghent.')
    newer = entry("RC-0002", 'User (asked: "is the rent 950?"): I bought a cello for my sister.', "2026-11-08")
    assert relate_entries(older, newer).kind == "different"
    answers = [
        entry(f"RC-000{n}", f'User (asked: "When is the {what}?"): on Monday') for n, what in ((1, "exam"), (2, "trip"))
    ]
    assert relate_entries(*answers).kind == "different"


def test_what_two_people_say_about_themselves_is_not_compared() -> None:
    older = entry("RC-0001", "Maya: I work at Hexley Labs as a nurse.")
    assert relate_entries(older, entry("RC-0002", "Leo: I work at Hexley Labs as a nurse.")).kind == "different"


def test_links_survive_insertion_and_archiving() -> None:
    linked = consolidated(MONDAY, THURSDAY).documents[MEMORY]
    grown = linked.with_entry("Key Decisions", entry("KD-0009", "Use the new parser")).without_entry("KD-0001")
    assert superseded_by(grown.entries()) == {"KD-0001": "KD-0002"}


def test_merging_keeps_the_superseded_links_of_the_merged_entry() -> None:
    restated = entry("KD-0003", "Deploy billing on Thursday instead of Monday", "2026-11-09", Supersedes="KD-0001")
    monday = entry("KD-0001", "Deploy billing on Monday", Superseded_By="KD-0003")
    earlier = entry("KD-0002", "deploy billing on Thursday instead of Monday", "2026-11-08")
    result = consolidated(monday, earlier, restated)
    assert [link.older for link in result.merged] == ["KD-0003"]
    assert superseded_by(live(result).values()) == {"KD-0001": "KD-0002"}


STATEMENTS = [(pair.older_prefix, pair.older) for pair in pairs("development")]
STATEMENTS += [(pair.newer_prefix, pair.newer) for pair in pairs("development")]


@given(st.lists(st.tuples(st.sampled_from(STATEMENTS), st.integers(1, 28)), max_size=14))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_entry_is_lost_and_a_second_run_changes_nothing(drawn: list[tuple[tuple[str, str], int]]) -> None:
    entries = [entry(f"{prefix}-{n:04d}", text, f"2026-11-{day:02d}") for n, ((prefix, text), day) in enumerate(drawn)]
    result = consolidated(*entries)
    kept = {entry.id: entry for document in result.documents.values() for entry in document.entries()}
    assert set(kept) == {entry.id for entry in entries}
    assert {entry.title for entry in kept.values()} == {entry.title for entry in entries}
    sources = {source for entry in live(result).values() for source in entry.fields["Sources"].split(", ")}
    assert sources == {f"{entry.id}-s#1" for entry in entries}
    standing = set(live(result)) - set(superseded_by(live(result).values()))
    assert standing or not entries
    assert consolidate(result.documents, archive=ARCHIVE).unchanged


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (entry("KD-0001", "We'll go with PostgreSQL for the orders service."),
         entry("KD-0002", "We changed our mind: MySQL for orders, not PostgreSQL.", "2026-11-08")),
        (entry("KD-0001", "Backups are kept for 30 days"),
         entry("CO-0002", "90 days for the backups, not 30", "2026-11-08")),
        (entry("OT-0001", "My dentist appointment is on Tuesday at 3pm"),
         entry("OT-0002", "dentist called, they had to shift me to Thursday 10am", "2026-11-08")),
        (entry("KD-0001", "周五去上海坐飞机"), entry("KD-0002", "周五去上海改坐高铁", "2026-11-08")),
        (entry("RC-0001", "My boss is called Henrik"),
         entry("RC-0002", "got a new boss, Amira, Henrik went to Oslo", "2026-11-08")),
        (entry("KD-0001", "Deploy billing on Monday", Sources="s#1"),
         entry("KD-0002", "Deploy billing on Thursday now, not on Monday", Sources="s#7")),
    ],
    ids=["not", "a number", "an appointment", "a train", "a person", "in one session"],
)  # fmt: skip
def test_an_entry_in_ordinary_wording_supersedes_the_older_one(older: Entry, newer: Entry) -> None:
    links = consolidated(older, newer).superseded
    assert [(link.older, link.newer) for link in links] == [(older.id, newer.id)]


def test_a_correction_said_once_is_one_entry() -> None:
    correction = entry("CO-0001", "The gap of MEAGS is -12 %")
    fact = entry("RC-0002", "MEAGS gap is -12 %")
    result = consolidated(correction, fact, fresh={"CO-0001", "RC-0002"})
    assert set(live(result)) == {"CO-0001"}
    assert not consolidated(correction, fact, fresh={"RC-0002"}).merged


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (entry("CO-0001", "The choir concert is on 12 December, not the 5th."),
         entry("OT-0002", "So the concert of the choir is on 12 December and not on 5 December.")),
        (entry("CO-0001", "The limit is 800 requests, not 500."),
         entry("CO-0002", "No, 800 requests a minute is the limit, not 500.", "2026-11-08")),
        (entry("CO-0001", "会议改到周五下午三点,不是周四。"), entry("KD-0002", "会议是周五下午三点开,不是周四。")),
    ],
    ids=["in another section", "in another session", "chinese"],
)  # fmt: skip
def test_a_correction_said_twice_is_one_entry(first: Entry, again: Entry) -> None:
    result = consolidated(first, again, fresh={again.id})
    assert set(live(result)) == {first.id}
    assert not result.superseded


def test_an_entry_about_another_talk_is_left_to_a_person() -> None:
    older = entry("RC-0001", "just the 47, and a few early trips on the 33")
    newer = entry("RC-0002", "just the 47. now the early warning bit. I've got features per bus at each stop and "
                  "headway and dwell time, and want a score.", "2026-11-08")  # fmt: skip
    result = consolidated(older, newer, fresh={newer.id})
    assert not result.superseded
    assert [(link.older, link.newer) for link in result.undecided] == [(older.id, newer.id)]


@pytest.mark.parametrize(
    ("prefix", "older", "newer"),
    [
        ("SP", "Write comments in English.", "Write tests in English."),
        ("SP", "Keep functions under 60 lines.", "Keep classes under 60 lines."),
        ("SP", "Schreib Docstrings auf Englisch.", "Schreib Changelogs auf Englisch."),
        ("KD", "We use Postgres for billing.", "We use Redis for the cache."),
    ],
)
def test_a_wish_or_decision_about_another_object_replaces_nothing(prefix: str, older: str, newer: str) -> None:
    result = consolidated(entry(f"{prefix}-0001", older), entry(f"{prefix}-0002", newer, "2026-11-08"))
    assert (result.superseded, result.merged) == ((), ())


@pytest.mark.parametrize(
    ("prefix", "older", "newer"),
    [
        ("SP", "Formatiere Python mit black.", "Formatiere Python mit ruff."),
        ("KD", "We use GitHub for code.", "We use GitLab for code."),
        ("KD", "Wir nehmen Jira für Tickets.", "Wir nehmen Linear für Tickets."),
    ],
)
def test_another_value_of_the_same_object_replaces_the_older_one(prefix: str, older: str, newer: str) -> None:
    before = entry(f"{prefix}-0001", older).changed(fields={"Sources": "one#m1"})
    after = entry(f"{prefix}-0002", newer, "2026-11-08").changed(fields={"Sources": "two#m1"})
    result = consolidated(before, after)
    assert [(link.older, link.newer) for link in result.superseded] == [(before.id, after.id)]


def test_a_correction_in_the_same_shape_replaces_a_decision() -> None:
    decision = entry("KD-0001", "We use GitHub for code.").changed(fields={"Sources": "one#m1"})
    other = entry("KD-0003", "We use Jira for tickets.").changed(fields={"Sources": "one#m2"})
    correction = entry("CO-0002", "No, we use GitLab for code.", "2026-11-08").changed(fields={"Sources": "two#m1"})
    result = consolidated(decision, other, correction)
    assert [(link.older, link.newer) for link in result.superseded] == [("KD-0001", "CO-0002")]
