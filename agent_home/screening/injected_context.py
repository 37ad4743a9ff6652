"""Take out of a text what this system had put into the model's context.

Everything it puts there stands between ``<agent-home>`` and ``</agent-home>``, or between ``<agent-home-recall>``
and its end. Imported back as if someone had said it, a fact would come round again with every session.

Anybody can write these tags, so they prove nothing in a human's message. What a chat host gets ends with a tag that
carries a signature of the block under the machine key (:func:`marked`). Only such a block is taken out of a human's
message (:func:`strip_marked`). Any other one stays, and the import keeps it as the text of a tool, as it keeps every
element that is wrapped into a message. In the messages of others, whose words are nobody's wishes, the tags are enough
(:func:`strip_injected`). A person who merely names such a tag keeps every word: the tag alone is made harmless.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from guard.lazy_regex import lazy_regex

from ..errors import MachineKeyUnusable
from ..machine_key import sign, verify

__all__ = ["MARKED_CHARS", "marked", "strip_injected", "strip_marked", "without_tags"]

_START = "<agent-home>"
_PURPOSE = "injected text"
#: Hexadecimal digits of a signature that are written: 128 bits.
_MARK_DIGITS = 32
_MARKED_END = lazy_regex(r'</agent-home mark="(?P<mark>[0-9a-f]{32})">')
#: Characters that :func:`marked` adds to a text.
MARKED_CHARS = len(f'{_START}\n\n</agent-home mark="">') + _MARK_DIGITS

#: A value in quotes may hold any character. Possessive, so that a hostile text costs no more than its length.
_ATTRIBUTES = r"""(?:\s(?:"[^"]{0,300}"|'[^']{0,300}'|[^<>])*+)?"""
_TAG = lazy_regex(rf"<\s*(?P<close>/?)\s*(?P<name>agent-home(?:-recall)?)(?P<rest>/?|{_ATTRIBUTES})>", re.IGNORECASE)
#: An attribute that only this system writes into a start tag.
_OUR_ATTRIBUTE = lazy_regex(r"""\slayer\s*=\s*["']""", re.IGNORECASE)
_NEUTRAL = "\u2039"  # replaces the < of a tag that is only mentioned, so that it never opens a block
#: Hosts wrap the text that a hook adds. An empty wrapper is removed too.
_WRAPPER_START = lazy_regex(r"<system-reminder>\s*\Z", re.IGNORECASE)
_WRAPPER_END = lazy_regex(r"\s*</system-reminder>", re.IGNORECASE)
_WRAPPER_TAIL = 200  # characters before a block in which its wrapper's tag must begin


def marked(text: str) -> str:
    """Return *text* between our tags. The end tag has a mark that only this machine can make for these words.

    *text* must not have our tags. Where nothing can be signed on this machine, the end has no mark, and an import keeps
    the text as that of a tool.
    """
    try:
        mark = f' mark="{_mark_of(text)}"'
    except MachineKeyUnusable:
        mark = ""
    return f"{_START}\n{text}\n</agent-home{mark}>"


def strip_marked(text: str) -> tuple[str, bool]:
    """Return *text* without the blocks that :func:`marked` made on this machine, and whether there were any.

    Spaces and line ends of a block may have changed on the way. A ``<system-reminder>`` that held nothing else goes
    with it. The time is linear: a block begins at the last start tag before its end.
    """
    spans: list[tuple[int, int]] = []
    behind = 0
    for end in _MARKED_END.finditer(text):
        start = text.rfind(_START, behind, end.start())
        behind = end.end()
        if start >= 0 and _is_marked(text[start + len(_START) : end.start()], end["mark"]):
            spans.append((start, end.end()))
    kept, at = [], 0
    for start, stop in _widened(text, spans):
        kept.append(text[at:start])
        at = stop
    return "".join([*kept, text[at:]]), bool(spans)


def without_tags(text: str) -> str:
    """Return *text* with every start tag of ours made harmless. All words stay."""
    return _TAG.sub(lambda tag: tag[0] if tag["close"] else f"{_NEUTRAL}{tag[0][1:]}", text)


def _mark_of(text: str) -> str:
    return sign(_PURPOSE, _signed_bytes(text))[:_MARK_DIGITS]


def _is_marked(text: str, mark: str) -> bool:
    return verify(_PURPOSE, _signed_bytes(text), mark, digits=_MARK_DIGITS)


def _signed_bytes(text: str) -> bytes:
    return " ".join(text.split()).encode("utf-8", "surrogatepass")


def strip_injected(text: str) -> tuple[str, bool]:
    """Return *text* without injected blocks, and whether there were any.

    A block without an end tag reaches to the end of the text when its start tag looks like ours: alone on its line, or
    with a layer. Any other tag without an end is only mentioned, and loses its ``<``. Blocks may nest. The text around
    them stays as it is, to the character. A ``<system-reminder>`` that held nothing else goes with them.

    >>> strip_injected('Hello <agent-home-recall n="2">old words</agent-home-recall>again')
    ('Hello again', True)
    >>> strip_injected('The tag <agent-home> marks our block.')
    ('The tag ‹agent-home> marks our block.', False)
    """
    blocks, named = _blocks_and_names(text)
    if not blocks and not named:
        return text, False
    cuts = [(start, end, "") for start, end in _widened(text, blocks)]
    cuts += [(at, at + 1, _NEUTRAL) for at in named]
    kept, at = [], 0
    for start, end, instead in sorted(cuts):
        kept += [text[at:start], instead]
        at = end
    kept.append(text[at:])
    return "".join(kept), bool(blocks)


def _blocks_and_names(text: str) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the spans of the outermost blocks, and the offsets of tags outside of blocks that are only mentioned."""
    tags = list(_TAG.finditer(text))
    ends = _ends(tags)
    blocks: list[tuple[int, int]] = []
    named: list[int] = []
    for number, tag in enumerate(tags):
        if tag["close"] or (blocks and tag.start() < blocks[-1][1]):
            continue
        if number in ends:
            blocks.append((tag.start(), ends[number]))
        elif _opens_as_ours(text, tag):
            blocks.append((tag.start(), len(text)))
        else:
            named.append(tag.start())
    return blocks, named


def _ends(tags: Sequence[re.Match[str]]) -> dict[int, int]:
    """Return the end offset of each closed block, by the number of its start tag.

    An end tag closes every block that was opened inside its own.
    """
    ends: dict[int, int] = {}
    open_tags: list[tuple[str, int]] = []
    count: Counter[str] = Counter()
    for number, tag in enumerate(tags):
        name = tag["name"].lower()
        if tag["close"]:
            closed = not count[name]
            while not closed:
                inner, opened = open_tags.pop()
                count[inner] -= 1
                ends[opened] = tag.end()
                closed = inner == name
        elif tag["rest"].endswith("/"):
            ends[number] = tag.end()
        else:
            open_tags.append((name, number))
            count[name] += 1
    return ends


def _opens_as_ours(text: str, tag: re.Match[str]) -> bool:
    if _OUR_ATTRIBUTE.search(tag["rest"]):
        return True
    begins = tag.start() == 0 or text[tag.start() - 1] in "\r\n"
    begins = begins or _WRAPPER_START.search(text, max(0, tag.start() - _WRAPPER_TAIL), tag.start()) is not None
    return begins and text[tag.end() : tag.end() + 1] in ("\r", "\n")


def _widened(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield *spans*. A run of them that fills a wrapper becomes one span with the wrapper."""
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
