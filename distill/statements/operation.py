"""Operations on existing entries, as a reader of a session proposes them.

A reader proposes, and ``distill.entries.operations`` decides. The turns in *sources* decide who said it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Operation", "OperationKind"]

OperationKind = Literal["resolve", "retract", "supersede", "revise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A change to the live entry *target* that the turns at *sources* (``SESSION#MESSAGE``, oldest first) call for.

    Attributes:
        kind: ``resolve`` a thread that is finished or cancelled, ``retract`` a claim that was taken back, ``supersede``
            an entry by a new one with *text*, or ``revise`` the wording of an entry to *text*.
        target: the id of the entry.
        text: the new statement. Of the first two kinds, the sentence that says so.
        reason: why the reader proposes it, for the report.
        unsure: a person decides, see ``distill.review``.
    """

    kind: OperationKind
    target: str
    sources: tuple[str, ...]
    text: str = ""
    reason: str = ""
    unsure: bool = False

    def about(self, entry_id: str, kind: OperationKind | None = None) -> Operation:
        """Return the same change of another entry, perhaps of another *kind*."""
        return Operation(
            kind=kind or self.kind, target=entry_id, sources=self.sources, text=self.text, reason=self.reason,
            unsure=self.unsure,
        )  # fmt: skip
