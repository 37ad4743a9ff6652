"""Show one entry from its sentence down to its turns and commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_home.documents.entry import section_of
from agent_home.git import history
from agent_home.git.entries.entry_events import entry_histories
from agent_home.git.history import Event
from agent_home.home import Home
from agent_home.store.lineage import CitedTurn, Lineage, lineage
from agent_home.store.references import read

from .evidence import ShownEvidence, evidence_of

__all__ = ["EntryView", "entry_view"]

_MOST_USES = 20
#: Fields with a place of their own in the view.
_SHOWN_APART = frozenset({"Evidence", "Sources", "Superseded-By", "Supersedes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """An entry: its *lineage*, section, evidence, other *fields*, and its last *uses* as pairs of time and kind."""

    lineage: Lineage
    section: str
    evidence: ShownEvidence | None
    fields: Mapping[str, str]
    uses: tuple[tuple[str, str], ...]

    @property
    def turns(self) -> tuple[CitedTurn, ...]:
        return self.lineage.turns

    @property
    def events(self) -> tuple[Event, ...]:
        """The commits of the entry, newest first."""
        return self.lineage.events[::-1]


def entry_view(
    home: Home, entry_id: str, now: datetime, histories: Mapping[str, Sequence[Event]] | None = None
) -> EntryView:
    """Return the entry with that id, wherever it is now. *histories* are those of all entries, if they are at hand.

    Raises:
        NoSuchEntry: git knows no such entry, and none is there or proposed.
    """
    if histories is None:
        histories = entry_histories(home.root, history.head(home.root))
    found = lineage(home, entry_id, histories)
    rule = section_of(found.id[:2])
    fields = found.entry.fields if found.entry else {}
    uses = [(reference.ts, reference.by) for reference in read(home) if reference.id == found.id]
    return EntryView(
        lineage=found, section=rule.title if rule else "",
        evidence=evidence_of(home, found.entry, now) if found.entry else None,
        fields={name: value for name, value in fields.items() if name not in _SHOWN_APART},
        uses=tuple(sorted(uses, reverse=True)[:_MOST_USES]),
    )  # fmt: skip
