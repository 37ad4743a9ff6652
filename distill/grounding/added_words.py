"""Find words and persons of an entry that its turns do not say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .alignment import is_content
from .tokens import TextToken
from .view import AlignmentView

__all__ = ["added_words"]

_BEFORE_NOUN = frozenset({"for", "to", "with", "from", "of", "at"})
_BEFORE_SUBJECT = frozenset("说話說时時候天年月日后後")
_ARTICLES = frozenset({"the", "a", "an", "this", "that"})


def added_words(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield words of the entry that the turns do not say."""
    for at in view.alignment.missing:
        token = view.entry[at]
        if token.kind == "person":
            yield from _added_person(view, at)
        elif token.key == "about" and _names_topic(view, at):
            yield "noun", ""
        elif token.kind != "filler":
            kind = {"value": "value", "guard": "qualifier"}.get(token.kind, "word")
            yield kind, repr(view.text[token.start : token.end])


def _names_topic(view: AlignmentView, at: int) -> bool:
    """Return whether the "about" of an entry stands before a noun that the turns say elsewhere, and not a number."""
    behind = next((other for other in sorted(view.places) if other > at), -1)
    return any(run.role == "noun" and run.anchors[0] == behind for runs in view.runs for run in runs) and (
        view.entry[behind].kind == "word"
    )


def _added_person(view: AlignmentView, at: int) -> Iterator[tuple[str, str]]:
    """Yield what a person of the entry is whom the turns do not name at this place."""
    token = view.entry[at]
    if token.person == "name" and _is_told(view, token):
        yield ("told", "") if _tells(view, at) else ("person", repr(view.text[token.start : token.end]))
    elif _is_unsaid_subject(view, at) or _is_unsaid_owner(view, at):
        yield "name added", ""
    else:
        yield "person", repr(view.text[token.start : token.end])


def _is_told(view: AlignmentView, token: TextToken) -> bool:
    """Return whether a name only says who speaks: "Mara: use tabs"."""
    marked = re.match(r"[\s.]?[:：]", view.text[token.end : token.end + 2]) is not None
    return marked and token.family in view.alignment.said.names


def _tells(view: AlignmentView, at: int) -> bool:
    """Return whether the person before a colon says, or is asked, the first words behind it."""
    names, family = view.alignment.said.names, view.entry[at].family
    told = (other for runs in view.runs for run in runs if run.role != "noun" for other in run.anchors if other > at)
    first = next(told, None)
    if first is None:
        return True
    turn = view.said[view.places[first]].turn
    return family == names[turn] or (turn in view.answered and family in names[turn + 1 :])


def _is_unsaid_subject(view: AlignmentView, at: int) -> bool:
    """Return whether a person stands where a clause of theirs begins without a subject: "had my scan yesterday"."""
    token = view.entry[at]
    clauses = {view.entry[runs[0].anchors[0]].clause: runs for runs in view.runs}
    joined = [other.key for other in view.entry[at + 1 : at + 2]] == ["and"]
    runs = clauses.get(token.clause) or (clauses.get(token.clause + 1, []) if joined else [])
    told = sorted(other for run in runs if run.role != "noun" for other in run.anchors)
    behind = next(
        (other for other in told if other > at and view.entry[other].kind != "value"), told[0] if told else -1
    )
    if behind > at and _is_told_of(view, at, behind):
        return True
    if behind < at or any(other < at and view.entry[other].kind != "value" for other in told):
        return False
    first = next((other for run in runs for other in run.anchors if other > at), behind)
    asked = view.said[view.places[first]].turn
    addressed = asked in view.answered and token.family in view.alignment.said.names[asked + 1 :]
    if view.entry[first].kind != "value" and not (addressed or _opens_clause(view, view.places[first])):
        return False
    said, names = view.said[view.places[behind]], view.alignment.said.names
    answers = said.turn in view.answered and token.family in names[said.turn + 1 :]
    asks = said.turn in view.answered and (said.turn, said.sentence) in view.asked
    third = said.key.isascii() and said.key.endswith("s") and not said.key.endswith("ss") and said.kind == "word"
    if third and token.person == "name" and behind == at + 1 and view.entry[behind].key == said.key and not answers:
        return False  # "my sister got it. starts on Monday": of oneself one says "start"
    own = (token.family == names[said.turn] and not asks) or answers if token.person == "name" else token.person == "3"
    return own and _opens_clause(view, view.places[behind])


def _is_told_of(view: AlignmentView, at: int, behind: int) -> bool:
    """Return whether a Chinese clause has no subject behind the words that report it or tell its time."""
    before = view.entry[at - 1] if at else None
    last = max((other for other in view.places if other < at), default=-1)
    if before is None or before.key not in _BEFORE_SUBJECT or last < 0 or view.entry[last].clause != before.clause:
        return False
    places = range(view.places[last] + 1, view.places[behind])
    said = view.said[view.places[behind]]
    head = [view.said[place] for place in view.clauses[said.clause] if place < view.places[behind]]
    own = view.entry[at].family == view.alignment.said.names[said.turn]
    between = [view.said[place] for place in places if view.said[place].kind != "value"]
    unbroken = len(between) <= 2 and not any(map(is_content, between))
    return own and unbroken and head[-1:] != [] and not any(token.kind == "person" for token in head)


def _is_unsaid_owner(view: AlignmentView, at: int) -> bool:
    """Return whether a person owns what stands behind in words of theirs that name no owner: "mum", "the knee"."""
    token = view.entry[at]
    behind = next((other for other in sorted(view.places) if other > at), None)
    if behind is None or "owner" not in token.cases:
        return False
    place = view.places[behind]
    said, names = view.said[place], view.alignment.said.names
    asks = said.turn in view.answered and (said.turn, said.sentence) in view.asked
    own = token.person == "3" or token.family == names[said.turn]
    if asks and token.person != "3":
        own = token.family in names[said.turn + 1 :]  # "How's the shoulder?" is about the one who answers
    noun = any(run.role == "noun" and behind in run.anchors for runs in view.runs for run in runs)
    noun = noun and (token.key.isascii() or view.text[token.end : token.end + 1] == "的")
    article = place > 0 and view.said[place - 1].key in _ARTICLES
    bare = place > 0 and view.said[place - 1].key in _BEFORE_NOUN and not view.said[place].name
    return own and (noun or article or bare or _opens_clause(view, place))


def _opens_clause(view: AlignmentView, place: int) -> bool:
    """Return whether nothing that tells something stands before *place* in its clause."""
    before = [view.said[other] for other in view.clauses[view.said[place].clause] if other < place]
    return not any((is_content(token) and token.kind != "value") or token.kind == "person" for token in before)
