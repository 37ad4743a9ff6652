"""Detection of characters that a person does not see, and of disguised words.

*Hidden text* is quarantined: bidirectional overrides (the displayed text differs from the stored text), tag characters,
runs of variation selectors, characters of the supplementary private planes. *Stray* invisible characters are removed.
Characters with a use in writing stay: joiners inside emoji and in Arabic and Indic words, variation selectors after
the symbols and ideographs they select, flags spelled with tags, balanced isolates in a line of right-to-left script,
zero-width spaces in scripts without spaces.

*Disguised words* are quarantined too: Latin words with letters of other alphabets, sensitive words ("password",
"ignore") with any look-alike letter, and sentences in full-width or mathematical letters. A single imitation may come
from a wrong keyboard layout and is only a soft match. The variants of ``guard.text.canonical`` undo the disguise for
other rules.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from guard.match import Match, Strength
from guard.redaction import placeholder
from guard.text.canonical import is_lookalike, skeleton

__all__ = ["find_invisible"]

_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"

_HIDDEN_RUNS = rf"[{_TAGS}]+|[{_SELECTORS}]{{2,}}|[\U000f0000-\U0010fffd]{{4,}}"
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"
_OVERRIDES = "[\u202a-\u202e]+|[\u2066-\u2069]+"
_RIGHT_TO_LEFT = "[\u05d0-\u05ea\u0620-\u06d3\u0710-\u07f5\ufb1d-\ufdfc\ufe70-\ufefc]"
_CANDIDATES = (
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    f"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a{_TAGS}\U000e0080-\U000e01ef\U000f0000-\U0010fffd]"
)

_STRAY_CANDIDATES = (
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0080-\U000e01ef]"
)
_CERTAIN_STRAYS = "(?<=[\t\n -~])[\xad\u200b-\u200d\u2060-\u2064\ufeff](?=[\t\n -~])"
"""Invisible characters without a use in any script: those between two ASCII characters."""

_STRAY_SELECTORS = 4
"""Number of single selectors after letters from which they are a hidden message."""

_HIDDEN_RUN = 8
"""Number of stray invisible characters side by side that spell something: eight of them are a byte."""

_DISGUISED_WORDS = 2
"""Number of imitated words in a text that a wrong keyboard layout no longer explains."""

_STYLED_WORDS = 3
_STYLED_LETTERS = 8
"""Least numbers of words in full-width or mathematical letters, and of letters in them, for a sentence."""

_WORD = r"[^\W\d_]{3,64}"
_STYLED = "[\uff21-\uff3a\uff41-\uff5a]{2,64}|[\U0001d400-\U0001d7cb]{2,64}|[\u24b6-\u24e9]{2,64}"
_BOXED = "[\u249c-\u24b5]{2,64}|[\U0001f110-\U0001f189]{2,64}"
"""Words in letters with brackets, boxes or dark circles around them."""

_SENSITIVE = (
    r"access|account|admin|administrator|amazon|anthropic|api|apple|approve|bank|bypass|claude|confidential|content"
    r"|credential|credentials|delete|developer|disable|disregard|email|enable|enforcement|evade|execute|exfiltrate"
    r"|filter|filtering|filters|forget|github|google|guidelines|hidden|ignore|ignored|instruction|instructions"
    r"|jailbreak|login|microsoft|openai|override|passcode|password|passwords|paypal|payment|policies|policy|previous"
    r"|private|prompt|prompts|restrictions|reveal|root|rules|safety|secret|secrets|security|send|system|token|tokens"
    r"|transfer|unrestricted|user|users|wallet"
)
_SENSITIVE_WORDS = frozenset(_SENSITIVE.split("|"))
"""Words that an attacker would disguise."""


def find_invisible(text: str) -> Iterator[Match]:
    """Yield hidden text, stray invisible characters and disguised words in *text*."""
    if text.isascii():
        return
    if _compiled(_CANDIDATES).search(text):
        allowed = {position for flag in _compiled(_FLAG).finditer(text) for position in range(*flag.span())}
        yield from _hidden_runs(text, allowed)
        yield from _directions(text)
        yield from _strays(text, allowed)
    yield from _imitations(text)


def _hidden_runs(text: str, allowed: set[int]) -> Iterator[Match]:
    for run in _compiled(_HIDDEN_RUNS).finditer(text):
        if run.start() in allowed:
            continue
        rule = "tag-characters" if "\U000e0000" <= run[0][0] <= "\U000e007f" else "selector-run"
        if run[0][0] >= "\U000f0000":
            rule = "private-plane"
        if rule == "selector-run" and len(run[0]) == 2 and run[0][0] == "\ufe0f" and _follows_emoji(text, run.start()):
            continue
        yield _match(rule, "hidden-text", run.span(), Strength.HIDDEN, placeholder("hidden-text"))


def _directions(text: str) -> Iterator[Match]:
    for line in _compiled(r"[^\n]+").finditer(text):
        right_to_left = _is_right_to_left(line[0])
        for control in _compiled(_OVERRIDES).finditer(line[0]):
            if not (right_to_left and control[0] >= "\u2066"):
                span = line.start() + control.start(), line.start() + control.end()
                yield _match("bidi-control", "bidi", span, Strength.HIDDEN, "")


def _is_right_to_left(line: str) -> bool:
    """Return whether *line* has right-to-left letters and balanced isolates, as translated text has."""
    isolates = _compiled("[\u2066-\u2069]").findall(line)
    balanced = isolates.count("\u2069") * 2 == len(isolates)
    return balanced and _compiled(_RIGHT_TO_LEFT).search(line) is not None


def _strays(text: str, allowed: set[int]) -> Iterator[Match]:
    certain = {candidate.start() for candidate in _compiled(_CERTAIN_STRAYS).finditer(text)}
    right_to_left = _compiled(_RIGHT_TO_LEFT).search(text) is not None
    positions = [
        position
        for candidate in _compiled(_STRAY_CANDIDATES).finditer(text)
        if (position := candidate.start()) in certain
        or (position not in allowed and not _is_needed(text, position, right_to_left=right_to_left))
    ]
    selectors = [position for position in positions if _is_selector(text[position])]
    hidden = set(selectors) if len(selectors) >= _STRAY_SELECTORS else set()
    for start, end in _runs(positions):
        if start in hidden:
            yield _match("scattered-selectors", "hidden-text", (start, end), Strength.HIDDEN, "")
        elif end - start >= _HIDDEN_RUN:
            yield _match("invisible-run", "hidden-text", (start, end), Strength.HIDDEN, "")
        else:
            replacement = "\n" if text[start] in "\u2028\u2029" else ""
            yield _match("stray-invisible", "invisible", (start, end), Strength.CLEAN, replacement)


def _runs(positions: list[int]) -> list[tuple[int, int]]:
    """Join adjacent positions, in ascending order, to half-open spans."""
    spans: list[tuple[int, int]] = []
    for position in positions:
        if spans and spans[-1][1] == position:
            spans[-1] = (spans[-1][0], position + 1)
        else:
            spans.append((position, position + 1))
    return spans


def _is_needed(text: str, position: int, *, right_to_left: bool) -> bool:
    """Return whether the invisible character at *position* has a use in writing.

    *right_to_left* says whether the text has letters that are written from right to left.
    """
    character = text[position]
    before, after = text[max(0, position - 1) : position], text[position + 1 : position + 2]
    if character in "\u200c\u200d":
        return _is_joining_script(before) or (_is_emoji(before) and _is_emoji(after))
    if character == "\u200b":
        return _is_spaceless(before) and _is_spaceless(after)
    if character in "\u200e\u200f\u061c":
        return right_to_left
    if _is_selector(character):
        return _is_selector_of(character, before)
    return "\u180b" <= character <= "\u180f" and "\u1800" <= before <= "\u18af"


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _is_selector_of(selector: str, base: str) -> bool:
    if not base or _is_selector(base):
        return _is_selector(base) if base else False
    if selector >= "\U000e0100" or selector < "\ufe0e":
        return _is_ideograph(base) or unicodedata.category(base) in {"Sm", "So"} or 0x1000 <= ord(base) <= 0x109F
    return base in "0123456789#*" or (not base.isascii() and unicodedata.category(base) not in {"Ll", "Lu", "Zs"})


def _is_ideograph(character: str) -> bool:
    code = ord(character)
    return 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x3FFFF


def _follows_emoji(text: str, position: int) -> bool:
    return position > 0 and unicodedata.category(text[position - 1]) in {"So", "Sk"}


def _is_joining_script(character: str) -> bool:
    """Return whether joiners have a meaning after *character*: Arabic, Indic, Burmese, Khmer, Mongolian."""
    code = ord(character) if character else 0
    arabic = 0x600 <= code <= 0x8FF or 0xFB50 <= code <= 0xFDFF or 0xFE70 <= code <= 0xFEFE
    return arabic or 0x900 <= code <= 0xDFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x18AF


def _is_emoji(character: str) -> bool:
    return bool(character) and (
        unicodedata.category(character) in {"So", "Sk"} or character in "\ufe0f\u2640\u2642\u20e3"
    )


def _is_spaceless(character: str) -> bool:
    """Return whether *character* is Thai, Lao, Tibetan, Burmese or Khmer, where zero-width spaces allow line breaks."""
    return bool(character) and (0xE00 <= ord(character) <= 0x109F or 0x1780 <= ord(character) <= 0x17FF)


def _imitations(text: str) -> Iterator[Match]:
    present = set(text)
    words: list[re.Match[str]] = []
    if any(map(is_lookalike, present)):
        # Only words with a look-alike, or with the capital of one, can be imitations.
        marks = {character for character in present if any(map(is_lookalike, (character, *character.lower())))}
        words = [word for word in _compiled(_WORD).finditer(text) if not marks.isdisjoint(word[0])]
    disguised = [_is_disguised(word[0]) for word in words]
    found = [
        (word, certain) for word, certain in zip(words, disguised, strict=True) if certain or _is_imitation(word[0])
    ]
    several = len(found) >= _DISGUISED_WORDS
    for word, certain in found:
        strength = Strength.HIDDEN if several or certain or _is_mostly_latin(word[0]) else Strength.SOFT
        yield _match("mixed-script", "lookalike", word.span(), strength, None)
    if max(present) < "\u249c":
        return
    styled = [word.span() for word in _compiled(_STYLED).finditer(text) if not word[0].isupper()]
    styled = sorted(styled + [word.span() for word in _compiled(_BOXED).finditer(text)])
    if len(styled) >= _STYLED_WORDS and sum(end - start for start, end in styled) >= _STYLED_LETTERS:
        yield _match("styled-letters", "lookalike", (styled[0][0], styled[-1][1]), Strength.HIDDEN, None)


def _is_disguised(word: str) -> bool:
    """Return whether *word* is a sensitive word with look-alike letters."""
    plain = skeleton(word).lower()
    return plain in _SENSITIVE_WORDS and plain != word.lower() and any(map(is_lookalike, word.lower()))


def _is_imitation(word: str) -> bool:
    """Return whether *word* mixes Latin letters with look-alikes of other alphabets or of phonetics.

    Greek letters beside capitals and at the ends of a word are allowed, as in NFκB, GFRα and μservice.
    """
    others = [character for character in word if not _is_latin(character)]
    if not others or len(others) == len(word) or not all(map(is_lookalike, others)):
        return False
    return max(others) >= "\u0400" or _compiled("[a-z][\u0370-\u03ff][a-z]").search(word) is not None


def _is_mostly_latin(word: str) -> bool:
    """Return whether more than half of a mixed word is Latin."""
    return len(word) >= 4 and sum(not _is_latin(character) for character in word) * 2 < len(word)


@cache
def _is_latin(character: str) -> bool:
    if "\u0250" <= character <= "\u02af" or "\u1d00" <= character <= "\u1d7f":  # phonetic letters
        return False
    return character.isascii() or unicodedata.name(character, "").startswith(("LATIN", "FULLWIDTH LATIN"))


def _match(rule: str, kind: str, span: tuple[int, int], strength: Strength, replacement: str | None) -> Match:
    return Match("unicode", rule, kind, span[0], span[1], strength, replacement)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
