"""Newer statements repeat, replace or leave alone older ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.statements.contradiction import are_same_change, relation, restates_change
from distill.statements.statement_parser import parse_statement
from recall.text.stems import stem


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Uploads may hold 30 files", "Uploads may hold 31 files"),
        ("Ask Dana before the audit begins", "Ask Priya before the audit begins"),
        ("The audit of the Kestrel ledger begins on March 3", "The Kestrel ledger audit begins on March 13"),
        ("Backups run on Friday evening", "On Saturday evening backups run"),
        ("The audit covers the Kestrel ledger", "The audit does not cover the Kestrel ledger"),
        ("Audit logs are rotated before the nightly backup", "The nightly backup runs before audit logs are rotated"),
        ("Warnings raise the score of a run", "Warnings lower the score of a run"),
        ("Dana reports to Priya about the audit", "Priya reports to Dana about the audit"),
        ("The build for the fast lane is red", "The build for the fast lane is green"),
        ("Indent all code with tabs instead of spaces", "Indent all code with spaces instead of tabs"),
        ("Yes, Dana, we agree", "Yes, Dana, we will"),
        ("三楼会议室可以坐 12 人", "三楼会议室可以坐 21 人"),
        ("先备份再迁移", "先迁移再备份"),
        ("审计包括账本", "审计不包括账本"),
    ],
)
def test_a_different_number_name_date_negation_order_or_opposite_is_never_the_same(older: str, newer: str) -> None:
    assert relation(older, newer, cosine=1.0).kind != "same"
    assert relation(newer, older, cosine=1.0).kind != "same"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We decided to poll the feed every 6 hours", "We decided to poll the feed every 24 hours"),
        ("We agreed to ship billing on Friday", "We agreed to ship billing on Monday"),
        ("We decided to poll the feed every 12 hours instead of every 6 hours", "Poll the feed every 24 hours"),
        ("We decided to ship on Tuesdays instead of Mondays", "We decided to ship on Mondays"),
        ("我们决定把轮询频率从每6小时改为每12小时", "我们决定轮询频率为每24小时"),
        ("缓存改用 Memcached,不用 Redis 了。", "缓存用 Redis,不用 Memcached。"),
        ("event bus 用 Kafka。", "event bus 不用 Kafka 了,改用 NATS。"),
    ],
)
def test_a_decision_that_replaced_another_can_itself_be_replaced(older: str, newer: str) -> None:
    assert relation(older, newer).kind == "replaced"


def test_a_statement_that_agrees_about_what_is_gone_is_not_replaced() -> None:
    newer = "We use RabbitMQ for the queue and not Postgres any more"
    assert relation("The team uses RabbitMQ instead of Postgres for the queue.", newer).kind != "replaced"
    older = "The queue lost messages on RabbitMQ, so we stay with Postgres."
    assert relation(older, newer).kind == "replaced", "what follows from a reason is the statement"


def test_the_same_change_in_other_words_is_recognised_with_its_direction() -> None:
    said = "We changed the supplier, not Novatex any more but Textilka."
    assert are_same_change(said, "The supplier is Textilka instead of Novatex.")
    assert not are_same_change(said, "The supplier is Novatex instead of Textilka.")
    assert not are_same_change(said, "The carrier is Textilka instead of Novatex.")
    assert not are_same_change(said, "The supplier is Textilka.")
    assert are_same_change("event bus 不用 Kafka 了,改用 NATS。", "event bus 用 NATS,不用 Kafka。")
    assert not are_same_change("event bus 不用 Kafka 了,改用 NATS。", "event bus 用 Kafka,不用 NATS。")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("No, the queue limit is 800 jobs.", "The queue limit is 800 jobs."),
        ("队列上限是 800。", "不对,队列上限是 800。"),
    ],
)
def test_a_correction_says_the_same_as_its_statement_alone(older: str, newer: str) -> None:
    assert relation(older, newer).kind == "same"
    assert relation(older, newer.replace("800", "900")).kind != "same"


def test_repeating_the_new_value_of_a_change_replaces_nothing() -> None:
    assert relation("Poll every 12 hours instead of every 6 hours", "Poll every 12 hours").kind == "different"
    assert relation("We bought 3 servers for the lab", "We bought 5 servers for the lab").kind == "different"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Audit reports go out on Monday", "Audit reports go out on Monday and list open findings"),
        ("Run 12 took 40 minutes", "Run 13 took 44 minutes"),
        ("Yesterday's run took 40 minutes", "Yesterday's run took 44 minutes"),
        ("We hired 3 people", "We hired 5 people"),
        ("Dana likes long walks", "Priya likes long walks"),
        ("Use the large font for posters", "Use the small font for footnotes"),
        ("一号仓库在苏州", "二号仓库在无锡"),
        ("本周卖出 12 台", "本周卖出 9 台"),
    ],
)
def test_a_refinement_another_event_or_another_subject_replaces_nothing(older: str, newer: str) -> None:
    assert relation(older, newer).kind == "different"


@pytest.mark.parametrize(
    ("older", "newer", "reason"),
    [
        ("Audits take place in May", "Audits take place in June", "another date"),
        ("Exports need an approval", "Exports no longer need an approval", "says that it holds no longer"),
        ("Exports need an approval", "Exports do not need an approval", "denies it"),
        ("Drafts are kept for 7 days", "Drafts are kept for 30 days, not for 7 days", "names what it replaces"),
        ("Drafts are public", "Drafts are private", "says the opposite"),
        ("草稿保留 7 天", "草稿保留时间从 7 天改为 30 天", "names what it replaces"),
        ("导出需要审批", "导出不再需要审批", "says that it holds no longer"),
    ],
)
def test_a_changed_value_replaces_and_the_rule_is_named(older: str, newer: str, reason: str) -> None:
    assert relation(older, newer) == type(relation(older, newer))(kind="replaced", reason=reason)


def test_without_words_of_change_two_values_of_one_session_are_a_choice() -> None:
    older, newer = "Deploy the ledger on Monday", "Deploy the ledger on Friday"
    assert relation(older, newer).kind == "replaced"
    assert relation(older, newer, apart=False).kind == "different"
    assert relation(older, newer, lasting=False).kind == "different"
    assert relation(older, f"{newer} instead of Monday", apart=False, lasting=False).kind == "replaced"


def test_a_cosine_says_nothing_about_chinese() -> None:
    assert relation("报告按金额排列", "合同由法务保管", cosine=1.0).kind == "different"


_SOME = (
    "audit",
    "ledger",
    "of",
    "Dana",
    "is",
    "Monday",
    "12",
    "40",
    "%",
    "not",
    "before",
    "March",
    "审",
    "周三",
    "不",
    "七",
)
_WORDS = st.lists(st.sampled_from(_SOME), max_size=12).map(" ".join)


@given(st.one_of(_WORDS, st.text(max_size=60)))
def test_a_text_says_the_same_as_itself_or_nothing(text: str) -> None:
    kind = relation(text, text).kind
    assert kind == "same" or (kind == "different" and not parse_statement(text).tokens) or "not" in text or "不" in text


@given(st.one_of(_WORDS, st.text(max_size=60)), st.one_of(_WORDS, st.text(max_size=60)))
def test_any_two_texts_have_a_relation_and_sameness_has_no_direction(one: str, other: str) -> None:
    plain = not any(mark in one + other for mark in ("not", "不", "from", "从"))
    if plain and relation(one, other, cosine=0.9).kind == "same":
        assert relation(other, one, cosine=0.9).kind == "same"


@given(st.text(max_size=60))
def test_tokens_have_their_places_in_the_text(text: str) -> None:
    said = parse_statement(text)
    assert all(0 <= token.start < token.end <= len(said.text) for token in said.tokens)
    assert all(a.start <= b.start for a, b in zip(said.tokens, said.tokens[1:], strict=False))


@pytest.mark.parametrize(("one", "other"), [("deploys", "deployed"), ("policies", "policy"), ("froze", "frozen")])
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_a_change_of_another_thing_is_not_the_same_change() -> None:
    older = "We take MySQL for the orders instead of Postgres."
    assert restates_change(older, "As I said, we take MySQL for orders instead of Postgres.")
    for newer in (
        "We take MySQL for the users instead of Postgres.",
        "We take Redis for the orders instead of Postgres.",
        "We take MySQL for the orders instead of Oracle.",
        "We don't take MySQL for the orders instead of Postgres.",
    ):
        assert not restates_change(older, newer)


def test_a_day_alone_links_no_statements_in_two_languages() -> None:
    older = "The dentist appointment moved to Thursday the 26th."
    assert relation(older, "会议改到周五下午三点,不是周四。").kind == "different"
