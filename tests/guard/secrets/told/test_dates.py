"""Dates and times beside the name of a credential."""

import time

import pytest

from guard import screen
from guard.secrets.told.dates import is_date_part

DATED = [
    "Ich brauche die PIN bis 12. März.",
    "Ich muss noch meinen Reisepass verlängern, vor dem 12. März.",
    "Ich brauche die PIN bis zum 3. Oktober um 14 Uhr.",
    "Bitte die PIN bis Freitag, 12. März schicken.",
    "Die PIN läuft am 12. 3. 2027 ab.",
    "The PIN expires March 12 2027.",
    "I need the PIN by March 12, before 2 pm.",
    "Le code PIN change à 14 heures le 3 mai.",
    "Necesito el PIN antes del 12 de marzo.",
    "Mi serve il PIN entro il 12 marzo.",
    "Preciso do PIN até 12 de março.",
    "Ik heb de pincode nodig voor 12 maart.",
    "Potrzebuję PIN-u do 12 marca.",
    "Potřebuji PIN do 12. března.",
    "Мне нужен ПИН-код до 12 марта.",
    "PIN'i 12 Mart'a kadar istiyorum.",
    "Tarvitsen PIN-koodin ennen 12. maaliskuuta.",
    "Jeg skal bruge pinkoden før den 12. marts.",
    "我需要在3月12日之前拿到密码。",
    "パスワードは3月12日までに変更してください。",
]


@pytest.mark.parametrize("text", DATED)
def test_a_date_beside_the_name_of_a_credential_is_kept(text: str) -> None:
    assert screen(text, "user", "memory").text == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Die PIN ist 4711, gültig ab 12. März.", "4711"),
        ("My PIN is 1203.", "1203"),
        ("My password is March12!", "March12"),
        ("The PIN until 12 March is 8264.", "8264"),
    ],
)
def test_a_secret_beside_a_date_or_like_one_is_redacted(text: str, secret: str) -> None:
    assert secret not in screen(text, "user", "memory").text


def test_words_that_begin_like_a_month_make_no_date() -> None:
    for text, value in (("12 marbles", "12"), ("PIN 47 March", "47"), ("code 12 decks", "12"), ("12", "12")):
        start = text.index(value)
        assert not is_date_part(text, start, start + len(value))


@pytest.mark.parametrize("piece", ["12 ", "12. ", "12 March ", "12-", "1", "2027-03-"])
def test_time_is_linear(piece: str) -> None:
    text, begun = piece * 20_000, time.process_time()
    for start in range(0, 2_000, 2):
        is_date_part(text, start, start + 2)
    assert time.process_time() - begun < 1.0
