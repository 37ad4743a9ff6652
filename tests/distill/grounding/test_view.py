"""Runs of an entry: what is at home, what is a noun for a stand-in, what is in the wrong order."""

from __future__ import annotations

from distill.grounding.alignment import Said, align
from distill.grounding.tokens import TextToken, tokenise
from distill.grounding.view import AlignmentView


def view_of(entry: str, *turns: str) -> AlignmentView:
    speakers = {"mara": "mara", "bot": "bot"}
    tokens: list[TextToken] = []
    for number, turn in enumerate(turns):
        clause, sentence = (tokens[-1].clause + 1, tokens[-1].sentence + 1) if tokens else (0, 0)
        tokens += tokenise(turn, None, speakers, turn=number, clause=clause, sentence=sentence)
    names = ["bot" if number % 2 else "mara" for number in range(len(turns))]
    roles = ["assistant" if number % 2 else "user" for number in range(len(turns))]
    said = Said(tokens=tokens, names=names, roles=roles)
    return AlignmentView(
        text=entry, alignment=align(tokenise(entry, None, speakers, expand=False), said), contents=turns
    )


def roles_of(view: AlignmentView) -> list[str]:
    return [run.role for runs in view.runs for run in runs]


def test_a_noun_takes_the_place_of_a_stand_in() -> None:
    view = view_of("Farah is taking the data section", "who owns the data section", "nobody", "farah is taking it")
    assert roles_of(view) == ["home", "noun"]


def test_a_longer_name_of_a_thing_takes_the_place_of_the_short_one() -> None:
    view = view_of(
        "Farah locked the pottery studio early", "the pottery studio loses money", "oh", "farah locked the studio early"
    )
    assert "order" not in roles_of(view)


def test_a_part_of_a_stand_in_may_come_first() -> None:
    view = view_of("About 200 metres of the fence is down again", "the fence is down again, about 200 metres of it")
    assert "order" not in roles_of(view)


def test_exchanged_ends_are_in_the_wrong_order() -> None:
    assert "order" in roles_of(view_of("Nils paid Tom yesterday", "Tom paid Nils yesterday"))


def test_a_question_asks_and_its_answer_follows() -> None:
    view = view_of("the kiln leaks", "does the kiln leak", "it does")
    assert view.asked == {(0, 0)}
    assert view.answered == {0}


def test_a_number_is_lent_to_a_stand_in_only() -> None:
    view = view_of("Mara weaned 117 off the bottle", "117 had twins", "and then", "weaned 204 off the bottle")
    assert "noun" not in roles_of(view)
