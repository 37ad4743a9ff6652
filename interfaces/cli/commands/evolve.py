"""Define ``memory evolve``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...counts import counted
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distill.learning.evolution import Correction
    from distill.learning.governance import GovernanceResult

__all__ = ["evolve"]


@home_command(
    "evolve",
    examples=(
        ("Show recurring corrections and the rules they suggest", "memory evolve"),
        ("Propose these rules for review", "memory evolve --propose"),
    ),
)
@click.option("--propose", "apply", is_flag=True, help="Propose the rules for review (default: only show them).")
def evolve(invocation: Invocation, apply: bool) -> None:
    """Show recurring corrections and the rules they suggest.

    Closing a session writes corrections to EVOLUTION.md and counts those that were made before. A correction made in
    two sessions or more (rule-after-sessions in [distill]) suggests a rule in STEERING.md. A rule that was broken
    later suggests a gate, which is a check in code or a setting. A gate that did not help suggests a principle. A rule
    that nobody cited or broke for 90 days (retire-rules-after-days) should retire to Archive/STEERING.md.

    The program never writes these files by itself: --propose adds the suggestions to `memory review`, each once. A
    rejected suggestion is not proposed again. `memory distill` proposes them every night.
    """
    from agent_home.documents.document import parse
    from agent_home.storage import read_text
    from distill.learning.evolution import EVOLUTION, corrections
    from distill.learning.governance import GovernanceResult, propose, suggestions

    home = invocation.home
    learned = corrections(parse(read_text(home.path(EVOLUTION))))
    now = invocation.moment
    found = propose(home, now=now) if apply else GovernanceResult(suggestions=suggestions(home, now=now))
    invocation.show({**_data(learned, found), "applied": apply}, _lines(learned, found, apply))


def _data(learned: Sequence[Correction], found: GovernanceResult) -> dict[str, Any]:
    return {
        "corrections": [
            {
                "id": correction.entry.id,
                "right": correction.right,
                "wrong": correction.wrong,
                "root_cause": correction.root_cause,
                "occurrences": correction.occurrences,
                "dates": list(correction.dates),
            }
            for correction in learned
        ],
        "suggestions": [
            {
                "id": suggestion.draft.id,
                "layer": suggestion.layer,
                "lesson": suggestion.lesson,
                "path": suggestion.draft.path,
                "section": suggestion.draft.section,
                "text": suggestion.text,
                "reason": suggestion.reason,
                "trailers": dict(suggestion.draft.trailers),
            }
            for suggestion in found.suggestions
        ],
        "proposed": list(found.proposed),
    }


def _lines(learned: Sequence[Correction], found: GovernanceResult, apply: bool) -> Iterator[str]:
    recurring = sorted(learned, key=lambda correction: -correction.occurrences)
    repeated = sum(correction.occurrences > 1 for correction in learned)
    yield f"{counted(len(learned), 'correction')}, {repeated} of them made more than once"
    yield from (f"  [{correction.entry.id}] {correction.occurrences} x {correction.right}" for correction in recurring)
    for suggestion in found.suggestions:
        text = " ".join(suggestion.text.split())
        yield f"{suggestion.layer} for {suggestion.draft.path}, {suggestion.reason}: {text}"
    if found.proposed:
        waits = counted(len(found.proposed), "rule waits", "rules wait")
        yield f"{waits} for a person. `memory review list` lists what waits"
    elif found.suggestions and not apply:
        yield "Nothing was changed. Run `memory evolve --propose` to propose them for review"
    elif not found.suggestions:
        yield "no rule to suggest"
