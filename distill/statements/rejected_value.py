"""Tell whether a newer statement names the value of an older decision as the one that is not taken.

"We decided against Kafka" names what no longer holds, however little else both statements share. That is no proof that
the older decision ends, because the value may serve another purpose there. A person decides.
"""

from __future__ import annotations

import re

from guard.lazy_regex import lazy_regex

from .dated_words import without_dates
from .statement_parser import Token, parse_statement

__all__ = ["names_rejected_value", "rejects_value_of"]

_MAX_CHARS = 600
#: Most words of a value. More are an event or a reason.
_MAX_TOKENS = 4
#: What a sentence names as not taken, up to the end of its clause.
_REJECTED = lazy_regex(
    r"\b(?:decid\w+|vot\w+|chose|opt\w*|went|are|were|am|['’](?:re|m)) against (?:us\w+ |go\w+ with |tak\w+ )?"
    r"(?P<against>[^,;:.。]+)"
    r"|\b(?:instead of|rather than|in place of) (?:us\w+ |go\w+ with |tak\w+ )?(?P<instead>[^,;:.。]+)"
    r"|\b(?:no longer|not|n['’]t)\b (?:us\w+|go\w* with|want\w*|tak\w+) (?P<more>[^,;:.。]+?) "
    r"(?:any ?more|any longer|after all)\b"
    r"|\bgegen (?P<gegen>[^,;:.。]+?) entschieden|\bentscheiden uns gegen (?P<gegen2>[^,;:.。]+)"
    r"|\b(?:an)?statt (?P<statt>[^,;:.。]+)|\bnicht (?:mehr|länger) (?P<mehr>[^,;:.。]+)"
    r"|\bau lieu (?:de |d['’])(?P<lieu>[^,;:.。]+)|\ben (?:lugar|vez) de (?P<lugar>[^,;:.。]+)"
    r"|(?:不用|不再用|不选|放弃|弃用)(?P<zh>[^,;。\uff0c\uff1b]+?)了?(?=[,;。\uff0c\uff1b]|$)",
    re.IGNORECASE,
)
_CLAUSE = lazy_regex(r"[,;:\uff0c\uff1b\uff1a]\s*|[.。]\s+|\s(?:but|because|since|weil|aber)\s|因为|但")


def names_rejected_value(text: str) -> bool:
    """Return whether *text* names a value as one that is not taken."""
    return len(text) <= _MAX_CHARS and bool(_rejected(text))


def rejects_value_of(older: str, newer: str) -> bool:
    """Return whether *newer* names a value that *older* decided for as one that is not taken.

    >>> rejects_value_of("Let's go with Kafka for the event bus.", "We decided against Kafka: we use NATS.")
    True
    >>> rejects_value_of("Let's go with NATS, Kafka can't do it.", "We decided against Kafka.")
    False
    """
    if max(len(older), len(newer)) > _MAX_CHARS:
        return False
    rejected = _rejected(newer)
    if not rejected or rejected.keys() & _rejected(older).keys():
        return False
    for clause in _CLAUSE.split(without_dates(older)):
        said = parse_statement(clause)
        named = [token for token in said.tokens if token.key in rejected]
        if any("name" in {token.kind, rejected[token.key]} for token in named):
            return said.negations % 2 == 0
    return False


def _rejected(text: str) -> dict[str, str]:
    """Return the words that *text* says are not taken, with their kinds."""
    plain = without_dates(text)
    found: list[Token] = []
    for match in _REJECTED.finditer(plain):
        tokens = parse_statement(next(part for part in match.groups() if part)).tokens
        found += tokens if len(tokens) <= _MAX_TOKENS else ()
    names = {token.key: token.kind for token in parse_statement(plain).tokens}
    return {token.key: names.get(token.key, token.kind) for token in found if token.kind in {"name", "word"}}
