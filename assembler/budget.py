"""Own the token budget of memory in a model's window, and its distribution over sections.

Everything in a prompt counts against the budget: context files, daily log and recall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import WindowTooSmall
from .settings import AssemblerSettings

__all__ = ["Budget", "BudgetRequest", "advice", "budget_for", "share_out", "shrink"]

#: Limits of memory's share of the window. Above the second one, memory dilutes the model's attention.
COMFORTABLE, WATCH = 0.05, 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens that memory may take in a *window*, of which *used* tokens are taken. *tier* names the rule."""

    window: int
    used: int
    tier: str
    tokens: int

    @property
    def minimal(self) -> bool:
        return self.tier == "minimal"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRequest:
    """Tokens that one section requests: *full*, and at least *floor*. The smallest *rank* is served first."""

    name: str
    full: int
    floor: int
    rank: int


def budget_for(window: int, used: int, settings: AssemblerSettings) -> Budget:
    """Return the memory budget of a model's window.

    The window decides the tier. The conversation's used tokens can only lower the budget, because memory takes at most
    half of the free tokens.

    Raises:
        WindowTooSmall: if no token is left.

    >>> [budget_for(w, 0, AssemblerSettings()).tokens for w in (1_000_000, 200_000, 128_000, 32_000, 8_000)]
    [100000, 50000, 30000, 3200, 2000]
    """
    tier, tokens = "minimal", min(max(2_000, window // 10), window // 4)
    for least, budget in sorted(settings.tiers, reverse=True):
        if window >= least:
            tier, tokens = f"{budget // 1000}K", budget
            break
    tokens = min(tokens, max(0, window - used) // 2)
    if tokens < 1:
        raise WindowTooSmall(window, used)
    return Budget(window=window, used=used, tier=tier, tokens=tokens)


def advice(tokens: int, window: int) -> str:
    """Rate a prompt of *tokens* in a model's *window* as comfortable, watch or dilution risk."""
    share = tokens / window
    if share < COMFORTABLE:
        return "comfortable"
    return "watch" if share <= WATCH else "dilution risk"


def share_out(requests: Sequence[BudgetRequest], tokens: int) -> dict[str, int]:
    """Return the tokens granted to each request, by name.

    All requests are granted in full if they fit. Otherwise every request gets its floor, and the remaining tokens go to
    the requests in order of rank. Floors that do not fit together shrink in proportion. The sum never exceeds *tokens*.
    """
    if sum(request.full for request in requests) <= tokens:
        return {request.name: request.full for request in requests}
    shares = shrink({request.name: min(request.floor, request.full) for request in requests}, tokens)
    left = max(0, tokens - sum(shares.values()))
    for request in sorted(requests, key=lambda request: request.rank):
        more = min(left, request.full - shares[request.name])
        shares[request.name] += more
        left -= more
    return shares


def shrink(floors: Mapping[str, int], tokens: int) -> dict[str, int]:
    """Return *floors* unchanged if their sum fits into *tokens*, else shrink all of them in proportion.

    >>> shrink({"SOUL": 300, "USER": 100}, 200)
    {'SOUL': 150, 'USER': 50}
    """
    total = sum(floors.values())
    if total <= tokens:
        return dict(floors)
    return {name: floor * max(tokens, 0) // total for name, floor in floors.items()}
