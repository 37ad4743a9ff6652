"""Split what a host or a paste wrapped into a user's message from the user's own words.

An editor adds the selection, a host adds reminders and messages of other agents, and a paste brings a whole document.
Each stands in an element such as ``<ide_selection>...</ide_selection>``. The user did not say it. A person who only
names a tag inside a sentence keeps every word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..lazy_regex import lazy_regex

__all__ = ["WrappedText", "split_wrapped"]

#: Elements of hosts whose text is of no use later. It is recognised when the agent repeats it, and not kept.
_NOISE = lazy_regex(
    r"system-?reminder|(?:local-)?command-\w+|bash-(?:input|stdout|stderr)|.*hook.*|.*_context|env(?:ironment)?[-_].*",
    re.IGNORECASE,
)
#: Names without a mark inside that hosts and people use for what they paste. HTML has none of them.
_NAMES = r"attachments?|context|documents?|email|excerpt|files?|page|pasted?|quote|results?|selection|snippet|web"
#: A start tag at the beginning of a line, or one of a known host, which may stand anywhere. Names with a hyphen or an
#: underscore are no HTML.
_START = lazy_regex(
    rf"(?:^[ \t]{{0,20}}<(?P<name>{_NAMES}|[a-z][a-z0-9]{{0,40}}(?:[-_][a-z0-9]{{1,40}}){{1,6}})"
    r"|<(?P<hosted>ide_\w{1,40}|teammate-message|task-notification|hook_context))(?:\s[^<>\n]{0,300})?>",
    re.IGNORECASE | re.MULTILINE,
)
_HOSTS = lazy_regex(r"ide_\w+|teammate-message|task-notification|hook_context")
#: Elements of one message. The rest of a longer one is the last element's.
_MAX_ELEMENTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedText:
    """The words of an element *name*. *noise* is true if it is not worth keeping."""

    name: str
    text: str
    noise: bool


def split_wrapped(text: str) -> tuple[str, list[WrappedText]]:
    """Return the words of *text* outside of elements that wrap other words, and these elements.

    A known host's element without an end reaches to the end of the text. Any other tag without an end is only named.

    >>> split_wrapped("<ide_selection>\\nx = 1\\n</ide_selection>\\nWhat is x?")[0].strip()
    'What is x?'
    >>> split_wrapped("The <b-tag> is odd.")
    ('The <b-tag> is odd.', [])
    """
    if "<" not in text:
        return text, []
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text  # a letter that grows would move every place
    kept: list[str] = []
    found: list[WrappedText] = []
    at = 0
    without_end: set[str] = set()
    for start in _START.finditer(text):
        if start.start() < at or len(found) == _MAX_ELEMENTS:
            continue
        name = (start["name"] or start["hosted"]).lower()
        end = -1 if name in without_end else lowered.find(f"</{name}>", start.end())
        if end < 0 and not _HOSTS.fullmatch(name):
            without_end.add(name)
            continue
        kept.append(text[at : start.start()])
        inner = text[start.end() : end] if end >= 0 else text[start.end() :]
        found.append(WrappedText(name=name, text=inner.strip(), noise=_NOISE.fullmatch(name) is not None))
        at = end + len(name) + 3 if end >= 0 else len(text)
    return "".join([*kept, text[at:]]) if found else text, found
