"""Numbers that states give to people, by form and check digits or after their name."""

import pytest

from guard import screen

# Published examples and numbers made of nothing but right check digits.
NUMBERS = [
    "Mi DNI es 12345678Z", "NIE X1234567L", "mio codice fiscale: RSSMRA85T10A562S", "CPF 390.533.447-05",
    "Numéro de sécurité sociale 1 85 05 78 006 084 91", "PESEL 44051401359", "BSN 111222333", "SNILS 112-233-445 95",
    "meine Steuer-ID ist 36574261809", "personnummer 811228-9874", "hetu 131052-308T", "AHV 756.9217.0769.85",
    "Rijksregisternummer 85.07.30-033.28", "rodné číslo 710319/2745", "RUT 12.531.909-2", "CURP BOXW310820HNERXN09",
    "Aadhaar 2341 2341 2346", "NHS number 943 476 5870", "TC 17291716060", "ИНН 500100732259", "HKID A123456(3)",
    "マイナンバー 123456789018", "South African ID number 7503305044089", "CNP 1630615123457",
]  # fmt: skip
OTHERS = [
    "RFC 2616 14.26", "PESEL 44051401358", "BSN 111222334", "CPF 390.533.447-06", "order 12345678 shipped",
    "the PAN network has 12345678 nodes", "commit 7503305 on 2024-05-01", "ISBN 978-3-16-148410-0",
    "BSN is a Dutch number",
    "port 8080, timeout 1700000000000 ms", "IPv4 10.12.14.16", "release 2024.05.01-1234",
]  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_a_national_number_is_redacted(text: str) -> None:
    assert "[REDACTED:" in screen(text, "user", "memory").text


@pytest.mark.parametrize("text", OTHERS)
def test_other_numbers_pass(text: str) -> None:
    assert screen(text, "user", "memory").text == text
