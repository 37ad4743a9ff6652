"""Generate entries, documents and texts for the property tests of every package.

The texts cover everything that the parsers accept: any text for :func:`parse`, and entries and memories as a person or
the pipeline writes them, in several scripts and with Markdown's special characters.
"""

from __future__ import annotations

from datetime import date

from hypothesis import strategies as st

from agent_home.documents.entry import ALPHABET, FIELDS, SECTIONS, Entry, SectionRule

__all__ = [
    "dates",
    "documents",
    "entries",
    "entry_ids",
    "lines",
    "markdown_texts",
    "memories",
    "session_ids",
    "wild_texts",
]

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


def lines(min_words: int = 1, max_words: int = 12) -> st.SearchStrategy[str]:
    """Return lines of words without space at their ends."""
    return st.lists(st.sampled_from(_WORDS), min_size=min_words, max_size=max_words).map(" ".join)


def wild_texts() -> st.SearchStrategy[str]:
    """Return all texts that UTF-8 can encode, with every kind of line end and control character."""
    return st.text(st.characters(codec="utf-8")) | st.text("\r\n\t -*#`>[]()|=~<!\\a\ufeff\u2028\x0c\x00")


@st.composite
def markdown_texts(draw: st.DrawFn, *, ends: tuple[str, ...] = _ENDS, max_lines: int = 25) -> str:
    """Draw lines of every kind of Markdown in any order, with or without a line end at the end."""
    chosen = draw(st.lists(st.tuples(st.sampled_from(_LINES), st.sampled_from(ends)), max_size=max_lines))
    text = "".join(line + end for line, end in chosen)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


def dates() -> st.SearchStrategy[str]:
    """Return existing ISO dates."""
    return st.dates(date(2020, 1, 1), date(2035, 12, 31)).map(date.isoformat)


def entry_ids(prefixes: tuple[str, ...] = _PREFIXES) -> st.SearchStrategy[str]:
    return st.builds("{}-{}".format, st.sampled_from(prefixes), st.text(ALPHABET, min_size=4, max_size=4))


@st.composite
def entries(draw: st.DrawFn, *, prefixes: tuple[str, ...] = _PREFIXES) -> Entry:
    """Draw an entry as the pipeline makes one, without *raw* because nothing was parsed."""
    names = draw(st.lists(st.sampled_from(FIELDS), unique=True, max_size=3))
    values = st.sampled_from(("verified, commit 3f9c2e1", "fc-1#m4; fc-1#m6", "KD-2M0Q", "open", "用户"))
    return Entry(
        id=draw(entry_ids(prefixes)),
        date=draw(dates() | st.just("")),
        title=draw(lines()),
        body=draw(lines() | st.just("")),
        detail="\n".join(draw(st.lists(lines(), max_size=2))),
        fields={name: draw(values) for name in names},
    )


def plain_entries(prefixes: tuple[str, ...]) -> st.SearchStrategy[Entry]:
    """Return entries without problems for ``agent_home.documents.check`` and without findings of the guard."""
    words = st.sampled_from(("gap", "forecast", "index", "结论", "预算冻结", "naïve", "lesson", "—", "12 %"))
    line = st.lists(words, min_size=1, max_size=10).map(" ".join)
    return st.builds(
        Entry, id=entry_ids(prefixes), date=dates(), title=line, body=line | st.just(""),
        fields=st.sampled_from(({}, {"Evidence": "verified, commit 3f9c2e1"}, {"Origin": "user"})),
    )  # fmt: skip


@st.composite
def memories(draw: st.DrawFn, *, max_entries: int = 12) -> str:
    """Draw a valid ``MEMORY.md``: every section once, ids unique, each under the heading of its prefix."""
    taken: set[str] = set()
    parts = ["# Memory\n\nDistilled from closed sessions.\n"]
    for rule in SECTIONS:
        parts.append(f"\n## {rule.title}\n")
        chosen = draw(st.lists(plain_entries((rule.prefix,)), max_size=max(1, max_entries // len(SECTIONS) * 2)))
        fresh = [entry for entry in chosen if not (entry.id in taken or taken.add(entry.id))]  # type: ignore[func-returns-value]
        if fresh:
            parts.append("\n" + "".join(entry.render() for entry in fresh))
    return "".join(parts)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, SectionRule]:
    """Draw a document with entries among other Markdown, and the rule of a section with at least one entry."""
    rule = draw(st.sampled_from(SECTIONS))
    lead = draw(markdown_texts(ends=("\n",), max_lines=8))
    found = draw(st.lists(entries(prefixes=(rule.prefix,)), min_size=1, max_size=4))
    rows = "".join(entry.render() + draw(st.sampled_from(("", "", "\n"))) for entry in found)
    tail = draw(markdown_texts(ends=("\n",), max_lines=8))
    return f"{lead}\n\n## {rule.title}\n\n{rows}\n{tail}", rule


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
