"""Codes told in plain words are secrets. What only talks about codes passes."""

import pytest

from guard import Action, screen

TOLD = {
    "the wifi code is sunflower-88": "the wifi code is [REDACTED:code]",
    "The wifi key is BlueKettle.": "The wifi key is [REDACTED:password].",
    "The alarm code of the house is 9035.": "The alarm code of the house is [REDACTED:code].",
    "remember the alarm code, it's 9035": "remember the alarm code, it's [REDACTED:code]",
    "The code for the front door is 4482#.": "The code for the front door is [REDACTED:code].",
    "garage code 2290": "garage code [REDACTED:code]",
    "4482 is the door code": "[REDACTED:code] is the door code",
    "the key safe by the back door opens with 5512": "the key safe by the back door opens with [REDACTED:code]",
    "The combination of the safe is 12-34-56.": "The combination of the safe is [REDACTED:code].",
    "I changed my PIN to 4482.": "I changed my PIN to [REDACTED:code].",
    "pin's 4482, don't forget": "pin's [REDACTED:code], don't forget",
    "My PIN is 4442": "My PIN is [REDACTED:password]",
    "门锁密码是4482。": "门锁密码是[REDACTED:password]。",
    "家里大门密码 1199": "家里大门密码 [REDACTED:code]",
    "wifi密码sunflower88": "wifi密码[REDACTED:code]",
}


@pytest.mark.parametrize("text", TOLD)
def test_a_code_told_in_plain_words_is_redacted(text: str) -> None:
    verdict = screen(text, "user", "memory")
    assert (verdict.action, verdict.text) == (Action.REDACT, TOLD[text])
    assert screen(verdict.text, "user", "memory").text == verdict.text


@pytest.mark.parametrize("text", [
    "the code is broken", "my PIN was wrong", "I use a password manager", "the error code is 5003",
    "the area code is 0316", "Our post code is 94110", "the door code has 4 digits", "the lock code is 500 lines",
    "the building code is 2019 edition", "The security code review is due 2026-11-20.", "the discount code is 884120",
    "the wifi password is on the fridge", "connect pin 1302", "The PIN pad costs 1200 euros", "alarm at 0600",
    "门牌号码是1203", "门店代码是10023", "密码至少8位", "密码有效期90天", "我忘了密码",
])  # fmt: skip
def test_talk_about_codes_passes(text: str) -> None:
    assert screen(text, "user", "memory").action is Action.ALLOW
