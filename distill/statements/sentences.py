"""The text of a message as plain sentences: prose without code, quotations and list marks.

Splitting loses only what is not prose. A sentence is a run of the source's own characters, so that a number, an
amount of money or a name in it is spelled as it was written. What a sentence means is the business of
``distill.reading``.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from guard.lazy_regex import lazy_regex

__all__ = [
    "ProseLine",
    "is_question",
    "narrowed",
    "prose_lines",
    "sentence_chunks",
    "shorten",
    "split_sentences",
]

#: Full-width ASCII and the full-width yen sign to their narrow forms, one character for one.
_NARROW = {0xFF01 + offset: 0x21 + offset for offset in range(94)} | {0x3000: 0x20, 0xFFE5: 0xA5}

#: Places where a text may be shortened, none inside an amount.
_BREAK = lazy_regex(r"[ ;。、\uff0c\uff1b]|,(?!\d)")
#: Characters of words, numbers and paths.
_RUN = f"{string.ascii_letters}{string.digits}_.,:/-"
_FENCE = lazy_regex(r"^ {0,3}(?P<mark>`{3,}|~{3,})")
_QUOTED = lazy_regex(r"^\s*>")
_HEADING = lazy_regex(r"^ {0,3}#{1,6}[ \t]+(?P<text>.*?)(?:[ \t]+#+)?[ \t]*$")
_BULLET = lazy_regex(
    r"^[ \t]*(?:[-*+•·‣▪]|\(?\d{1,2}[.)、]|\(?[①-⑩一二三四五六七八九十]{1,2}[、)])(?:[ \t]+|(?<=[、)•]))"
)
_CHECKBOX = lazy_regex(r"^\[[ xX]\][ \t]+")
_TABLE_ROW = lazy_regex(r"^\s*\|.*\|\s*$|^\s*[-=_*|:+]{3,}\s*$")
#: A code span, which stays, or words between stars, whose stars are removed.
_EMPHASIS = lazy_regex(
    r"(?P<code>`+[^`\n]*`+)|(?<![A-Za-z0-9_*])(?P<mark>\*{1,3})(?=\S)(?P<words>(?:`[^`\n]*`|[^*`])+?)(?<=\S)(?P=mark)"
    r"(?![A-Za-z0-9_*])"
)
_CODE_SPAN = lazy_regex(r"(`+[^`\n]*`+)")
#: Ends of sentences. A full stop needs a space behind it. A Chinese one always ends, with the closing quotes behind it,
#: and so does "!" or "?" between Chinese characters.
_END = lazy_regex(
    r"(?:[。\uff01\uff1f]+|[!?…]+(?=\s|$)|(?<=[\u4e00-\u9fff])[!?]+(?=[\u4e00-\u9fff])|\.+(?=\s|$))"
    r"[”’」』\")\]\uff09》]*\s*"
)
_ABBREVIATION = lazy_regex(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|mr|mrs|ms|dr|st|inc|ltd|v|[a-z])\.$|^\d{1,2}\.$", re.IGNORECASE
)
#: More characters than any abbreviation has with its full stop and the sign before it.
_ABBREVIATION_CHARS = 10
_QUESTION = lazy_regex(r"\?[”’」』\")》]*$|(?:吗|么|呢)[。!.~]*$")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProseLine:
    """One line of prose without its marks. *kind* is ``text``, ``bullet`` or ``heading``."""

    kind: str
    text: str
    gap: bool = False  # a blank line, a table or code stands before it


def prose_lines(content: str) -> Iterator[ProseLine]:
    """Yield the lines of prose in *content*. Fenced code, quoted lines (``>``) and tables are left out."""
    fence, gap = "", False
    for raw in content.splitlines():
        mark = _FENCE.match(raw)
        if fence:
            fence = "" if mark and mark["mark"].startswith(fence) else fence
            gap = True
            continue
        if mark:
            fence = mark["mark"]
            continue
        if not raw.strip() or _QUOTED.match(raw) or _TABLE_ROW.match(raw):
            gap = True
            continue
        yield _line(raw, gap=gap)
        gap = False


def split_sentences(text: str) -> list[str]:
    """Return the sentences of one line, in order.

    A sentence ends at 。!? and at . ! ? before a space, never inside a code span.

    >>> split_sentences("MEAGS is at -12.5 %, see e.g. page 3. 三个 deal 滑单。Done")
    ['MEAGS is at -12.5 %, see e.g. page 3.', '三个 deal 滑单。', 'Done']
    """
    return [text[start:end] for start, end in _sentence_spans(text)]


def sentence_chunks(text: str, limit: int) -> list[str]:
    """Return *text* in runs of whole sentences of at most *limit* characters. A longer sentence is shortened."""
    runs: list[tuple[int, int]] = []
    for start, end in _sentence_spans(text):
        if runs and end - runs[-1][0] <= limit:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return [shorten(text[start:end], limit) for start, end in runs]


def shorten(text: str, limit: int) -> str:
    """Return *text* if it fits in *limit* characters, else its beginning up to a boundary and an ellipsis.

    >>> shorten("three deals slipped, one of them is large", 25)
    'three deals slipped, one…'
    """
    if len(text) <= limit:
        return text
    head = text[:limit]  # a boundary right behind the last character counts
    cut = max((at for match in _BREAK.finditer(text, 0, limit + 1) if (at := match.start()) < limit), default=0)
    if cut < limit // 2:
        cut = len(text[: limit - 1].rstrip(_RUN))
        cut = cut if cut >= limit // 2 else limit - 1
    return head[:cut].rstrip(" ,;、—-(\uff0c\uff1b\uff08") + _ELLIPSIS


def narrowed(text: str) -> str:
    """Return *text* with narrow punctuation, of the same length.

    Patterns look at this text. Quotations come from the original.
    """
    return text.translate(_NARROW)


def is_question(sentence: str) -> bool:
    """Return whether the sentence asks, by its mark or by its last Chinese particle."""
    return _QUESTION.search(narrowed(sentence).strip()) is not None


def _line(raw: str, *, gap: bool) -> ProseLine:
    heading = _HEADING.match(raw)
    if heading:
        return ProseLine(kind="heading", text=_plain(heading["text"]), gap=gap)
    bullet = _BULLET.match(narrowed(raw))
    text = raw[bullet.end() :] if bullet else raw
    if bullet:
        text = _CHECKBOX.sub("", text)
    return ProseLine(kind="bullet" if bullet else "text", text=_plain(text), gap=gap)


def _plain(text: str) -> str:
    """Return *text* without marks of emphasis, with runs of space made one. Code spans stay as they are."""
    plain = _EMPHASIS.sub(lambda match: match["code"] or match["words"], text)
    return " ".join(plain.split())


def _sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the bounds of the sentences of *text*, without the space between them."""
    code = [match.span() for match in _CODE_SPAN.finditer(text)]
    begins = [a for a, _ in code]
    cuts, start = [], 0
    for match in _END.finditer(text):
        before = bisect_left(begins, match.start())  # code spans do not overlap: only the last one can be around it
        inside = before > 0 and match.start() < code[before - 1][1]
        end = match.start() + 1
        if not inside and not _ABBREVIATION.search(text[max(start, end - _ABBREVIATION_CHARS) : end]):
            cuts.append((start, match.end()))
            start = match.end()
    cuts.append((start, len(text)))
    trimmed = ((a + len(text[a:b]) - len(text[a:b].lstrip()), a + len(text[a:b].rstrip())) for a, b in cuts)
    return [(a, b) for a, b in trimmed if a < b]
