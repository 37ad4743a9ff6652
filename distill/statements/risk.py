"""How much harm a text could do as memory: what a person looks at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

__all__ = ["RISKS", "Risk", "risk_of"]

Risk = Literal["low", "medium", "high"]
RISKS: tuple[Risk, ...] = ("low", "medium", "high")


def risk_of(origin: str, evidence: str, findings: Sequence[Mapping[str, Any]] = (), *, held_back: bool = False) -> Risk:
    """How much harm a text could do as memory.

    High: said by a tool or a web page, contradicted by git, or held back by the guard for what it asks or hides. Low:
    nothing found, and either said by the user with nothing for git to deny, or verified. Medium is all else.
    """
    if origin in {"tool", "web"} or evidence.startswith("contradicted"):
        return "high"
    if held_back:
        return "high" if {str(row.get("layer")) for row in findings} & {"injection", "unicode"} else "medium"
    state = evidence.split(",", maxsplit=1)[0].strip()
    if not findings and (state == "verified" or (origin == "user" and state in {"", "unchecked"})):
        return "low"
    return "medium"
