"""Options: which of the options that the assistant lists a short reply chooses by its place ("the second one")."""

from __future__ import annotations

import re

from guard.lazy_regex import lazy_regex

from ..statements.sentences import narrowed, prose_lines, split_sentences

__all__ = ["chosen_option", "listed_options"]

#: Most characters of a turn that are searched, and most options of one list.
_MAX_CHARS, _MAX_OPTIONS = 4000, 9
_MARK = lazy_regex(
    r"(?:(?<=\s)|^|(?<=[:,;\uff0c。\uff1a\uff1b]))\(?(?P<mark>[1-9]|[A-E])[.)、:\uff1a](?:\s+|(?=[\u3400-\u9fff]))"
)
_EDGES = " ,;.。\uff0c\uff1b"
#: Sentences behind the last option, which ask for a choice.
_ASKS = lazy_regex(r"[?\uff1f]\s*$")
_LAST = lazy_regex(r"\b(?:the )?(?:last|latter)\b(?: one)?|后者|后一[个种]|最后[一那]?[个种]", re.IGNORECASE)
_PLACES = lazy_regex(
    r"\b(?P<word>first|former|second|third|fourth|fifth)\b|"
    r"\b(?:option|number|no\.?|plan)\s*(?P<named>one|two|three|four|five|[1-9]|[A-E])\b|"
    r"第(?P<zh>[一二三四五1-5])[个种项]?|方案(?P<plan>[一二三四五1-5A-E])|(?P<front>前者|前一[个种])|"
    r"^(?:选|要|就)?\s*(?P<bare>[1-9A-E一二三四五])(?:\s*(?:please|吧|款)?[.。!]?)$",
    re.IGNORECASE,
)
_NUMBERS = {
    **{word: place for place, word in enumerate(("first", "second", "third", "fourth", "fifth"), 1)},
    **{word: place for place, word in enumerate(("one", "two", "three", "four", "five"), 1)},
    **{char: place for place, char in enumerate("一二三四五", 1)},
    **{char: place for place, char in enumerate("abcde", 1)},
    "former": 1,
}  # fmt: skip


def chosen_option(content: str, reply: str) -> str:
    """Return the option of the assistant's turn *content* that *reply* names by its place, or an empty string.

    >>> chosen_option("There are two ways: 1. hire a cleaner, 2. share the chores. Which one?", "the second one")
    'share the chores'
    >>> chosen_option("方案:1. 租服务器 2. 买服务器。选哪个?", "那就第二个吧")
    '买服务器'
    """
    options = listed_options(content)
    narrow = narrowed(reply.strip())
    if len(options) < 2:
        return ""
    if _LAST.search(narrow):
        return options[-1]
    match = _PLACES.search(narrow)
    if match is None:
        return ""
    named = next(group for group in match.groups() if group).casefold()
    place = 1 if match["front"] else int(named) if named.isdigit() else _NUMBERS[named]
    return options[place - 1] if place <= len(options) else ""


def listed_options(content: str) -> list[str]:
    """Return the options that a turn lists as bullets, with numbers or with letters, in order."""
    lines = list(prose_lines(content[:_MAX_CHARS]))
    bullets = [line.text for line in lines if line.kind == "bullet"]
    if len(bullets) >= 2:
        return bullets[:_MAX_OPTIONS] if len(bullets) <= _MAX_OPTIONS else []
    for line in reversed(lines):
        marks = list(_MARK.finditer(line.text))
        ordered = [mark["mark"] for mark in marks] in (list("123456789")[: len(marks)], list("ABCDE")[: len(marks)])
        if len(marks) >= 2 and ordered:
            ends = [*(mark.start() for mark in marks[1:]), len(line.text)]
            found = [line.text[mark.end() : end].strip(_EDGES) for mark, end in zip(marks, ends, strict=True)]
            return [*found[:-1], _without_question(found[-1])]
    return []


def _without_question(last: str) -> str:
    """Return the last option without the question behind it."""
    sentences = split_sentences(last)
    if len(sentences) == 1 and _ASKS.search(last):
        return last.rpartition(" ")[0].strip(_EDGES)
    return sentences[0].strip(_EDGES) if sentences else ""
