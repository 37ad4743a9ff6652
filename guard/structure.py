"""Detection of control characters, private passages and forged markers.

- ``<private>`` passages, closed or not, are cut completely. Nested ones are cut to the outermost end.
- NUL, control characters, terminal sequences and lone surrogates are removed, because no file needs them.
- Chat-template tokens and markers of this system (``agent-home`` tags and comments) are replaced in place. In a
  prompt, such a token could look like another speaker or like the end of a fence. ``guard.policy.decide`` decides
  about the text around it.
- In an entry, a heading or a second entry head would forge a section of the document.

``guard.screener`` checks the size first.
"""

import re
from collections.abc import Iterator
from functools import cache

from guard.lazy_regex import lazy_regex
from guard.match import Match, Strength
from guard.redaction import placeholder
from guard.text.canonical import TextVariant
from guard.text.quotation import Quotations

__all__ = ["find_controls", "find_forgery", "find_markers", "find_private"]

_CONTROLS = (
    r"\x1b\[[0-?]{0,32}[ -/]{0,8}[@-~]"  # complete terminal colours and cursor moves
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]+|\x1b|[\ud800-\udfff]+"
)
_CONTROL = lazy_regex("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_PRIVATE = r"<\s{0,4}(/?)\s{0,4}private(?![\w-])[^<>\n]{0,64}>?"
_MARKERS = (
    r"<\s{0,4}/?\s{0,4}agent-home(?:-recall|-data)?(?![\w-])[^<>\n]{0,200}>?"
    r"|<!--\s{0,8}agent-home(?:(?!-->)[^\n]){0,200}(?:-->)?"
)
_TEMPLATE_TOKENS = (
    r"<\|[\w/▁-]{2,40}\|>"
    r"|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"
    r"|\[/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
    r"|</?(?:system|assistant|human)(?:[-_](?:reminder|prompt|message))?>"
    r"|</?(?:function_calls|function_results|tool_call|tool_response|antml:[a-z_]{1,30})\b[^<>\n]{0,80}>"
)
_HEADING = r"^ {0,3}(?:#{2,6}[ \t]+\S|(?<=\n)#[ \t]+\S)[^\n]{0,80}"
_ENTRY_HEAD = r"(?<=\n) {0,3}[-*+] +(?:\*\*)?\[[A-Z]{2}-[0-9A-Z]{4}\]"


def find_controls(text: str) -> Iterator[Match]:
    """Yield the runs of control characters, terminal sequences and lone surrogates in *text*."""
    if not _CONTROL.search(text):
        return
    for match in _compiled(_CONTROLS).finditer(text):
        kind = "lone-surrogate" if "\ud800" <= match[0][0] <= "\udfff" else "control-character"
        replacement = "\ufffd" if kind == "lone-surrogate" else ""
        yield _replacement_match(kind, kind, match.span(), replacement)


def find_private(variant: TextVariant) -> Iterator[Match]:
    """Yield the outermost ``<private>`` passages with their tags. An unclosed passage reaches the end of the text.

    A tag alone between backticks only mentions the tag and opens nothing.
    """
    if "private" not in variant.lowered:
        return
    text, depth, opened = variant.lowered, 0, 0
    for tag in _compiled(_PRIVATE).finditer(text):
        if text[tag.start() - 1 : tag.start()] == text[tag.end() : tag.end() + 1] == "`":
            continue
        if not tag[1]:
            opened = opened if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield _replacement_match("private", "private", variant.span(opened, tag.end()), placeholder("private"))
    if depth:
        yield _replacement_match(
            "private-unclosed", "private", (variant.span(opened, len(text))), placeholder("private")
        )


def find_markers(variant: TextVariant, quotations: Quotations) -> Iterator[Match]:
    """Yield chat-template tokens and markers of this system."""
    if "<" not in variant.text and "[" not in variant.text:
        return
    for rule, kind, pattern in (
        ("own-marker", "marker", _MARKERS),
        ("chat-template", "chat-template-token", _TEMPLATE_TOKENS),
    ):
        for match in _compiled(pattern).finditer(variant.text):
            start, end = variant.span(*match.span())
            yield Match(
                layer="structure",
                rule=rule,
                kind=kind,
                start=start,
                end=end,
                strength=Strength.HARD,
                replacement=placeholder(kind),
                quoted=quotations.covers(start, end),
            )


def find_forgery(text: str, quotations: Quotations) -> Iterator[Match]:
    """Yield headings and second entry heads outside code. Inside an entry, they would end it."""
    for rule, pattern in (("section-heading", _HEADING), ("entry-head", _ENTRY_HEAD)):
        for match in _compiled(pattern).finditer(text):
            if quotations.in_fence(*match.span()):
                continue
            yield Match(
                layer="structure",
                rule=rule,
                kind="forged-structure",
                start=match.start(),
                end=match.end(),
                strength=Strength.HARD,
            )


def _replacement_match(rule: str, kind: str, span: tuple[int, int], replacement: str) -> Match:
    return Match(
        layer="structure",
        rule=rule,
        kind=kind,
        start=span[0],
        end=span[1],
        strength=Strength.CLEAN,
        replacement=replacement,
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
