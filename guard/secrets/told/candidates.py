"""Candidates for a secret told in a sentence: numbers, quotations, words with other characters, plain words, phrases.

A candidate is only a place. ``guard.secrets.told.model`` judges it with the words around it. Values that other rules
know, such as addresses, hashes, times and measures, are no candidates.
"""

import base64
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from guard.lazy_regex import lazy_regex
from guard.secrets.value import is_plausible_value

__all__ = ["EASTERN", "UNSPACED", "Candidate", "Kind", "shaped_candidates", "short_numbers", "token_kind", "tokens"]


class Kind:
    """Kinds of candidates, one letter each."""

    NUMBER = "n"
    SHORT = "t"
    GROUPS = "g"
    MIXED = "o"
    HYPHENATED = "h"
    QUOTED = "q"
    WORD = "w"
    PHRASE = "s"


class Candidate(NamedTuple):
    """A half-open span of a text, and its kind."""

    start: int
    end: int
    kind: str


UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts whose letters are words, as the inside of a character class."""

EASTERN = UNSPACED + "\uac00-\ud7a3"
"""Scripts whose letters stand beside a value without a space, as the inside of a character class."""

_LETTER = rf"[^\W{EASTERN}]"
_TOKEN = lazy_regex(rf"[{UNSPACED}]|[\uac00-\ud7a3]+|[^\s{EASTERN}]+")
_OPENING = "\"'`“”„«»‘’‚‹›([{<*_,;:=—–-「『（【¿¡…>→|/"
_CLOSING = "\"'`“”„«»‘’‹›)]}>*_,;:.?!…」』）】。、|/"
_LONGEST = 64
_LONGEST_WORD = 36
"""Characters of a word that somebody tells. Longer ones are keys, which the rules for keys know."""
_WORD = lazy_regex(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: Two small words with a hyphen are a word of the language.
_COMPOUND = lazy_regex(r"[a-zß-öø-ÿ]{1,14}-[a-zß-öø-ÿ]{1,14}[!?]?")
_HYPHENATED = lazy_regex(r"[^\W\d_]+(?:-[^\W\d_]+)+")
# The search skips all characters that no match begins with, so the first one comes before the looks around it.
_NUMBER = lazy_regex(
    rf"[#*\d](?<!{_LETTER}.)(?<!\d[.,:/-].)(?<![+€$£].)(?:(?<=\d)|(?<=[#*])\d)"
    rf"(?:(?: - |[-./・ ])?\d){{2,7}}[#*]?(?!{_LETTER})"
    r"(?![.,:/-]\d)(?! ?\d| ?[年년])"
)
#: A token with a digit, with a capital after a small letter, or with a sign inside. Plain words are left out first.
_MIXED = lazy_regex(
    rf"(?<![^\s{EASTERN}])(?![A-Za-z][a-z]*[.,;:!?)\"']*\s)"
    rf"(?=[^\s{EASTERN}]{{0,{_LONGEST}}}?(?:\d|[a-zß-öø-ÿ][A-ZÀ-Þ]|\w[^\w\s{EASTERN}'’,;…\"]\w|\w_))"
    rf"[^\s{EASTERN}]+"
)
#: Cells of a table: a value that somebody tells has a space behind a comma.
_CELLS = lazy_regex(r"[,;](?=.)")
#: Words, as somebody says them: no code, and no note of a redaction.
_SAID = lazy_regex(r"(?!.*REDACTED)[\w ,.!?'’-]+")
#: Quick looks before the patterns above and below.
_DIGIT, _SIGN, _QUOTE = (
    lazy_regex(r"\d"),
    lazy_regex(r"[a-zß-öø-ÿ][A-ZÀ-Þ]|\w[^\w\s'’,;…\"]\w|\w_"),
    lazy_regex(r"[\"“„«「『`‹]|(?<!\w)['‘]"),
)
_QUOTED = lazy_regex(
    r"[\"“„«「『`‹'‘ ](?:(?:(?<=[\"“„«「『`‹])|(?<=['‘])(?<!\w.))(?=\S)([^\"“”„«»「」『』`\n‹›]{3,64}?)(?<=\S)"
    r"[\"“”»」』`'’›](?![^\W_])"
    r"|(?<=[“„«「『] )([^\"“”„«»「」『』`\n]{3,64}?) (?=[”“»」』]))"
)
#: Groups of letters and digits, as codes are written. A space stands between them only where each has a digit.
_GROUPED = lazy_regex(
    r"(?<![\w./:@#-])(?:(?=[A-Za-z-]{0,60}\d)[A-Za-z0-9]{2,10}(?:-[A-Za-z0-9]{2,10}){1,11}"
    r"|(?=[A-Za-z]{0,9}\d)[A-Za-z0-9]{2,10}(?: (?=[A-Za-z]{0,9}\d)[A-Za-z0-9]{2,10}){1,11})(?![\w@-]|[./:]\w)",
    re.ASCII,
)
_SHORT = lazy_regex(r"(?<![\w.,:/+€$£#*-])\d{1,2}(?!\w| ?[%°€$£]|[.,:/-]\d| ?[年年월月日시時分])")
_MORE_SIGNS = "!?#*%&$+~^@"
_MEASURE = lazy_regex(
    r"(?i)\d{1,2}[:.h]\d\d(?:[:.]\d\d)?\s?(?:[ap]\.?m|uhr|h)?!?"
    r"|\d{1,5}(?:st|nd|rd|th|[ap]m|px|r?em|[kmgt]b|ms|kg|[ckm]m|ml|min|hz|°?[cf]|ème|er|h|x|%|€|\$)!?"
    r"|\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2}"
)
#: Digits of numbers that machines write, and identifiers with a prefix that says of what.
_MACHINE = lazy_regex(
    r"(?:.{0,24}[-:@/])?(?=[a-f]*\d)[0-9a-f]{7,}|[0-9A-F]{12,}|(?i:[0-9a-f]{2,}(?:(?:-|\.\.\.?)[0-9a-f]{2,}){1,8}(?<!\d{4}))"
    r"|[a-z]{2,8}_(?=\w*\d)[A-Za-z0-9]{12,}|#[^\W\d_]\S*|#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{8})"
)
#: What stands before the number of a line or of a column: ``panic.go:``, ``server.py:7:``.
_LINE_OF_FILE = lazy_regex(r"\.[a-z]{1,5}:(?:\d{1,6}:)?$")
_MOST_ENDING = 14
_CAMEL = lazy_regex(r"[A-Za-z]{1,10}(?:[A-Z][a-z]+)+[A-Z]{0,5}")


def shaped_candidates(text: str) -> list[Candidate]:
    """Return the numbers, the quotations and the words with other characters in *text*, in order."""
    found: dict[tuple[int, int], str] = {}
    has_digit = _DIGIT.search(text) is not None
    if has_digit:
        for match in _NUMBER.finditer(text):
            if not _MEASURE.fullmatch(match[0]) and not _LINE_OF_FILE.search(
                text, max(0, match.start() - _MOST_ENDING), match.start()
            ):
                found[match.span()] = Kind.NUMBER
    for match in _MIXED.finditer(text) if has_digit or _SIGN.search(text) else ():
        for start, end in _cores(text, *match.span()):
            kind = token_kind(text[start:end])
            if (
                kind in {Kind.MIXED, Kind.HYPHENATED}
                and end - start <= _LONGEST_WORD
                and not _CELLS.search(text, start, end)
            ):
                upto = _with_signs(text, end)
                if _is_possible(text[start:upto]):
                    found[start, upto] = kind
    for match in _GROUPED.finditer(text) if has_digit else ():
        if match.span() not in found and not _MEASURE.fullmatch(match[0]):
            found[match.span()] = Kind.GROUPS
    for match in _QUOTED.finditer(text) if _QUOTE.search(text) else ():
        start, end = match.span(1 if match[1] else 2)
        if (start, end) not in found and _SAID.fullmatch(text, start, end):
            found[start, end] = Kind.QUOTED
    return [Candidate(*span, found[span]) for span in sorted(found)]


def short_numbers(text: str, start: int, end: int) -> Iterator[Candidate]:
    """Yield the numbers of one or two digits in ``text[start:end]``: parts of a code that is told in pieces."""
    for match in _SHORT.finditer(text, start, end):
        yield Candidate(*match.span(), Kind.SHORT)


def tokens(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words in ``text[start:end]`` without the punctuation around them."""
    for match in _TOKEN.finditer(text, start, end):
        yield from _cores(text, *match.span())


@lru_cache(maxsize=8192)
def token_kind(core: str) -> str:
    """Return the kind of a token without the punctuation around it. The empty string is none of them."""
    if _WORD.fullmatch(core) or (len(core) == 1 and not core.isdigit()):
        return Kind.WORD
    if core.isdigit() or _NUMBER.fullmatch(core):
        return Kind.NUMBER
    if _HYPHENATED.fullmatch(core):
        return Kind.HYPHENATED
    return Kind.MIXED if len(core) >= 4 and any(map(str.isalnum, core)) else ""


def _cores(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the token without punctuation around it, or its name and its value where a sign stands between them."""
    while start < end and text[start] in _OPENING:
        start += 1
    while start < end and text[end - 1] in _CLOSING:
        end -= 1
    if start >= end:
        return
    sign = max(text.rfind(":", start, end), text.rfind("=", start, end))
    if (
        start < sign < end - 1
        and text.find(":", start, sign) < 0
        and not text[start:sign].isdigit()
        and text.find("//", start, end) < 0
    ):
        yield start, sign
        start = sign + 1
    yield start, end


def _with_signs(text: str, end: int) -> int:
    """Return the end of a value with up to two signs that belong to it, or to the sentence: nobody misses those.

    Two asterisks end bold text, and the value stays in it.
    """
    if text.startswith("**", end):
        return end
    upto = min(len(text), end + 2)
    while end < upto and text[end] in _MORE_SIGNS:
        end += 1
    return end


@lru_cache(maxsize=8192)
def _is_possible(value: str) -> bool:
    """Return whether a word with other characters can be a secret that somebody tells."""
    if (
        value[0] == "@"
        or "REDACTED" in value
        or not value.isprintable()
        or _MEASURE.fullmatch(value)
        or _MACHINE.fullmatch(value)
    ):
        return False
    if (value[-1] == "=" or len(value) >= 16) and _is_readable_base64(value):
        return False
    return _CAMEL.fullmatch(value) is not None or is_plausible_value(value.rstrip("!?"))


def _is_readable_base64(value: str) -> bool:
    """Return whether *value* is text in base64, which is decoded and searched elsewhere."""
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode().isprintable()
    except ValueError:
        return False
