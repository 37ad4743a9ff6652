"""Two things of one sort are told apart by the word that qualifies them."""

from __future__ import annotations

import pytest

from distill.statements.contradiction import relation
from distill.statements.other_subject import names_other_thing, names_owned_thing, shares_only_name, shares_only_person


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The mail server runs on port 2525.", "The test server runs on port 9090 now."),
        ("The backup of the shop runs at 2 am.", "The backup of the wiki runs at 4 am now."),
        ("发票服务器的端口是8080", "测试服务器的端口改成9090了"),
        ("We buy the Bosch oven for the new kitchen.", "We buy the Liebherr fridge for the new kitchen, the tall one."),
    ],
)
def test_another_thing_of_the_sort_is_another_thing(older: str, newer: str) -> None:
    assert names_other_thing(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The mail server runs on port 2525.", "The mail server runs on port 9090 now."),
        ("My old phone is a Pixel.", "My new phone is a Fairphone."),
        ("The backup of the shop runs at 2 am.", "The backup of the shop runs at 4 am now."),
        ("We use Jenkins for builds.", "We use Buildkite for builds now."),
        ("发票服务器的端口是8080", "发票服务器的端口改成9090了"),
        ("The rehearsal is on Monday.", "The party is on Friday."),
        ("We buy the Bosch oven.", "We buy the Siemens oven."),
    ],
)
def test_a_new_value_of_the_same_thing_is_not(older: str, newer: str) -> None:
    assert not names_other_thing(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I pick up Lotte at 4.", "Lotte turned 7."),
        ("用公制单位。", "不对,办公室八点开门。"),
    ],
)
def test_a_name_or_a_character_in_common_is_no_subject(older: str, newer: str) -> None:
    assert shares_only_name(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Saffron the cat weighs 5.2 kg.", "Saffron's down to 4.6"),
        ("Lotte's bedtime is at 7.", "Lotte goes at 8 now."),
        ("店铺房租每月六千五。", "下个月开始店租涨到七千"),
    ],
)
def test_a_word_of_change_and_a_unit_may_be_about_the_same(older: str, newer: str) -> None:
    assert not shares_only_name(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user's dentist is Dr Palmgren.", "Dr Palmgren's hygienist has moved to Leeds"),
        ("老秦是用户的部门主管。", "老秦的助理走了，现在是个叫小盛的在顶"),
    ],
)
def test_what_belongs_to_somebody_is_another_thing(older: str, newer: str) -> None:
    assert names_owned_thing(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Mbali is learning the cello.", "Mbali's dropped the cello"),
        ("Nadja's exhibition opens on 3 May.", "Nadja's show starts on the 17th"),
        ("The user has a cold.", "cold's gone, feeling fine"),
        ("用户秋天要搬去厦门。", "厦门的事黄了，不搬"),
    ],
)
def test_a_verb_or_a_thing_that_was_owned_before_is_the_same(older: str, newer: str) -> None:
    assert not names_owned_thing(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("我女儿对花生过敏。", "我女儿现在改学小提琴了。"),
        (
            "My brother can't have lactose and my mum is vegetarian.",
            "My mum's off metoprolol now, she takes amlodipine.",
        ),
        ("My mum is a nurse and my dad is diabetic", "My mum is in Malmö now, she switched apartments"),
        ("Tom is coeliac.", "Tom has moved to the second floor now."),
        ("Our client Hana prefers calls.", "Our client Hana changed her logo now."),
        ("小李负责接口测试。", "小李现在搬到五楼了。"),
    ],
)
def test_a_person_alone_is_no_shared_subject(older: str, newer: str) -> None:
    assert shares_only_person(older, newer)
    assert relation(older, newer).kind == "different"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My son goes to swimming on Tuesdays.", "My son's swimming is on Thursdays now."),
        ("Kestrel is due on 3 May.", "Kestrel slipped to 10 May."),
        ("My boss is Karin.", "My boss is now Elias."),
        ("我女儿学钢琴。", "我女儿现在改学小提琴了。"),
        ("我儿子在二班。", "我儿子现在换到三班了。"),
        ("爷爷一个人住在乡下。", "爷爷搬来跟我们挤了"),
    ],
)
def test_an_attribute_or_a_value_of_the_kind_is_a_shared_subject(older: str, newer: str) -> None:
    assert not shares_only_person(older, newer)
