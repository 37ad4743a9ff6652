"""Counts of sentences by the section that they reach."""

from __future__ import annotations

import pytest

from bench.memory.__main__ import DATA
from bench.memory.speech_acts import PREFIXES, LabelledSentence, measure_acts, measure_idle_turns, read_sentences


def sentence(text: str, act: str, *, keep: bool = True, role: str = "user") -> LabelledSentence:
    return LabelledSentence(text=text, role=role, previous="What now?", lang="en", act=act, keep=keep)


def test_a_sentence_counts_as_right_in_the_section_of_its_act_alone() -> None:
    said = [
        sentence("Decision: we ship on Monday.", "decision"),
        sentence("Decision: Berlin is our venue.", "preference"),
        sentence("Decision: they marry at the end of the film.", "none", keep=False),
        sentence("Hello there!", "none", keep=False),
    ]
    counts = measure_acts(said, None)["en", "user"]
    assert (counts.worth, counts.right, counts.anywhere) == (2, 1, 2)
    assert (counts.ordinary, counts.entered) == (2, 1)


def test_a_sentence_that_needs_no_turn_is_said_alone_and_after_each_kind_of_idle_turn() -> None:
    whole = LabelledSentence(
        text="Decision: we ship on Monday.", role="user", previous="", lang="en", act="decision", keep=True
    )
    found = measure_idle_turns([whole, sentence("Berlin.", "decision")], None)
    assert {kind: counts.right for (_, kind), counts in found.items()} == {
        "alone": 1,
        "ok": 1,
        "greeting": 1,
        "answer": 1,
    }
    assert all(counts.worth == 1 for counts in found.values())


@pytest.mark.parametrize(("name", "number"), [("speech.unseen.jsonl", 440), ("heldout/speech.jsonl", 270)])
def test_the_measured_sentences_are_valid_and_have_every_act_in_both_languages(name: str, number: int) -> None:
    said = read_sentences(DATA / name)
    assert len({line.text for line in said}) == len(said) == number
    for lang in ("en", "zh"):
        assert {line.act for line in said if line.lang == lang} >= {*PREFIXES, "none"}
    assert all(not line.keep for line in said if line.act == "none")
