"""Statements keep their words, and get a speaker, a context and dates where they need them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.store.transcript import Message
from distill.statements.dated_words import without_dates
from distill.statements.standalone import speaker_of, split_speaker, stand_alone, with_context

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def said(
    content: str, name: str = "Maya", role: str = "user", ts: str = "2026-11-20T09:00:00", number: int = 2
) -> Message:
    return Message(session="s", id=f"m{number}", ts=ts, role=role, name=name, content=content)


def told(
    sentence: str, *, before: str = "", content: str = "", name: str = "Maya", role: str = "user", kind: str = ""
) -> str:
    other = ("assistant", "assistant") if role == "user" else ("Maya", "user")
    earlier = [said(before, other[0], other[1], number=1)] if before else []
    return stand_alone(sentence, said(content or sentence, name, role), earlier, "Maya", NOW, kind=kind)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("well, I mean, I'm allergic to peanuts", "Maya: I'm allergic to peanuts"),
        ("ok so, we moved last month, lol", "Maya: we moved last month (2026-10)"),
        ("I see her next Wednesday at 3.", "Maya: I see her next Wednesday (2026-11-25) at 3."),
        ("well water tests came back fine", "Maya: well water tests came back fine"),
        ("so far we've paid 3 of 10", "Maya: so far we've paid 3 of 10"),
        ("like I said, it stays blue", "Maya: like I said, it stays blue"),
        ("I mean it when I say no meetings", "Maya: I mean it when I say no meetings"),
        ("那个,我对花生过敏", "Maya：我对花生过敏"),
        ("嗯,下周三复诊,我自己去", "Maya：下周三（2026-11-25）复诊,我自己去"),
        ("那个方案不要了,我用第二版", "Maya：那个方案不要了,我用第二版"),
    ],
)
def test_filler_goes_dates_come_and_the_speaker_is_named(sentence: str, expected: str) -> None:
    assert told(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "Because Dave forgot the migration, staging was down, so we always check the schema.",
            "Because someone forgot the migration, staging was down, so we always check the schema.",
        ),
        ("The outage was Priya's fault, we need a lock around the job.", "we need a lock around the job."),
        ("都怪小王忘了备份,所以以后先备份数据库", "有人忘了备份,所以以后先备份数据库"),
        ("这次延期是产品的锅,以后需求冻结后不接新需求", "以后需求冻结后不接新需求"),
        ("Because of Leo's allergy we always carry a pen.", "Because of Leo's allergy we always carry a pen."),
        ("Redis broke the build, so we always pin it.", "Redis broke the build, so we always pin it."),
    ],
)
def test_the_conclusion_stays_and_the_blame_goes(sentence: str, expected: str) -> None:
    assert split_speaker(told(sentence, kind="lesson"), ["Maya"])[1] == expected


def test_the_person_of_an_open_thread_stays() -> None:
    assert "Dave forgot" in told("Dave forgot to sign, so we must ask him again.", kind="open_thread")


@pytest.mark.parametrize(
    ("before", "sentence", "expected"),
    [
        ("Which database?", "Postgres it is.", 'Maya (asked: "Which database?"): Postgres it is.'),
        ("Do you eat fish?", "no, not since 2019", 'Maya (asked: "Do you eat fish?"): no, not since 2019'),
        ("Is it late?", "I work from home on Mondays and Thursdays", "Maya: I work from home on Mondays and Thursdays"),
        ("Keep them in Redis.", "agreed, do it", 'Maya (on "Keep them in Redis."): agreed, do it'),
        ("下次复诊是什么时候?", "下周三", "Maya（被问“下次复诊是什么时候?”）：下周三（2026-11-25）"),
        ("How are you?", "Fine and busy.", "Maya: Fine and busy."),
        ("The hotel at the lake is free. Which one do you want?", "that one",
         'Maya (asked: "The hotel at the lake is free. Which one do you want?"): that one'),
    ],
)  # fmt: skip
def test_a_question_is_kept_with_an_answer_that_needs_it(before: str, sentence: str, expected: str) -> None:
    assert told(sentence, before=before) == expected


def test_the_source_of_the_question_is_context() -> None:
    question = said("Which database?", "assistant", "assistant", number=1)
    assert with_context("Postgres.", said("Postgres."), [question], "", NOW).context == ("s#m1",)
    assert (
        with_context("I use Postgres at work now.", said("I use Postgres at work now."), [question], "", NOW).context
        == ()
    )


def test_a_sentence_that_starts_with_a_pronoun_keeps_the_one_before_it() -> None:
    content = "My son Leo had a reaction yesterday. He's allergic to nuts."
    expected = "Maya: My son Leo had a reaction yesterday (2026-11-19). He's allergic to nuts."
    assert told("He's allergic to nuts.", content=content) == expected


def test_two_people_are_told_apart() -> None:
    earlier = [said("Will you come?", "Leo Brandt", number=1)]
    assert stand_alone("I'd love to see your film.", said("I'd love to see your film."), earlier, "", NOW) == (
        "Maya (to Leo Brandt): I'd love to see your film."
    )


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_without_a_name_only_the_first_person_gets_a_role(role: str) -> None:
    speaker = {"user": "User", "assistant": "Assistant"}[role]
    assert stand_alone("I use tabs.", said("I use tabs.", "", role), [], "", NOW) == f"{speaker}: I use tabs."
    assert stand_alone("We use tabs.", said("We use tabs.", "", role), [], "", NOW) == "We use tabs."


@pytest.mark.parametrize("name", ["a: b", "x\n## y", "[KD-7F3A]", "<b>", "n" * 60, "user", "Assistant"])
def test_a_name_that_could_be_structure_is_no_name(name: str) -> None:
    assert speaker_of(said("x", name)) == ""
    assert speaker_of(said("x", name), "Maya") == "Maya"


def test_a_turn_without_a_time_gets_no_dates() -> None:
    assert stand_alone("I leave tomorrow.", said("I leave tomorrow.", ts=""), [], "", NOW) == "Maya: I leave tomorrow."


@pytest.mark.parametrize(
    ("text", "speaker", "words"),
    [
        ('Maya (asked by Leo: "When?"): soon', "Maya", "soon"),
        ("Maya：下周三", "Maya", "下周三"),
        ("林悦（问“几点?”）：三点", "林悦", "三点"),
        ("no colon", "", "no colon"),
    ],
)
def test_the_speaker_is_split_off(text: str, speaker: str, words: str) -> None:
    assert split_speaker(text) == (speaker, words)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"[A-Za-z]+|\d+|[\u4e00-\u9fff]", text)}


WORDS = st.sampled_from(
    ["I", "tomorrow", "next Friday", "so", "well,", "Leo", "forgot", "the", "it", "三个月后", "我", "那个,", "?", ".",
     "lol", "was", "fault,", "always", "3", "days ago", "yes", "(", '"', ":"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS, max_size=8).map(" ".join))
def test_every_word_is_of_the_turns_or_a_name_or_a_date(sentence: str, before: str) -> None:
    found = stand_alone(sentence, said(sentence), [said(before, "Ann", number=1)], "", NOW)
    known = _words(f"{sentence} {before} Maya Ann asked by on to someone Someone s 问 就 有人")
    assert _words(without_dates(found)) <= known


@given(st.text(max_size=200), st.text(max_size=80), st.text(max_size=20))
def test_any_text_is_told_as_one_line(sentence: str, before: str, name: str) -> None:
    found = stand_alone(sentence, said(sentence, name), [said(before, "Ann", number=1)], name, NOW)
    assert "\n" not in found
    assert bool(found) == bool(sentence.split())


@pytest.mark.parametrize(
    "piece", ["so, ", "uh ", "Maya (to ", "(asked: ", "ha", "next ", "was Al's fault, so ", "下", "怪小王"]
)
def test_a_long_sentence_takes_linear_time(piece: str) -> None:
    sentence = (piece * 2000)[:1999]
    start = time.process_time()
    stand_alone(sentence, said(piece * 20_000), [said(piece * 20_000, "Ann", number=1)], "", NOW)
    split_speaker(piece * 20_000)
    assert time.process_time() - start < 1.0
