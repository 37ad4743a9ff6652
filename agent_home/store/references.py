"""References to entries: ``ledger/references-2026-11.jsonl``, one JSON line for each.

A reference is a person or the agent citing an entry, an id that the agent quoted in a conversation, or a session that
said the same again. Showing an entry in a prompt is no reference. The ledger is appended to in the commit of the event
that it records, is merged by union, and so survives a clone. ``distill.entries.decay`` decides about unused entries.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Literal

from guard.lazy_regex import lazy_regex

from .. import storage
from ..clock import parse_time
from ..documents.check import entry_files
from ..documents.document import parse
from ..documents.entry import ENTRY_ID, Entry, normalise_id
from ..errors import NoSuchEntry
from ..home import Home
from ..screening.injected_context import strip_injected
from ..screening.service import ScreeningService
from .gateway import Transaction

__all__ = ["KINDS", "Reference", "entry_places", "last_references", "note", "quoted_ids", "read", "resolve_ids"]

#: An injected block whose tags the guard has redacted.
_INJECTED = lazy_regex(r"\[REDACTED:marker\].*?(?:\[REDACTED:marker\]|\Z)", re.DOTALL)
Kind = Literal["cite", "transcript", "pipeline"]
#: A citation, a quotation by the agent in a conversation, or a statement that a session repeated.
KINDS: tuple[Kind, ...] = ("cite", "transcript", "pipeline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One line of the ledger. *ts* is ISO 8601 with a zone, *session* empty where there was none."""

    ts: str
    id: str
    by: Kind
    session: str = ""


def note(edits: Transaction, references: Iterable[Reference]) -> tuple[Reference, ...]:
    """Append *references* to the ledgers of their months, as part of a transaction.

    Returns the new ones, in order: noting a reference twice adds nothing. A session whose name the guard would not pass
    is left out of its line.
    """
    noted: list[Reference] = []
    months: dict[str, list[Reference]] = {}
    for reference in references:
        months.setdefault(_ledger(reference.ts), []).append(_passable(edits.home, reference))
    for path, rows in months.items():
        known = set(_parsed(edits.text(path)))
        fresh = [row for row in dict.fromkeys(rows) if row not in known]
        if fresh:
            edits.append(path, [asdict(row) for row in fresh])
            noted += fresh
    return tuple(noted)


def read(home: Home) -> Iterator[Reference]:
    """Yield every reference, oldest month first. Invalid lines are skipped, a half-written last one too."""
    for path in home.files("ledger", "references-*.jsonl"):
        yield from _parsed(storage.read_bytes(path).decode("utf-8", "replace"))


def last_references(home: Home) -> dict[str, datetime]:
    """Return the time of each entry's last reference, by id. Entries without one are absent."""
    last: dict[str, datetime] = {}
    for reference in read(home):
        moment = parse_time(reference.ts)
        if reference.id not in last or moment > last[reference.id]:
            last[reference.id] = moment
    return last


def quoted_ids(text: str) -> list[str]:
    """Return the ids that *text* names, once each, in order. Text that this system had injected does not count."""
    if not ENTRY_ID.search(text):
        return []
    return list(dict.fromkeys(ENTRY_ID.findall(_INJECTED.sub(" ", strip_injected(text)[0]))))


def entry_places(
    home: Home, edits: Transaction | None = None, named: Collection[str] | None = None
) -> dict[str, list[tuple[str, Entry]]]:
    """Return ``(file, entry)`` for every place of every entry, by id, live before archived.

    With *edits*, the files are read as the transaction has them. With *named*, only entries with these ids are
    returned, and only files that hold one of them are parsed: the archive grows for ever.

    Raises:
        DocumentInvalid: a file is not UTF-8.
    """
    places: dict[str, list[tuple[str, Entry]]] = {}
    for path in entry_files(home):
        text = edits.text(path) if edits else storage.read_text(home.root / path)
        if named is not None and not any(entry_id in text for entry_id in named):
            continue
        for entry in parse(text).entries():
            if named is not None and entry.id not in named:
                continue
            places.setdefault(entry.id, []).append((path, entry))
    return places


def resolve_ids(spelled: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the *known* ids that are meant by *spelled*, once each, in order.

    Raises:
        NoSuchEntry: an id is not known. The error names similar ones.
    """
    ids = list(dict.fromkeys(normalise_id(text) for text in spelled))
    for entry_id in ids:
        if entry_id not in known:
            raise NoSuchEntry(entry_id, difflib.get_close_matches(entry_id, sorted(known), n=3, cutoff=0.75))
    return ids


def _parsed(text: str) -> Iterator[Reference]:
    for line in text.split("\n"):
        reference = _reference(line)
        if reference is not None:
            yield reference


def _reference(line: str) -> Reference | None:
    """Return the reference in a line, or ``None`` when the line is invalid."""
    try:
        row = json.loads(line)
        found = Reference(ts=row["ts"], id=row["id"], by=row["by"], session=row.get("session") or "")
        parse_time(found.ts)
        return found if ENTRY_ID.fullmatch(found.id) and found.by in KINDS and isinstance(found.session, str) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _passable(home: Home, reference: Reference) -> Reference:
    """Return *reference*, without its session where the guard would change the name."""
    if not reference.session or ScreeningService(home).allows(_ledger(reference.ts), reference.session, "agent"):
        return reference
    return replace(reference, session="")


def _ledger(ts: str) -> str:
    return f"ledger/references-{parse_time(ts):%Y-%m}.jsonl"
