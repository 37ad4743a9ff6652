"""Labels and requests that a speaker makes on purpose, in English and Chinese."""

from __future__ import annotations

import pytest

from distill.reading.labels import Label, kind_of_request, parse_label, parse_request, refers_back


@pytest.mark.parametrize(
    ("line", "kind", "rest"),
    [
        ("Decision: ship on Friday", "decision", "ship on Friday"),
        ("Preference: short answers", "preference", "short answers"),
        ("Open: who signs the contract?", "open_thread", "who signs the contract?"),
        ("Done: sent the deck to Ana", "deliverable", "sent the deck to Ana"),
        ("Lesson: test the restore, not the backup", "lesson", "test the restore, not the backup"),
        ("决定:用 Postgres", "decision", "用 Postgres"),
        ("偏好\uff1a回答要短", "preference", "回答要短"),
        ("待办\uff1a续签合同", "open_thread", "续签合同"),
        ("已完成\uff1a合同已发给小林", "deliverable", "合同已发给小林"),
        ("教训\uff1a先测恢复", "lesson", "先测恢复"),
    ],
)
def test_a_label_names_the_kind_of_its_line(line: str, kind: str, rest: str) -> None:
    assert parse_label(line) == Label(kind=kind, rest=rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "kind"), [("Remember: Leo is allergic to nuts", "fact"), ("记住\uff1a以后用中文回答", "preference")]
)
def test_a_label_that_asks_to_remember_takes_the_kind_of_its_words(line: str, kind: str) -> None:
    label = parse_label(line)
    assert label is not None
    assert (label.kind, label.asked) == (kind, True)


@pytest.mark.parametrize("line", ["Done that already", "open the door", "Remember the film", "记住了"])
def test_words_of_an_ordinary_sentence_are_no_label(line: str) -> None:
    assert parse_label(line) is None


@pytest.mark.parametrize(
    ("sentence", "rest"),
    [
        ("Remember that my son has a severe peanut allergy.", "my son has a severe peanut allergy."),
        ("Could you please remember that I'm vegan?", "I'm vegan"),
        ("btw, keep in mind that Ana is on leave until March", "Ana is on leave until March"),
        ("remember to call the plumber on Friday", "call the plumber on Friday"),
        ("The spare key is with Mrs Ito, please remember that.", "The spare key is with Mrs Ito"),
        ("记住\uff0c我儿子对花生过敏", "我儿子对花生过敏"),
        ("帮我记一下\uff0c下周三下午接孩子。", "下周三下午接孩子。"),
        ("我的车位是B2-114\uff0c帮我记一下", "我的车位是B2-114"),
        ("麻烦记住我不吃香菜", "我不吃香菜"),
    ],
)
def test_a_request_yields_what_to_remember(sentence: str, rest: str) -> None:
    label = parse_request(sentence)
    assert label is not None
    assert (label.rest, label.asked) == (rest, True)


@pytest.mark.parametrize(
    "sentence",
    [
        "Do you remember that film?",
        "Remember when we went to Rome?",
        "I remember that day.",
        "Please remember that.",
        "你记住了吗",
        "我记得他喜欢喝茶",
        "Remember that " + "x" * 700,
    ],
)
def test_a_recollection_or_a_question_is_no_request(sentence: str) -> None:
    assert parse_request(sentence) is None


@pytest.mark.parametrize(("sentence", "back"), [
    ("Please remember that.", True), ("Keep this in mind, ok", False), ("remember this please", True),
    ("帮我记一下。", True), ("请记住这一点", True), ("Remember the milk.", False), ("记住我的生日", False),
])  # fmt: skip
def test_a_bare_request_refers_to_what_was_said_before(sentence: str, back: bool) -> None:
    assert refers_back(sentence) is back


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("my mother lives in Porto", "fact"),
        ("never call me before ten", "preference"),
        ("we'll use Postgres", "decision"),
        ("renew the passport by Friday", "open_thread"),
        ("我妈住在成都", "fact"),
        ("以后别用表格", "preference"),
        ("我们定了周五发布", "decision"),
        ("下周要交税", "open_thread"),
    ],
)
def test_words_of_a_request_name_its_kind(text: str, kind: str) -> None:
    assert kind_of_request(text) == kind
