"""Merge two versions of one entry field by field, with the version that both sides started from.

Sources and supersession links of both sides are united. Of two evidence statuses the more careful one stays. The merge
fails only when both machines changed the title or body in different ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from guard.lazy_regex import lazy_regex

from .entry import Entry, new_id
from .provenance import least_trusted

__all__ = ["CONFLICT", "conflicting_id", "conflicting_version", "merged_entry"]

T = TypeVar("T")
#: Prefix of the ``State`` of an entry that conflicts with another machine's version.
CONFLICT = "conflict with "
_LISTS = frozenset({"Sources", "Supersedes", "Superseded-By"})
#: The line in which EVOLUTION.md counts a correction. The days of both machines count, once each.
_OCCURRENCES = lazy_regex(r"Occurrences: (?P<count>\d+)(?: \((?P<dates>[^)]*)\))?")
#: Evidence statuses, the most careful one first.
_BY_CAUTION = ("stale", "contradicted", "unverified", "unchecked", "verified")


def merged_entry(base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
    """Return the entry with both changes, or ``None`` when title or body changed in two different ways.

    *base* is the common earlier version, or ``None``. Swapping *ours* and *theirs* does not change the result.
    """
    if theirs.render() in {ours.render(), base.render() if base else ""}:
        return ours
    if base is not None and ours.render() == base.render():
        return theirs
    start = (base.title, base.body) if base else None
    content = _pick_change(start, (ours.title, ours.body), (theirs.title, theirs.body))
    if content is None:
        return None
    date = _pick_change(base.date if base else None, ours.date, theirs.date) or max(ours.date, theirs.date)
    details = [entry.detail.splitlines() if entry else [] for entry in (base, ours, theirs)]
    fields = _merge_fields(base.fields if base else {}, ours.fields, theirs.fields)
    merged = ours.changed(
        title=content[0], body=content[1], date=date, detail="\n".join(_merge_detail(*details)), fields=fields
    )
    rendered = merged.render()
    return next((entry for entry in (ours, theirs) if entry.changed().render() == rendered), merged)


def conflicting_version(base_id: str, entry: Entry, taken: Mapping[str, Entry]) -> Entry:
    """Return *entry* with a new id, flagged as conflicting with *base_id*. The same input gives the same id.

    *taken* maps the ids in use to their entries. An id in use by this same version is used again.
    """
    used = {entry_id for entry_id, other in taken.items() if (other.title, other.body) != (entry.title, entry.body)}
    split = new_id(entry.prefix, f"{base_id}\0{entry.title}\0{entry.body}", used | {base_id})
    state = entry.fields.get("State", "")
    flag = f"{CONFLICT}{base_id}, changed on two machines"
    return entry.changed(id=split, fields={**entry.fields, "State": f"{flag}; {state}" if state else flag})


def conflicting_id(entry: Entry) -> str:
    """Return the id of the entry that *entry* conflicts with, or an empty string."""
    state = entry.fields.get("State", "")
    return state.removeprefix(CONFLICT).split(",")[0] if state.startswith(CONFLICT) else ""


def _pick_change(base: T | None, ours: T, theirs: T) -> T | None:
    """Return the value that differs from *base*, or ``None`` when both do and differ from each other."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def _merge_detail(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    """Merge detail lines: lines of *base* that both sides kept, then the sorted additions, with counts united."""
    kept = [line for line in base if line in ours and line in theirs]
    added = sorted({line for line in (*ours, *theirs) if line not in base})
    counted = [match for line in added if (match := _OCCURRENCES.fullmatch(line))]
    if len(counted) < 2:
        return kept + added
    dates = sorted({date for match in counted for date in re.findall(r"[\d-]+", match["dates"] or "")})
    count = max(len(dates), *(int(match["count"]) for match in counted))
    counter = f"Occurrences: {count} ({', '.join(dates)})" if dates else f"Occurrences: {count}"
    return [*kept, *(line for line in added if not _OCCURRENCES.fullmatch(line)), counter]


def _merge_fields(base: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    merged = {}
    for name in dict.fromkeys((*base, *sorted({*ours, *theirs}))):
        start, left, right = base.get(name, ""), ours.get(name, ""), theirs.get(name, "")
        chosen = _pick_change(start, left, right)
        value = _merge_value(name, start, left, right) if chosen is None else chosen
        if value:
            merged[name] = value
    return merged


def _merge_value(name: str, base: str, ours: str, theirs: str) -> str:
    """Merge a field that both sides changed in different ways."""
    if not ours or not theirs:
        return ours or theirs
    if name in _LISTS:
        return _unite_lists(base, ours, theirs)
    if name == "Origin":
        return least_trusted([ours, theirs])
    if name == "Evidence":
        return min((ours, theirs), key=lambda status: (_rank(status), status))
    return max(ours, theirs) if name == "Protected" else "; ".join(sorted((ours, theirs)))


def _unite_lists(base: str, ours: str, theirs: str) -> str:
    """Unite two comma-separated lists: values of *base* in their order, then the others in alphabetical order."""
    start, left, right = ([part.strip() for part in text.split(",") if part.strip()] for text in (base, ours, theirs))
    return ", ".join([*(part for part in start if part in left or part in right),
                      *sorted({*left, *right} - set(start))])  # fmt: skip


def _rank(evidence: str) -> int:
    state = re.split(r"[, ]", evidence, maxsplit=1)[0].casefold()
    return _BY_CAUTION.index(state) if state in _BY_CAUTION else -1
