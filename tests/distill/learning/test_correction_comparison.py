"""Corrections with the same lesson are recognised: pairs labelled by hand, in English and Chinese."""

from __future__ import annotations

import pytest

from distill.learning.correction_comparison import same_lesson, split_correction

SAME = (
    (
        "No, the summary should be in English, not in German.",
        "Wrong, write the summary in English instead of German.",
    ),
    (
        "Wrong, round amounts to two decimals, not to four.",
        "No, amounts are rounded to two decimals, not to three.",
    ),
    (
        "No, you should ask before you push to main.",
        "Wrong, ask before you push to main, not after.",
    ),
    (
        "不对,金额要保留两位小数,不是四位。",
        "又错了,金额保留两位小数,不是三位。",
    ),
    (
        "不对,周报发给李经理,不是发给王经理。",
        "错了,周报应该发给李经理,而不是王经理。",
    ),
    (
        "No, that function is called parse_row, not read_row.",
        "No, the function is parse_row, not readRow.",
    ),
    (
        "No, use tabs, not spaces.",
        "Wrong, use tabs instead of spaces.",
    ),
    (
        "No, the deadline is 3 May, not 5 May.",
        "That's wrong, the deadline is 3 May.",
    ),
    (
        "不对,先跑测试再提交,不是先提交。",
        "错了,要先跑测试再提交。",
    ),
    (
        "No, call the customer Alder Ltd, not Alder Inc.",
        "Wrong, the customer is called Alder Ltd, not Alder AG.",
    ),
    (
        "No, it's the gross amount, not the net amount.",
        "Wrong, take the gross amount instead of the net amount.",
    ),
    (
        "No, the tests should run before the build, not after it.",
        "Wrong, the tests must run before the build.",
    ),
    (
        "No, the chart goes on page 2, not on page 3.",
        "Wrong, put the chart on page 2, not on page 4.",
    ),
    (
        "No, ship to the warehouse in Lyon, not in Paris.",
        "No, we ship to the warehouse in Lyon, not in Nice.",
    ),
    (
        "不对,合同要用中文写,不是英文。",
        "错了,合同用中文写,不是用英文。",
    ),
    (
        "不对,退款要经过财务审批,不是客服。",
        "又错了,退款应该经过财务审批,而不是客服。",
    ),
    (
        "No, log the request id, not the user id.",
        "Wrong, you should log the request id instead of the user id.",
    ),
    (
        "No, you should quote the source, not paraphrase it.",
        "Wrong, quote the source, not your summary.",
    ),
    (
        "No, the meeting is at 10:30, not at 11:00.",
        "Wrong, the meeting is at 10:30, not 11.",
    ),
    (
        "No, archive the file, not delete it.",
        "Wrong, archive the file instead of deleting it.",
    ),
    (
        "不对,图表单位是万元,不是元。",
        "不对,图表的单位是万元,而不是元。",
    ),
    (
        "No, the branch is called release, not stable.",
        "Wrong, the branch is release, not stable.",
    ),
)
DIFFERENT = (
    (
        "No, the summary should be in English, not in German.",
        "No, the summary should be in French, not in German.",
    ),
    (
        "Wrong, round amounts to two decimals, not to four.",
        "Wrong, round rates to two decimals, not to four.",
    ),
    (
        "No, you should ask before you push to main.",
        "No, you should ask before you delete a branch.",
    ),
    (
        "不对,金额要保留两位小数,不是四位。",
        "不对,金额要保留三位小数,不是四位。",
    ),
    (
        "不对,周报发给李经理,不是发给王经理。",
        "不对,周报发给王经理,不是发给李经理。",
    ),
    (
        "No, use tabs, not spaces.",
        "No, use spaces, not tabs.",
    ),
    (
        "No, the deadline is 3 May, not 5 May.",
        "No, the deadline is 4 May, not 5 May.",
    ),
    (
        "不对,先跑测试再提交。",
        "不对,先提交再跑测试。",
    ),
    (
        "No, it's the gross amount, not the net amount.",
        "No, it's the net amount, not the gross amount.",
    ),
    (
        "No, the tests should run before the build, not after it.",
        "No, the tests should run after the build, not before it.",
    ),
    (
        "No, send it to finance, not to sales.",
        "No, send it to legal, not to sales.",
    ),
    (
        "No, the invoice is in euro, not in dollars.",
        "No, the offer is in euro, not in dollars.",
    ),
    (
        "No, the server is in Berlin, not in Oslo.",
        "No, the client is in Berlin, not in Oslo.",
    ),
    (
        "不对,报表按月份排序,不是按地区。",
        "不对,报表按地区排序,不是按月份。",
    ),
    (
        "不对,是上海的团队,不是北京的。",
        "不对,是深圳的团队,不是北京的。",
    ),
    (
        "No, always escape the input.",
        "No, never escape the input.",
    ),
    (
        "No, the cache expires after six hours.",
        "No, the lock expires after six hours.",
    ),
    (
        "No, delete the old rows, not the new ones.",
        "No, keep the old rows, not the new ones.",
    ),
    (
        "No, the chart goes on page 2, not on page 3.",
        "No, the table goes on page 2, not on page 3.",
    ),
    (
        "No, ship to the warehouse in Lyon, not in Paris.",
        "No, ship from the warehouse in Lyon, not in Paris.",
    ),
    (
        "不对,合同要用中文写,不是英文。",
        "不对,合同要用英文写,不是中文。",
    ),
    (
        "不对,退款要经过财务审批,不是客服。",
        "不对,采购要经过财务审批,不是客服。",
    ),
    (
        "No, log the request id, not the user id.",
        "No, hide the request id, not the user id.",
    ),
    (
        "No, archive the file, not delete it.",
        "No, archive the folder, not delete it.",
    ),
    (
        "No, the meeting is at 10:30, not at 11:00.",
        "No, the call is at 10:30, not at 11:00.",
    ),
    (
        "不对,图表单位是万元,不是元。",
        "不对,图表单位是亿元,不是元。",
    ),
    (
        "No, enable the cache, not the queue.",
        "No, disable the cache, not the queue.",
    ),
    (
        "No, the parser comes before the linter, not the formatter.",
        "No, the linter comes before the parser, not the formatter.",
    ),
    (
        "不对,先审批再付款,不是先付款。",
        "不对,先付款再审批,不是先审批。",
    ),
    (
        "No, the report is for the board, not for sales.",
        "No, the report is for the team, not for sales.",
    ),
    (
        "No, use the staging database, not production.",
        "No, use the production database, not staging.",
    ),
    (
        "不对,会议在三楼,不是二楼。",
        "不对,会议在四楼,不是二楼。",
    ),
    (
        "No, it is Maria who signs, not Tom.",
        "No, it is Clara who signs, not Tom.",
    ),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_lesson_in_other_words_is_recognised(one: str, other: str) -> None:
    assert same_lesson(one, other)
    assert same_lesson(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_value_subject_order_or_opposite_is_another_lesson(one: str, other: str) -> None:
    assert not same_lesson(one, other)
    assert not same_lesson(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No, use pnpm, not npm.", "Use pnpm instead of npm, please."),
        ("不对,报告要按风险排序,不是按日期。", "又错了,报告应该按风险排序,不是按名称。"),
        ("不对,MEAGS 是 -12 %,不是 -8 %。", "不对,MEAGS 是 -12 %,不是 -10 %。"),
    ],
)
def test_the_same_lesson_with_another_wrong_value_is_recognised(one: str, other: str) -> None:
    assert same_lesson(one, other)
    assert same_lesson(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No, use pnpm, not npm.", "No, use npm, not pnpm."),
        ("No, it's 12, not 8.", "No, it is 12, not 9."),
        ("No, run the tests before pushing.", "No, never run the tests before pushing."),
        ("No, the client is called Alder.", "No, the client is called Birch."),
        ("不对,要先跑测试再推送。", "不对,要先写测试再评审。"),
    ],
)
def test_another_value_or_negation_is_another_lesson(one: str, other: str) -> None:
    assert not same_lesson(one, other)
    assert not same_lesson(other, one)


def test_an_introduction_inside_a_word_or_sentence_is_kept() -> None:
    assert split_correction("不对称加密要用 RSA。") == ("不对称加密要用 RSA。", "")
    assert split_correction("No tests should be skipped.") == ("No tests should be skipped.", "")
