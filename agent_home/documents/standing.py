"""Own an entry's standing: whether its statement holds, or what ended it and when.

A claim that was taken back is retracted, whatever else happened to it. Otherwise an entry that a newer one replaces is
superseded, and a finished one is resolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from guard.lazy_regex import lazy_regex

from .entry import Entry, superseded_by

__all__ = ["EntryState", "Standing", "standing_of", "standings"]

EntryState = Literal["live", "superseded", "resolved", "retracted", "archived"]
_DATE = lazy_regex(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Standing of one entry. *ended* is empty while its statement holds.

    *by* is the entry that superseded it, *date* the day of its end, and *reason* the turn and the words that ended it,
    each empty if unknown.
    """

    ended: Literal["", "superseded", "resolved", "retracted"] = ""
    by: str = ""
    date: str = ""
    reason: str = ""
    archived: bool = False

    @property
    def state(self) -> EntryState:
        """The state in one word. The end of a statement matters more than the file that holds it."""
        return self.ended or ("archived" if self.archived else "live")

    @property
    def words(self) -> str:
        """The state for a person.

        >>> Standing(ended="superseded", by="KD-7F3A", date="2026-11-20", archived=True).words
        'superseded by KD-7F3A (2026-11-20), archived'
        """
        if not self.ended:
            return self.state
        by = f" by {self.by}" if self.by else ""
        date = f" ({self.date})" if self.date else ""
        return f"{self.ended}{by}{date}{', archived' if self.archived else ''}"


def standings(entries: Iterable[Entry], archived: Iterable[Entry] = (), *, around: str = "") -> dict[str, Standing]:
    """Return the standing of each entry by id. Links between *entries* and *archived* ones count both ways.

    *around* asks for one entry and those that it supersedes alone, which takes a fraction of the time.
    """
    live, old = list(entries), list(archived)
    newer = superseded_by([*live, *old])
    dates = {entry.id: entry.date for entry in (*old, *live)}
    if around:
        live, old = ([entry for entry in part if around in {entry.id, newer.get(entry.id)}] for part in (live, old))
    found = {entry.id: standing_of(entry, newer, dates, archived=True) for entry in old}
    return found | {entry.id: standing_of(entry, newer, dates) for entry in live}


def standing_of(
    entry: Entry, newer: Mapping[str, str], dates: Mapping[str, str], *, archived: bool = False
) -> Standing:
    """Return the standing of *entry*. *newer* maps superseded ids to their successors, *dates* ids to their dates."""
    if entry.retired and not entry.resolved:
        date, reason = _state_parts(entry)
        return Standing(ended="retracted", date=date, reason=reason, archived=archived)
    if entry.id in newer:
        by = newer[entry.id]
        return Standing(ended="superseded", by=by, date=dates.get(by, ""), archived=archived)
    if entry.retired:
        date, reason = _state_parts(entry)
        return Standing(ended="resolved", date=date, reason=reason, archived=archived)
    return Standing(archived=archived)


def _state_parts(entry: Entry) -> tuple[str, str]:
    """Return the date and the reason in a field such as ``State: resolved 2026-11-20, s-1#m4: The tap works``."""
    word, _, reason = entry.fields.get("State", "").partition(",")
    found = _DATE.search(word)
    return found.group() if found else "", reason.strip()
