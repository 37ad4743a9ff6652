"""Variants of a text that undo disguised spelling, for matching only.

Each of the three variants maps its offsets back to the original text:

- *raw*: the text itself, with narrow punctuation instead of full-width punctuation,
- *folded*: compatibility characters in their plain form (NFKC per character), without accents of alphabetic scripts
  and without invisible characters,
- *skeleton*: folded, with Latin letters instead of letters that look like them.

Variants are never stored or shown.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property

from guard.lazy_regex import lazy_regex

__all__ = ["TextVariant", "folded", "is_invisible", "is_lookalike", "skeleton", "text_variants", "utf8"]

_CONTROLS = lazy_regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_SURROGATE = lazy_regex("[\ud800-\udfff]")

# Visible format characters: number signs and the like of Arabic, Syriac and Kaithi.
_VISIBLE_FORMATS = frozenset({0x6DD, 0x70F, 0x8E2, 0x110BD, 0x110CD, *range(0x600, 0x606), 0x890, 0x891})

# Invisible characters outside Unicode's format category: joiner, fillers, variation selectors.
_FILLERS = frozenset({0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810)})

# Combining marks of alphabetic scripts. They are accents and never identify a letter.
_ACCENTS = ((0x300, 0x36F), (0x483, 0x489), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F))

# Typographic signs stay: folding them would add a second variant to most texts without another match.
_KEPT = frozenset("…™℠№½¼¾²³¹ªº´¨¸¯")

# Narrow form of Chinese and Japanese punctuation. With it in the raw variant, such text needs one variant only.
_WIDE_SIGNS = dict(zip("，：；？！（）", ",:;?!()", strict=True))

_LOOKALIKES = {
    # Cyrillic
    "а": "a", "в": "b", "с": "c", "ԁ": "d", "е": "e", "ҽ": "e", "һ": "h", "і": "i", "ј": "j", "к": "k", "ӏ": "l",
    "м": "m", "п": "n", "о": "o", "р": "p", "ԛ": "q", "ѕ": "s", "т": "t", "ц": "u", "ѵ": "v", "ԝ": "w", "х": "x",
    "у": "y", "ү": "y", "ь": "b", "г": "r", "А": "A", "В": "B", "С": "C", "Е": "E", "Ԍ": "G", "Н": "H", "І": "I",
    "Ј": "J", "К": "K", "М": "M", "О": "O", "Р": "P", "Ѕ": "S", "Т": "T", "Ѵ": "V", "Ԝ": "W", "Х": "X", "У": "Y",
    "Ү": "Y", "З": "3", "ӡ": "3",
    # Greek
    "α": "a", "ϲ": "c", "ε": "e", "η": "n", "ι": "i", "κ": "k", "ν": "v", "ο": "o", "ρ": "p", "σ": "o", "τ": "t",
    "υ": "u", "χ": "x", "γ": "y", "ω": "w", "Α": "A", "Β": "B", "Ε": "E", "Ζ": "Z", "Η": "H", "Ι": "I", "Κ": "K",
    "Μ": "M", "Ν": "N", "Ο": "O", "Ρ": "P", "Τ": "T", "Υ": "Y", "Χ": "X",
    # Armenian
    "ա": "w", "օ": "o", "ո": "n", "ս": "u", "հ": "h", "ց": "g", "զ": "q", "ք": "p",
    # Latin letters that look like others
    "ɑ": "a", "ɡ": "g", "ı": "i", "ɩ": "i", "ɪ": "i", "ʟ": "l", "ɴ": "n", "ʀ": "r", "ʏ": "y", "ᴀ": "a", "ᴄ": "c",
    "ᴅ": "d", "ᴇ": "e", "ᴊ": "j", "ᴋ": "k", "ᴍ": "m", "ᴏ": "o", "ᴘ": "p", "ᴛ": "t", "ᴜ": "u", "ᴠ": "v", "ᴡ": "w",
    "ᴢ": "z", "ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ǀ": "l", "ƽ": "s",
}  # fmt: skip

_LOOKALIKE_TABLE = str.maketrans(_LOOKALIKES)

# Characters that folding may change. A text has few of them or consists of them, and the others need no look-up.
_FOLDABLE = lazy_regex(r"[^\t\n\r -~]+")


@dataclass(frozen=True)
class TextVariant:
    """One variant of *source*. ``span`` maps back to the source."""

    text: str
    source: str = field(repr=False)
    exact: bool = True

    @cached_property
    def lowered(self) -> str:
        """The text in lower case, of the same length."""
        lowered = self.text.lower()
        return lowered if len(lowered) == len(self.text) else "".join(c.lower()[:1] or c for c in self.text)

    @cached_property
    def _offsets(self) -> list[int]:
        offsets: list[int] = []
        for index, character in enumerate(self.source):
            offsets += [index] * len(_FOLDED[character])
        return offsets

    @cached_property
    def utf8(self) -> bytes:
        """The text in UTF-8, for RE2."""
        return utf8(self.text)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        return {}

    def places(self, pattern: re.Pattern[str]) -> list[int]:
        """Return the start of each match of *pattern* in the lower-cased text, in order. The result is cached."""
        if pattern.pattern not in self._places:
            self._places[pattern.pattern] = [match.start() for match in pattern.finditer(self.lowered)]
        return self._places[pattern.pattern]

    def mentions(self, keywords: str) -> bool:
        """Return whether one of *keywords*, lower-case words separated by ``|``, occurs in the lower-cased text."""
        return any(keyword in self.lowered for keyword in _alternatives(keywords))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the half-open span of *source* for ``text[start:end]``. The span must not be empty."""
        if self.exact:
            return start, end
        return self._offsets[start], self._offsets[end - 1] + 1


def text_variants(text: str) -> tuple[TextVariant, ...]:
    """Return the different variants of *text*: raw, then folded, then skeleton."""
    if text.isascii():
        raw = TextVariant(text, text)
        if not _CONTROLS.search(text):
            return (raw,)
    else:
        raw = TextVariant(_narrowed(text), text)
    plain = _FOLDABLE.sub(_fold_run, text)
    found = [raw]
    for variant in (plain, plain if _LOOKALIKES.keys().isdisjoint(plain) else plain.translate(_LOOKALIKE_TABLE)):
        if all(variant != other.text for other in found):
            found.append(TextVariant(variant, text, exact=False))
    return tuple(found)


@cache
def _alternatives(keywords: str) -> tuple[str, ...]:
    return tuple(keywords.split("|"))


def _narrowed(text: str) -> str:
    for wide, narrow in _WIDE_SIGNS.items():
        text = text.replace(wide, narrow)
    return text


def _fold_run(run: re.Match[str]) -> str:
    return run[0].translate(_TRANSLATION)


def utf8(text: str) -> bytes:
    """Return *text* in UTF-8. A lone surrogate becomes U+FFFD, so that every character stays one character."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def folded(text: str) -> str:
    """Return *text* in the spelling of the folded variant."""
    return text if text.isascii() else text.translate(_TRANSLATION)


def skeleton(text: str) -> str:
    """Return *text* folded, with Latin letters instead of letters that look like them."""
    return text.translate(_TRANSLATION).translate(_LOOKALIKE_TABLE)


def is_lookalike(character: str) -> bool:
    """Return whether *character* is a letter that looks like another, Latin one."""
    return character in _LOOKALIKES


def is_invisible(code: int) -> bool:
    """Return whether the code point *code* is invisible: format, filler, selector, tag, control, surrogate."""
    if code < 0xA0:
        return code >= 0x7F or (code < 0x20 and code not in {9, 10, 13})
    if code in _FILLERS or 0xFE00 <= code <= 0xFE0F or 0xE0000 <= code <= 0xE0FFF or 0xD800 <= code <= 0xDFFF:
        return True
    return code not in _VISIBLE_FORMATS and unicodedata.category(chr(code)) == "Cf"


class _Fold(dict[str, str]):
    """Cache of the folded form of each character."""

    def __missing__(self, character: str) -> str:
        folded = "".join(_fold(character))
        self[character] = folded
        return folded


class _Translation(dict[int, str]):
    """Cache of the folded form by code point, for ``str.translate``."""

    def __missing__(self, code: int) -> str:
        folded = _FOLDED[chr(code)]
        self[code] = folded
        return folded


_FOLDED = _Fold()
_TRANSLATION = _Translation()


def _fold(character: str) -> Iterator[str]:
    if character in _KEPT:
        yield character
        return
    for plain in unicodedata.normalize("NFKC", character):
        code = ord(plain)
        if is_invisible(code) or _accent(code):
            continue
        if code < 0x80:
            yield plain
        elif unicodedata.category(plain) in {"Zs", "Zl", "Zp"}:
            yield " " if unicodedata.category(plain) == "Zs" else "\n"
        elif code < 0x530 or 0x1E00 <= code <= 0x1FFF:
            yield "".join(part for part in unicodedata.normalize("NFKD", plain) if not _accent(ord(part)))
        else:
            yield plain


def _accent(code: int) -> bool:
    return code >= 0x300 and any(first <= code <= last for first, last in _ACCENTS)
