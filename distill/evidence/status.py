"""Define the evidence for a claim: ``verified``, ``unverified``, ``contradicted``, ``stale`` or ``unchecked``.

``verified`` names a commit that did what the claim says and that still stands. Absent words, or one common word, prove
nothing. ``contradicted`` says what git has instead. A ``stale`` claim was verified once and no longer holds. Without a
repository, without git and without an answer in time a claim is ``unchecked``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from guard.lazy_regex import lazy_regex

__all__ = [
    "READ",
    "STATES",
    "UNCHECKED",
    "Evidence",
    "Judgement",
    "State",
    "Window",
    "absent",
    "not_pushed",
    "present",
    "unsure",
    "verified",
]

State = Literal["verified", "unverified", "contradicted", "stale", "unchecked"]
STATES: tuple[State, ...] = ("verified", "unverified", "contradicted", "stale", "unchecked")
#: Detail of evidence that a language model read in the lines of the commit.
READ = "read in its lines"
_RENDERED = lazy_regex(
    rf"(?P<state>{'|'.join(STATES)})(?:, commit (?P<commit>[0-9a-f]{{4,40}}))?(?:, (?P<detail>.*?))??"
    r"(?:; (?P<address>[^\s;]+\.md#[^\s;]+))?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Git's answer. *commit* is a short hash or empty. *detail* describes the result in a few words."""

    state: State
    commit: str = ""
    detail: str = ""

    def render(self, address: str = "") -> str:
        """Return the text of an entry's field: ``verified, commit 3f9c2e1; DailyActivity/2026-11-20.md#s-1a2b``."""
        commit = f", commit {self.commit}" if self.commit else ""
        detail = f", {self.detail}" if self.detail and (self.state != "verified" or self.detail == READ) else ""
        where = f"; {address}" if address else ""
        return f"{self.state}{commit}{detail}{where}"

    @staticmethod
    def parse(text: str) -> tuple[Evidence, str] | None:
        """Read the evidence and the address from an entry's field. Return ``None`` for any other text.

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
        """Return whether the session has times. Without them, any commit may belong to it, and none certainly does."""
        return self.since > 0

    def holds(self, ts: float) -> bool:
        return self.since <= ts <= self.until


@dataclass(frozen=True, slots=True)
class Judgement:
    """The *evidence* of one repository. A contradiction *by_absence* needs the agreement of all repositories.

    *open_* means that no fact speaks against the claim. Its words were not found where they were looked for.
    """

    evidence: Evidence
    by_absence: bool = False
    open_: bool = False


def verified(commit: str, detail: str) -> Judgement:
    """Return that *commit* confirms the claim."""
    return Judgement(Evidence(state="verified", commit=commit, detail=detail))


def unsure(detail: str, commit: str = "", *, open_: bool = False) -> Judgement:
    """Return that git neither shows nor denies the claim. *open_* says that only words were missing."""
    return Judgement(Evidence(state="unverified", commit=commit, detail=detail), open_=open_)


def not_pushed(commit: str) -> str:
    """Return what to say of a commit that was reported as pushed and that no remote-tracking branch has."""
    return f"{commit or 'the commit'} is on no remote-tracking branch"


def present(detail: str) -> Judgement:
    """Return that git contradicts the claim by something it still has."""
    return Judgement(Evidence(state="contradicted", detail=detail))


def absent(detail: str) -> Judgement:
    """Return that git contradicts the claim, because it never had the thing."""
    return Judgement(Evidence(state="contradicted", detail=detail), by_absence=True)
