"""Numbers that states give to people: identity, tax, social security and health numbers of some fifty countries.

A number in the unmistakable form of its country counts when its check digits are right. Other numbers need the name of
such a number before them, and right check digits where the name is an ambiguous abbreviation. python-stdnum computes
the check digits. Its modules are imported one by one, for the first number of their form.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from guard.lazy_regex import lazy_regex
from guard.match import Match
from guard.redaction import replaced_match
from guard.text.canonical import TextVariant
from guard.text.quick_search import first_place

__all__ = ["find_national_ids"]

_STRONG = {
    "it.codicefiscale": r"[A-Za-z]{6}\d{2}[A-EHLMPRSTa-ehlmprst]\d{2}[A-Za-z]\d{3}[A-Za-z]",
    "es.dni": r"\d{8}-?[A-HJ-NP-TV-Z]|\d{2}\.\d{3}\.\d{3}-?[A-HJ-NP-TV-Z]",
    "es.nie": r"[XYZ]-?\d{7}-?[A-Z]",
    "fr.nir": r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}",
    "br.cpf": r"\d{3}\.\d{3}\.\d{3}-\d{2}",
    "se.personnummer": r"(?:19|20)?\d{6}[-+]\d{4}",
    "fi.hetu": r"\d{6}[-+A]\d{3}[0-9A-Y]",
    "be.nn": r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}",
    "ch.ssn": r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2}",
    "cz.rc": r"\d{6}/\d{4}",
    "cl.rut": r"\d{1,2}\.\d{3}\.\d{3}-[\dkK]",
    "mx.curp": r"[A-Z]{4}\d{6}[HM][A-Z]{5}[0-9A-Z]\d",
    "kr.rrn": r"\d{6}-[1-8]\d{6}",
    "my.nric": r"\d{6}-\d{2}-\d{4}",
    "th.pin": r"\d-\d{4}-\d{5}-\d{2}-\d",
    "ar.cuit": r"(?:20|2[3-7]|3[034])-\d{8}-\d",
    "pk.cnic": r"\d{5}-\d{7}-\d",
    "in_.aadhaar": r"[2-9]\d{3} \d{4} \d{4}",
    "pt.cc": r"\d{8} \d [A-Z]{2}\d",
    "do.cedula": r"\d{3}-\d{7}-\d",
    "no.fodselsnummer": r"[0-3]\d[01]\d{3} \d{5}",
    "ro.cnp": r"[1-8]\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{6}",
}
"""Forms that count with right check digits, by the module of python-stdnum."""

_UNCHECKED = (
    r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] \d{2} \d{2} \d{2} [A-D]"  # United Kingdom, national insurance
    r"|[A-Z]{1,2}\d{6}\([0-9A]\)"  # Hong Kong
    r"|\d{3}-\d{3}-\d{3} \d{2}"  # Russia, SNILS
    r"|[A-Z]{3}P[A-Z]\d{4}[A-Z]"  # India, PAN of a person
)
"""Forms that nothing else has."""

_NAMED = lazy_regex(
    r"(?i:national (?:id|insurance|identity)|(?:id|identity|identification|personal|citizen"
    r"|social security|social insurance|tax(?:payer)?|tax file|nhs|medicare|health(?: card| insurance)?|pension)"
    r" ?(?:card )?(?:number|no\.?|id)\b|aadhaar"
    r"|steuer-?(?:id\b|nummer|identifikationsnummer)|ausweisnummer|(?:sozial|renten)versicherungsnummer"
    r"|krankenversichertennummer"
    r"|burgerservicenummer|sofinummer|rijksregisternummer|numéro (?:de sécurité sociale|insee|national)|n° de sécu"
    r"|codice fiscale|documento (?:nacional )?de identi|cédula|cedula|número de identi|registro geral"
    r"|numero dowodu|dowód osobisty"
    r"|personnummer|fødselsnummer|henkilötunnus|cpr-?nummer|kennitala|rodné číslo|osobní číslo|isikukood|asmens kodas"
    r"|kimlik|снилс|паспорт|идентификационн|налогоплательщик|адф|егн|αμκα|αφμ|身份证|身分證|身分证|マイナンバー|個人番号|주민등록번호"
    r"|주민번호|מספר זהות|nomor induk|mykad|căn cước)"
)
_SHORT = {
    "DNI": ("es.dni", "ar.dni"), "NIE": ("es.nie",), "NIF": ("es.nif", "es.dni", "pt.nif"), "CPF": ("br.cpf",),
    "PESEL": ("pl.pesel",), "BSN": ("nl.bsn",), "NHS": ("gb.nhs",), "UTR": ("gb.utr",), "SIN": ("ca.sin",),
    "TFN": ("au.tfn",), "PAN": ("in_.pan",), "RUT": ("cl.rut",), "RUN": ("cl.rut",), "CURP": ("mx.curp",),
    "RFC": ("mx.rfc",), "CUIT": ("ar.cuit",), "CUIL": ("ar.cuit",), "CNP": ("ro.cnp",), "CPR": ("dk.cpr",),
    "PPS": ("ie.pps",), "PPSN": ("ie.pps",), "OIB": ("hr.oib",), "EGN": ("bg.egn",), "AMKA": ("gr.amka",),
    "AFM": ("gr.vat",), "NRIC": ("my.nric",), "NIR": ("fr.nir",), "INSEE": ("fr.nir",), "IdNr": ("de.idnr",),
    "TIN": ("us.itin", "de.idnr"), "JMBG": ("si.emso",), "EMSO": ("si.emso",), "SVNR": ("at.vnr",), "AHV": ("ch.ssn",),
    "AVS": ("ch.ssn",), "RRN": ("kr.rrn",), "NIK": ("id.nik",), "CNIC": ("pk.cnic",), "TC": ("tr.tckimlik",),
    "T.C.": ("tr.tckimlik",), "ИНН": ("ru.inn",), "РНОКПП": ("ua.rntrc",), "RČ": ("cz.rc",), "IRD": ("nz.ird",),
}  # fmt: skip
"""Abbreviations, and the modules that know the check digits."""

_ABBREVIATED = lazy_regex(
    r"(?<![\w.])(?:" + "|".join(map(re.escape, sorted(_SHORT, key=len, reverse=True))) + r")(?![\w.])"
)
_NAMES = "|".join([_NAMED.pattern, *map(re.escape, _SHORT)])
"""Names and abbreviations, for ``guard.text.quick_search``."""

_NUMBER = lazy_regex(r"(?<!\w)(?=[A-Z0-9]{0,4}\d)[A-Za-z0-9](?:[ ./-]?[A-Za-z0-9]){5,19}(?!\w)")
_DATE = lazy_regex(r"(?:19|20)\d\d-\d\d")
_BEFORE = 72
_BETWEEN = lazy_regex(r"(?:[ :#=.,()\-–—]|[^\W\d_]){0,28}\Z")


def find_national_ids(variant: TextVariant) -> Iterator[Match]:
    """Yield the numbers of persons in *variant*, with offsets into its source."""
    text = variant.text
    for match in _strong().finditer(text):
        number = match.lastindex or 0
        if number > len(_STRONG) or _is_valid(tuple(_STRONG)[number - 1], match[0]):
            yield replaced_match("pii", "national-id", "national_id", variant.span(*match.span()))
    for found in _NUMBER.finditer(text):
        if not _may_be_named(found[0]):
            continue
        # The letters of other scripts have more than two cases in `re`, which RE2 does not know.
        if text.isascii() and first_place(_NAMES, variant.utf8) < 0:
            return
        before = text[max(0, found.start() - _BEFORE) : found.start()]
        names = [named for pattern in (_NAMED, _ABBREVIATED) for named in pattern.finditer(before)]
        if any(_BETWEEN.match(before, name.end()) and _is_named_number(name[0], found[0]) for name in names):
            yield replaced_match("pii", "national-id", "national_id", variant.span(*found.span()))


@cache
def _strong() -> re.Pattern[str]:
    forms = "|".join(f"({form})" for form in (*_STRONG.values(), _UNCHECKED))
    return re.compile(rf"(?<![\w./-])(?<!\d )(?=[A-Za-z]{{0,6}}[ -]?\d)(?:{forms})(?![\w/-]|[. ]\d)")


def _may_be_named(number: str) -> bool:
    """Return whether *number* has seven digits and is no date. This is quicker than the search for a name before it."""
    return sum(map(str.isdigit, number)) >= 7 and not _DATE.match(number)


def _is_named_number(name: str, number: str) -> bool:
    """Return whether *number* after *name* is a person's: after an abbreviation, the check digits must be right."""
    return name not in _SHORT or any(_is_valid(module, number) for module in _SHORT[name])


def _is_valid(module: str, number: str) -> bool:
    return bool(_checker(module).is_valid(number))


@cache
def _checker(module: str) -> Any:
    return import_module(f"stdnum.{module}")
