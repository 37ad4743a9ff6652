"""Show the checks of the doctor, and what the guard found by kind. The texts themselves are never shown here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from agent_home.home import Home
from agent_home.screening import quarantine

from ...doctor.health import Check
from ..checks import CheckRun

__all__ = ["HealthView", "KindRow", "health_view"]

#: Checks that :func:`interfaces.doctor.repair.repair` mends without losing what a person wrote.
MENDED = frozenset({"hook", "merge", "originals", "permissions", "proposals", "state"})
_ORDER = {"failed": 0, "warning": 1, "info": 2, "ok": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """Findings of one kind in quarantine: how many, from which authors, and the day of the newest."""

    kind: str
    rule: str
    count: int
    sources: str
    newest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthView:
    """The checks, worst first, when they began, the findings by kind, and whether a repair can help.

    *running* says that newer checks are on their way.
    """

    running: bool
    at: datetime | None
    checks: tuple[Check, ...]
    kinds: tuple[KindRow, ...]
    quarantined: int
    repairable: bool


def health_view(home: Home, run: CheckRun) -> HealthView:
    """Return the checks of *run*, and count what is in quarantine."""
    checks = sorted(run.checks, key=lambda check: _ORDER[check.status])
    held = list(quarantine.waiting(home))
    counts: Counter[tuple[str, str]] = Counter()
    sources: dict[tuple[str, str], set[str]] = {}
    newest: dict[tuple[str, str], str] = {}
    for item in held:
        for key in {(str(found.get("kind", "")), str(found.get("rule", ""))) for found in item.findings}:
            counts[key] += 1
            sources.setdefault(key, set()).add(item.source)
            newest[key] = max(newest.get(key, ""), item.ts[:10])
    kinds = tuple(
        KindRow(kind=key[0], rule=key[1], count=count, sources=", ".join(sorted(sources[key])), newest=newest[key])
        for key, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    )
    wrong = {check.name for check in checks if check.status in {"failed", "warning"}}
    return HealthView(
        running=run.running, at=run.at, checks=tuple(checks), kinds=kinds, quarantined=len(held),
        repairable=bool(wrong & MENDED),
    )  # fmt: skip
