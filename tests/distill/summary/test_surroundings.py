"""Sentences get the words around them that a reader needs months later, and no more."""

from __future__ import annotations

import time

from agent_home.store.transcript import Message
from distill.statements.standalone import Surroundings
from distill.summary.surroundings import choose_surroundings, with_answer


def turn(number: int, content: str, role: str = "user") -> Message:
    name = "Maya" if role == "user" else "assistant"
    return Message(session="s", id=f"m{number}", ts="2026-11-20T09:00:00", role=role, name=name, content=content)


def test_a_fact_of_ones_life_stands_alone() -> None:
    fact = turn(2, "I work as a nurse on the night shift in a children's ward.")
    found = choose_surroundings(fact.content, fact, [turn(1, "Tell me about your day.", "assistant")])
    assert (found.own, found.other, found.topic) == ("", "", "")


def test_a_short_heading_stands_with_what_follows() -> None:
    said = turn(2, "belt came already! courier at nine, machine runs again")
    assert choose_surroundings("courier at nine, machine runs again", said, []).own == "belt came already!"


def test_a_sentence_keeps_the_one_before_it_that_it_leans_on() -> None:
    said = turn(2, "the spring tide is from the 2nd to the 5th. I need somebody to cover those days and I've nobody")
    found = choose_surroundings("I need somebody to cover those days and I've nobody", said, [])
    assert found.own == "the spring tide is from the 2nd to the 5th."


def test_courtesies_and_requests_are_no_heading() -> None:
    for before in ("Thanks for asking.", "Hey Gina!", "Next.", "好的。", "Please make it a table."):
        said = turn(2, f"{before} I've decided to sell the red boat in March.")
        assert choose_surroundings("I've decided to sell the red boat in March.", said, []).own == ""


def test_an_answer_keeps_its_question_alone() -> None:
    first = turn(1, "I'm repainting the boat this spring.")
    question = turn(2, "Good. Will your brother help you with it?", "assistant")
    answer = turn(3, "he will, six weekends in the old shed")
    found = choose_surroundings(answer.content, answer, [first, question])
    assert found.topic == ""
    assert (found.other, found.asked) == ("Good. Will your brother help you with it?", True)


def test_an_older_turn_of_the_speaker_is_no_context() -> None:
    earlier = [
        turn(1, "Can you summarise the meeting notes about the warehouse?"),
        turn(2, "They list the racks, the forklift and the staffing.", "assistant"),
    ]
    for content in (
        "We decided to rent the forklift from Bauer.",
        "I'm allergic to peanuts.",
        "Write commit messages in English.",
        "Wir nehmen den Stapler von Bauer.",
    ):
        said = turn(3, content)
        found = choose_surroundings(said.content, said, earlier)
        assert (found.other, found.topic) == ("", "")


def test_the_start_of_a_turn_keeps_a_question_that_names_its_topic() -> None:
    question = turn(1, "Not yet. Who takes care of him until September?", "assistant")
    answer = turn(2, "my sister by day, me after work, the neighbours at weekends")
    found = choose_surroundings(answer.content, answer, [question])
    assert (found.other, found.asked) == ("Who takes care of him until September?", True)


def test_him_and_her_are_named_from_an_earlier_turn() -> None:
    named = turn(1, "can you help me think about mum")
    later = [turn(2, "What is going on?", "assistant"), turn(3, "please leave Anders out of it")]
    said = turn(5, "the council offers a grant for a shower for her, 4,000 pounds, I applied for it yesterday")
    found = choose_surroundings(said.content, said, [named, *later, turn(4, "Noted.", "assistant")])
    assert (found.topic, found.topic_turn) == (named.content, named)


def test_him_and_her_are_not_named_from_turns_long_before() -> None:
    named = turn(1, "can you help me think about mum")
    between = [turn(number, "the harbour is calm", "user") for number in range(2, 6)]
    said = turn(7, "the council offers a grant for a shower for her, 4,000 pounds, I applied for it yesterday")
    assert choose_surroundings(said.content, said, [named, *between]).topic == ""


def test_another_topic_needs_nothing_of_the_turns_before() -> None:
    first = turn(1, "My mother's hip operation is on 2 June in Letterkenny.")
    other = turn(3, "对了下周要去兽医那儿一趟")
    found = choose_surroundings(other.content, other, [first, turn(2, "Noted.", "assistant")])
    assert (found.own, found.other, found.topic) == ("", "", "")


def test_an_unrelated_turn_is_not_quoted() -> None:
    rent = turn(1, "he's holding me at 430 a month till next summer, which I didn't even ask for")
    asked = turn(2, "A good day at the gate, then. Anything from Sweden?", "assistant")
    said = turn(3, "Annika rang. Gothenburg's had its budget chopped so it's ten now, the fourteen's gone.")
    found = choose_surroundings(said.content, said, [rent, asked])
    assert (found.topic, found.other) == ("", "Anything from Sweden?")


def test_that_means_what_the_other_just_said() -> None:
    first = turn(1, "I did a chicken and it was dry, Menna says write it on the wall")
    advice = turn(2, "Write it inside the cupboard door, then you see it every time.", "assistant")
    said = turn(3, "that's where she's got hers, in pencil")
    found = choose_surroundings(said.content, said, [first, advice])
    assert (found.topic, found.other) == ("", advice.content)


def test_a_latin_name_in_a_chinese_sentence_names_her() -> None:
    named = turn(1, "跟 Sigrun 打完电话了,走的不是她")
    said = turn(5, "她还说改成 8 月 11 到 26 号,直升机冲突")
    between = [turn(2, "太好了。", "assistant"), turn(3, "我这两天白哭了"), turn(4, "哭也算清空缓存。", "assistant")]
    found = choose_surroundings(said.content, said, [named, *between])
    assert (found.topic, found.topic_turn) == (named.content, named)


def test_long_turns_take_linear_time() -> None:
    said = turn(2, "it was so. " * 20_000)
    start = time.process_time()
    choose_surroundings("it was so.", said, [turn(0, "he is. " * 20_000), turn(1, "she is? " * 20_000, "assistant")])
    assert time.process_time() - start < 2.0


def test_an_answer_keeps_the_short_start_of_its_turn() -> None:
    question = turn(1, "记下了。打算考哪里?", "assistant")
    answer = turn(2, "大理。我外婆家。苏州待了六年了,爸妈年纪大了")
    around = Surroundings(other="打算考哪里?", asked=True, turn=question)
    assert with_answer(around, "我外婆家。苏州待了六年了,爸妈年纪大了", answer).own == "大理。"
    assert with_answer(around, "大理。", answer).own == ""


def test_a_reply_to_the_turn_before_does_not_stand_with_what_follows() -> None:
    advice = turn(1, "Enter the vendor bill before the invoices.", "assistant")
    said = turn(2, "that was it. bill from Harker supply sat in the van since January.")
    found = choose_surroundings("bill from Harker supply sat in the van since January.", said, [advice])
    assert (found.own, found.topic) == ("", "")


def test_whom_a_sentence_names_is_not_looked_for_in_an_earlier_turn() -> None:
    earlier = [turn(1, "Brandt climbs ladders now, he went up on a roof"), turn(2, "Good for him.", "assistant")]
    said = turn(3, "Mateo got his braces off on the 15th, the neighbours know about it.")
    assert choose_surroundings(said.content, said, earlier).topic == ""


def test_a_remark_before_a_fact_goes_with_the_offer_that_it_answers() -> None:
    offer = turn(1, "Your sister might worry. Shall I write a poem about it?", "assistant")
    for remark, fact in (
        ("Ha, no poems please.", "I start at the library on 4 January, three days a week."),
        ("Ask me another time.", "My daughter Ffion is coeliac, so no barley for her."),
        (
            "I'll not tell her.",
            "Anyhow I shan't be digging this spring, they've given me a date for the knee, 16 April.",
        ),
    ):
        found = choose_surroundings(fact, turn(2, f"{remark} {fact}"), [offer])
        assert (found.own, found.other, found.asked) == ("", "", False)


def test_a_topic_before_a_fact_stays() -> None:
    for before, fact in (
        ("about the threshold.", "0.82 missed the bearing thing in march."),
        ("My son Leo had a reaction.", "He's allergic to tree nuts."),
    ):
        assert choose_surroundings(fact, turn(2, f"{before} {fact}"), []).own == before
