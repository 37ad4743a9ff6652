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
from dataclasses import dataclass

from guard.lazy_regex import lazy_regex

__all__ = ["WrappedText", "split_wrapped"]

#: Elements of hosts whose text is of no use later. It is recognised when the agent repeats it, and not kept.
_NOISE = lazy_regex(
    r"system-?reminder|(?:local-)?command-\w+|bash-(?:input|stdout|stderr)|.*hook.*|.*_context|env(?:ironment)?[-_].*",
    re.IGNORECASE,
)
#: Names without a mark inside that hosts and people use for what they paste. HTML has none of them.
_NAMES = r"attachments?|context|documents?|email|excerpt|files?|page|pasted?|quote|results?|selection|snippet|web"
#: Names with a hyphen or an underscore are no HTML.
_NAME = rf"(?:{_NAMES}|[a-z][a-z0-9]{{0,40}}(?:[-_][a-z0-9]{{1,40}}){{1,6}})"
_HOSTED = r"ide_\w{1,40}|teammate-message|task-notification|hook_context"
#: A tag. Attributes may hold what others chose, so odd ones do not hide it.
_TAG = lazy_regex(
    rf"<(?P<close>/)?(?P<name>{_HOSTED}|{_NAME})(?=[\s/>])(?:(?:\s[^<>\n]{{0,300}})?>)?", re.IGNORECASE | re.ASCII
)
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


def split_wrapped(text: str) -> tuple[str, list[WrappedText]]:
    """Return the words of *text* outside of elements that wrap other words, and these elements.

    A known host's element without an end reaches to the end of the text. Any other tag without an end is only named.

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
    """Yield for each name what lies between its first start tag and its last end tag, and what a host left open."""
    first: dict[str, _Element] = {}
    inside: dict[str, _Element] = {}
    open_hosts: dict[str, _Element] = {}
    last: _Element | None = None
    for tag, name, place in _tags(text):
        element = _Element(name=name, start=tag.start(), inner=tag.end(), inner_end=len(text), end=len(text))
        if place == "end":
            last = first.get(name) or inside.get(name)
            open_hosts.pop(name, None)
            if last is not None:
                last.inner_end, last.end, last.closed = tag.start(), tag.end(), True
            continue
        (inside if place == "inside" else first).setdefault(name, element)
        if place == "host":
            end = len(text)
            open_hosts.setdefault(name, _Element(name=name, start=tag.start(), inner=tag.end(), inner_end=end, end=end))
    yield from (element for element in first.values() if element.closed)
    yield from open_hosts.values()
    # Hosts add their notes behind the user's last word, too.
    if last is not None and last.name not in first and _NOISE.fullmatch(last.name) and not text[last.end :].strip():
        yield last


def _tags(text: str) -> Iterator[tuple[re.Match[str], str, str]]:
    """Yield every tag, its name and its place: "end", "host" for a host's start tag, "line" or "inside" for others.

    A start tag on the line of another tag, right behind it, counts as one at the beginning of a line.
    """
    behind = 0
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
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
