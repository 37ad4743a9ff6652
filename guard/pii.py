"""Personal data: card, IBAN, Chinese resident id, US social security number, passport in context, phone, e-mail.

A number counts only when its own arithmetic holds (Luhn, mod 97, check digit and date) or its form is
unmistakable, and never when the words before it call it an order, an invoice or an id. IP addresses, UUIDs, hashes,
versions, dates, amounts and names are not personal data here.

The arithmetic and the forms of IBANs are python-stdnum's. It is loaded by the first number that has the form of one
of these: most texts hold none, and loading it costs a quarter of what loading the guard does.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from guard.match import Match, Strength, placeholder
from guard.text.canonical import Reading

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
    """GB 11643: check character and birth date; not the district, for lists of districts are incomplete."""
    if not "11" <= text[:2] <= "91":
        return False
    from stdnum.cn import ric
    from stdnum.exceptions import ValidationError

    try:
        plausible = 1880 <= ric.get_birth_date(text).year <= 2100
    except ValidationError:
        return False
    return plausible and ric.calc_check_digit(text) == text[17].upper()


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
    if len(set(digits)) == 1 or not (_ISSUERS.match(digits) or _CARD_WORDS.search(before)):
        return False
    from stdnum import luhn

    return luhn.is_valid(digits) and bool(_CARD_WORDS.search(before) or not _NUMBERED.search(before))


def _iban(text: str, _before: str, _after: str) -> bool:
    from stdnum import iban

    compact = text.replace(" ", "")
    length = _iban_length(compact[:2])
    # The pattern may have taken a short word in capitals after the last group as well.
    if length > len(compact) or len(compact) - length > 3:
        return False
    # Without the check digits that some countries have inside: each loads a package, and mod 97 covers the whole.
    return iban.is_valid(compact[:length], check_country=False)


@cache
def _iban_length(country: str) -> int:
    """Characters of an IBAN of *country*; 4 for a country that has none, which no candidate is."""
    from stdnum import numdb

    parts = numdb.get("iban").info(country)
    return 4 + sum(map(int, re.findall(r"\d+", parts[0][1].get("bban", ""))))


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
