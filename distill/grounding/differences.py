"""Name what an entry has that its turns do not say, and what it leaves out of the clauses that it takes words from.

Each difference has a kind. Most kinds are reasons to refuse an entry. The others are only counted. A logistic model
over these counts accepted and refused no better in cross-validation, so there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from .added_words import added_words
from .alignment import Alignment
from .borrowed import crossed_clauses, moved_nouns, split_words, unsaid_nouns
from .bracketed_dates import Gloss, is_known_date
from .changed_words import borrowed_denials, changed_forms, changed_order, joined_clauses
from .exchanged import added_owners, added_year, corrected_values, corrected_words, exchanged_persons, joined_things
from .left_out import left_out_words, lost_conditions
from .questions import changed_questions
from .view import AlignmentView

__all__ = ["SOFT", "Differences", "find_differences"]

#: Kinds that are no reason by themselves.
SOFT = (
    "left out before", "left out behind", "person left out", "name added", "form", "back", "joined",
    "advice", "noun", "length", "sources", "told",
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Differences:
    """The *reasons* against an entry, each in a few words, and the *counts* of the other differences by kind."""

    reasons: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def find_differences(
    text: str, alignment: Alignment, found: Sequence[Gloss], contents: Sequence[str], days: Sequence[date | None]
) -> Differences:
    """Return the differences of an entry's *text*.

    Args:
        text: the entry.
        alignment: its words and those of the turns.
        found: its dates in brackets.
        contents: the texts of the turns.
        days: the days on which they were said.
    """
    view = AlignmentView(text=text, alignment=alignment, contents=contents)
    result = Differences()
    for check in (
        added_words,
        changed_order,
        left_out_words,
        lost_conditions,
        joined_clauses,
        changed_questions,
        changed_forms,
        borrowed_denials,
        exchanged_persons,
        added_owners,
        joined_things,
        corrected_words,
        corrected_values,
        crossed_clauses,
        moved_nouns,
        split_words,
        unsaid_nouns,
        lambda view: added_year(view, days),
    ):
        for kind, detail in check(view):
            if kind in SOFT:
                result.counts[kind] += 1
            else:
                result.reasons.append(f"{kind} {detail}".strip())
    result.reasons += [f"date {gloss.text!r}" for gloss in found if not is_known_date(gloss, view, days)]
    result.counts["length"] = len(alignment.places)
    result.counts["sources"] = len({view.said[place].clause for place in alignment.places.values()})
    return result
