"""People's decisions about texts that waited for them: two ledgers of JSON lines, in git, that merge by union.

``ledger/approved.jsonl`` names the texts that may be stored although the guard would hold them back.
``ledger/rejected.jsonl`` names those that must not come up again. A row holds digests and no content: a digest confirms
a guess and tells nothing else. ``distill.review.queue`` writes the rows through the gateway, in the commit that they
belong to, and the screening service reads them.

An approval covers a text block by block, wherever it stands, so that an approved entry may be archived and restored.
It covers an entry's statement. An entry's fields are screened as ever.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

from .. import storage
from ..documents.document import Block, parse
from ..documents.entry import Entry
from ..home import Home

__all__ = [
    "APPROVED",
    "NO_DECISIONS",
    "REJECTED",
    "Decision",
    "Decisions",
    "approval_digests",
    "decisions",
    "decisions_in",
    "ending_digest",
    "fields_alone",
    "rejection_digest",
    "statement_digest",
]

APPROVED, REJECTED = "ledger/approved.jsonl", "ledger/rejected.jsonl"
#: The line about the replaced wording is no part of the statement.
_INSTEAD = "Instead of: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One row. *id* names what waited, *by* the person, *commit* a proposal's commit."""

    ts: str
    kind: Literal["quarantine", "proposal", "loss", "recovered"]
    id: str
    by: str
    digests: tuple[str, ...]
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The rows of both ledgers."""

    approved: tuple[Decision, ...] = ()
    rejected: tuple[Decision, ...] = ()
    _allowed: frozenset[str] = frozenset()
    _refused: frozenset[str] = frozenset()

    def approves(self, text: str) -> bool:
        """Return whether a person approved every block of *text*. An entry counts without its fields."""
        if not self._allowed:
            return False
        found = approval_digests(text)
        return bool(found) and self._allowed.issuperset(found)

    def approves_block(self, block: Block) -> bool:
        """Return whether a person approved this block of a document."""
        return bool(self._allowed) and block.kind != "blank" and _block_digest(block) in self._allowed

    def rejects(self, text: str) -> bool:
        """Return whether a person rejected *text*. An entry counts by its statement, under any id."""
        return bool(self._refused) and rejection_digest(text) in self._refused

    def rejects_entry(self, entry: Entry) -> bool:
        return statement_digest(entry) in self._refused

    def rejects_digest(self, digest: str) -> bool:
        return digest in self._refused

    def approval_of(self, waiting_id: str, commit: str = "") -> Decision | None:
        """Return the approval of the text with that id, or ``None``.

        A proposal's names the *commit* that was approved.
        """
        return next((row for row in self.approved if row.id == waiting_id and row.commit == commit), None)


NO_DECISIONS = Decisions()


def decisions(home: Home) -> Decisions:
    """Return the decisions in the ledgers on disk. Invalid lines are skipped, and ``memory check`` names them.

    Raises:
        DocumentInvalid: a ledger is not UTF-8.
    """
    return decisions_in(storage.read_text(home.root / APPROVED), storage.read_text(home.root / REJECTED))


@lru_cache(maxsize=8)
def decisions_in(approved: str, rejected: str) -> Decisions:
    """Return the decisions in two ledgers with these texts."""
    allowing, refusing = tuple(_rows(approved)), tuple(_rows(rejected))
    return Decisions(
        allowing,
        refusing,
        frozenset(digest for row in allowing for digest in row.digests),
        frozenset(digest for row in refusing for digest in row.digests),
    )


def approval_digests(text: str) -> tuple[str, ...]:
    """Return one digest for each block of *text* that is not blank."""
    return tuple(_block_digest(block) for block in parse(text).blocks if block.kind != "blank")


def rejection_digest(text: str) -> str:
    """Return the digest of *text* as a whole. A single entry counts by its statement."""
    said = [block for block in parse(text).blocks if block.kind != "blank"]
    if len(said) == 1 and said[0].entry is not None:
        return statement_digest(said[0].entry)
    return _digest("text", _lines(text))


def fields_alone(entry: Entry) -> str:
    """Return *entry* with its fields and no statement, as a text: no approval covers it, so it must pass the guard."""
    return entry.changed(title="approved", body="", detail="").render()


def statement_digest(entry: Entry) -> str:
    """Return the digest of an entry's statement in its section.

    Spacing does not count, nor do the lines about what the entry replaces.
    """
    detail = "\n".join(line for line in entry.detail.splitlines() if not line.startswith(_INSTEAD))
    said = unicodedata.normalize("NFKC", entry.changed(detail=detail).text).casefold()
    return _digest("statement", entry.prefix, " ".join(said.split()))


def ending_digest(kind: str, older: Entry, newer: Entry) -> str:
    """Return the digest of the question whether *older* ended in that way.

    It depends on the statement of *older*, and on that of *newer* where it takes its place.
    """
    by = "" if statement_digest(older) == statement_digest(newer) else statement_digest(newer)
    return _digest("ending", kind, statement_digest(older), by)


def _block_digest(block: Block) -> str:
    if block.entry is not None:
        return _digest("entry", block.entry.prefix, " ".join(block.entry.text.split()))
    return _digest("block", _lines(block.raw))


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _digest(*parts: str) -> str:
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16, person=b"agent-home").hexdigest()


def _rows(ledger: str) -> Iterator[Decision]:
    names = {field.name for field in fields(Decision)}
    for line in ledger.splitlines():
        try:
            values = json.loads(line)
            row = Decision(**{name: values[name] for name in names & values.keys()})
            yield Decision(
                ts=str(row.ts), kind=row.kind, id=str(row.id), by=str(row.by), commit=str(row.commit),
                digests=tuple(str(digest) for digest in row.digests),
            )  # fmt: skip
        except (ValueError, TypeError, AttributeError):
            continue
