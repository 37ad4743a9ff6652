"""Define ``memory evolve``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

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
                "id": one.entry.id, "right": one.right, "wrong": one.wrong, "root_cause": one.root_cause,
                "occurrences": one.occurrences, "dates": list(one.dates),
            }
            for one in learned
        ],
        "suggestions": [
            {
                "id": one.draft.id, "layer": one.layer, "lesson": one.lesson, "path": one.draft.path,
                "section": one.draft.section, "text": one.text, "reason": one.reason,
                "trailers": dict(one.draft.trailers),
            }
            for one in found.suggestions
        ],
        "proposed": list(found.proposed),
    }  # fmt: skip


def _lines(learned: Sequence[Correction], found: GovernanceResult, apply: bool) -> Iterator[str]:
    recurring = sorted(learned, key=lambda one: -one.occurrences)
    yield f"{len(learned)} corrections, {sum(one.occurrences > 1 for one in learned)} of them made more than once"
    yield from (f"  [{one.entry.id}] {one.occurrences} x {one.right}" for one in recurring)
    for suggestion in found.suggestions:
        text = " ".join(suggestion.text.split())
        yield f"{suggestion.layer} for {suggestion.draft.path}, {suggestion.reason}: {text}"
    if found.proposed:
        yield f"{len(found.proposed)} wait for a person; `memory review list` lists them"
    elif found.suggestions and not apply:
        yield "nothing was changed; run `memory evolve --propose` to propose them for review"
    elif not found.suggestions:
        yield "no rule to suggest"
