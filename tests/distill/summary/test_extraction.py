"""Extraction of summaries from conversations, Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.store.transcript import Message
from distill.summary.extraction import Item, summarise
from recall.text.identity import identity_key
from tests.growth import is_linear

if TYPE_CHECKING:
    from ..conftest import Talk

Rows = tuple[tuple[str, str], ...]


def found(items: tuple[Item, ...]) -> list[tuple[str, str]]:
    return [(item.kind, item.text) for item in items]


REVIEWED = [
    ("conclusion", "MEAGS 缺口 -8 %,主要来自三个滑单"),
    ("conclusion", "EMEA 持平"),
    ("correction", "不对,MEAGS 是 -12 %,不是 -8 %。"),
    ("conclusion", "MEAGS 的 forecast gap 是 -12 %,风险最大。"),
    ("decision", "Birch 从 commit 挪到 best case,因为预算冻结。"),
    ("preference", "以后 forecast 都按 BU 从风险最大到最小排序。"),
    ("lesson", "滑单要在季度中间就检查预算状态。"),
    ("open_thread", "CFO 什么时候解冻预算?"),
    ("next_step", "和销售确认 Alder 的签约日期。"),
]


def test_bilingual_review_yields_its_items_in_order(talk: Talk, review: Rows) -> None:
    summary = summarise(talk(*review))
    assert found(summary.items) == REVIEWED
    assert "MEAGS" in summary.topics
    assert summary.title.startswith("我们过一下 Q4 forecast")


def test_full_width_punctuation_yields_the_same_items(talk: Talk, review: Rows, wide: Callable[[str], str]) -> None:
    summary = summarise(talk(*((role, wide(text)) for role, text in review)))
    assert found(summary.items) == [(kind, wide(text)) for kind, text in REVIEWED]


def test_corrected_conclusion_is_marked(talk: Talk, review: Rows) -> None:
    items = {item.text: item for item in summarise(talk(*review)).items}
    assert [text for text, item in items.items() if item.corrected] == ["MEAGS 缺口 -8 %,主要来自三个滑单"]


def test_correction_without_the_old_value_cites_the_replaced_sentence(talk: Talk) -> None:
    items = summarise(
        talk(("assistant", "The MEAGS gap is -8 %. EMEA is flat."), ("user", "That's wrong. MEAGS is at -12 %."))
    ).items
    correction = next(item for item in items if item.kind == "correction")
    assert (correction.text, correction.replaces) == ("That's wrong. MEAGS is at -12 %.", "The MEAGS gap is -8 %.")
    assert correction.sources == ("fc-1#m1", "fc-1#m2")


def test_correction_finds_a_sentence_of_the_part_closed_before(talk: Talk) -> None:
    turns = talk(("assistant", "The MEAGS gap is -8 %."), ("user", "Correction: the MEAGS gap is -12 %"))
    (item,) = summarise(turns[1:], turns[:1]).items
    assert item.replaces == "The MEAGS gap is -8 %."


CODING = (
    ("user", "Please fix the off-by-one in the parser and drop the legacy exporter."),
    (
        "assistant",
        "The root cause was that `read_rows()` starts at 1.\n```python\n# Decision: not scanned\n```\n"  # noqa: ISC004
        "Fixed the off-by-one in `src/parser.py` and committed it as 3f9c2e1.",
    ),
    ("tool", "[main 3f9c2e1] Fix off-by-one in parser\nConclusion: a tool concludes nothing"),
    ("assistant", "I also deleted `src/legacy_export.py`; nothing imports it any more."),
    ("user", "Actually, it's CSV that the exporter wrote, not TSV."),
    ("user", "From now on always run the tests before you commit."),
    (
        "assistant",
        "Let's go with apsw instead of sqlite3.\nNext step: bump the version to 1.4.0.\nTODO: check Windows paths",
    ),
)


def test_coding_session_yields_work_root_causes_and_open_threads(talk: Talk) -> None:
    summary = summarise(talk(*CODING))
    assert found(summary.items) == [
        ("root_cause", "The root cause was that `read_rows()` starts at 1."),
        ("deliverable", "Fixed the off-by-one in `src/parser.py` and committed it as 3f9c2e1."),
        ("deliverable", "I also deleted `src/legacy_export.py`; nothing imports it any more."),
        ("correction", "Actually, it's CSV that the exporter wrote, not TSV."),
        ("preference", "From now on always run the tests before you commit."),
        ("next_step", "bump the version to 1.4.0."),
        ("open_thread", "check Windows paths"),
    ]
    assert summary.files == ("src/parser.py", "src/legacy_export.py")
    assert summary.commits == ("3f9c2e1",)


CHAT = (
    ("user", "Hey, how was your weekend?"),
    ("assistant", "Great! I went hiking with my sister and we had so much fun."),
    ("user", "Nice. Actually, I'm not sure I like hiking."),
    ("assistant", "No worries! It's about the journey, not just the summit. I wrote a little poem on the way."),
    ("user", "Never mind the rain, I always wanted to see that lake."),
    ("assistant", "If we decided to go again, would you come along?"),
    ("user", "是不是很远?要不是下雨我就去了。我还没吃饭呢。"),
    ("assistant", "没事,下次再说吧。I 100% agree, next year is better."),
)


def test_small_talk_yields_a_title_and_no_items(talk: Talk) -> None:
    summary = summarise(talk(*CHAT))
    assert found(summary.items) == []
    assert summary.title


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We decided to ship on Monday.", "decision"),
        ("我们最终决定用 apsw。", "decision"),
        ("就这么定,先发邮件。", "decision"),
        ("根因是快照里的 BU 字段。", "root_cause"),
        ("We learned the hard way that the cache lies.", "lesson"),
        ("下次一定先核对口径。", "lesson"),
        ("I prefer tables over prose.", "preference"),
        ("Please always answer in Chinese.", "preference"),
        ("请始终用中文回答。", "preference"),
        ("No, it's 40, not 30.", "correction"),
        ("我说错了,是 40。", "correction"),
        ("Corvid 不是 APX 的,而是 NORDA 的。", "correction"),
        ("The owner of the clause is still open.", "open_thread"),
        ("预算还没确认。", "open_thread"),
        ("I still have to call legal.", "open_thread"),
        ("接下来我们要先看 NORDA。", "open_thread"),
        ("The Kestrel licence costs ¥4,000 a year.", "fact"),
        ("已完成 retry 模块的测试。", "deliverable"),
    ],
)
def test_sentence_of_the_user_has_the_kind_of_its_act(talk: Talk, text: str, kind: str) -> None:
    assert found(summarise(talk(("user", text))).items) == [(kind, text)]


@pytest.mark.parametrize(
    "text",
    [
        "Have we decided to ship?",
        "What is the conclusion?",
        "结论是什么?",
        "If the root cause is the cache, we are lucky.",
        "如果我们决定推迟,要提前说。",
        "We could not decide yet whether it rains.",
        "他的决定权不在我们。",
        "I will remove the file tomorrow.",
        "请删除 old.py",
        "Here is an updated version of `app.py`.",
        "`render()` updates the table when rows are created.",
        "You should aim for 80 % coverage.",
        "Always happy to help!",
        "Next year is going to be great.",
        "是的,不是很贵。",
        "The results were done by hand, more or less.",
    ],
)
def test_questions_conditions_plans_and_phrases_yield_no_items(talk: Talk, text: str) -> None:
    assert found(summarise(talk(("user", text))).items) == []


def test_assistant_states_no_preferences_and_no_unlabelled_corrections(talk: Talk) -> None:
    rows = (
        ("assistant", "I prefer tea."),
        ("assistant", "From now on I will use tables."),
        ("assistant", "不是 8,而是 12。"),
    )
    assert found(summarise(talk(*rows)).items) == []


def test_repeated_sentence_is_one_item_with_both_sources(talk: Talk) -> None:
    (item,) = summarise(talk(("user", "Decision: ship on Monday."), ("assistant", "decision: Ship on monday"))).items
    assert item.sources == ("fc-1#m1", "fc-1#m2")
    assert item.text == "ship on Monday."


def test_label_covers_the_list_below_it_and_no_other_text(talk: Talk) -> None:
    text = (
        "Decisions:\n- use apsw\n- drop Windows\n\nThat was easy.\n\n### Conclusion\nBy following these steps you win."
    )
    assert found(summarise(talk(("assistant", text))).items) == [("decision", "use apsw"), ("decision", "drop Windows")]


def test_two_labels_in_one_line_yield_two_items(talk: Talk) -> None:
    assert found(summarise(talk(("assistant", "结论:缺口 -12 %。下一步:打电话给法务。"))).items) == [
        ("conclusion", "缺口 -12 %。"),
        ("next_step", "打电话给法务。"),
    ]


def test_long_item_is_split_between_sentences(talk: Talk) -> None:
    text = "Conclusion: " + "The gap in one business unit is large. " * 20
    items = summarise(talk(("assistant", text))).items
    assert all(len(item.text) <= 300 and item.text.endswith("large.") for item in items)


def test_topics_leave_out_speakers_and_grammar() -> None:
    rows = [
        Message(session="s", id=str(n), role="user", name="Robin", content=text)
        for n, text in enumerate(
            ["Robin 看 forecast 的预算冻结", "预算冻结影响 forecast", "Robin: 预算冻结", "好的", "嗯", "ok"]
        )
    ]
    assert summarise(rows).topics[:2] == ("预算冻结", "forecast")


def test_title_without_words_has_a_fallback(talk: Talk) -> None:
    assert summarise(talk(("user", "嗯"), ("assistant", "好"))).title == "Short session"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("MEAGS  -12 %。", "meags -12%", True),
        ("Gap: 1,200 k", "gap 1200k", True),
        ("-12 %", "12 %", False),
        ("1.5 M", "15 M", False),
        ("¥2.1M", "$2.1M", False),
        ("a-b", "ab", True),
    ],
)
def test_identity_key_drops_punctuation_but_keeps_signs_points_and_currencies(one: str, other: str, same: bool) -> None:
    assert (identity_key(one) == identity_key(other)) is same


TEXTS = st.lists(
    st.sampled_from(
        [
            "Decision: ship it.", "We decided to wait.", "结论:缺口 -12 %。", "不对,是 40。", "ok", "What now?",
            "```\ncode", "- bullet\n- TODO: call", "Next steps:\n- one\n- two", "I removed `a.py` in 3f9c2e1.",
            "¥2.1M 冻结", "**bold",
        ]
    )
    | st.text(max_size=80),
    max_size=8,
)  # fmt: skip


@given(TEXTS, st.integers(0, 8))
def test_items_quote_their_turns_and_splitting_the_session_loses_none(texts: list[str], cut: int) -> None:
    """Check any split: the items of both parts are those of the whole. Corrections look back into the first part."""
    rows = [Message(session="s", id=str(n), role=("user", "assistant")[n % 2], content=t) for n, t in enumerate(texts)]
    whole = summarise(rows)
    contents = {row.source: re.sub(r"[\s*_]", "", row.content) for row in rows}
    for item in whole.items:
        quoted = re.sub(r"[\s*_]", "", item.text.removesuffix("…"))
        assert any(quoted in contents[source] for source in item.sources)
    parts = [*summarise(rows[:cut]).items, *summarise(rows[cut:], rows[:cut]).items]
    assert {(i.kind, identity_key(i.text)) for i in parts} == {(i.kind, identity_key(i.text)) for i in whole.items}
    assert summarise(rows) == whole


@pytest.mark.parametrize(
    "text",
    [
        "We ruled out sqlite3 because stock builds lack extensions.",
        "I gave up on the trigram index.",
        "The vector-only ranking was rejected last week.",
        "We tried one timeout for both legs but it threw away finished results and made things worse.",
        "Rejected approaches: one lock for the whole home",
        "我们最后放弃了三元组索引。",
        "单独的向量排序这个方案行不通。",
        "试过用一个总超时,结果不行。",
        "否决:每次打开都重建索引",
    ],
)
def test_rejected_approaches_are_recognised(talk: Talk, text: str) -> None:
    (item,) = summarise(talk(("user", text))).items
    assert item.kind == "rejected"


@pytest.mark.parametrize(
    "text",
    [
        "The push was rejected by the server.",
        "Should we give up on the trigram index?",
        "If the plan is rejected, we wait.",
        "Never give up on your dreams!",
        "别放弃!",
        "我不会放弃的。",
        "We decided against a second cache.",
    ],
)
def test_refusals_and_encouragement_are_no_rejected_approaches(talk: Talk, text: str) -> None:
    assert all(item.kind != "rejected" for item in summarise(talk(("user", text))).items)


@pytest.mark.parametrize(
    ("question", "answer"), [("Do you have any allergies?", "Strawberries."), ("你在哪个城市住?", "苏州")]
)
def test_a_short_answer_is_kept_with_its_question(talk: Talk, question: str, answer: str) -> None:
    (kept,) = summarise(talk(("assistant", question), ("user", answer))).items
    assert (kept.kind, kept.text, kept.asked, kept.lasting) == ("fact", answer, question, True)


@pytest.mark.parametrize(("question", "answer"), [("How was the film?", "Too long."), ("周末过得怎么样?", "还行")])
def test_an_answer_to_small_talk_is_not_kept(talk: Talk, question: str, answer: str) -> None:
    assert summarise(talk(("assistant", question), ("user", answer))).items == ()


def test_equal_answers_to_different_questions_are_different_items(talk: Talk) -> None:
    rows = (("assistant", "Do you have any allergies?"), ("user", "No, none."), ("assistant", "Do you have children?"))
    items = summarise(talk(*rows, ("user", "No, none."))).items
    assert len({item.asked for item in items}) == len(items)


@pytest.mark.parametrize(
    "sentence",
    [
        "Since I work in a bakery at night, please schedule my calls after 2 pm.",
        "我左耳听不见,所以请都给我发文字。",
    ],
)
def test_a_wish_stays_with_its_reason(talk: Talk, sentence: str) -> None:
    assert [item.text for item in summarise(talk(("user", sentence))).items] == [sentence]


@pytest.mark.parametrize("lead", ["By the way, my", "Quick note: my", "OK. My", "Hi! My"])
def test_a_lead_in_does_not_lose_a_fact(talk: Talk, lead: str) -> None:
    (kept,) = summarise(talk(("user", f"{lead} daughter is allergic to nuts."))).items
    assert (kept.kind, kept.lasting) == ("fact", True)


@pytest.mark.parametrize("unit", ["TODO: buy milk. ", "TODO: "])
def test_time_to_read_labels_grows_with_their_number(talk: Talk, unit: str) -> None:
    """Hole: a thousand labels in a line were a thousand calls inside each other, and closing failed."""
    assert is_linear(lambda text: summarise(talk(("user", text))), unit, 10_000)
