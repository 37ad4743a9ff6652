"""What git says about a claim, as a value: ``verified``, ``unverified``, ``contradicted``, ``stale`` or ``unchecked``.

``verified`` names a commit that did what the claim says and that still stands; that words are absent, or that one
common word is present, proves nothing. ``contradicted`` says what git has instead. ``stale`` was verified once and
holds no longer. No repository, no git and no answer in time are ``unchecked``. How the answer is found is the business
of ``distill.evidence.checking``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["STATES", "UNCHECKED", "Evidence", "Judgement", "State", "Window", "absent", "present", "unsure", "verified"]

State = Literal["verified", "unverified", "contradicted", "stale", "unchecked"]
STATES: tuple[State, ...] = ("verified", "unverified", "contradicted", "stale", "unchecked")
_RENDERED = re.compile(
    rf"(?P<state>{'|'.join(STATES)})(?:, commit (?P<commit>[0-9a-f]{{4,40}}))?(?:, (?P<detail>.*?))??"
    r"(?:; (?P<address>[^\s;]+\.md#[^\s;]+))?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Git's answer. *commit* is a short hash or empty; *detail* says what was found, in a few words."""

    state: State
    commit: str = ""
    detail: str = ""

    def render(self, address: str = "") -> str:
        """As it stands in an entry: ``verified, commit 3f9c2e1; DailyActivity/2026-11-20.md#s-1a2b``."""
        commit = f", commit {self.commit}" if self.commit else ""
        detail = f", {self.detail}" if self.detail and self.state != "verified" else ""
        where = f"; {address}" if address else ""
        return f"{self.state}{commit}{detail}{where}"

    @staticmethod
    def parse(text: str) -> tuple[Evidence, str] | None:
        """The evidence and the address that an entry's line spells; ``None`` where a person wrote something else.

        >>> Evidence.parse("verified, commit 3f9c2e1; DailyActivity/2026-11-20.md#s-1a2b")[1]
        'DailyActivity/2026-11-20.md#s-1a2b'
        """
        match = _RENDERED.fullmatch(text.strip())
        if match is None:
            return None
        state = next(state for state in STATES if state == match["state"])
        found = Evidence(state=state, commit=match["commit"] or "", detail=match["detail"] or "")
        return found, match["address"] or ""


UNCHECKED = Evidence(state="unchecked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time a session took, widened, in seconds since the epoch. Commits in it come first."""

    since: float = 0.0
    until: float = float("inf")

    @property
    def known(self) -> bool:
        """Whether the session has times at all; without them every commit may have been in it, and none surely."""
        return self.since > 0

    def holds(self, ts: float) -> bool:
        return self.since <= ts <= self.until


@dataclass(frozen=True, slots=True)
class Judgement:
    """*evidence*, and whether a contradiction rests on absence: then every repository has to say it."""

    evidence: Evidence
    by_absence: bool = False


def verified(commit: str, detail: str) -> Judgement:
    """Confirmed by *commit*."""
    return Judgement(Evidence(state="verified", commit=commit, detail=detail))


def unsure(detail: str, commit: str = "") -> Judgement:
    """Neither shown nor denied."""
    return Judgement(Evidence(state="unverified", commit=commit, detail=detail))


def present(detail: str) -> Judgement:
    """Denied by what git still has."""
    return Judgement(Evidence(state="contradicted", detail=detail))


def absent(detail: str) -> Judgement:
    """Denied because git never had it."""
    return Judgement(Evidence(state="contradicted", detail=detail), by_absence=True)
