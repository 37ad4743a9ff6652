"""A check that a line states only what its turns state: their numbers, dates, names, paths and quotations.

A line that passes can still be wrong. A line that fails states something that nobody said. In scripts without capital
letters names cannot be told from other words. There every character must stand in the turns, except characters of
grammar. Strictness costs nothing: a line that fails is replaced by the turn's own words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from recall.text.normalise import normalise
from recall.text.word_tables import word_table

from .sentences import prose_lines

__all__ = ["keeps_denial", "ungrounded"]

_QUOTATION = re.compile(
    r"`(?P<code>[^`\n]+)`|\"(?P<plain>[^\"\n]+)\"|“(?P<curly>[^”\n]+)”|«(?P<angle>[^»\n]+)»|《(?P<title>[^》\n]+)》|"
    r"「(?P<corner>[^」\n]+)」|『(?P<double>[^』\n]+)』"
)
#: Paths, addresses, dotted and underscored names: anything with such a sign between two word characters.
_IDENTIFIER = re.compile(r"(?:[~.]{0,2}/)?\w+(?:[./\\_@#:+-]+\w+)+(?:\(\))?", re.ASCII)
#: An amount with its sign, currency and unit; letters that touch it belong to it (Q4, 3f9c2e1, 2.1M).
_AMOUNT = re.compile(
    r"(?<![A-Za-z0-9_.,])(?P<sign>[+-]\s?)?(?P<currency>[¥$€£]\s?)?(?P<digits>[A-Za-z_]*\d+(?:[.,:]\d+)*)"
    r"(?P<unit>\s?[%‰]|[A-Za-z_][A-Za-z0-9_]*)?"
)
#: Of scripts with capital letters.
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]+(?:['-][A-Za-z\u00c0-\u024f\u0370-\u052f]+)*")
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|without|cannot)\b|n['’]t\b|[不没未无非别勿]|否(?:认|决|定)",
    re.IGNORECASE,
)


def ungrounded(text: str, turns: Sequence[str], speakers: Collection[str] = ()) -> tuple[str, ...]:
    """Return the parts of *text* that none of *turns* has, in order. The result is empty when all of it is there.

    *turns* are whole messages. *speakers* are the names of their authors, which may be used as well.

    >>> ungrounded("Maya moves the launch to 14 May.", ["we move the launch to 12 May"], ["Maya"])
    ('14',)
    """
    known = "\n".join([*turns, *("\n".join(line.text for line in prose_lines(turn)) for turn in turns), *speakers])
    said, line = normalise(known), normalise(text)
    amounts = set(_amounts(said))
    words = {part for word in _WORD.findall(said) for part in _forms(word)}
    found = [quoted for quoted in _quotations(line) if _spaced(quoted) not in _spaced(said)]
    found += [name for name in _IDENTIFIER.findall(line) if not _stands(name, said)]
    found += [amount for amount in _amounts(line) if amount not in amounts]
    found += [word for word in _claims(line) if words.isdisjoint(_forms(word))]
    found += _strange(line, said)
    return tuple(dict.fromkeys(found))


def keeps_denial(text: str, original: str) -> bool:
    """Return whether *text* denies something exactly when *original* does. A lost "not" reverses a line."""
    return bool(_DENIAL.search(text)) == bool(_DENIAL.search(original))


def _spaced(text: str) -> str:
    return " ".join(text.casefold().split())


def _quotations(text: str) -> Iterator[str]:
    for match in _QUOTATION.finditer(text):
        yield next(group for group in match.groups() if group is not None)


def _stands(name: str, said: str) -> bool:
    """Return whether *name* stands in *said* and is not part of a longer name."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", said, re.IGNORECASE) is not None


def _amounts(text: str) -> Iterator[str]:
    """Yield amounts as they are compared: without spaces and thousands separators, in lower case."""
    for match in _AMOUNT.finditer(text):
        digits = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", match["digits"])
        parts = (match["sign"] or "", match["currency"] or "", digits, match["unit"] or "")
        yield "".join("".join(parts).split()).casefold()


def _claims(text: str) -> Iterator[str]:
    """Yield the words of *text* that name, count or date something."""
    for match in _WORD.finditer(text):
        word = match.group()
        if word.casefold() in word_table("numbers_and_times"):
            yield word
        elif any(char.isupper() for char in word):
            opens = not re.search(r"[^\s\"'“«(\[*>.!?:;-]", text[: match.start()][-2:]) and word[1:].islower()
            opens = opens or len(word) == 1
            if not (opens and word.casefold() in word_table("report_openers")) and word.split("'")[0] != "I":
                yield word


def _forms(word: str) -> set[str]:
    """Return *word* in lower case, also without a genitive, and its parts where hyphens join them."""
    plain = word.casefold()
    return {plain, re.sub(r"'s?$", "", plain), *plain.split("-")}


def _strange(text: str, said: str) -> list[str]:
    """Return the characters of scripts without case that *said* does not have, in runs."""
    runs, run = [], ""
    reporting = "".join(word_table("report_characters"))
    for char in f"{text} ":
        if unicodedata.category(char) == "Lo" and char not in said and char not in reporting:
            run += char
            continue
        if run:
            runs.append(run)
        run = ""
    return runs
