"""Personal data: card, IBAN, Chinese resident id, US social security number, passport in context, phone, e-mail.

A number counts only when its own arithmetic holds (Luhn, mod 97, check digit and date) or its form is
unmistakable, and never when the words before it call it an order, an invoice or an id. IP addresses, UUIDs, hashes,
versions, dates, amounts and names are not personal data here.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache

from guard.canonical import Reading
from guard.match import Match, Strength, placeholder

_FREE = r"(?![\w]|[./=-]\w)"

# Lookbehinds stand after the first character where they can: a pattern that begins with it is much quicker to search.
_LOCAL_PART = r"(?<![\w.+%-])[A-Za-z0-9][\w.+%-]{0,63}\Z"
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,6}[A-Za-z]{2,24}(?![\w@]|-\w)"
_LONGEST_LOCAL_PART = 65
_CN_MOBILE = rf"(?=[+18])(?<![\w.+/=])(?<!\d-)(?:\+?86[ -]?)?1[3-9]\d[ -]?\d{{4}}[ -]?\d{{4}}{_FREE}"
_INTERNATIONAL = r"\+(?<![\w.+]\+)[1-9](?:[ .\-()]{0,2}\d){8,14}(?!\d|[.,]\d)"
_NANP = r"(?=[(1-9])(?<![\w.+/=])(?<!\d-)(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[-.])[2-9]\d{2}[-.]\d{4}" + _FREE
_PHONE_CONTEXT = (
    r"(?:\b(?:phone|mobile|cell|tel|telephone|call|fax|whatsapp|contact|my number|reach|answering at|messages? to)\b"
    r"|电话|手机|联系方式|传真)[^\n\d+]{0,24}(\+?(?:\(\d{1,4}\)[ .-]?)?\d{1,13}(?:[ .-]\d{2,6}){0,5})"
    r"(?!\d|[.,/-]\d|\(|[ ]?[+*=])"
)
_PHONE_WORDS = (
    "phone|mobile|cell|tel|call|fax|whatsapp|contact|my number|reach|answering|messages to|message to"
    "|电话|手机|联系方式|传真"
)
_NATIONAL = r"0(?<![\w.+/=:-]0)(?<!\d 0)\d{1,4}(?:-\d{6,8}|(?: \d{2,4}){2,4}|(?:-\d{2,4}){2,4})(?!\d|[ ]\d)" + _FREE
_DOCUMENT = (
    r"(?:\b(?:passport|driv(?:er|ing)(?:'?s)? licen[cs]e|identity card|national id|id card)\b|护照|驾照|驾驶证|通行证)"
    r"[^\n\d]{0,24}?(?<![a-z0-9])([a-z]{0,3}\d[\da-z-]{4,15})(?![\w])"
)
_DOCUMENT_WORDS = "passport|licence|license|identity card|national id|id card|护照|驾照|驾驶证|通行证"
_CN_ID = r"\d(?<![0-9A-Za-z]\d)\d{16}[\dXx](?![0-9A-Za-z])"
_CARD = rf"\d(?<![\w.+=/]\d)(?<!\d-\d)(?:[ -]?\d){{11,18}}{_FREE}"
_IBAN = r"[A-Z](?<![0-9A-Za-z][A-Z])[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![0-9A-Za-z])"
_SSN = r"\d(?<![\w.-]\d)(?<!9)\d{2}(?<!000)(?<!666)([- ]?)(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])"
_SSN_CONTEXT = r"(?i:\bssn\b|social[ -]?security|社会安全号)"

_NUMBERED = re.compile(
    r"(?i:(?:order|invoice|ref(?:erence)?|ticket|tracking|snowflake|issue|build|commit|serial|sku|isbn|uuid|hash|rows|"
    r"timestamp|ts|epoch|id|no)\b[^\n]{0,12}$|(?:订单|单号|流水|编号|发票|工单|序列)[^\n]{0,8}$)"
)
_CARD_WORDS = re.compile(r"(?i:card|visa|mastercard|amex|卡)[^\n]{0,24}$")
_EMAIL_NOBODY = re.compile(r"(?i:git|noreply|no-reply|do-not-reply|donotreply)@|\S*(?i:@users\.noreply\.)")


def find_pii(reading: Reading) -> Iterator[Match]:
    """Yield personal data in *reading*, with offsets into its source."""
    text = reading.text
    if "@" in text:
        yield from _emails(reading)
    if not _compiled(r"\d(?:[ .()\-]{0,3}\d){4}|[A-Z]{2}\d\d[ A-Z]").search(text):
        return
    for rule, kind, pattern, accept in _NUMBERS:
        words = _CONTEXTS.get(rule)
        if words and not reading.mentions(words):
            continue
        for match in _compiled(pattern).finditer(reading.lowered if words else text):
            start, end = match.span((match.lastindex or 0) if words else 0)
            if accept(text[start:end], text[max(0, start - 48) : start], text[end : end + 48]):
                yield _match(rule, kind, reading.span(start, end))


def _emails(reading: Reading) -> Iterator[Match]:
    text, at = reading.text, reading.text.find("@")
    while at >= 0:
        local = _compiled(_LOCAL_PART).search(text, max(0, at - _LONGEST_LOCAL_PART), at)
        domain = _compiled(_DOMAIN).match(text, at + 1) if local else None
        if local and domain and not _EMAIL_NOBODY.match(text[local.start() : domain.end()]):
            yield _match("email", "email", reading.span(local.start(), domain.end()))
        at = text.find("@", at + 1)


def _match(rule: str, kind: str, span: tuple[int, int]) -> Match:
    return Match(
        layer="pii",
        rule=rule,
        kind=kind,
        start=span[0],
        end=span[1],
        strength=Strength.CLEAN,
        replacement=placeholder(kind),
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def _resident_id(text: str, _before: str, _after: str) -> bool:
    """GB 11643: region, birth date, order, check character by ISO 7064 mod 11-2."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    check = "10X98765432"[sum(int(digit) * weight for digit, weight in zip(text, weights, strict=False)) % 11]
    return check == text[17].upper() and "11" <= text[:2] <= "91" and _birth_date(text[6:14])


def _birth_date(digits: str) -> bool:
    try:
        return 1880 <= date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).year <= 2100
    except ValueError:
        return False


_ISSUERS = re.compile(
    r"(?:4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d{4}|222[1-9]\d\d|22[3-9]\d{3}|2[3-6]\d{4}|27[01]\d{3}|2720\d\d)\d{10}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011\d\d|64[4-9]\d{3}|65\d{4})\d{10}(?:\d{3})?"  # Discover
    r"|3(?:0[0-5]|[689]\d)\d{11}(?:\d{2})?"  # Diners
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|(?:1800|2131)\d{11}"  # JCB, 15 digits
    r"|62\d{14,17}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15})\Z"  # Maestro
)  # fmt: skip


def _card(text: str, before: str, _after: str) -> bool:
    digits = _digits(text)
    if not _luhn(digits) or len(set(digits)) == 1:
        return False
    if _CARD_WORDS.search(before):
        return True
    return _ISSUERS.match(digits) is not None and not _NUMBERED.search(before)


def _luhn(digits: str) -> bool:
    total = 0
    for index, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + index % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


# Length of an IBAN by country, from the SWIFT registry.
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29,
    "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29,
    "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
    "HN": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20,
    "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19,
    "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29,
    "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24,
    "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
    "YE": 30,
}  # fmt: skip


def _iban(text: str, _before: str, _after: str) -> bool:
    compact = text.replace(" ", "")
    length = _IBAN_LENGTHS.get(compact[:2], 99)
    # The pattern may have taken a short word in capitals after the last group as well.
    if length > len(compact) or len(compact) - length > 3:
        return False
    compact = compact[:length]
    return int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 == 1


def _social_security(_text: str, before: str, after: str) -> bool:
    return bool(_compiled(_SSN_CONTEXT).search(before) or _compiled(_SSN_CONTEXT).search(after))


def _phone(text: str, before: str, _after: str) -> bool:
    return not _NUMBERED.search(before) and len(set(_digits(text))) >= 3


def _international(text: str, before: str, after: str) -> bool:
    digits = _digits(text)
    separated = len(digits) + 1 < len(text)
    return len(digits) >= (9 if separated else 10) and _phone(text, before, after)


def _spoken_phone(text: str, before: str, after: str) -> bool:
    """A number announced as a phone number: seven digits in groups or nine in a row, and not a date."""
    digits = _digits(text)
    return (
        7 + 2 * (digits == text) <= len(digits) <= 15
        and not re.match(r"(?:19|20)\d\d[-./ ]?\d\d[-./ ]?\d\d", text)
        and _phone(text, before, after)
    )


def _national(text: str, before: str, after: str) -> bool:
    """A number with the trunk prefix 0, in groups; not a date."""
    return 9 <= len(_digits(text)) <= 12 and not re.search(r"(?:19|20)\d\d\Z", text) and _phone(text, before, after)


def _document(text: str, _before: str, _after: str) -> bool:
    """The number of a passport or licence, after its name: five digits at least, and not a date."""
    return len(_digits(text)) >= 5 and not re.match(r"(?:19|20)\d\d-", text)


_CONTEXTS = {"phone-context": _PHONE_WORDS, "document-context": _DOCUMENT_WORDS}
"""Rules that need a word before the number run on the lower-cased text, where one of their words occurs."""

_NUMBERS: tuple[tuple[str, str, str, Callable[[str, str, str], bool]], ...] = (
    ("cn-resident-id", "resident_id", _CN_ID, _resident_id),
    ("payment-card", "card", _CARD, _card),
    ("iban", "iban", _IBAN, _iban),
    ("us-ssn", "ssn", _SSN, _social_security),
    ("cn-mobile", "phone", _CN_MOBILE, _phone),
    ("phone-international", "phone", _INTERNATIONAL, _international),
    ("phone-nanp", "phone", _NANP, _phone),
    ("phone-national", "phone", _NATIONAL, _national),
    ("phone-context", "phone", _PHONE_CONTEXT, _spoken_phone),
    ("document-context", "document_id", _DOCUMENT, _document),
)
