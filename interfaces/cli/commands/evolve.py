"""``memory evolve``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..frame import Frame, home_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distill.learning.evolution import Correction
    from distill.learning.governance import GovernanceResult

__all__ = ["evolve"]


@home_command("evolve")
@click.option("--propose", "apply", is_flag=True, help="Let them wait for a person; without it nothing changes.")
def evolve(frame: Frame, apply: bool) -> None:
    """Show what the agent was corrected for and how often, and which rules a person should be asked about.

    Closing a session writes corrections to EVOLUTION.md and counts those that were made before. One of two sessions or
    more (rule-after-sessions in [distill]) should become a rule in STEERING.md; a rule that was broken after it held, a
    gate: a check in code or a setting; what even a gate did not hold, a principle. A rule that nobody named by its id
    or broke for 90 days (retire-rules-after-days) should retire to Archive/STEERING.md. None of these files is ever
    written by the program: --propose puts the suggestions where `memory review` shows them, each once; what a person
    rejects is not proposed again. `memory distill` does the same every night.
    """
    from agent_home.documents.document import parse
    from agent_home.storage import read_text
    from distill.learning.evolution import EVOLUTION, corrections
    from distill.learning.governance import GovernanceResult, propose, suggestions

    home = frame.home
    learned = corrections(parse(read_text(home.path(EVOLUTION))))
    now = frame.moment
    found = propose(home, now=now) if apply else GovernanceResult(suggestions=suggestions(home, now=now))
    frame.show({**_data(learned, found), "applied": apply}, _lines(learned, found, apply))


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
    for one in found.suggestions:
        said = " ".join(one.text.split())
        yield f"{one.layer} for {one.draft.path}, {one.reason}: {said}"
    if found.proposed:
        yield f"{len(found.proposed)} wait for a person; `memory review list` names them"
    elif found.suggestions and not apply:
        yield "nothing was changed; `memory evolve --propose` lets them wait for a person"
    elif not found.suggestions:
        yield "nothing to ask a person"
