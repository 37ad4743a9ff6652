"""Generate entries, documents and texts for the property tests of every package.

The texts cover everything that the parsers accept: any text for :func:`parse`, and entries and memories as a person or
the pipeline writes them, in several scripts and with Markdown's special characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import product
from typing import Generic, TypeVar

from hypothesis import strategies as st

from agent_home.documents.entry import ALPHABET, FIELDS, SECTIONS, Entry, SectionRule

__all__ = [
    "documents",
    "entries",
    "lines",
    "markdown_texts",
    "memories",
    "session_ids",
    "wild_texts",
]

T = TypeVar("T")

_PREFIXES = tuple([rule.prefix for rule in SECTIONS])
#: Words of several scripts, and characters that look like Markdown structure.
_WORDS = (
    "gap", "forecast", "index", "snake_case", "a*b", "**bold**", "*", "***", "[link](x)", "[KD-7F3A]", "—", "-", "–",
    "结论", "预算冻结", "見積もり", "회의록", "naïve", "`code`", "<b>", "#5", "12 %", "¥2.1M", "Evidence:", "|", "\\",
    "https://example.org/a?b=c", "2026-11-20", "…", "🙂", "e\u0301", "1.", "+", "===", "---", "> q", "State: open",
)  # fmt: skip
#: Lines that open, close or break blocks. Any order and any line ends give hard documents.
_LINES = (
    "", "", " ", "text", "中文段落", "# H1", "## H2", "## Key Decisions", "### H3 ###", "##broken", "#", "Setext",
    "===",
    "=======", "---", "- item", "* item", "+ item", "1. first", "  nested", "  - nested", "      deep",
    "\tcode", "    code",
    "```", "```python", "````", "~~~", "> quote", "> - quoted item", "| a | b |", "|---|---|", "| 1 | 2 |",
    "<!--", "-->",
    "<!-- one line -->", "<div>", "</div>", "<script>", "<?php", "[ref]: http://example.org", "[ref]:", "***", "_ _ _",
    "- **[KD-7F3A] 2026-11-20 Use apsw** - stock builds cannot.", "- **[LL-0001] T**",
    "  Evidence: verified, commit 3f9c2e1",
    "- **[KD-7F3A]**", "* **[RC-00ZZ] 2026-11-21 标题** — 正文", "-", "- ", "-\t- x", "\ufeff", "\x0c",
    "a\u2028b", "\x00", "a\x0bb",
    "<agent-home>", "<<<<<<< HEAD", ">>>>>>> main", "trailing  ", "\\", "&amp;", "\u3000",
)  # fmt: skip
_ENDS = ("\n", "\n", "\n", "\r\n", "\r")


#: First of the characters that stand for the places of a table: a private range that holds no digit and no letter.
_FIRST_PLACE = 0xE000
#: Ids that a prefix has: four characters of 32 kinds.
_IDS = 32**4
_FIRST_DAY = date(2020, 1, 1)
_DAYS = (date(2035, 12, 31) - _FIRST_DAY).days + 1
_FIELD_VALUES = ("verified, commit 3f9c2e1", "fc-1#m4; fc-1#m6", "KD-2M0Q", "open", "用户")
_PLAIN_WORDS = ("gap", "forecast", "index", "结论", "预算冻结", "naïve", "lesson", "—", "12 %")
_PLAIN_FIELDS = ((), (("Evidence", "verified, commit 3f9c2e1"),), (("Origin", "user"),))


class _Table(Generic[T]):
    """Values that are drawn as characters: Hypothesis draws a whole text at once, but a list value by value."""

    def __init__(self, values: Iterable[T]) -> None:
        self.values = {chr(_FIRST_PLACE + place): value for place, value in enumerate(values)}

    def places(self, *, min_size: int = 0, max_size: int) -> st.SearchStrategy[str]:
        last = _FIRST_PLACE + len(self.values) - 1
        return st.text(
            st.characters(min_codepoint=_FIRST_PLACE, max_codepoint=last), min_size=min_size, max_size=max_size
        )

    def chosen(self, places: str) -> Iterator[T]:
        return map(self.values.__getitem__, places)


_WORD_TABLE = _Table(_WORDS)
_PLAIN_WORD_TABLE = _Table(_PLAIN_WORDS)
_FIELD_TABLE = _Table(product(FIELDS, _FIELD_VALUES))


def lines(min_words: int = 1, max_words: int = 12) -> st.SearchStrategy[str]:
    """Return lines of words without space at their ends."""
    return _WORD_TABLE.places(min_size=min_words, max_size=max_words).map(_line)


def _line(places: str) -> str:
    return " ".join(_WORD_TABLE.chosen(places))


def wild_texts() -> st.SearchStrategy[str]:
    """Return all texts that UTF-8 can encode, with every kind of line end and control character."""
    return st.text(st.characters(codec="utf-8")) | st.text("\r\n\t -*#`>[]()|=~<!\\a\ufeff\u2028\x0c\x00")


def markdown_texts(*, ends: tuple[str, ...] = _ENDS, max_lines: int = 25) -> st.SearchStrategy[str]:
    """Return lines of every kind of Markdown in any order, with or without a line end at the end."""
    table = _Table(line + end for line, end in product(_LINES, ends))

    def text(drawn: tuple[str, bool]) -> str:
        places, is_ended = drawn
        whole = "".join(table.chosen(places))
        return whole if is_ended else whole.rstrip("\r\n")

    return st.tuples(table.places(max_size=max_lines), st.booleans()).map(text)


def _date(day: int) -> str:
    """Return an existing ISO date, or nothing for a negative number."""
    return (_FIRST_DAY + timedelta(days=day)).isoformat() if day >= 0 else ""


def _entry_id(number: int, prefixes: tuple[str, ...]) -> str:
    prefix, number = divmod(number, _IDS)
    return f"{prefixes[prefix]}-" + "".join([ALPHABET[number >> shift & 31] for shift in (15, 10, 5, 0)])


def entries(*, prefixes: tuple[str, ...] = _PREFIXES) -> st.SearchStrategy[Entry]:
    """Return entries as the pipeline makes them, without *raw* because nothing was parsed."""

    def entry(drawn: tuple[int, int, str, str, tuple[str, str], str]) -> Entry:
        number, day, title, body, details, fields = drawn
        return Entry(
            id=_entry_id(number, prefixes),
            date=_date(day),
            title=_line(title),
            body=_line(body),
            detail="\n".join([_line(words) for words in details if words]),
            fields=dict(_FIELD_TABLE.chosen(fields)),
        )

    words, words_or_none = _WORD_TABLE.places(min_size=1, max_size=12), _WORD_TABLE.places(max_size=12)
    return st.tuples(
        st.integers(0, len(prefixes) * _IDS - 1), st.integers(-_DAYS, _DAYS - 1), words, words_or_none,
        st.tuples(words_or_none, words_or_none), _FIELD_TABLE.places(max_size=3),
    ).map(entry)  # fmt: skip


def plain_entries(prefixes: tuple[str, ...]) -> st.SearchStrategy[Entry]:
    """Return entries without problems for ``agent_home.documents.check`` and without findings of the guard."""

    def entry(drawn: tuple[int, int, str, str]) -> Entry:
        number, day, title, body = drawn
        kind, number = divmod(number, len(prefixes) * _IDS)
        return Entry(
            id=_entry_id(number, prefixes),
            date=_date(day),
            title=" ".join(_PLAIN_WORD_TABLE.chosen(title)),
            body=" ".join(_PLAIN_WORD_TABLE.chosen(body)),
            fields=dict(_PLAIN_FIELDS[kind]),
        )

    return st.tuples(
        st.integers(0, len(_PLAIN_FIELDS) * len(prefixes) * _IDS - 1), st.integers(0, _DAYS - 1),
        _PLAIN_WORD_TABLE.places(min_size=1, max_size=10), _PLAIN_WORD_TABLE.places(max_size=10),
    ).map(entry)  # fmt: skip


def memories(*, max_entries: int = 12) -> st.SearchStrategy[str]:
    """Return valid texts of ``MEMORY.md``: every section once, ids unique, each under the heading of its prefix."""
    most = max(1, max_entries // len(SECTIONS) * 2)
    return st.tuples(*[st.lists(plain_entries((rule.prefix,)), max_size=most) for rule in SECTIONS]).map(_memory)


def _memory(sections: Sequence[Sequence[Entry]]) -> str:
    parts = ["# Memory\n\nDistilled from closed sessions.\n"]
    for rule, chosen in zip(SECTIONS, sections, strict=True):
        parts.append(f"\n## {rule.title}\n")
        # The first of two entries with one id stays.
        fresh = {entry.id: entry for entry in reversed(chosen)}
        if fresh:
            parts.append("\n" + "".join(entry.render() for entry in reversed(fresh.values())))
    return "".join(parts)


def documents() -> st.SearchStrategy[tuple[str, SectionRule]]:
    """Return documents with entries among other Markdown, and the rule of a section with at least one entry."""
    around = markdown_texts(ends=("\n",), max_lines=8)
    gaps = st.integers(0, 3**4 - 1)

    def of_section(rule: SectionRule) -> st.SearchStrategy[tuple[str, SectionRule]]:
        def document(drawn: tuple[str, list[Entry], int, str]) -> tuple[str, SectionRule]:
            lead, found, gap, tail = drawn
            # One entry of three has an empty line below it.
            rows = "".join(entry.render() + ("", "", "\n")[gap // 3**place % 3] for place, entry in enumerate(found))
            return f"{lead}\n\n## {rule.title}\n\n{rows}\n{tail}", rule

        found = st.lists(entries(prefixes=(rule.prefix,)), min_size=1, max_size=4)
        return st.tuples(around, found, gaps, around).map(document)

    return st.one_of([of_section(rule) for rule in SECTIONS])


def session_ids() -> st.SearchStrategy[str]:
    """Return session names of tools and people, and names that look like paths, markup or commands."""
    known = st.sampled_from((
        "fc-1", "..", ".", "../../etc/passwd", "/abs", "a/b", "a\\b", "会议-1", "x" * 500, "会" * 500, "a`b",
        "a'b", "%2e%2e",
        "a\nb", "a\rb", "a\r\r## x", "C:\\x", "~", "a~b", ".hidden", "a b", "a\u2028b",
        "9f2c1e5a-13a4-4a6b-9d3e-0f5c2b7a1d11",
        "-rf", "con", "a.jsonl", "a" * 178 + "%é",
    ))  # fmt: skip
    return known | st.text(min_size=1, max_size=300).filter(lambda text: bool(text.strip()))
