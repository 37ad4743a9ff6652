"""Self-corrections inside a turn: "The meeting is on Tuesday at 10. Sorry, Wednesday." says Wednesday.

A short sentence behind a word of repair gives another value of the kind that the sentence before it names last. That
value then stands in its place. Where the place is not clear, both sentences become one, so that neither is kept alone.
Everything else in the turn stays as it was said.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex

from ..statements.sentences import is_question, narrowed, split_sentences
from ..statements.statement_parser import parse_statement
from ..statements.value_exchange import value_span

__all__ = ["repaired_value", "settle_self_corrections", "with_settled_values"]

_MAX_LINE_CHARS, _MAX_SENTENCE_CHARS = 4000, 300
#: A longer rest behind a word of repair is a statement of its own.
_MOST_WORDS, _MOST_HAN = 6, 12
_REPAIR = lazy_regex(
    r"(?:(?:oh|hm+|ah|er|um|uh)\b[,.…!]*\s*)*"
    r"(?:(?:no|nope|wait|hold on|sorry|oops|actually|correction|scratch that|make (?:that|it)|i mean|i meant)\b"
    r"[,.:;!…—–-]*(?:\s+|$))+(?:(?:it['’]s|that['’]s|it is)\s+)?"
    r"|[哦噢啊呃唉哎]*[,。]?(?:不对|不是|不|错了|[说记写打]错了|更正(?:一下)?|等等|等一下|抱歉|不好意思)[,。:!]+\s*"
    r"(?:应该)?(?:是(?!不))?",
    re.IGNORECASE,
)
#: Inside a sentence, a pause stands before the repair.
_INNER = lazy_regex(
    r"(?:[,;]\s*|\s+[-–—]\s*)"
    r"(?=(?:oh |no,? )?(?:no|wait|sorry|oops|scratch that|i mean|i meant)\b|哦?不对,|[说记]错了,|哦不,)",
    re.IGNORECASE,
)
_HAN = lazy_regex(r"[\u3400-\u9fff]")
_END = "。.!\uff01"


def settle_self_corrections(message: Message) -> Message:
    """Return a turn of the user with its self-corrections settled, and another turn as it is."""
    if message.role != "user" or len(message.content) > 10 * _MAX_LINE_CHARS:
        return message
    settled = with_settled_values(message.content)
    return message if settled == message.content else replace(message, content=settled)


def with_settled_values(content: str) -> str:
    """Return *content* with each value that its next words correct exchanged for the right one.

    >>> with_settled_values("The meeting is on Tuesday at 10. Sorry, Wednesday. Bring the plan.")
    'The meeting is on Wednesday at 10. Bring the plan.'
    """
    return "\n".join(map(_settled_line, content.split("\n")))


def _settled_line(line: str) -> str:
    if len(line) > _MAX_LINE_CHARS:
        return line
    at = 0
    found: list[tuple[str, str]] = []  # each sentence with the space before it
    for sentence in split_sentences(line):
        start = line.index(sentence, at)
        gap, at = line[at:start], start + len(sentence)
        merged = _merged(found[-1][1], sentence) if found else ""
        if merged:
            found[-1] = (found[-1][0], merged)
        else:
            found.append((gap, _within(sentence)))
    return "".join(f"{gap}{sentence}" for gap, sentence in found) + line[at:]


def _within(sentence: str) -> str:
    """Return *sentence* with a value that its own end corrects exchanged."""
    narrow = narrowed(sentence)
    match = _INNER.search(narrow) if len(narrow) == len(sentence) <= _MAX_SENTENCE_CHARS else None
    if match is None:
        return sentence
    value = repaired_value(sentence[match.end() :])
    settled = _exchanged(sentence[: match.start()], value) if value else ""
    return f"{settled}{sentence[-1] if sentence[-1] in _END else ''}" if settled else sentence


def _merged(first: str, second: str) -> str:
    """Return one sentence for two of which the *second* corrects the *first*, or an empty string."""
    if is_question(first) or is_question(second) or max(len(first), len(second)) > _MAX_SENTENCE_CHARS:
        return ""
    value = repaired_value(second)
    if not value:
        return ""
    end = first[-1] if first[-1] in _END else ""
    bare = first[: len(first) - len(end)]
    settled = _exchanged(bare, value)
    if settled:
        return f"{settled}{end}"
    if _is_fragment(value):
        return f"{bare}, {second}" if not _HAN.search(bare) else f"{bare},{second}"
    return ""


def repaired_value(sentence: str) -> str:
    """Return the words behind the word of repair that opens *sentence*, if they are few."""
    narrow = narrowed(sentence)
    match = _REPAIR.match(narrow)
    if match is None or not match.group():
        return ""
    rest = sentence[match.end() :].strip().rstrip(_END).strip()
    few = len(rest.split()) <= _MOST_WORDS and len(_HAN.findall(rest)) <= _MOST_HAN
    return rest if few else ""


def _exchanged(first: str, value: str) -> str:
    """Return *first* with *value* in the place of the last value of its kind, or an empty string."""
    said = parse_statement(first)
    # Behind a word, a capital shows a name.
    lead = "" if _HAN.search(value) else "at "
    given = parse_statement(lead + value)
    if len(said.text) != len(first) or len(given.text) != len(lead + value):
        return ""
    span = value_span(said, given)
    known = {token.key for token in said.tokens}
    if span and all(token.particular or token.key in known for token in given.tokens):
        new = next(token for token in given.tokens if token.particular)
        return f"{first[: span[0].start]}{given.text[new.start : new.end].strip()}{first[span[-1].end :]}"
    return _same_frame(first, value)


def _same_frame(first: str, value: str) -> str:
    """Return *first* with its end exchanged for *value*, which begins with the same word, or a same name but a part."""
    words = value.split()
    if len(words) == 2 and not _HAN.search(value):
        match = re.search(rf"\b{re.escape(words[0])} [\w'’-]+$", first, re.IGNORECASE)
        return f"{first[: match.start()]}{value}" if match else ""
    if not re.fullmatch(r"[\u3400-\u9fff]{2,4}", value):
        return ""
    size = len(value)
    runs = [
        at
        for at in range(len(first) - size + 1)
        if _HAN.match(first[at]) and (first[at] == value[0]) and first[at : at + size] != value
    ]
    return f"{first[: runs[0]]}{value}{first[runs[0] + size :]}" if len(runs) == 1 else ""


def _is_fragment(value: str) -> bool:
    """Return whether *value* is no statement of its own."""
    if _HAN.search(value):
        return len(value) <= 6 and value[0] not in "我你他她谢没"
    given = parse_statement(f"at {value}")
    return len(value.split()) <= 3 and any(token.particular for token in given.tokens)
