"""Split what a host or a paste wrapped into a user's message from the user's own words.

An editor adds the selection, a host adds reminders and messages of other agents, and a paste brings a whole document.
Each stands in an element such as ``<ide_selection>...</ide_selection>``. The user did not say it. A person who only
names a tag inside a sentence keeps every word.

What is wrapped may hold any tag, its own end tag too. So an element reaches from the first start tag of its name to the
last end tag, and elements that overlap are one. Nothing inside can end it early: the real end tag comes behind. Words
between two elements of one name are not the user's either. What a host sends in blocks is split block by block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from guard.lazy_regex import lazy_regex

__all__ = ["WrappedText", "split_wrapped"]

#: Elements of hosts whose text is of no use later. It is recognised when the agent repeats it, and not kept.
_NOISE = lazy_regex(
    r"system-?reminder|(?:local-)?command-\w+|bash-(?:input|stdout|stderr)|.*hook.*|.*_context|env(?:ironment)?[-_].*",
    re.IGNORECASE,
)
#: A name of an element, in any script. Which one a paste or a host takes is not known, so all of them count.
_NAME = r"[^\W\d_][\w-]{0,60}(?:[.:][\w-]{1,40}){0,3}"
_HOSTED = r"ide_\w{1,40}|teammate-message|task-notification|hook_context"
#: HTML that people write around words of their own, and elements without content.
_FORMATTING = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "br", "code", "col", "del", "em", "embed", "hr", "i", "img", "input", "ins", "kbd",
    "link", "mark", "meta", "q", "rp", "rt", "ruby", "s", "samp", "small", "source", "span", "strong", "sub", "sup",
    "time", "track", "u", "var", "wbr",
})  # fmt: skip
#: A tag. Attributes may hold what others chose, so odd ones do not hide it.
_TAG = lazy_regex(rf"<(?P<close>/)?(?P<name>{_HOSTED}|{_NAME})(?=[\s/>])(?:(?:\s[^<>\n]{{0,300}})?>)?", re.IGNORECASE)
#: Words, and characters, between a start tag inside a line and its end from which on it wraps something.
_LEAST_WRAPPED, _MANY_CHARS = 4, 60
_HOSTS = lazy_regex(_HOSTED, re.ASCII)
#: Spaces before a start tag at the beginning of a line.
_MAX_INDENT = 20
#: Elements of one message. The rest of a longer one is the last element's.
_MAX_ELEMENTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedText:
    """The words of an element *name*. *noise* is true if it is not worth keeping."""

    name: str
    text: str
    noise: bool


@dataclass(slots=True, kw_only=True)
class _Element:
    """The outermost tags of one name: where they start and where they end."""

    name: str
    start: int
    inner: int
    inner_end: int
    end: int
    closed: bool = False
    at_line: bool = False


def split_wrapped(text: str) -> tuple[str, list[WrappedText]]:
    """Return the words of *text* outside of elements that wrap other words, and these elements.

    A known host's element without an end, and one whose start tag fills a line, reach to the end of the text. Any other
    tag without an end is only named.

    >>> split_wrapped("<ide_selection>\\nx = 1\\n</ide_selection>\\nWhat is x?")[0].strip()
    'What is x?'
    >>> split_wrapped("<a-b>ok</a-b> I decided. <a-b></a-b> Why?")[0].strip()
    'Why?'
    >>> split_wrapped("The <b-tag> is odd.")
    ('The <b-tag> is odd.', [])
    """
    if "<" not in text:
        return text, []
    kept: list[str] = []
    found: list[WrappedText] = []
    at = 0
    for element in _outermost(text):
        kept.append(text[at : element.start])
        inner = text[element.inner : element.inner_end].strip()
        found.append(WrappedText(name=element.name, text=inner, noise=_NOISE.fullmatch(element.name) is not None))
        at = element.end
    return "".join([*kept, text[at:]]) if found else text, found


def _outermost(text: str) -> list[_Element]:
    """Return the elements of *text* in order. None overlaps another one."""
    apart: list[_Element] = []
    for element in sorted(_elements(text), key=lambda element: element.start):
        if apart and (element.start < apart[-1].end or len(apart) == _MAX_ELEMENTS):
            if element.end > apart[-1].end:
                apart[-1].end, apart[-1].inner_end = element.end, element.inner_end
        else:
            apart.append(element)
    return apart


def _elements(text: str) -> Iterator[_Element]:
    """Yield for each name what lies between its first start tag and its last end tag, and what was left open."""
    first: dict[str, _Element] = {}
    open_elements: dict[str, _Element] = {}
    last: _Element | None = None
    end = len(text)
    for tag, name, place in _tags(text):
        if place == "end":
            last = first.get(name)
            open_elements.pop(name, None)
            if last is not None:
                last.inner_end, last.end, last.closed = tag.start(), tag.end(), True
            continue
        element = _Element(name=name, start=tag.start(), inner=tag.end(), inner_end=end, end=end)
        first.setdefault(name, element).at_line |= place != "inside"
        behind = text[tag.end() : tag.end() + _MAX_INDENT].lstrip(" \t\r")
        if place == "host" or (place == "line" and behind.startswith("\n")):
            open_elements.setdefault(name, element)
    for element in first.values():
        if not element.closed:
            continue
        # Hosts add their notes behind the user's last word, too.
        is_note = element is last and _NOISE.fullmatch(element.name) and not text[element.end :].strip()
        if element.at_line or is_note or _wraps(text, element.inner, element.inner_end):
            yield element
    yield from (replace(element, inner_end=end, end=end) for element in open_elements.values())


def _wraps(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]`` is too much to stand between the names of two tags."""
    return end - start > _MANY_CHARS or "\n" in text[start:end] or len(text[start:end].split()) >= _LEAST_WRAPPED


def _tags(text: str) -> Iterator[tuple[re.Match[str], str, str]]:
    """Yield every tag, its name and its place: "end", "host" for a host's start tag, "line" or "inside" for others.

    A start tag on the line of another tag, right behind it, counts as one at the beginning of a line.
    """
    behind = 0
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if name in _FORMATTING:
            continue
        if tag["close"]:
            place = "end"
        elif _HOSTS.fullmatch(name):
            place = "host"
        else:
            before = text[max(behind, tag.start() - _MAX_INDENT - 1) : tag.start()]
            at_start = tag.start() - len(before) in {0, behind}
            lead = before[before.rfind("\n") + 1 :]
            place = "line" if not lead.strip() and (at_start or len(lead) < len(before)) else "inside"
        if place != "inside":
            behind = tag.end()
        yield tag, name, place
