"""Find for each word of an entry the word of the cited turns that it repeats, in order as far as that is possible.

The words of an entry that must be said somewhere are its anchors. Each anchor has the places of the turns where it may
come from. A chain of places is chosen that keeps the order and leaves little out (Viterbi). The work is bounded by the
length of the entry, and by the number of places that are looked at for each anchor.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .tokens import TextToken

__all__ = ["Alignment", "Said", "align", "is_content"]

#: Most places of one anchor, and most anchors that a chain may jump over.
_MOST_PLACES, _MOST_JUMPED = 24, 5
_EXACT, _FORM, _PERSON, _PRONOUN = 3.0, 2.2, 1.6, 1.8
_ROLES = frozenset({"user", "assistant"})
_JUMPED, _JUMPED_PERSON = 2.6, 1.0
#: Costs: for each word left out within a clause, for another clause or sentence, and for going back.
_LEFT_OUT, _CLAUSE, _SENTENCE, _BACK, _BACK_JOINED, _TWICE = 0.35, 0.4, 0.8, 2.6, 1.6, 4.0
_MOST_LEFT_OUT = 6
#: Most words on either side of a person that name its clause.
_MOST_BESIDE = 3
#: Least length of a word in which a typo is mended.
_TYPO_CHARS = 5
#: Least length of the beginning of a word that stands for the word.
_SHORT_CHARS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The tokens of the turns. *names* are their speakers, *roles* the roles of these, *others* who else speaks."""

    tokens: Sequence[TextToken]
    names: Sequence[str]
    roles: Sequence[str]
    others: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The place in *said* of each anchor of *entry*, by their numbers. An anchor without a place is *missing*."""

    entry: Sequence[TextToken]
    said: Said
    places: Mapping[int, int]
    missing: Sequence[int]


def is_content(token: TextToken) -> bool:
    """Return whether a token tells something of its own."""
    return token.kind in {"word", "han", "value"}


def align(entry: Sequence[TextToken], said: Said) -> Alignment:
    """Return the best chain of places of *entry* in *said*."""
    anchors = [at for at, token in enumerate(entry) if token.kind != "light"]
    found = _candidates(entry, anchors, said)
    sizes = Counter(token.clause for token in entry)
    for at in anchors:  # "Mara: ..." only says who speaks
        if entry[at].person == "name" and sizes[entry[at].clause] == 1:
            found[at] = []
    known = [at for at in anchors if found[at]]
    weights = [0.0, *accumulate(1.0 if is_content(token) or token.kind == "guard" else 0.0 for token in said.tokens)]
    places = _settle_persons(entry, _chain(entry, known, found, said.tokens, weights), found, said.tokens, said.names)
    return Alignment(entry=entry, said=said, places=places, missing=[at for at in anchors if at not in places])


def _candidates(entry: Sequence[TextToken], anchors: Sequence[int], said: Said) -> dict[int, list[tuple[int, float]]]:
    """Return for each anchor the places where it may come from, with a score."""
    exact, bases, values, persons = _index(said)
    raw: dict[int, list[tuple[int, float]]] = {}
    for at in anchors:
        token = entry[at]
        if token.kind == "person":
            raw[at] = [(place, score) for place in persons if (score := _person_score(token, said, place))]
            raw[at] = [pair for pair in raw[at] if not _owns_only(entry, at, said.tokens, pair[0])]
            raw[at] += [(place, _FORM) for place in exact.get(token.key, ()) if said.tokens[place].kind != "person"]
        elif token.kind == "value":
            raw[at] = [(place, _EXACT) for place in values if token.values & said.tokens[place].values]
            named = [(place, _EXACT) for place in exact.get(token.key, ()) if said.tokens[place].kind == "word"]
            raw[at] = [*raw[at], *named] or [(place, _EXACT) for place in exact.get(token.key, ())]  # "march", "feb"
        else:
            same = [*exact.get(token.key, ()), *(exact.get(f"{token.key}s", ()) if "owner" in token.cases else ())]
            raw[at] = [(place, _EXACT) for place in same]
            ends = exact.get("no", ()) if token.key == "not" else ()  # "blades no" becomes "blades not"
            raw[at] += [(place, _FORM) for place in ends if _ends(said.tokens, place)]
            if not token.name or at == 0 or entry[at - 1].sentence != token.sentence:
                raw[at] += [(place, _FORM) for place in bases.get(token.base, ()) if place not in set(same)]
            if not raw[at] and token.kind in {"word", "guard"}:
                raw[at] = [(place, _FORM) for place in _mended(token, said.tokens)]
    return _nearest(raw, said.tokens)


def _index(
    said: Said,
) -> tuple[dict[str, list[int]], dict[str, list[int]], list[int], list[int]]:
    exact: dict[str, list[int]] = defaultdict(list)
    bases: dict[str, list[int]] = defaultdict(list)
    values, persons = [], []
    for place, token in enumerate(said.tokens):
        exact[token.key].append(place)
        if token.kind in {"word", "guard", "filler"}:
            bases[token.base].append(place)
        elif token.kind == "value":
            values.append(place)
        elif token.kind == "person":
            persons.append(place)
    return exact, bases, values, persons


def _person_score(token: TextToken, said: Said, place: int) -> float:
    """Return how well a person of the entry fits the person at *place*, or 0."""
    other = said.tokens[place]
    if not token.cases & other.cases:
        return 0.0
    if token.person == other.person:
        same = token.family == other.family or ("i" in {token.family, other.family} <= {"i", "we"})
        return (_EXACT if token.person == "name" else _PRONOUN) if same else 0.0
    speaker = said.names[other.turn]
    if token.person == "name":
        is_speaker = token.family == speaker
        if other.person == "2":
            known = token.family in {*said.names, *said.others, *_ROLES}
            return _PERSON if not is_speaker and known and _is_spoken_to(token, said, other) else 0.0
        return _PRONOUN if is_speaker == (other.person == "1") else 0.0
    return _PERSON if token.person == "3" and other.person in {"1", "2"} else 0.0


def _is_spoken_to(token: TextToken, said: Said, you: TextToken) -> bool:
    """Return whether a "you" among several speakers may mean a name: theirs is the turn before or behind, or named."""
    if len(set(said.names)) < 3 or token.family not in said.names:
        return True
    near = {*said.names[max(0, you.turn - 1) : you.turn], *said.names[you.turn + 1 : you.turn + 2]}
    return token.family in near or any(
        other.turn == you.turn and other.family == token.family for other in said.tokens
    )  # fmt: skip


def _owns_only(entry: Sequence[TextToken], at: int, said: Sequence[TextToken], place: int) -> bool:
    """Return whether "Mara's" owns what follows it, so that it is not the "I am" at *place*."""
    if entry[at].cases != {"owner", "subject"} or said[place].cases != {"subject"} or at + 1 >= len(entry):
        return False
    behind = next((token for token in said[place + 1 : place + 4] if token.kind != "light"), None)
    return behind is None or behind.base != entry[at + 1].base


def _mended(token: TextToken, said: Sequence[TextToken]) -> list[int]:
    """Return the places of a word with one letter more, less, changed or exchanged. A name is never mended."""
    word = token.key
    if token.name or len(word) < _TYPO_CHARS or not word.isalpha():
        return []
    return [
        place for place, other in enumerate(said)
        if other.kind == "word" and not other.name and other.key[:1] == word[:1]
        and (_is_short_for(other.key, word) or (token.kind == "word" and _is_typo(other.key, word)))
    ]  # fmt: skip


def _is_short_for(short: str, word: str) -> bool:
    """Return whether *short* is the beginning of *word*, or its consonants."""
    if len(word) < len(short) + 2 or len(short) < 2:
        return False
    if len(short) >= _SHORT_CHARS and word.startswith((short, short[:-1] if short[3:] == "s" else short)):
        return True
    rest = iter(word)
    return not set(short) & set("aeiou") and all(char in rest for char in short)


def _is_typo(typo: str, word: str) -> bool:
    """Return whether *typo* may be *word* with one slip of the hand in it: a letter lost, doubled or exchanged."""
    if len(typo) == len(word):
        wrong = [at for at in range(len(word)) if typo[at] != word[at]]
        return len(wrong) == 2 and wrong[1] == wrong[0] + 1 and typo[wrong[0]] == word[wrong[1]]
    if abs(len(typo) - len(word)) != 1:
        return False
    longer, shorter = (typo, word) if len(typo) > len(word) else (word, typo)
    cut = next((at for at in range(len(shorter)) if longer[at] != shorter[at]), len(shorter))
    return 0 < cut < len(shorter) and longer[cut + 1 :] == shorter[cut:]


def _nearest(
    raw: Mapping[int, list[tuple[int, float]]], said: Sequence[TextToken]
) -> dict[int, list[tuple[int, float]]]:
    """Keep of many places those in the clauses that say the most of the entry."""
    clauses: Counter[int] = Counter()
    for places in raw.values():
        for clause in {said[place].clause for place, _ in places}:
            clauses[clause] += 1
    found = {}
    for at, places in raw.items():
        best = sorted(places, key=lambda pair: (-clauses[said[pair[0]].clause], -pair[1], pair[0]))
        found[at] = sorted(best[:_MOST_PLACES])
    return found


def _chain(
    entry: Sequence[TextToken],
    known: Sequence[int],
    found: Mapping[int, list[tuple[int, float]]],
    said: Sequence[TextToken],
    weights: Sequence[float],
) -> dict[int, int]:
    best: list[list[tuple[float, int, int]]] = []
    jumps = [0.0, *accumulate(_JUMPED_PERSON if entry[at].kind == "person" else _JUMPED for at in known)]
    for number, at in enumerate(known):
        row = []
        for place, score in found[at]:
            top = (-jumps[number], -1, -1)
            for before in range(number - 1, max(-1, number - 2 - _MOST_JUMPED), -1):
                joined = entry[known[before]].clause != entry[at].clause
                jumped = jumps[number] - jumps[before + 1]
                for index, (total, _, _) in enumerate(best[before]):
                    value = total - jumped - _cost(found[known[before]][index][0], place, said, weights, joined=joined)
                    if value > top[0]:
                        top = (value, before, index)
            row.append((top[0] + score, top[1], top[2]))
        best.append(row)
    places: dict[int, int] = {}
    ends = [
        (total - (jumps[-1] - jumps[number + 1]), number, index)
        for number, row in enumerate(best) for index, (total, _, _) in enumerate(row)
    ]  # fmt: skip
    _, number, index = max(ends, default=(0.0, -1, -1))
    while number >= 0:
        places[known[number]] = found[known[number]][index][0]
        _, number, index = best[number][index]
    return places


def _settle_persons(
    entry: Sequence[TextToken],
    places: dict[int, int],
    found: Mapping[int, list[tuple[int, float]]],
    said: Sequence[TextToken],
    names: Sequence[str],
) -> dict[int, int]:
    """Return *places* with each person in the clause of a neighbour, or without a place where none is there."""
    order = sorted(places)
    settled = dict(places)
    for at in order:
        if entry[at].kind != "person" or said[places[at]].kind != "person":
            continue
        near = [other for other in order if entry[other].clause == entry[at].clause and entry[other].kind != "person"]
        beside = [other for other in near if other < at][-_MOST_BESIDE:] + [other for other in near if other > at][
            :_MOST_BESIDE
        ]
        if not beside:
            continue
        before = {said[places[other]].clause: places[other] for other in beside if other < at}
        behind = {said[places[other]].clause: places[other] for other in reversed(beside) if other > at}
        fits = [
            place for place, _ in found[at]
            if place < behind.get(said[place].clause, -1) or place > before.get(said[place].clause, len(said))
        ]  # fmt: skip
        taken = {place for other, place in settled.items() if other != at}
        fits = [place for place in fits if place not in taken]
        follows = next((places[other] for other in near if other > at), -1)
        elsewhere = follows >= 0 and said[follows].clause != said[places[at]].clause and entry[at].person == "name"
        if elsewhere and entry[at].family == names[said[follows].turn] and _opens(said, follows):
            del settled[at]  # the words that follow have no subject
            continue
        if places[at] not in fits:
            if fits:
                settled[at] = min(fits, key=lambda place: abs(place - places[at]))
            else:
                del settled[at]
    return settled


def _opens(said: Sequence[TextToken], place: int) -> bool:
    """Return whether nothing that tells something stands before *place* in its clause."""
    at = place - 1
    while at >= 0 and said[at].clause == said[place].clause:
        if is_content(said[at]) or said[at].kind in {"person", "guard"}:
            return False
        at -= 1
    return True


def _ends(said: Sequence[TextToken], place: int) -> bool:
    """Return whether nothing stands behind *place* in its clause, and something before it."""
    clauses = [token.clause for token in said[max(0, place - 1) : place + 2]]
    return clauses[0] == said[place].clause != clauses[-1] and place > 0


def _cost(before: int, place: int, said: Sequence[TextToken], weights: Sequence[float], *, joined: bool) -> float:
    if place == before:
        return _TWICE
    if place < before:
        return _BACK_JOINED if joined else _BACK
    left_out = min(_MOST_LEFT_OUT, weights[place] - weights[before + 1])
    one, other = said[before], said[place]
    if one.clause == other.clause:
        return _LEFT_OUT * left_out
    further = _CLAUSE if one.sentence == other.sentence else _SENTENCE
    return (further if joined else 2 * further) + 0.5 * _LEFT_OUT * left_out
