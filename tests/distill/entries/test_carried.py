"""A successor keeps what the entry before it says besides the changed value."""

from __future__ import annotations

import pytest

from agent_home.documents.entry import Entry
from distill.entries.carried import is_of_another_talk, stated_text, with_kept_words

DOCTOR = Entry(
    id="RC-0001", date="2026-11-01", title="User: My doctor is Dr. Peeters and my appointment is at 9:15.",
    fields={"Sources": "a#m1", "Origin": "user"},
)  # fmt: skip
LATER = Entry(
    id="CO-0002", date="2026-11-02", title="the appointment is at 9:45, not 9:15",
    fields={"Sources": "b#m1", "Origin": "user"},
)  # fmt: skip


def test_the_successor_says_the_older_sentence_with_the_new_value() -> None:
    kept = with_kept_words(DOCTOR, LATER)
    assert kept.text == "User: My doctor is Dr. Peeters and my appointment is at 9:45."
    assert (kept.id, kept.fields["Sources"]) == ("CO-0002", "a#m1, b#m1")


def test_the_words_of_another_origin_are_only_quoted() -> None:
    agents = DOCTOR.changed(fields={**DOCTOR.fields, "Origin": "agent"})
    kept = with_kept_words(agents, LATER)
    assert (stated_text(kept), kept.fields["Origin"]) == (LATER.title, "user")


def test_what_the_newer_sentence_says_besides_the_value_stays() -> None:
    told = LATER.changed(title="the appointment is at 9:45, not 9:15. Bring the blue folder.")
    assert with_kept_words(DOCTOR, told).text.endswith(
        "at 9:45. the appointment is at 9:45, not 9:15. Bring the blue folder."
    )


def test_a_committed_successor_gains_the_kept_clause_and_quotes_the_replaced_one_once() -> None:
    quoted = with_kept_words(DOCTOR, LATER, reworded=False)
    assert quoted.title == LATER.title
    assert quoted.detail.splitlines() == [
        "User: My doctor is Dr. Peeters.",
        "Instead of: my appointment is at 9:15.",
    ]
    assert "Dr. Peeters" in stated_text(quoted)
    assert with_kept_words(DOCTOR, quoted, reworded=False) == quoted


def test_a_statement_with_nothing_more_and_a_placeholder_change_nothing() -> None:
    plain = DOCTOR.changed(title="User: my appointment is at 9:15")
    assert with_kept_words(plain, LATER) == LATER
    hidden = DOCTOR.changed(title="My doctor is [REDACTED:name] and my appointment is at 9:15.")
    assert with_kept_words(hidden, LATER) == LATER


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("just the 47, and a few early trips on the 33",
         "just the 47. now the early warning bit. I've got features per bus at each stop, headway and dwell", True),
        ("My doctor is Dr Weiss.", "My doctor is now Dr Lang.", False),
        ("The gym is FitBox.", "The gym is the climbing hall by the river these cold months instead of FitBox.", False),
    ],
    ids=["other talk", "a value", "names it"],
)  # fmt: skip
def test_a_sentence_that_says_much_else_is_of_another_talk(older: str, newer: str, expected: bool) -> None:
    one, other = (Entry(id=f"RC-000{n}", date=f"2026-11-0{n}", title=text) for n, text in ((1, older), (2, newer)))
    assert is_of_another_talk(one, other) is expected
