"""How many tokens memory may take of a model's window, and how they are shared out.

Everything that enters a prompt is inside the budget: context files, daily log and recall alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import WindowTooSmall
from .settings import AssemblerSettings

__all__ = ["Budget", "Claim", "advice", "budget_for", "share_out", "shrunk"]

#: Shares of the window at which memory begins to dilute attention.
COMFORTABLE, WATCH = 0.05, 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """*tokens* memory may take in a *window* of which *used* tokens are taken; *tier* names the rule that said so."""

    window: int
    used: int
    tier: str
    tokens: int

    @property
    def minimal(self) -> bool:
        return self.tier == "minimal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one section asks for: *full* tokens, at least *floor*. Larger *rank* gives way first."""

    name: str
    full: int
    floor: int
    rank: int


def budget_for(window: int, used: int, settings: AssemblerSettings) -> Budget:
    """The memory budget of a model's window.

    The tier is the window's. What the conversation has used already can only lower it: memory takes at most half of
    what is free.

    Raises:
        WindowTooSmall: no token is left.

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
    """What a prompt of *tokens* means for a model with that window: comfortable, watch or dilution risk."""
    share = tokens / window
    if share < COMFORTABLE:
        return "comfortable"
    return "watch" if share <= WATCH else "dilution risk"


def share_out(claims: Sequence[Claim], tokens: int) -> dict[str, int]:
    """Tokens for each claim, by name: all of them in full when they fit.

    Otherwise every claim has its floor, and what is left goes to the claims in order of rank until it is gone.
    Floors whose sum does not fit shrink in proportion. The sum never exceeds *tokens*.
    """
    if sum(claim.full for claim in claims) <= tokens:
        return {claim.name: claim.full for claim in claims}
    shares = shrunk({claim.name: min(claim.floor, claim.full) for claim in claims}, tokens)
    left = max(0, tokens - sum(shares.values()))
    for claim in sorted(claims, key=lambda claim: claim.rank):
        more = min(left, claim.full - shares[claim.name])
        shares[claim.name] += more
        left -= more
    return shares


def shrunk(floors: Mapping[str, int], tokens: int) -> dict[str, int]:
    """*floors* as they are when their sum fits into *tokens*, else all made smaller in proportion.

    >>> shrunk({"SOUL": 300, "USER": 100}, 200)
    {'SOUL': 150, 'USER': 50}
    """
    wanted = sum(floors.values())
    if wanted <= tokens:
        return dict(floors)
    return {name: floor * max(tokens, 0) // wanted for name, floor in floors.items()}
