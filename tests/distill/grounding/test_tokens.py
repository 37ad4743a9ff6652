"""Tokens of texts: words, values, persons and characters in their clauses."""

from __future__ import annotations

from datetime import date

from distill.grounding.tokens import TextToken, is_condition, is_standin, tokenise

DAY = date(2026, 11, 20)


def tokens(text: str, *names: str) -> list[TextToken]:
    return tokenise(text, DAY, {name: name for name in names})


def test_a_contraction_has_its_denial() -> None:
    assert [token.key for token in tokens("it doesn't fit, dont ask")] == [
        "it",
        "does",
        "not",
        "fit",
        "do",
        "not",
        "ask",
    ]


def test_a_title_does_not_end_a_sentence() -> None:
    assert len({token.sentence for token in tokens("Mr. Okonjo goes before Prof. Tveit")}) == 1
    assert len({token.sentence for token in tokens("Okonjo goes. Tveit waits.")}) == 2


def test_a_conjunction_opens_a_clause() -> None:
    assert [token.clause for token in tokens("we move if they pay")] == [0, 0, 1, 1, 1]


def test_a_name_is_one_person() -> None:
    found = tokens("Bo asked bo's vet", "bo")
    assert [token.person for token in found] == ["name", "", "name", ""]
    assert "owner" in found[2].cases


def test_a_measure_word_is_light_and_the_same_character_elsewhere_is_a_guard() -> None:
    assert [token.kind for token in tokens("那只") if token.key == "只"] == ["light"]
    assert [token.kind for token in tokens("他只来") if token.key == "只"] == ["guard"]


def test_traditional_pronouns_are_persons() -> None:
    assert [token.family for token in tokens("我們") + tokens("佢")] == ["we", "he"]


def test_a_value_has_its_readings() -> None:
    (value,) = [token for token in tokens("on 12 May") if token.kind == "value"]
    assert ("month_day", "5-12") in value.values


def test_stand_ins_and_conditions_are_known() -> None:
    found = {token.key: token for token in tokens("unless it rains")}
    assert is_condition(found["unless"])
    assert is_standin(found["it"])
    assert not is_standin(found["rains"])


def test_a_name_with_a_mark_or_of_a_number_is_a_person() -> None:
    found = tokens("zoltan_k's dog and 十七", "zoltan_k", "十七")
    assert [token.family for token in found if token.kind == "person"] == ["zoltan_k", "十七"]


def test_ill_is_a_future_only_where_a_subject_may_stand() -> None:
    assert [token.key for token in tokens("ill bring it")][:2] == ["i", "will"]
    assert "will" not in [token.key for token in tokens("she is ill")]


def test_a_letter_may_name_one_of_several_things() -> None:
    assert [token.kind for token in tokens("B wing has 3, A wing only 1") if token.key == "a"] == ["word"]
    assert [token.kind for token in tokens("They had a wing") if token.key == "a"] == ["light"]


def test_ill_is_i_will_or_a_state() -> None:
    assert [token.key for token in tokens("if he pays ill leave")][3:5] == ["i", "will"]
    assert "ill" in [token.key for token in tokens("he fell ill again")]


def test_an_opening_ok_or_instead_is_filler() -> None:
    assert [token.kind for token in tokens("k sending it")][:1] == ["filler"]
    assert [token.kind for token in tokens("It broke. Instead we sing") if token.key == "instead"] == ["filler"]
    assert [token.kind for token in tokens("tea instead of milk") if token.key == "instead"] == ["guard"]


def test_a_name_of_several_parts_is_one_person() -> None:
    assert [token.key for token in tokens("ask Ines V today", "ines v") if token.person == "name"] == ["ines v"]
    assert [token.key for token in tokens("阿May管房间", "阿may") if token.person == "name"] == ["阿may"]
