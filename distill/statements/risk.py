"""The risk of keeping a text as memory, by which a person orders a review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

__all__ = ["RISKS", "Risk", "risk_of"]

Risk = Literal["low", "medium", "high"]
RISKS: tuple[Risk, ...] = ("low", "medium", "high")


def risk_of(origin: str, evidence: str, findings: Sequence[Mapping[str, Any]] = (), *, held_back: bool = False) -> Risk:
    """Return the risk of keeping a text as memory.

    The risk is high for a text from a participant, a tool or a web page, for one that git contradicts, and for one that
    the guard held back for its requests or hidden characters. It is low for a text without findings that is verified,
    or that the user said and git cannot deny. Everything else is medium.
    """
    if origin in {"participant", "tool", "web"} or evidence.startswith("contradicted"):
        return "high"
    if held_back:
        return "high" if {str(row.get("layer")) for row in findings} & {"injection", "unicode"} else "medium"
    state = evidence.split(",", maxsplit=1)[0].strip()
    if not findings and (state == "verified" or (origin == "user" and state in {"", "unchecked"})):
        return "low"
    return "medium"
