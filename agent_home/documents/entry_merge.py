"""Two versions of one entry, made on two machines, as one: field by field, from what both started with.

Sources are united, what supersedes and what is superseded counts on either side, and of two judgements the more careful
one stands. Only when both machines changed what the entry says, and differently, there is no one version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from .entry import Entry, new_id
from .provenance import least_trusted

__all__ = ["CONFLICT", "conflicting_id", "conflicting_version", "merged_entry"]

T = TypeVar("T")
#: Begins the ``State`` of an entry that is another machine's version of one that both changed.
CONFLICT = "conflict with "
_LISTS = frozenset({"Sources", "Supersedes", "Superseded-By"})
#: How often something happened, as EVOLUTION.md counts it: both machines' days count, once each.
_COUNTED = re.compile(r"Occurrences: (?P<count>\d+)(?: \((?P<dates>[^)]*)\))?")
#: Of two judgements of git the one that promises less, first.
_CAREFUL = ("stale", "contradicted", "unverified", "unchecked", "verified")


def merged_entry(base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
    """The entry with both changes; ``None`` when both changed its title or body, and not alike.

    *base* is what both started with, where both had it. The same whichever of the two is called ours.
    """
    if theirs.render() in {ours.render(), base.render() if base else ""}:
        return ours
    if base is not None and ours.render() == base.render():
        return theirs
    start = (base.title, base.body) if base else None
    said = _chosen(start, (ours.title, ours.body), (theirs.title, theirs.body))
    if said is None:
        return None
    date = _chosen(base.date if base else None, ours.date, theirs.date) or max(ours.date, theirs.date)
    details = [entry.detail.splitlines() if entry else [] for entry in (base, ours, theirs)]
    fields = _fields(base.fields if base else {}, ours.fields, theirs.fields)
    merged = ours.changed(title=said[0], body=said[1], date=date, detail="\n".join(_lines(*details)), fields=fields)
    rendered = merged.render()
    return next((entry for entry in (ours, theirs) if entry.changed().render() == rendered), merged)


def conflicting_version(base_id: str, entry: Entry, taken: Mapping[str, Entry]) -> Entry:
    """*entry* under an id of its own, flagged as the other version of *base_id*; the same each time.

    *taken* are the entries that are there, by id: one that is this very version gives its id again.
    """
    there = {i for i, other in taken.items() if (other.title, other.body) != (entry.title, entry.body)}
    split = new_id(entry.prefix, f"{base_id}\0{entry.title}\0{entry.body}", there | {base_id})
    state = entry.fields.get("State", "")
    flag = f"{CONFLICT}{base_id}, changed on two machines"
    return entry.changed(id=split, fields={**entry.fields, "State": f"{flag}; {state}" if state else flag})


def conflicting_id(entry: Entry) -> str:
    """The id of the entry that *entry* is another version of; empty when it is none."""
    state = entry.fields.get("State", "")
    return state.removeprefix(CONFLICT).split(",")[0] if state.startswith(CONFLICT) else ""


def _chosen(base: T | None, ours: T, theirs: T) -> T | None:
    """The one that differs from *base*; ``None`` when both do, and not alike."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def _lines(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    """The lines of both, without those that one of them took out; the first one's order first."""
    kept = [line for line in base if line in ours and line in theirs]
    added = sorted({line for line in (*ours, *theirs) if line not in base})
    counted = [match for line in added if (match := _COUNTED.fullmatch(line))]
    if len(counted) < 2:
        return kept + added
    dates = sorted({date for match in counted for date in re.findall(r"[\d-]+", match["dates"] or "")})
    count = max(len(dates), *(int(match["count"]) for match in counted))
    line = f"Occurrences: {count} ({', '.join(dates)})" if dates else f"Occurrences: {count}"
    return [*kept, *(one for one in added if not _COUNTED.fullmatch(one)), line]


def _fields(base: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    merged = {}
    for name in dict.fromkeys((*base, *sorted({*ours, *theirs}))):
        start, one, other = base.get(name, ""), ours.get(name, ""), theirs.get(name, "")
        chosen = _chosen(start, one, other)
        value = _both(name, start, one, other) if chosen is None else chosen
        if value:
            merged[name] = value
    return merged


def _both(name: str, base: str, one: str, other: str) -> str:
    """A field that both changed, differently."""
    if not one or not other:
        return one or other
    if name in _LISTS:
        return _united(base, one, other)
    if name == "Origin":
        return least_trusted([one, other])
    if name == "Evidence":
        return min((one, other), key=lambda said: (_rank(said), said))
    return max(one, other) if name == "Protected" else "; ".join(sorted((one, other)))


def _united(base: str, one: str, other: str) -> str:
    """What either list names: first as both started, then in the order of the alphabet."""
    start, left, right = ([part.strip() for part in text.split(",") if part.strip()] for text in (base, one, other))
    return ", ".join([*(part for part in start if part in left or part in right),
                      *sorted({*left, *right} - set(start))])  # fmt: skip


def _rank(evidence: str) -> int:
    state = re.split(r"[, ]", evidence, maxsplit=1)[0].casefold()
    return _CAREFUL.index(state) if state in _CAREFUL else -1
