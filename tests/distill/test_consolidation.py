"""Entries that agree with each other, and entries that contradict each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from agent_home.check import text_problems
from agent_home.document import Document, parse
from agent_home.entry import SECTIONS, Entry, section_of, superseded_by
from agent_home.home import MEMORY
from distill.consolidation import Consolidated, consolidate
from recall.embedding import Vector

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


def done(*entries: Entry, vectors: Mapping[str, Vector] | None = None, fresh: set[str] | None = None) -> Consolidated:
    return consolidate({MEMORY: memory(*entries)}, archive=ARCHIVE, vectors=vectors, fresh=fresh)


def live(result: Consolidated) -> dict[str, Entry]:
    return {one.id: one for one in result.documents[MEMORY].entries()}


MONDAY = entry("KD-0001", "Deploy billing on Monday")
THURSDAY = entry("KD-0002", "Deploy billing on Thursday", "2026-11-08")


def test_a_contradicted_entry_stays_linked_both_ways() -> None:
    result = done(MONDAY, THURSDAY)
    assert [(link.older, link.newer) for link in result.superseded] == [("KD-0001", "KD-0002")]
    assert live(result)["KD-0001"].fields["Superseded-By"] == "KD-0002"
    assert live(result)["KD-0002"].fields["Supersedes"] == "KD-0001"
    assert superseded_by(live(result).values()) == {"KD-0001": "KD-0002"}
    assert not text_problems(MEMORY, result.documents[MEMORY].render())


def test_doing_it_again_changes_nothing() -> None:
    once = done(MONDAY, THURSDAY, entry("KD-0003", "deploy billing on thursday.", "2026-11-09"))
    again = consolidate(once.documents, archive=ARCHIVE)
    assert again.unchanged
    assert {path: document.render() for path, document in again.documents.items()} == {
        path: document.render() for path, document in once.documents.items()
    }


def test_a_decision_that_is_taken_back_twice_leaves_one_that_stands() -> None:
    friday = entry("KD-0003", "Deploy billing on Friday", "2026-11-15")
    monday = entry("KD-0004", "Deploy billing on Monday", "2026-11-22")
    result = done(MONDAY, THURSDAY, friday, monday)
    assert set(live(result)) - set(superseded_by(live(result).values())) == {"KD-0004"}


def test_the_same_words_become_the_older_entry_with_all_sources_and_the_newer_date() -> None:
    result = done(MONDAY, entry("KD-0002", "deploy billing on Monday!", "2026-11-08", Origin="web"))
    (kept,) = live(result).values()
    assert (kept.id, kept.date, kept.title) == ("KD-0001", "2026-11-08", "Deploy billing on Monday")
    assert kept.fields == {"Sources": "KD-0001-s#1, KD-0002-s#1", "Origin": "web"}


def test_what_another_entry_takes_in_is_in_the_archive_with_a_link_to_it() -> None:
    result = done(MONDAY, entry("KD-0002", "deploy billing on Monday!", "2026-11-08"))
    archived = result.documents[ARCHIVE].entry("KD-0002")
    assert archived is not None
    assert archived.fields["Superseded-By"] == "KD-0001"
    assert not text_problems(ARCHIVE, result.documents[ARCHIVE].render())


def test_an_entry_that_nobody_has_seen_yet_leaves_no_trace_but_its_sources() -> None:
    result = done(MONDAY, entry("KD-0002", "deploy billing on Monday!", "2026-11-08"), fresh={"KD-0002"})
    assert ARCHIVE not in result.documents
    assert live(result)["KD-0001"].fields["Sources"] == "KD-0001-s#1, KD-0002-s#1"


def test_only_pairs_with_a_fresh_entry_are_looked_at() -> None:
    assert done(MONDAY, THURSDAY, fresh={"KD-0003"}).unchanged
    assert done(MONDAY, THURSDAY, fresh={"KD-0002"}).superseded


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
def test_what_may_not_be_replaced_stands(older: Entry, newer: Entry) -> None:
    assert done(older, newer).unchanged


def test_an_agents_word_does_not_replace_the_users() -> None:
    own = entry("KD-0002", "Deploy billing on Thursday", "2026-11-08", Origin="agent")
    assert done(entry("KD-0001", "Deploy billing on Monday", Origin="user"), own).unchanged
    assert done(entry("KD-0001", "Deploy billing on Monday", Origin="agent"), own).superseded


def test_a_correction_replaces_the_sentence_that_it_names() -> None:
    wrong = entry("RC-0001", "MEAGS is at -8 %")
    right = Entry(
        id="CO-0002", date="2026-11-01", title="MEAGS is at -12 %", detail="Instead of: MEAGS is at -8 %",
        fields={"Sources": "RC-0001-s#4"},
    )  # fmt: skip
    assert [(link.older, link.newer) for link in done(wrong, right).superseded] == [("RC-0001", "CO-0002")]


def test_a_correction_that_names_the_old_value_replaces_who_says_it() -> None:
    wrong = entry("RC-0001", "MEAGS gap is -8 %, mainly from three slips")
    right = entry("CO-0002", "No, MEAGS is -12 %, not -8 %.", "2026-11-02")
    assert done(wrong, right).superseded


def test_vectors_unite_other_words_but_never_another_number() -> None:
    near: dict[str, Vector] = {
        "LL-0001": np.array([1, 0], np.float32), "LL-0002": np.array([0.9, 0.4359], np.float32),
        "LL-0003": np.array([0.9, 0.4359], np.float32),
    }  # fmt: skip
    first = entry("LL-0001", "Tests that wait for the real clock are flaky, inject a fake clock")
    same = entry("LL-0002", "Inject a fake clock: tests relying on the real system clock are flaky", "2026-11-02")
    other = entry("LL-0003", "Inject 2 fake clocks: tests relying on the real system clock are flaky", "2026-11-03")
    assert done(first, same).unchanged
    assert [link.older for link in done(first, same, other, vectors=near).merged] == ["LL-0002"]
