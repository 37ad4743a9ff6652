"""Whether a line says only what its turns say: numbers, dates, names, paths and quotations that stand in them.

A line that passes can still be wrong; one that does not pass states something that nobody said. In scripts without
capital letters names cannot be told from other words: there every character must stand in the turns, except those of
grammar. Strictness costs nothing: what does not pass is replaced by the turn's own words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

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
_COUNTED_WORDS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half
    dozen twice double triple both first second third fourth quarter yesterday today tomorrow tonight last next ago
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december spring summer autumn winter morning afternoon evening weekend
"""
_COUNTED = frozenset(_COUNTED_WORDS.split())
#: Words that open sentences without being names.
_OPENING_WORDS = """
    a an the this that these those it its he she they we i you his her their our my your there here in on at by for
    from with without after before when while because since if as and but or so no not all each every some many most
    is are was were has have had do does did will would can could should must use uses used keep keeps kept make
    makes made add adds added user users assistant agent team agreed agrees decided decides chose chooses wants
    wanted plans planned prefers preferred asked asks needs needed said says noted notes found reported confirmed
    concluded remains still open next step steps lesson decision conclusion rejected root cause
"""
_OPENERS = frozenset(_OPENING_WORDS.split())
#: Chinese characters of grammar and of reporting: they name nothing and count nothing.
_GRAMMAR = frozenset(
    "的了是在我你他她它们这那有和与或也都就还又很不没吧吗呢啊把被给让对从到向为以于之其所个些么什怎哪谁先后再将已经要会能可得着过去来"
    "做用说看想但而且因此所以然后只才更最如果由按按照及并则若等时候下上中里外间前内出进入用户助手决定认为表示需要应该计划确认关于"
)
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|without|cannot)\b|n['’]t\b|[不没未无非别勿]|否(?:认|决|定)",
    re.IGNORECASE,
)


def ungrounded(text: str, turns: Sequence[str], speakers: Collection[str] = ()) -> tuple[str, ...]:
    """What *text* states and none of *turns* has, in order: empty when all of it is there.

    *turns* are whole messages; *speakers* are the names of who said them, which may be used as well.

    >>> ungrounded("Maya moves the launch to 14 May.", ["we move the launch to 12 May"], ["Maya"])
    ('14',)
    """
    known = "\n".join([*turns, *("\n".join(line.text for line in prose_lines(turn)) for turn in turns), *speakers])
    said, line = _plain(known), _plain(text)
    amounts = set(_amounts(said))
    words = {part for word in _WORD.findall(said) for part in _forms(word)}
    found = [quoted for quoted in _quotations(line) if _spaced(quoted) not in _spaced(said)]
    found += [name for name in _IDENTIFIER.findall(line) if not _stands(name, said)]
    found += [amount for amount in _amounts(line) if amount not in amounts]
    found += [word for word in _claims(line) if words.isdisjoint(_forms(word))]
    found += _strange(line, said)
    return tuple(dict.fromkeys(found))


def keeps_denial(text: str, original: str) -> bool:
    """Whether *text* denies something exactly when *original* does: a lost "not" turns a line over."""
    return bool(_DENIAL.search(text)) == bool(_DENIAL.search(original))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("−", "-").replace("’", "'")


def _spaced(text: str) -> str:
    return " ".join(text.casefold().split())


def _quotations(text: str) -> Iterator[str]:
    for match in _QUOTATION.finditer(text):
        yield next(group for group in match.groups() if group is not None)


def _stands(name: str, said: str) -> bool:
    """Whether *name* stands in *said*, not as part of a longer one."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", said, re.IGNORECASE) is not None


def _amounts(text: str) -> Iterator[str]:
    """Amounts as they are compared: without spaces and thousands separators, in lower case."""
    for match in _AMOUNT.finditer(text):
        digits = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", match["digits"])
        parts = (match["sign"] or "", match["currency"] or "", digits, match["unit"] or "")
        yield "".join("".join(parts).split()).casefold()


def _claims(text: str) -> Iterator[str]:
    """The words of *text* that name, count or date something."""
    for match in _WORD.finditer(text):
        word = match.group()
        if word.casefold() in _COUNTED:
            yield word
        elif any(char.isupper() for char in word):
            opens = not re.search(r"[^\s\"'“«(\[*>.!?:;-]", text[: match.start()][-2:]) and word[1:].islower()
            opens = opens or len(word) == 1
            if not (opens and word.casefold() in _OPENERS) and word.split("'")[0] != "I":
                yield word


def _forms(word: str) -> set[str]:
    """*word* in lower case, also without a genitive, and its parts where hyphens join them."""
    plain = word.casefold()
    return {plain, re.sub(r"'s?$", "", plain), *plain.split("-")}


def _strange(text: str, said: str) -> list[str]:
    """Characters of scripts without case that *said* does not have, in runs as they stand."""
    runs, run = [], ""
    for char in f"{text} ":
        if unicodedata.category(char) == "Lo" and char not in said and char not in _GRAMMAR:
            run += char
            continue
        if run:
            runs.append(run)
        run = ""
    return runs
