"""Secrets told in sentences: the name of a credential in any of thirteen languages beside a value that is no word.

The names stand in ``credential_names.toml``. Whether a value is a word of the sentence or a secret is the judgement of
``value_model``, so no rule here knows how a language says that one thing is another. Plain words ("bluebird") and
numbers need more: they must follow the name at once, end the clause, and look like a word that one chooses.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice

from guard.lazy_regex import lazy_regex
from guard.match import Match
from guard.redaction import replaced_match
from guard.rule_tables import bundled_tables
from guard.secrets.pattern import compile_pattern
from guard.secrets.public_values import is_public, is_row_field
from guard.secrets.told.dates import is_date_part
from guard.secrets.value import is_plausible_value
from guard.secrets.value_model import chosen_word_likeness, password_likeness
from guard.text.canonical import TextVariant
from guard.text.ids import IdSpan, id_at, id_spans

__all__ = ["credential_names", "find_told_secrets", "vocabulary"]

_AHEAD = 100
"""Characters after a name in which its value stands."""

_BEHIND = 90
"""Characters before a name in which its value stands, as in "use ... as the password"."""

_CLOSE, _NEAR, _FAR = 0.0, 2.0, 4.0
"""Log odds that a value needs right after its name, in the same sentence, and in the next one."""

_CHOSEN = 0.4
"""Log odds that a plain word needs to be what was chosen."""

_BEFORE = 2.0
"""Log odds that a value before its name needs."""

_TOKEN = lazy_regex(r"[!-~À-ɏЀ-ӿḀ-ỿ]+")
_CLAUSE_END = lazy_regex(r"[.!?。!?…;]+(?=\s|$|[\"'”»])|[。!?\n]|[.;](?=\s|$)")
_QUOTED = lazy_regex(r"[\"“„«「『`'‘]([^\"“”„«»「」『』`\n]{4,64}?)[\"”“»」』`'’]")
_OPENING = "\"'`“”„«»‘’([{<*_,;:=—–-"
_CLOSING = "\"'`“”„«»‘’)]}>*_,;:.?…"
_NUMBER = lazy_regex(r"[#*]?\d(?:[ -]?\d){3,11}[#*]?")
_COUNTED = lazy_regex(r"\s?(?:[%€$£]|[^\W\d_]|[.,:/]\d)")
_SAID_EASTERN = lazy_regex(r"(?:です|だ|でした|입니다|이에요|예요|이야|야)|\s*(?:[。.!,,]|$)", re.MULTILINE)
#: Small words and a small number: a machine, or a thing with a version. It needs a word that says: this is it.
_HOST = lazy_regex(r"[a-z]+(?:-[a-z]+)*-v?\d{1,2}")
_PLAIN = lazy_regex(r"[^\W\d_]{4,24}(?:-[^\W\d_]{2,24}){0,3}")
#: "All tests pass", "it passes": a verb, and not the name of a password.
_VERB = lazy_regex(
    r"(?is).*(?:(?:[^\W\d]s|all|also|and|both|can|it|must|not|now|should|still|they|to|will) +pass|pass(?:e[sd]|ing))$"
)
_VERB_CHARS = 24
_ID_NAMES = frozenset({"commit", "hash", "id", "message", "revision", "run", "session", "sha", "uuid"})
_MOST_BETWEEN = 4
"""Words between a name and its value where the value may also be an id."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A candidate with its log odds of being a secret and the words between it and the name."""

    start: int
    end: int
    text: str
    between: str
    same_sentence: bool


def find_told_secrets(variant: TextVariant) -> Iterator[Match]:
    """Yield the secrets beside their names in *variant*, with offsets into its source."""
    names = list(credential_names(variant))
    ids = id_spans(variant.text) if names else []
    for number, (kind, start, end) in enumerate(names):
        after = names[number - 1][2] if number else 0
        upto = names[number + 1][1] if number + 1 < len(names) else len(variant.text)
        told = _told_after(variant.text, kind, (start, end), min(upto, end + _AHEAD), ids)
        if told is None and kind in {"password", "key"}:
            told = _told_before(variant.text, kind, max(after, start - _BEHIND), start, ids)
        if told is None or is_public(variant.text, *told) or is_date_part(variant.text, *told):
            continue
        if not is_row_field(variant.text, told[0]):
            yield replaced_match(
                "secret", "told-secret", "secret" if kind == "key" else "password", variant.span(*told)
            )


# ------------------------------------------------------------------------------------------------------------ names


def credential_names(variant: TextVariant) -> Iterator[tuple[str, int, int]]:
    """Yield ``(kind, start, end)`` of the names of credentials. Parts of names in code are none."""
    text = variant.text
    for ((start, end),) in compile_pattern("told-secret", _name_pattern()).matches(variant):
        kind = _kind_of(text[start:end].lower())
        before, follows = text[start - 1 : start], text[end : end + 1]
        if text.endswith(_REDACTED, 0, start):
            continue  # the note of an earlier redaction tells nothing of what stands behind it
        if before and before in _CODE_SIGNS and (before != "-" or text[start - 2 : start - 1] in {"-", " "}):
            continue
        if (
            follows == "_"
            or (follows.isdigit() and not _is_eastern(text[end - 1]))
            or (follows and follows in ".(-" and text[end + 1 : end + 2].isalnum())
        ):
            continue
        if before.isalpha() and not _is_eastern(text[start]) and not _COMPOUND.match(text, start):
            continue
        if end - start < 5 and text[start:end].isascii() and (follows.isalnum() or before == "-"):
            continue
        yield kind, start, _word_end(text, end)


_REDACTED = "[REDACTED:"
_KINDS = ("phrase", "pin", "password", "key", "code")
_COMPOUND = lazy_regex(r"(?i)passw[oö]rt|kennw[oö]rt|wachtwoord|schlüssel|sleutel|code")
_CODE_AFTER = frozenset(",)]")
_CODE_SIGNS = "_./$@\\-&?"


@cache
def _name_pattern() -> str:
    names = [name for kind in _KINDS for name in vocabulary()["names"][kind]]
    return f"(?i)(?:{'|'.join(sorted(names, key=len, reverse=True))})"


@lru_cache(maxsize=1024)
def _kind_of(name: str) -> str:
    """Return the first kind that has the lower-case *name*."""
    names = vocabulary()["names"]
    return next((kind for kind in _KINDS if re.fullmatch("|".join(names[kind]), name)), "password")


@cache
def vocabulary() -> dict[str, dict[str, list[str]]]:
    """Return the tables of ``credential_names.toml``. The first call reads them."""
    tables: dict[str, dict[str, list[str]]] = bundled_tables()["credential_names"]
    return tables


@cache
def _opened() -> re.Pattern[str]:
    return re.compile(r"(?i)\b(?:" + "|".join(vocabulary()["names"]["opened"]) + ")")


@cache
def _connectors(kind: str) -> frozenset[str]:
    return frozenset(vocabulary()["grammar"][kind])


def _word_end(text: str, end: int) -> int:
    """Return the end of the word that goes on at *end*: an ending of its language, in alphabets."""
    if _is_eastern(text[end - 1]):
        return end
    upto = min(len(text), end + 6)
    while end < upto and text[end].isalpha() and not _is_ideographic(text[end]):
        end += 1
    return end


def _is_eastern(character: str) -> bool:
    return _is_ideographic(character) or "\uac00" <= character <= "\ud7a3"


def _is_ideographic(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff"


# ----------------------------------------------------------------------------------------------------------- values


def _told_after(
    text: str, kind: str, name: tuple[int, int], upto: int, ids: Sequence[IdSpan]
) -> tuple[int, int] | None:
    """Return the span of the value that follows the name, or None."""
    start, end = name
    if kind == "phrase" and (phrase := _phrase(text, end, upto)) is not None:
        return phrase
    if (
        (quoted := _QUOTED.search(text, end, upto)) is not None
        and _is_quoted_secret(kind, text[end : quoted.start(1)], quoted[1])
        and not _is_only_id(
            text, kind, name, _Place(*quoted.span(1), quoted[1], text[end : quoted.start(1)], True), ids
        )
    ):
        return quoted.span(1)
    if kind == "code" and _opened().search(text, max(0, start - _BEHIND), upto) is None:
        return None
    same_sentence, position = True, end
    for token in islice(_TOKEN.finditer(text, end, upto), 15):
        between = text[end : token.start()]
        if _CLAUSE_END.search(text, position, token.start() + 0) or _CLAUSE_END.search(between[-2:]):
            same_sentence = False
        first, last = _stripped(text, *token.span())
        if first < last:
            place = _Place(first, last, text[first:last], text[end:first], same_sentence)
            number = _NUMBER.match(text, first, upto)
            if _is_only_id(text, kind, name, place, ids):
                pass
            elif (
                number is not None
                and (kind != "key")
                and _is_told_number(text, kind, text[start:end], place, number.end())
            ):
                return first, number.end()
            elif _is_told_value(text, kind, text[start:end], place):
                return first, last
        if text[token.end() - 1] in ".!?":
            same_sentence = False
        position = token.end()
    return None


def _told_before(text: str, kind: str, start: int, end: int, ids: Sequence[IdSpan]) -> tuple[int, int] | None:
    """Return the span of the value that stands before its name in one sentence, or None."""
    found = None
    for token in _TOKEN.finditer(text, start, end):
        first, last = _stripped(text, *token.span())
        if first >= last or token.end() == end or (start and first == start and text[start - 1].isalnum()):
            continue
        if text[token.end() - 1] in ".;?" and token.end() < end:
            found = None
        if _CLAUSE_END.search(text, last, end) and text[last : last + 1] != "!":
            found = None
            continue
        least = _BEFORE + (3 if kind == "key" else 0)
        if _HOST.fullmatch(text, first, last) or id_at(text, ids, first, last) is not None:
            continue
        if _is_candidate(kind, text[first:last]) and password_likeness(text[first:last]) >= least:
            found = first, last
    return found


def _is_only_id(text: str, kind: str, name: tuple[int, int], place: _Place, ids: Sequence[IdSpan]) -> bool:
    """Return whether the word at *place* is an id, or stands in a field, and no name tells it as its value."""
    found = id_at(text, ids, place.start, place.end)
    if found is None:
        return False
    start, end = name
    if (
        not place.same_sentence
        or (start < found.start if found.is_field else start >= found.start)
        or (
            text[start:end].lower().startswith("pass")
            and _VERB.match(text[max(0, end - _VERB_CHARS) : end]) is not None
        )
    ):
        return True
    words = [word.strip(",:=").lower() for word in place.between.split()]
    if not any(words):  # the name is right beside it, perhaps with a colon
        return not (place.between or _is_eastern(text[end - 1]))
    if kind == "key":
        return not all(word in _connectors("is") for word in words if word)
    return len(words) > _MOST_BETWEEN or not _is_connected(place.between) or not _ID_NAMES.isdisjoint(words)


def _is_told_value(text: str, kind: str, name: str, place: _Place) -> bool:
    """Return whether the word at *place* after a name is a secret."""
    word = place.text
    if _PLAIN.fullmatch(word):
        return kind == "password" and _is_chosen_word(text, name, place)
    if not _is_candidate(kind, word) or (_HOST.fullmatch(word) and not _is_connected(place.between)):
        return False
    words = place.between.split()
    if not place.same_sentence or place.between[:1] in _CODE_AFTER:
        least = _NEAR if _is_alone(text, place) else _FAR + 4 * (text[place.start - 1] in "\"'`")
    elif len(words) <= 2 or _is_connected(place.between) or words[-1].lower() in _connectors("into"):
        least = _CLOSE
    else:
        least = _NEAR + 0.3 * max(0, len(words) - 4)
    if kind in {"code", "pin"} and not _is_connected(place.between) and words:
        least += 3
    return password_likeness(word) >= least + (3 if kind == "key" else 0)


def _is_alone(text: str, place: _Place) -> bool:
    """Return whether the word is all of its line."""
    line_start = text.rfind("\n", place.start - 8 if place.start > 8 else 0, place.start)
    before = text[line_start + 1 : place.start] if line_start >= 0 else "-"
    return (
        not before.strip(" \"'`*->•")
        and re.match(r"[\"'`*.!]{0,3}\s*(?:\n|$)", text[place.end : place.end + 12]) is not None
    )


def _is_candidate(kind: str, word: str) -> bool:
    """Return whether the form of *word* can be a secret of this *kind* at all."""
    if _NUMBER.fullmatch(word) or not is_plausible_value(word):
        return False
    if kind == "key":
        return (
            len(word) >= 12
            and not _HOST.fullmatch(word)
            and any(map(str.isdigit, word))
            and any(map(str.isalpha, word))
        )
    if kind in {"code", "pin"}:
        return len(word) <= 12 and sum(map(str.isdigit, word)) >= 2
    return any(not character.isalpha() for character in word) or _is_mixed(word)


def _is_mixed(word: str) -> bool:
    """Return whether *word* has capitals inside, after small letters."""
    return word[1:].lower() != word[1:] and not word.isupper()


def _is_chosen_word(text: str, name: str, place: _Place) -> bool:
    """Return whether a plain word right after the name is what was chosen, and ends the clause."""
    if not _is_connected(place.between) or not place.same_sentence or not is_plausible_value(place.text):
        return False
    rest = text[place.end : place.end + 2]
    if _is_eastern(place.between.rstrip(" \"'`“„«「『(")[-1:]):
        return place.text.isascii() and _SAID_EASTERN.match(text, place.end) is not None
    if not (not rest or _CLAUSE_END.match(text, place.end) or rest[0] in ",)\"'" or _is_ideographic(rest[0])):
        return False
    if not name.isascii() and "Ѐ" <= name[0] <= "ӿ" and place.text.isascii():
        return True
    return len(place.text) >= 5 and chosen_word_likeness(place.text) >= _CHOSEN


def _is_told_number(text: str, kind: str, name: str, place: _Place, end: int) -> bool:
    """Return whether the number at *place* is the value: it is near, ends the clause, and counts nothing."""
    counted = _COUNTED.match(text, end) is not None and not _is_ideographic(text[end : end + 1].strip() or "a")
    if counted or not place.same_sentence:
        return False
    number = text[place.start : end]
    digits = sum(map(str.isdigit, number))
    words = place.between.split()
    connected = _is_connected(place.between) or (name != "pin" and not place.between.strip())
    year = digits == 4 and number[:2] in {"19", "20"}
    if digits < 4 or digits > 12 or (year and not connected):
        return False
    return connected or (name != "pin" and kind in {"pin", "code"} and len(words) <= 6)


def _is_connected(between: str) -> bool:
    """Return whether the text between name and value ends with a word or a sign that says: this is it."""
    bare = between.rstrip(" \"'`*“„«「『")
    if not bare:
        return bool(between.strip())
    if bare[-1] in ":=—–→>：" or bare.endswith("->"):
        return len(between) <= 48
    if _is_eastern(bare[-1]):
        return bare[-1] in "是为為はをが는은을" and len(bare) <= 12
    words = re.split(r"[\s'’]+", bare.lower())
    return len(words) <= 8 and words[-1].strip(",") in _connectors("is")


def _is_quoted_secret(kind: str, before: str, value: str) -> bool:
    """Return whether the quotation after a name is its value."""
    if (
        len(before) > 40
        or before[:1] in _CODE_AFTER
        or _CLAUSE_END.search(before)
        or not is_plausible_value(value)
        or " " in value
    ):
        return False
    if _PLAIN.fullmatch(value):
        return kind == "password" and _is_connected(before) and chosen_word_likeness(value) > 1.0
    return _is_candidate(kind, value) and password_likeness(value) > _NEAR


def _phrase(text: str, end: int, upto: int) -> tuple[int, int] | None:
    """Return the span of three to twelve plain words between the name of a phrase and the end of the clause."""
    colon = re.compile(
        r"[^\n:=]{0,40}?(?:[:=]|\b(?:" + "|".join(sorted(_connectors("is"))) + r")\b)\s{0,2}[\"“„«']?"
    ).match(text, end, upto)
    if colon is None:
        return None
    words = re.compile(r"[^\W\d_]{3,12}(?:[ -][^\W\d_]{3,12}){2,23}").match(text, colon.end())
    if words is None:
        return None
    rest = text[words.end() : words.end() + 1]
    if rest and rest not in ".,;!\n\"”»'。":
        return None
    return words.span() if sum(map(chosen_word_likeness, words[0].split())) > 0 else None


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without quotation marks, brackets and punctuation around it."""
    while start < end and text[start] in _OPENING:
        start += 1
    while start < end and text[end - 1] in _CLOSING:
        end -= 1
    if start < end and text[end - 1] == "!" and _PLAIN.fullmatch(text, start, end - 1):
        end -= 1
    return start, end
