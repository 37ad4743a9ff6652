"""A whole sentence of a turn is its own extract."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn, is_verbatim
from distill.statements.sentences import prose_lines, split_sentences

TURN = (
    "We moved the Alder launch from 12 May to 14 May, the gap is −12 %. `src/app.py` keeps ¥2.1M of 1,200 deals; "
    "Maya called it “the long way round” in v1.4.0, see https://models.example/a?b=1."
)


@given(st.text(max_size=200) | st.sampled_from([TURN, "**12** % of `a b`, see [x](y.md)", "«A» 12,5 −3 x_y/z.W"]))
def test_a_sentence_of_a_turn_is_always_grounded_in_it(content: str) -> None:
    turn = SaidTurn(role="user", content=content)
    for line in prose_lines(content):
        for sentence in split_sentences(line.text):
            assert objections(sentence, [turn]) == ()


def test_a_part_of_a_sentence_is_not_verbatim() -> None:
    turn = SaidTurn(role="user", content="we never deploy on Fridays. ask Tom")
    assert is_verbatim("Ask Tom.", [turn])
    assert not is_verbatim("deploy on Fridays", [turn])
