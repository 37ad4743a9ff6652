"""Personal data with correct check digits is replaced. Similar numbers stay."""

import subprocess
import sys

import pytest

from guard import Action, GuardSettings, Verdict, screen


def resident_id(seventeen: str) -> str:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return seventeen + "10X98765432"[sum(int(d) * w for d, w in zip(seventeen, weights, strict=True)) % 11]


def luhn(digits: str) -> str:
    """Append the Luhn check digit to *digits*."""
    doubled = sum(sum(divmod(int(d) * (2 if i % 2 == 0 else 1), 10)) for i, d in enumerate(reversed(digits)))
    return digits + str(-doubled % 10)


CASES = {
    "Chinese mobile": ("联系电话138" + "1234" + "5678,下午", "联系电话[REDACTED:phone],下午"),
    "mobile with country": ("mobile +86 138" + "-1234-5678.", "mobile [REDACTED:phone]."),
    "international": ("call +44 20 7946 " + "0958 now", "call [REDACTED:phone] now"),
    "American": ("(212) 555" + "-0187 at noon", "[REDACTED:phone] at noon"),
    "e-mail": ("write to jo.doe+x@" + "mail.example.org today", "write to [REDACTED:email] today"),
    "card": ("card " + luhn("426684199530471") + " exp 12/28", "card [REDACTED:card] exp 12/28"),
    "card of few digits": ("my card is " + luhn("411111111111111") + " now", "my card is [REDACTED:card] now"),
    "UnionPay": ("卡号" + luhn("621700000000123456") + "。", "卡号[REDACTED:card]。"),
    "resident id": ("身份证" + resident_id("11010519491231002") + "。", "身份证[REDACTED:resident_id]。"),
    "IBAN": ("to GB82 WEST 1234 5698 " + "7654 32 today", "to [REDACTED:iban] today"),
    "Libyan IBAN": ("to LY83 0020 4800 0020 1001 " + "2036 1 today", "to [REDACTED:iban] today"),
    "national": ("ring 0171 234" + " 5678 today", "ring [REDACTED:phone] today"),
    "Chinese landline": ("电话010-" + "62771234。", "电话[REDACTED:phone]。"),
    "passport": ("passport number: E1" + "2345678, renewed", "passport number: [REDACTED:document_id], renewed"),
    "Chinese passport": ("护照号码是G1" + "2345678。", "护照号码是[REDACTED:document_id]。"),
    "licence": ("my driver's license is D12-" + "34567 now", "my driver's license is [REDACTED:document_id] now"),
    "SSN": ("SSN: 123-45" + "-6789", "SSN: [REDACTED:ssn]"),
}


@pytest.mark.parametrize("name", CASES)
def test_personal_data_is_replaced_in_place(name: str) -> None:
    text, expected = CASES[name]
    assert screen(text, "user", "memory").text == expected


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_check_digit_is_not_personal_data(name: str) -> None:
    if name not in {"card", "UnionPay", "resident id", "IBAN"}:
        return
    text, _ = CASES[name]
    last = max(i for i, character in enumerate(text[:-10] if name in {"card", "IBAN"} else text) if character.isdigit())
    broken = text[:last] + str((int(text[last]) + 1) % 10) + text[last + 1 :]
    assert screen(broken, "user", "memory").action is Action.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21T14:30:00Z, version 125.0.6005.105, build 20261121",
        "bind 0.0.0.0:8080 on 192.168.1.12",
        "session 21636369-8b52-4b4a-97b7-50923ceb3ffd",
        "sha256:5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
        "commit ac3478d69a3c81fa62e60f5c3696165a4e5e6ac4",
        "ts=1763116422 epoch 1763116422123 rows=7340888752",
        "王小明的订单号是20261121000123456",
        "order no 13812345678, invoice 4266841995304710",
        "预算 ¥2.1M, MEAGS -12 %, 3,450,000.00 元",
        "git clone git@github.com:team/repo.git",
        "Co-authored-by: bot <noreply@mail.internal>",
        "sqrt{20(20-8)(20-15)(20-17)}",
        "123-45-6789 is a part number",
        "padding 0000000000000000, 8888 8888 8888 8888, 4444444444444444",
        "on 01-02-2026 and 09 11 2026, runs 0 12 345, 007 agents, id 0961-75",
        "the passport expires 2031-05-04 and the licence in 2030",
    ],
)
def test_numbers_of_other_kinds_stay(text: str) -> None:
    assert screen(text, "user", "memory") == Verdict(action=Action.ALLOW, text=text)


def test_the_profile_keeps_email_and_phone_but_no_card() -> None:
    text = "e-mail me@" + "mail.example.org, phone 138" + "12345678, card " + luhn("426684199530471")
    verdict = screen(text, "user", "user_profile")
    assert "me@mail" in verdict.text
    assert "13812345678" in verdict.text
    assert verdict.text.endswith("[REDACTED:card]")


@pytest.mark.parametrize("destination", ["memory", "daily", "knowledge", "project", "transcript", "output", "prompt"])
def test_other_destinations_keep_neither(destination: str) -> None:
    verdict = screen("reach me@" + "mail.example.org or 138" + "12345678", "user", destination)
    assert verdict.text == "reach [REDACTED:email] or [REDACTED:phone]"


def test_a_resident_id_of_an_unlisted_district_is_personal_data() -> None:
    assert (
        screen(f"身份证{resident_id('810000' + '19900307421')}。", "user", "memory").text
        == "身份证[REDACTED:resident_id]。"
    )


@pytest.mark.parametrize("born", ["19490231", "19491331", "00000101", "17991231"])
def test_a_resident_id_with_an_impossible_birth_date_passes(born: str) -> None:
    assert screen(f"身份证{resident_id('110105' + born + '002')}。", "user", "memory").action is Action.ALLOW


@pytest.mark.parametrize("country", ["GB", "ZZ"])
def test_an_iban_without_the_form_of_its_country_passes(country: str) -> None:
    account = "12345698765432" + "1234"
    check = 98 - int("".join(str(int(character, 36)) for character in account + country + "00")) % 97
    assert screen(f"to {country}{check:02d}{account} today", "user", "memory").action is Action.ALLOW


@pytest.mark.parametrize(
    ("text", "loaded"),
    [
        ("On 2026-11-21 build 125.0.6005.105 took 3450000 rows, order no 1234567890123456.", False),
        (CASES["card"][0], True),
        (CASES["resident id"][0], True),
        (CASES["IBAN"][0], True),
    ],
)
def test_the_checksum_library_is_imported_by_the_first_candidate(*, text: str, loaded: bool) -> None:
    script = "import sys, guard; guard.screen(sys.argv[1], 'user', 'memory'); print('stdnum' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, text], capture_output=True, text=True, check=True)
    assert done.stdout == f"{loaded}\n"


@pytest.mark.parametrize(
    "text",
    [
        "my IBAN is de89370400440532013000", "DE89-3704-0044-0532-0130-00", "gb82 west 1234 5698 7654 32",
        "ES91.2100.0418.4502.0005.1332", "nl91 abna 0417 1643 00",
    ],
)  # fmt: skip
def test_an_iban_in_small_letters_or_with_signs_is_redacted(text: str) -> None:
    assert "[REDACTED:iban]" in screen(text, "user", "memory").text


@pytest.mark.parametrize(
    "text",
    [
        "Ruf mich an: 0151 23456789", "mi móvil es 612 34 56 78", "мой телефон 8 (912) 345-67-89",
        "meu celular é (11) 91234-5678", "numero di cellulare 347 1234567", "mój numer to 601 234 567",
        "Handy 0176/12345678", "携帯 090-1234-5678", "내 번호는 010-1234-5678",
    ],
)  # fmt: skip
def test_a_phone_number_is_redacted_in_many_languages(text: str) -> None:
    assert "[REDACTED:phone]" in screen(text, "user", "daily").text


OWN = [
    "Remember my phone number is +49 151 23456789", "My email is ana@posteo.example, keep it",
    "我的手机号是13812345678", "Meine Handynummer ist 0151 23456789", "mon numéro de portable : 06 12 34 56 78",
    "мой телефон +7 912 345 67 89",
]  # fmt: skip


@pytest.mark.parametrize("text", OWN)
def test_the_owners_own_contact_data_stays_in_memory_and_in_the_transcript(text: str) -> None:
    assert screen(text, "user", "memory").text == text
    assert screen(text, "user", "transcript").text == text


@pytest.mark.parametrize("text", OWN)
def test_own_contact_data_is_redacted_where_others_read_and_from_others(text: str) -> None:
    for destination in ("daily", "knowledge", "project", "output"):
        assert "[REDACTED:" in screen(text, "user", destination).text
    assert "[REDACTED:" in screen(text, "tool", "memory").text
    without = GuardSettings(keep_own_contact=False)
    assert "[REDACTED:" in screen(text, "user", "memory", settings=without).text


@pytest.mark.parametrize(
    "text",
    [
        "Ana's email is ana@posteo.example", "my doctor's phone number is +49 151 23456789", "Call +49 151 23456789",
        "my phone is broken, call Jana at +420 777 123 456", "my phone: ask Jana at +420 777 123 456",
        "my phone is broken call Jana at +420 777 123 456",
    ],
)  # fmt: skip
def test_contact_data_of_others_is_redacted(text: str) -> None:
    assert "[REDACTED:" in screen(text, "user", "memory").text
