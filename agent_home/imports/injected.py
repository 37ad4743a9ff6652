"""Takes out of a text what this system had put into the model's context.

Everything it puts there stands between ``<agent-home>`` and ``</agent-home>``, or between ``<agent-home-recall>``
and its end. Imported back as if someone had said it, a fact would come round again with every session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["strip_injected"]

#: A value in quotes may hold any character. Possessive, so that a hostile text costs no more than its length.
_ATTRIBUTES = r"""(?:\s(?:"[^"]{0,300}"|'[^']{0,300}'|[^<>])*+)?"""
_TAG = re.compile(rf"<\s*(?P<close>/?)\s*(?P<name>agent-home(?:-recall)?)(?P<rest>/?|{_ATTRIBUTES})>", re.IGNORECASE)
#: Hosts wrap what a hook adds; the wrapper says nothing once its content is gone.
_WRAPPER_START = re.compile(r"<system-reminder>\s*\Z", re.IGNORECASE)
_WRAPPER_END = re.compile(r"\s*</system-reminder>", re.IGNORECASE)
_WRAPPER_TAIL = 200  # characters before a block in which its wrapper's tag must begin


def strip_injected(text: str) -> tuple[str, bool]:
    """*text* without injected blocks, and whether there were any.

    A block that is never closed reaches to the end; blocks may nest; what surrounds them stays as it is, to the
    character. A ``<system-reminder>`` that held nothing else goes with them.

    >>> strip_injected('Hello <agent-home-recall n="2">old words</agent-home-recall>again')
    ('Hello again', True)
    """
    spans = list(_blocks(text))
    if not spans:
        return text, False
    kept, at = [], 0
    for start, end in _widened(text, spans):
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    return "".join(kept), True


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where the outermost blocks begin and end. An end tag closes every block opened inside its own."""
    open_names: list[str] = []
    start = 0
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if tag["close"]:
            if name in open_names:
                while open_names.pop() != name:
                    pass
                if not open_names:
                    yield start, tag.end()
        elif tag["rest"].endswith("/"):
            if not open_names:
                yield tag.span()
        else:
            start = start if open_names else tag.start()
            open_names.append(name)
    if open_names:
        yield start, len(text)


def _widened(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans, each run of them that fills a wrapper made one with the wrapper."""
    at = 0
    while at < len(spans):
        last = at
        while last + 1 < len(spans) and not text[spans[last][1] : spans[last + 1][0]].strip():
            last += 1
        start, end = spans[at][0], spans[last][1]
        before = _WRAPPER_START.search(text, max(0, start - _WRAPPER_TAIL), start)
        after = _WRAPPER_END.match(text, end)
        if before and (after or end == len(text)):
            yield before.start(), after.end() if after else end
        else:
            yield from spans[at : last + 1]
        at = last + 1
