"""Tell that two statements are about two things of one sort, or about two sides of one thing.

The mail server and the test server share the noun and most other words, so they match well, and a newer value of the
one says nothing of the other. Lotte's age says nothing of when she is picked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from guard.lazy_regex import lazy_regex

from .pairs.pair_features import MAX_CHARS, compare, relative_spans, word_weight
from .statement_parser import Statement, Token, parse_statement

__all__ = ["names_other_thing", "names_owned_thing", "shares_only_name", "shares_only_person"]

#: A qualified noun at the head of a statement.
_QUALIFIED = lazy_regex(
    r"(?:\w+: )?(?:the|our|my|his|her|their|your)\s+(?P<which>[a-z][\w-]+)\s+"
    r"(?!(?:is|are|was|were|has|have|had|will|can|must|should|gets?|got|now|moved|runs?)\b)(?P<noun>[a-z][\w-]+)\b",
    re.IGNORECASE,
)
_OF = lazy_regex(
    r"(?:\w+: )?(?:the|our|my|his|her|their|your)\s+(?P<noun>[a-z][\w-]+)\s+of\s+"
    r"(?:(?:the|our|my|his|her|their|your)\s+)?(?P<which>[a-z][\w-]+)\b",
    re.IGNORECASE,
)
#: A thing with its make or name behind the same words: "We buy the Bosch oven".
_NAMED = lazy_regex(
    r"(?P<before>(?:\w+ ){1,6}(?:the|an?|our|my|one)) (?P<which>[A-Z][\w-]*) (?P<noun>[a-z][\w-]{2,})\b(?! [A-Z])"
)
_HAN = lazy_regex(r"(?:我们?的?|咱们?的?)?(?P<whole>[\u4e00-\u9fff]{4,8})的")
#: Words that tell an earlier state of the same thing from a later one.
_SAME_THING = frozenset({
    "old", "new", "current", "present", "next", "last", "former", "latest", "recent", "first", "second", "other",
    "final", "original", "previous", "now",
})  # fmt: skip
#: A person or thing at the head of a statement that owns something. A verb may also stand behind an "'s".
_OWNER = lazy_regex(
    r"(?:(?:Dr|Mrs?|Ms|Prof)\.? )?(?P<owner>[A-Z][a-z]+)['\u2019]s (?P<owned>(?!\w+(?:ed|ing)\b)[a-z]{3,}) "
    r"(?:is|was|has|had|will|just|\w+ed|\w+s)\b"
)
_OWNER_HAN = lazy_regex(r"(?P<owner>[\u4e00-\u9fff]{2,4}?)的(?!事)(?P<owned>[\u4e00-\u9fff]{2})")
_LEAST_NOUN_CHARS = 2
_TWO_HAN = lazy_regex(r"[\u3400-\u9fff]{2}")
_UNIT = lazy_regex(r"\s?(?!(?:from|at|on|in|and|for|to|with|every|by|or|now)\b)[a-z%€$]+", re.IGNORECASE)
#: A change that is no change of a value.
_AGED = lazy_regex(r"\bturn(?:s|ed|ing)\b")
_AMOUNTS = frozenset({"number", "time"})
_MAX_CHARS = 200
#: A familiar form of a Chinese name at the head of a sentence.
_FAMILIAR_HAN = lazy_regex(r"[小老阿][\u4e00-\u9fff]")
#: Where somebody is. 现在 and 正在 tell of time.
_WHERE_HAN = lazy_regex(r"(?<![现正])在[\u4e00-\u9fff]{2}")
_LIVES = lazy_regex(r"\bliv(?:es?|ing)\b|住", re.IGNORECASE)
_MOVES = lazy_regex(r"\bmov(?:ed|ing)\b|搬(?:家|[来到去出进])", re.IGNORECASE)
_HAN_DIGITS = frozenset("一二三四五六七八九十")
#: Least weight of a word that is no light one.
_LEAST_WORD = 0.15
#: Most weight of the other words of a sentence that only gives another value, and of the sentence with the old one.
_MOST_BESIDE, _MOST_BESIDE_OLD = 0.5, 1.0


def names_other_thing(older: str, newer: str) -> bool:
    """Return whether both statements begin with the same noun, qualified as two different things.

    Two different nouns with two different names behind the same words are two things as well.

    >>> names_other_thing("We buy the Bosch oven.", "We buy the Liebherr fridge.")
    True
    >>> names_other_thing("We buy the Bosch oven.", "We buy the Siemens oven.")
    False
    """
    old, new = older[:_MAX_CHARS], newer[:_MAX_CHARS]
    first, second = _NAMED.match(old), _NAMED.match(new)
    if first and second and first["before"].casefold() == second["before"].casefold():
        says_both = re.search(rf"\b{first['noun']}\b", new) or re.search(rf"\b{second['noun']}\b", old)
        if not says_both and first["which"] != second["which"]:
            return True
    for pattern in (_OF, _QUALIFIED):
        was, now = pattern.match(old), pattern.match(new)
        if was and now and was["noun"].casefold() == now["noun"].casefold():
            which = {was["which"].casefold(), now["which"].casefold()}
            return len(which) > 1 and not which & _SAME_THING
    return _other_in_chinese(old, new)


def names_owned_thing(older: str, newer: str) -> bool:
    """Return whether *newer* begins with what belongs to somebody of *older*, of which *older* says nothing.

    >>> names_owned_thing("Mireille is head of the department.", "Mireille's deputy resigned.")
    True
    >>> names_owned_thing("Mireille's deputy is Jo.", "Mireille's deputy resigned.")
    False
    """
    old, new = older[:_MAX_CHARS], newer[:_MAX_CHARS]
    match = _OWNER.match(new)
    if match:
        owns = re.search(rf"\b{match['owner']}['\u2019]s\b", old) is not None
        return re.search(rf"\b{match['owner']}\b", old) is not None and not owns
    match = _OWNER_HAN.match(new)
    if match is None or match["owner"] not in old or f"{match['owner']}的" in old:
        return False
    return not set(match["owned"]) & set(old)


def shares_only_name(older: str, newer: str) -> bool:
    """Return whether two statements share no more than a name or single Chinese characters, and differ in amounts.

    A newer one with a word of change may be about the same thing in other words.

    >>> shares_only_name("I pick up Lotte at 4.", "Lotte turned 7.")
    True
    >>> shares_only_name("Lotte's class starts at 8.", "Lotte starts at 9 now.")
    False
    """
    was, now = parse_statement(older[:_MAX_CHARS]), parse_statement(newer[:_MAX_CHARS])
    known = {token.key for token in was.tokens}
    shared = [token for token in now.tokens if token.key in known]
    if any(token.kind not in {"name", "han"} for token in shared):
        return False
    cues = compare(older[:_MAX_CHARS], _AGED.sub("", newer[:_MAX_CHARS]))
    if any(cues[f"{name} newer"] for name in ("change", "now", "left")):
        return False
    if any(token.kind == "han" for token in shared):
        return not any(token.kind == "name" for token in shared) and not _share_pair(was, now)
    amounts = [_amounts(said, known & {token.key for token in now.tokens}) for said in (was, now)]
    return bool(shared) and all(amounts) and not amounts[0] & amounts[1]


def shares_only_person(older: str, newer: str) -> bool:
    """Return whether two statements share no more than a person and light words.

    A newer one that says nothing but another value of the same kind is about the same thing.

    >>> shares_only_person("My daughter is allergic to nuts.", "My daughter plays the violin now.")
    True
    >>> shares_only_person("My daughter plays the piano.", "My daughter plays the violin now.")
    False
    >>> shares_only_person("My boss is Karin.", "My boss is now Elias.")
    False
    """
    was, now = parse_statement(older[:MAX_CHARS]), parse_statement(newer[:MAX_CHARS])
    people, others = _people(was), _people(now)
    if not people & others or _share_pair_besides(was, now, people | others) or _tell_where(was, now):
        return False
    mine, theirs = _said_besides(was, people | others), _said_besides(now, people | others)
    shared = {token.key for token in mine} & {token.key for token in theirs}
    if shared:
        return False
    kinds = {token.kind for token in mine if token.particular} & {token.kind for token in theirs if token.particular}
    beside = [sum(word_weight(token) for token in said if not token.particular) for said in (theirs, mine)]
    return not kinds or beside[0] > _MOST_BESIDE or beside[1] > _MOST_BESIDE_OLD


def _tell_where(was: Statement, now: Statement) -> bool:
    """Return whether both say in Chinese where somebody is, or one where somebody lives and the other of a move."""
    moved = _LIVES.search(was.text) is not None and _MOVES.search(now.text) is not None
    return moved or all(_WHERE_HAN.search(said.text) for said in (was, now))


def _people(said: Statement) -> set[str]:
    """Return the keys of the tokens that name relatives and other people, and of the names at the head."""
    spans = relative_spans(said.text)
    familiar = _FAMILIAR_HAN.match(said.text)
    if familiar:
        spans = (*spans, familiar.span())
    found = {token.key for token in said.tokens if _lies_in(token, spans)}
    end = -1
    for token in said.tokens:
        if token.key not in found:
            # "My boss is Karin" gives the name of the boss, and "our client Hana" is one person.
            named = token.kind == "name" or token.key == said.opener
            if not named or (token.start > end + 1 if end >= 0 else said.text[: token.start].strip()):
                break
            found.add(token.key)
        end = token.end
    return found


def _lies_in(token: Token, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= token.start < end for start, end in spans)


def _said_besides(said: Statement, people: set[str]) -> list[Token]:
    """Return the tokens that say something besides *people*. A Chinese character counts where a word begins."""
    found: list[Token] = []
    before: Token | None = None
    for token in said.tokens:
        begins = before is None or before.particular or before.key in people or before.key in _HAN_DIGITS
        begins = begins or (before is not None and word_weight(before) < _LEAST_WORD)
        if token.key not in people and word_weight(token) >= _LEAST_WORD and (token.kind != "han" or begins):
            found.append(token)
        before = token
    return found


def _share_pair_besides(was: Statement, now: Statement, people: set[str]) -> bool:
    """Return whether two neighbouring Chinese characters besides *people* stand in both texts."""
    pairs = [
        {
            one.key + other.key
            for one, other in pairwise(said.tokens)
            if one.kind == other.kind == "han" and one.end == other.start and not {one.key, other.key} & people
            and max(word_weight(one), word_weight(other)) >= _LEAST_WORD
        }
        for said in (was, now)
    ]  # fmt: skip
    return bool(pairs[0] & pairs[1])


def _share_pair(was: Statement, now: Statement) -> bool:
    """Return whether two neighbouring Chinese characters stand in both texts."""
    pairs = [
        {said.text[at : at + 2] for at in range(len(said.text) - 1) if _TWO_HAN.fullmatch(said.text[at : at + 2])}
        for said in (was, now)
    ]
    return bool(pairs[0] & pairs[1])


def _amounts(said: Statement, shared: set[str]) -> set[str]:
    """Return the words before the amounts without a unit, which tell what they measure."""
    amounts = [token for token in said.tokens if token.kind in _AMOUNTS and token.key not in shared]
    return {_word_before(said, token) for token in amounts if not _UNIT.match(said.text, token.end)}


def _word_before(said: Statement, token: Token) -> str:
    before: Sequence[str] = said.text[: token.start].split()
    return before[-1].casefold() if before else ""


def _other_in_chinese(older: str, newer: str) -> bool:
    was, now = _HAN.match(older), _HAN.match(newer)
    if was is None or now is None:
        return False
    first, second = was["whole"], now["whole"]
    shared = 0
    while shared < min(len(first), len(second)) and first[-1 - shared] == second[-1 - shared]:
        shared += 1
    rests = first[: len(first) - shared], second[: len(second) - shared]
    apart = all(rests) and not set(rests[0]) & set(rests[1]) and not set("旧新老原前后") & set("".join(rests))
    return shared >= _LEAST_NOUN_CHARS and apart
