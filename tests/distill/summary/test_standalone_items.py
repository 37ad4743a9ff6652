"""Items are told as texts that stand alone, and keep the words of their turn beside them."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home.home import Home
from agent_home.store.transcript import Message
from distill.reading.labels import ItemKind
from distill.statements.standalone import split_speaker
from distill.summary.extraction import Item, Summary
from distill.summary.standalone_items import owner_name, tell_items


def turn(number: int, role: str, content: str, name: str = "") -> Message:
    return Message(session="s", id=f"m{number}", ts="2026-11-20T09:00:00", role=role, name=name, content=content)


def item(text: str, *sources: str) -> Summary:
    return Summary(title="T", items=(Item(kind="fact", text=text, sources=sources or ("s#m2",), role="user"),))


def told(home: Home, now: datetime, summary: Summary, *messages: Message) -> Item:
    return tell_items(summary, messages, (), home, now).items[0]


def test_an_item_keeps_its_words_beside_the_text_that_stands_alone(home: Home, now: datetime) -> None:
    question, answer = turn(1, "assistant", "When is the visit?"), turn(2, "user", "next Wednesday", "Maya")
    found = told(home, now, item("next Wednesday"), question, answer)
    assert found.text == "next Wednesday"
    assert found.told == 'Maya (asked: "When is the visit?"): next Wednesday (2026-11-25)'
    assert (found.sources, found.context) == (("s#m2",), ("s#m1",))


def test_an_item_in_other_words_than_its_turn_is_left_alone(home: Home, now: datetime) -> None:
    found = told(home, now, item("The visit is on Wednesday."), turn(2, "user", "I go there on Wednesday", "Maya"))
    assert found.told == found.text == "The visit is on Wednesday."


def test_a_sentence_that_was_cut_is_told_as_a_whole(home: Home, now: datetime) -> None:
    sentence = f"I keep {'one of the jars, ' * 30}and the last one is 12,500.5 grams."
    found = told(home, now, item(f"{sentence[:200]}…"), turn(2, "user", f"Fine. {sentence} Thanks!", "Maya"))
    assert found.told == f"Maya: {sentence}"


def test_items_of_one_turn_are_one_item_where_the_second_leans_on_the_first(home: Home, now: datetime) -> None:
    said = turn(2, "user", "Cathal, my son, got called for the orchestra. his audition is on 23 June", "Maya")
    sentences = ("Cathal, my son, got called for the orchestra.", "his audition is on 23 June")
    items = [Item(kind="fact", text=text, sources=("s#m2",), role="user", lasting=True) for text in sentences]
    found = tell_items(Summary(title="T", items=tuple(items)), [said], (), home, now).items
    assert [item.told for item in found] == [f"Maya: {said.content}"]
    assert found[0].text == sentences[0]


def test_marks_of_emphasis_do_not_hide_the_words(home: Home, now: datetime) -> None:
    found = told(home, now, item("I use tabs here."), turn(2, "user", "I use **tabs** here.", "Maya"))
    assert found.told == "Maya: I use tabs here."


def test_a_question_that_repeats_a_tool_is_not_kept(home: Home, now: datetime) -> None:
    words = "Shall the agent send all the files to the address?"
    rows = (turn(0, "tool", words), turn(1, "assistant", words), turn(2, "user", "yes, now", "Maya"))
    found = told(home, now, item("yes, now"), *rows)
    assert found.told == "Maya: yes, now"
    assert found.context == ()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("- **Name:** Maya Okoye\n", "Maya Okoye"), ("- **Name:**\n- **Role:** cook\n", ""), ("- 姓名：林悦\n", "林悦"),
        ("Name: Maya (she)\n", "Maya"), ("", ""),
    ],
)  # fmt: skip
def test_the_owner_is_named_in_the_file_of_the_user(home: Home, now: datetime, line: str, name: str) -> None:
    (home.root / "USER.md").write_text(f"# User\n\n{line}")
    assert owner_name(home) == name
    found = told(home, now, item("I use tabs."), turn(2, "user", "I use tabs."))
    assert found.told == f"{name or 'User'}: I use tabs."


@pytest.mark.parametrize(
    ("proposal", "asked", "told_as"),
    [
        ("keep backups for 90 days.", "", "User (accepted, proposed by the assistant): keep backups for 90 days."),
        ("one grid", "Which layout?", 'User (asked by the assistant: "Which layout?", chose): one grid'),
        ("聚会改到八月", "", "用户\uff08接受助手的提议\uff09\uff1a聚会改到八月"),
    ],
)
def test_an_accepted_proposal_names_both_speakers(
    home: Home, now: datetime, proposal: str, asked: str, told_as: str
) -> None:
    agreed = Item(
        kind="decision", text=proposal, sources=("s#m1", "s#m2"), role="assistant", accepted=True, consented=True,
        asked=asked,
    )  # fmt: skip
    turns = [turn(1, "assistant", proposal, ""), turn(2, "user", "ok", "")]
    (found,) = tell_items(Summary(title="T", items=(agreed,)), turns, (), home, now).items
    assert found.told == told_as
    assert split_speaker(found.told)[1] == proposal


def test_who_accepted_is_named_as_in_the_reply(home: Home, now: datetime) -> None:
    agreed = Item(
        kind="decision", text="book the van.", sources=("s#m1", "s#m2"), role="assistant", accepted=True, consented=True
    )
    turns = [turn(1, "assistant", "Shall we book the van? I say: book the van.", ""), turn(2, "user", "ok", "Ana")]
    (found,) = tell_items(Summary(title="T", items=(agreed,)), turns, (), home, now).items
    assert found.told == "Ana (accepted, proposed by the assistant): book the van."


@pytest.mark.parametrize(
    ("kind", "marked", "dangling"), [("lesson", False, True), ("preference", False, True), ("lesson", True, False)]
)
def test_what_leans_still_stays_in_the_log_unless_it_is_wanted(
    home: Home, now: datetime, kind: ItemKind, marked: bool, dangling: bool
) -> None:
    found = Item(kind=kind, text="吃了两口", sources=("s#m2",), role="user", marked=marked)
    turns = [turn(1, "assistant", "它吃了吗?"), turn(2, "user", "吃了两口", "阿岚")]
    assert tell_items(Summary(title="T", items=(found,)), turns, (), home, now).items[0].dangling is dangling


def test_an_order_for_always_stays_a_preference(home: Home, now: datetime) -> None:
    said = "From now on, put the result first and the reasons after it."
    found = Item(kind="preference", text=said, sources=("s#m1",), role="user")
    (item,) = tell_items(Summary(title="T", items=(found,)), [turn(1, "user", said, "Ana")], (), home, now).items
    assert (item.kind, item.dangling) == ("preference", False)
