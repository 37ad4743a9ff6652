"""Detection of personal data: cards, IBANs, resident ids, social security numbers, documents, phones, e-mail.

A number counts only when its check digits are right (Luhn, mod 97, check digit and date) or its form is unmistakable.
A number after words such as *order*, *invoice* or *id* never counts. IP addresses, UUIDs, hashes, versions, dates,
amounts and names are not personal data here.

python-stdnum checks digits and knows the forms of IBANs. The first number with such a form imports it: most texts hold
none, and the import takes a quarter of the time of importing the guard.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from guard.lazy_regex import lazy_regex
from guard.match import Match
from guard.national_ids import find_national_ids
from guard.redaction import replaced_match
from guard.text.canonical import TextVariant, utf8
from guard.text.quick_search import first_place

__all__ = ["find_pii", "is_own_contact"]

_NO_WORD_AFTER = r"(?![\w]|[./=-]\w)"

# Look-behinds follow the first character where possible: `re` searches for a fixed first character much more quickly.
_LOCAL_PART = r"(?<![\w.+%-])[A-Za-z0-9][\w.+%-]{0,63}\Z"
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,6}[A-Za-z]{2,24}(?![\w@]|-\w)"
_LONGEST_LOCAL_PART = 65
_CN_MOBILE = rf"(?=[+18])(?<![\w.+/=])(?<!\d-)(?:\+?86[ -]?)?1[3-9]\d[ -]?\d{{4}}[ -]?\d{{4}}{_NO_WORD_AFTER}"
_INTERNATIONAL = r"\+(?<![\w.+]\+)[1-9](?:[ .\-()]{0,2}\d){8,14}(?!\d|[.,]\d)"
_NANP = (
    r"(?=[(1-9])(?<![\w.+/=])(?<!\d-)(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[-.])[2-9]\d{2}[-.]\d{4}" + _NO_WORD_AFTER
)
_PHONE_NAMES = (
    r"(?:\b(?:phone|mobile|cell|tel|telephone|call|fax|whatsapp|contact|my number|reach|answering at|messages? to)\b"
    r"|电话|手机|联系方式|传真|電話|携帯|전화|휴대폰|핸드폰|(?<![a-z])(?:telefon|handy|mobil|móvil|celular|cellulare|teléfono|téléphone"
    r"|telefono|telefone|portable\b|gsm|телефон|мобильн|позвони|llám|appelle|ruf |rufnummer|chiam|zadzwoń)[^\W\d]{0,8}"
    r"|\b(?:mein[e]?|mon|ma|mi|mio|meu|minha|mijn|мой|mój|moj|我的|私の|내)\s(?:numm?er[oa]?|numéro|número|номер)"
    r"|(?:번호는))[^\n\d+(]{0,24}"
)
_PHONE_CONTEXT = (
    _PHONE_NAMES + r"(\+?(?:\d[ .-]?)?(?:\(\d{1,4}\)[ .-]?)?\d{1,13}(?:[ ./-]\d{2,8}){0,5})"
    r"(?!\d|[.,/-]\d|\(|[ ]?[+*=])"
)
_PHONE_WORDS = (
    "phone|mobile|cell|tel|call|fax|whatsapp|contact|my number|reach|answering|messages to|message to"
    "|电话|手机|联系方式|传真|電話|携帯|전화|휴대폰|핸드폰|번호는|telef|teléf|téléph|handy|mobil|móvil|celular|cellulare"
    "|portable|gsm|телефон|мобильн|позвони|llám|appelle|ruf |rufnummer|chiam|zadzwoń|номер|numer|nummer|numéro|número"
)
_NATIONAL = (
    r"0(?<![\w.+/=:-]0)(?<!\d 0)\d{1,4}(?:-\d{6,8}|(?: \d{2,4}){2,4}|(?:-\d{2,4}){2,4})(?!\d|[ ]\d)" + _NO_WORD_AFTER
)
_DOCUMENT = (
    r"(?:\b(?:passport|driv(?:er|ing)(?:'?s)? licen[cs]e|identity card|national id|id card)\b|护照|驾照|驾驶证|通行证)"
    r"[^\n\d]{0,24}?(?<![a-z0-9])([a-z]{0,3}\d[\da-z-]{4,15})(?![\w])"
)
_DOCUMENT_WORDS = "passport|licence|license|identity card|national id|id card|护照|驾照|驾驶证|通行证"
_CN_ID = r"\d(?<![0-9A-Za-z]\d)\d{16}[\dXx](?![0-9A-Za-z])"
_CARD = rf"\d(?<![\w.+=/]\d)(?<!\d-\d)(?:[ -]?\d){{11,18}}{_NO_WORD_AFTER}"
_IBAN = (
    r"(?<![0-9A-Za-z])[A-Za-z]{2}\d{2}(?:[ ._:/-]{0,2}[A-Za-z0-9]{4}){2,7}(?:[ ._:/-]{0,2}[A-Za-z0-9]{1,3})?"
    r"(?![0-9A-Za-z])"
    r"|(?<![0-9A-Za-z])[A-Za-z]{2}\d{2}(?:[ ._-]?[A-Za-z0-9]){11,30}(?![0-9A-Za-z])"
)
_SSN = r"\d(?<![\w.-]\d)(?<!9)\d{2}(?<!000)(?<!666)([- ]?)(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])"
_SSN_CONTEXT = r"(?i:\bssn\b|social[ -]?security|社会安全号)"

_OTHER_NUMBER_WORDS = lazy_regex(
    r"(?i:(?:order|invoice|ref(?:erence)?|ticket|tracking|snowflake|issue|build|commit|serial|sku|isbn|uuid|hash|rows|"
    r"timestamp|ts|epoch|id|no)\b[^\n]{0,12}$|(?:订单|单号|流水|编号|发票|工单|序列)[^\n]{0,8}$)"
)
_CARD_WORDS = lazy_regex(r"(?i:card|visa|mastercard|amex|卡)[^\n]{0,24}$")
_IMPERSONAL_EMAIL = lazy_regex(r"(?i:git|noreply|no-reply|do-not-reply|donotreply)@|\S*(?i:@users\.noreply\.)")


def find_pii(variant: TextVariant) -> Iterator[Match]:
    """Yield personal data in *variant*, with offsets into its source."""
    text = variant.text
    if "@" in text:
        yield from _emails(variant)
    if not _compiled(r"\d(?:[ .()\-]{0,3}\d){4}|[A-Za-z]{2}\d\d[ ._:/A-Za-z0-9-]").search(text):
        return
    yield from find_national_ids(variant)
    for rule, kind, pattern, accept in _NUMBER_RULES:
        keywords = _CONTEXTS.get(rule)
        if keywords and not variant.mentions(keywords):
            continue
        searched = variant.lowered if keywords else text
        if rule in _QUICK and first_place(_QUICK[rule], utf8(searched)) < 0:
            continue
        for match in _compiled(pattern).finditer(searched):
            start, end = match.span((match.lastindex or 0) if keywords else 0)
            if accept(text[start:end], text[max(0, start - 48) : start], text[end : end + 48]):
                yield replaced_match("pii", rule, kind, variant.span(start, end))


def is_own_contact(text: str, start: int) -> bool:
    """Return whether the words before *start* give an address or a number as the speaker's own.

    >>> is_own_contact("Please remember: my phone number is +49 151 2345678", 36)
    True
    >>> is_own_contact("Ana's phone number is +49 151 2345678", 22)
    False
    """
    return _OWN_CONTACT.search(text[max(0, start - _OWN_BEFORE) : start]) is not None


_OWN_BEFORE = 72
_OWN_CONTACT = lazy_regex(
    r"(?i)(?:\b(?:my|meine?|mon|ma|mi|mis|il mio|la mia|meu|minha|mijn|мой|моя|mój|moj|moja|moje|benim)\b"
    r"|我的?|私の|僕の|내|제)"
    r"\s{0,2}(?:[^\W\d]{1,16}[\s-]){0,3}?"
    r"(?:(?:e-?)?mail|phone|mobile|cell|number|telefon|telefoon|handy|nummer|tel|portable|courriel|adresse|téléphone|numéro"
    r"|correo|teléfono|móvil|celular|número|telefono|cellulare|numero|posta|telefone|telemóvel|почт|телефон|номер|мейл|numer"
    r"|邮箱|邮件|电话|手机|号码|メール|電話|携帯|番号|이메일|메일|전화|번호)"
    # No further clause, and no colon with more words: "my phone is broken, call Ana at ..." gives Ana's number.
    r"[^\n.,;:!?@\d，、：]{0,18}(?:[:：]\s{0,2})?(?:\+\d{1,3}[ (-]{0,2}\d{0,4}[ )-]{0,2})?\Z"
)


def _emails(variant: TextVariant) -> Iterator[Match]:
    text, at = variant.text, variant.text.find("@")
    while at >= 0:
        local = _compiled(_LOCAL_PART).search(text, max(0, at - _LONGEST_LOCAL_PART), at)
        domain = _compiled(_DOMAIN).match(text, at + 1) if local else None
        in_address = local is not None and text[max(0, local.start() - 3) : local.start()] == "://"
        if local and domain and not in_address and not _IMPERSONAL_EMAIL.match(text[local.start() : domain.end()]):
            yield replaced_match("pii", "email", "email", variant.span(local.start(), domain.end()))
        at = text.find("@", at + 1)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def _is_resident_id(text: str, _before: str, _after: str) -> bool:
    """Check character and birth date by GB 11643. The district is not checked, because lists are incomplete."""
    if not "11" <= text[:2] <= "91":
        return False
    from stdnum.cn import ric
    from stdnum.exceptions import ValidationError

    try:
        plausible = 1880 <= ric.get_birth_date(text).year <= 2100
    except ValidationError:
        return False
    return plausible and ric.calc_check_digit(text) == text[17].upper()


_ISSUERS = lazy_regex(
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


def _is_card(text: str, before: str, _after: str) -> bool:
    digits = _digits(text)
    if len(set(digits)) == 1 or not (_ISSUERS.match(digits) or _CARD_WORDS.search(before)):
        return False
    from stdnum import luhn

    return luhn.is_valid(digits) and bool(_CARD_WORDS.search(before) or not _OTHER_NUMBER_WORDS.search(before))


def _is_iban(text: str, _before: str, _after: str) -> bool:
    from stdnum import iban

    compact = re.sub(r"[^A-Z0-9]", "", text.upper())
    length = _iban_length(compact[:2])
    # The pattern may include a short word in capitals after the last group.
    if length > len(compact) or len(compact) - length > 3:
        return False
    # National check digits are not verified: each country would load a package, and mod 97 covers the whole number.
    return iban.is_valid(compact[:length], check_country=False)


@cache
def _iban_length(country: str) -> int:
    """Return the length of an IBAN of *country*, or 4 for a country without IBANs. No candidate is that short."""
    from stdnum import numdb

    parts = numdb.get("iban").info(country)
    return 4 + sum(map(int, re.findall(r"\d+", parts[0][1].get("bban", ""))))


def _is_social_security(_text: str, before: str, after: str) -> bool:
    return bool(_compiled(_SSN_CONTEXT).search(before) or _compiled(_SSN_CONTEXT).search(after))


def _is_phone(text: str, before: str, _after: str) -> bool:
    return not _OTHER_NUMBER_WORDS.search(before) and len(set(_digits(text))) >= 3


def _is_international_phone(text: str, before: str, after: str) -> bool:
    digits = _digits(text)
    separated = len(digits) + 1 < len(text)
    return len(digits) >= (9 if separated else 10) and _is_phone(text, before, after)


def _is_phone_in_context(text: str, before: str, after: str) -> bool:
    """Check a number after a word for phones: seven digits in groups or nine in a row, and no date."""
    digits = _digits(text)
    return (
        7 + 2 * (digits == text) <= len(digits) <= 15
        and not re.match(r"(?:19|20)\d\d[-./ ]?\d\d[-./ ]?\d\d", text)
        and _is_phone(text, before, after)
    )


def _is_national_phone(text: str, before: str, after: str) -> bool:
    """Check a number in groups with the trunk prefix 0. Dates are refused."""
    return 9 <= len(_digits(text)) <= 12 and not re.search(r"(?:19|20)\d\d\Z", text) and _is_phone(text, before, after)


def _is_document_number(text: str, _before: str, _after: str) -> bool:
    """Check the number after *passport* or *licence*: at least five digits, and no date."""
    return len(_digits(text)) >= 5 and not re.match(r"(?:19|20)\d\d-", text)


_CONTEXTS = {"phone-context": _PHONE_WORDS, "document-context": _DOCUMENT_WORDS}
"""Rules that require a word before the number. They run on the lower-cased text when it has one of the words."""

_QUICK = {
    "iban": r"[A-Za-z]{2}\d{2}(?:[ ._:/-]{0,2}[A-Za-z0-9]){8}",
    "phone-context": _PHONE_NAMES.replace("(?<![a-z])", "").replace(r"\s", r"[\s\x0b]") + r"[+(\d]",
}
"""Patterns for ``guard.text.quick_search`` that occur wherever a rule finds something."""

_NUMBER_RULES: tuple[tuple[str, str, str, Callable[[str, str, str], bool]], ...] = (
    ("cn-resident-id", "resident_id", _CN_ID, _is_resident_id),
    ("payment-card", "card", _CARD, _is_card),
    ("iban", "iban", _IBAN, _is_iban),
    ("us-ssn", "ssn", _SSN, _is_social_security),
    ("cn-mobile", "phone", _CN_MOBILE, _is_phone),
    ("phone-international", "phone", _INTERNATIONAL, _is_international_phone),
    ("phone-nanp", "phone", _NANP, _is_phone),
    ("phone-national", "phone", _NATIONAL, _is_national_phone),
    ("phone-context", "phone", _PHONE_CONTEXT, _is_phone_in_context),
    ("document-context", "document_id", _DOCUMENT, _is_document_number),
)
