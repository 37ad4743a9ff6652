"""What trials found, in one form for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Finding", "Report", "table"]

#: ``lost``: something acknowledged is gone. ``corrupt``: git, the home or the index is damaged. ``prompt``: no prompt.
#: ``stuck``: a later command does not get through.
Kind = Literal["lost", "corrupt", "prompt", "stuck"]
KINDS: tuple[Kind, ...] = ("lost", "corrupt", "prompt", "stuck")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that went wrong in one trial."""

    trial: str
    kind: Kind
    what: str


@dataclass(slots=True)
class Report:
    """The trials of one kind, and what they found. *skipped* says why they could not run."""

    name: str
    trials: int = 0
    findings: list[Finding] = field(default_factory=list)
    skipped: str = ""

    def add(self, findings: Iterable[Finding]) -> None:
        """Count one trial with its *findings*."""
        self.trials += 1
        self.findings += findings


def table(reports: Iterable[Report]) -> str:
    """Return one line for each report: trials, and how many of them found each kind of damage."""
    lines = [f"{'':32}{'trials':>8}" + "".join(f"{kind:>9}" for kind in KINDS)]
    for report in reports:
        if report.skipped:
            lines.append(f"{report.name:32}  left out: {report.skipped}")
            continue
        hit = Counter(kind for kind, _ in {(finding.kind, finding.trial) for finding in report.findings})
        lines.append(f"{report.name:32}{report.trials:>8}" + "".join(f"{hit[kind]:>9}" for kind in KINDS))
    return "\n".join(lines)
