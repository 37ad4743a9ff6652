"""Check that an entry is an extract of its turns: their words in their order, with few allowed changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ..statements.cited_values import day_of
from .alignment import Said, align
from .bracketed_dates import glosses
from .differences import Differences, find_differences
from .quoted import missing_strings
from .said_turn import SaidTurn, is_verbatim
from .tokens import TextToken, tokenise

__all__ = ["compare", "objections", "unsaid"]

#: Longer texts are no entries.
_MAX_TEXT_CHARS = 2000
#: Kinds of reasons against a text that says what nobody said.
_UNSAID = ("value", "word", "quotation", "name", "currency")
#: Longer turns are compared up to here.
_MAX_TURN_CHARS = 8000


def objections(
    text: str,
    cited: Sequence[SaidTurn],
    *,
    also: Sequence[str] = (),
    about: Sequence[str] = (),
    others: Collection[str] = (),
) -> tuple[str, ...]:
    """Return why *text* is no extract of *cited*, each reason in a few words. The result is empty when it is.

    *also* are texts of the entries that *text* revises. *about* are those that it replaces, which may only lend it a
    noun for what it is about. *others* are names of speakers whose turns are not cited. A whole sentence of a turn is
    always its own extract.

    >>> turn = SaidTurn(role="user", name="Maya", ts="2026-11-20", content="my rent goes up to 950 next month")
    >>> objections("Maya's rent goes up to 950 next month.", [turn])
    ()
    >>> objections("Maya's rent goes up to 905 next month.", [turn])
    ("value '905'",)
    """
    if len(text) > _MAX_TEXT_CHARS:
        return ("too long",)
    if is_verbatim(text, cited):
        return ()
    found = list(missing_strings(text, [*(turn.content for turn in cited), *also, *about]))
    named = {f"name {name!r}".casefold() for turn in cited for name in turn.name.split()}
    found = [line for line in found if line.casefold() not in named and not _is_parted(line, cited)]
    differences = compare(text, cited, also=also, about=about, others=others)
    return tuple(dict.fromkeys([*differences.reasons, *found]))


def unsaid(text: str, cited: Sequence[SaidTurn]) -> tuple[str, ...]:
    """Return the words, values, quotations and identifiers of *text* that *cited* do not have, in any order."""
    return tuple(reason for reason in objections(text, cited) if reason.split()[0] in _UNSAID)


def compare(
    text: str,
    cited: Sequence[SaidTurn],
    *,
    also: Sequence[str] = (),
    about: Sequence[str] = (),
    others: Collection[str] = (),
) -> Differences:
    """Return how *text* differs from an extract of *cited*. See :func:`objections`."""
    older = [*about, *also]
    speakers = _speakers(cited, others)
    days = [*(None for _ in older), *(day_of(turn.ts) for turn in cited)]
    contents = [*older, *(turn.content[:_MAX_TURN_CHARS] for turn in cited)]
    tokens: list[TextToken] = []
    for turn, (content, day) in enumerate(zip(contents, days, strict=True)):
        clause, sentence = (tokens[-1].clause + 1, tokens[-1].sentence + 1) if tokens else (0, 0)
        tokens += tokenise(content, day, speakers, turn=turn, clause=clause, sentence=sentence)
    plain, dates = glosses(text)
    last = next((day for day in reversed(days) if day), None)
    entry = tokenise(plain, last, speakers, expand=False)
    names = ["" for _ in older] + [_name(turn) for turn in cited]
    roles = ["about" for _ in about] + ["also" for _ in also] + [turn.role for turn in cited]
    folded = {name.casefold() for name in others}
    said = Said(tokens=tokens, names=names, roles=roles, others=folded)
    return find_differences(text, align(entry, said), dates, contents, days)


def _is_parted(reason: str, cited: Sequence[SaidTurn]) -> bool:
    """Return whether a missing name is a word and a number that Chinese writes side by side: "jojo19号"."""
    match = re.fullmatch(r"name '([A-Za-z]+)(\d+)'", reason)
    return match is not None and all(
        any(re.search(rf"(?<![A-Za-z0-9]){part}(?![A-Za-z0-9])", turn.content, re.IGNORECASE) for turn in cited)
        for part in match.groups()
    )


def _name(turn: SaidTurn) -> str:
    return turn.name.casefold() or turn.role


def _speakers(cited: Sequence[SaidTurn], others: Collection[str]) -> Mapping[str, str]:
    """Return the names of the speakers, their parts, and what else names them, with the full name."""
    found: dict[str, str] = {}
    ours = {turn.role: _name(turn) for turn in reversed(cited)}
    for name in (*map(_name, cited), *sorted(name.casefold() for name in others if name.strip())):
        for part in (name, *re.split(r"[\s\-_.]+", name)):
            if len(part) > 1 or not part.isascii():
                found.setdefault(part, name)
    for role, words in (("user", ("user", "用户")), ("assistant", ("assistant", "助手"))):
        for word in words:
            found.setdefault(word, ours.get(role, role))
    return found
