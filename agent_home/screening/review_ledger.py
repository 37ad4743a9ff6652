"""People's decisions about texts that waited for them: two ledgers of JSON lines, in git, that merge by union.

``ledger/approved.jsonl`` names the texts that may be stored although the guard would hold them back.
``ledger/rejected.jsonl`` names those that must not come up again. A row holds digests and no content: a digest confirms
a guess and tells nothing else. ``distill.review.queue`` writes the rows through the gateway, in the commit that they
belong to, and the screening service reads them.

The ledgers come with a pull, and a pulled row is what somebody else says. So an approval lets a text pass only if this
machine made it, which its ``mac`` proves, or if a person on this machine agreed to it or trusts the key that signed its
commit (``agent_home.pulling.signed_approvals``). The same holds for a decision that ends the wait of a text.
A rejection by others counts: it only keeps a text out.

A decision may be undone. The row of kind ``undo`` then names the digest of the row that counts no more, because ledgers
only grow and merge by union. Undoing an approval counts whoever does it, and undoing a rejection counts if an approval
by the same machine would.

An approval covers a text block by block, wherever it stands, so that an approved entry may be archived and restored.
It covers an entry's statement. An entry's fields are screened as ever.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

from .. import storage
from ..consent.signed_record import read_record
from ..documents.document import Block, parse
from ..documents.entry import Entry
from ..home import Home
from ..machine_key import sign, verify
from ..salt import read_salt

__all__ = [
    "APPROVED",
    "NO_DECISIONS",
    "REJECTED",
    "UNDO",
    "VOUCHED",
    "Decision",
    "Decisions",
    "approval_digests",
    "decisions",
    "decisions_in",
    "ending_digest",
    "fields_alone",
    "rejection_digest",
    "rows_of",
    "sign_row",
    "statement_digest",
    "vouched",
]

APPROVED, REJECTED = "ledger/approved.jsonl", "ledger/rejected.jsonl"
#: Kind of a row that undoes others.
UNDO = "undo"
#: Name of this machine's record of the rows of others that count.
VOUCHED = "vouched-decisions"
_PURPOSE = "decision"
#: The line about the replaced wording is no part of the statement.
_INSTEAD = "Instead of: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One row. *id* names what waited, *by* the person, *commit* a proposal's commit.

    The *digests* of a row of kind ``undo`` are those of the rows that count no more.
    """

    ts: str
    kind: Literal["quarantine", "proposal", "loss", "recovered", "undo"]
    id: str
    by: str
    digests: tuple[str, ...]
    commit: str = ""
    mac: str = ""

    @property
    def digest(self) -> str:
        """The digest of what the row says, without its signature."""
        return hashlib.sha256(_signed_bytes(self)).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Decisions:
    """The rows of both ledgers. *own* are those that this machine made or trusts."""

    approved: tuple[Decision, ...] = ()
    rejected: tuple[Decision, ...] = ()
    own: frozenset[Decision] = frozenset()
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

        A proposal's names the *commit* that was approved. Other texts wait on one machine, whose own row counts alone.
        """
        rows = (row for row in self.approved if row.id == waiting_id and row.commit == commit)
        return next((row for row in rows if commit or row in self.own), None)

    def settled(self, waiting_id: str) -> bool:
        """Return whether a row of this machine decides about the text with that id."""
        return any(row.id == waiting_id for row in self.own)

    @property
    def foreign(self) -> tuple[Decision, ...]:
        """The approvals that let nothing pass here, because nobody on this machine answers for them."""
        return tuple(row for row in self.approved if row.digests and row not in self.own)


NO_DECISIONS = Decisions()


def decisions(home: Home) -> Decisions:
    """Return the decisions in the ledgers on disk. Invalid lines are skipped, and ``memory check`` names them.

    Raises:
        DocumentInvalid: a ledger is not UTF-8.
    """
    return decisions_in(home, storage.read_text(home.root / APPROVED), storage.read_text(home.root / REJECTED))


def decisions_in(home: Home, approved: str, rejected: str) -> Decisions:
    """Return the decisions in two ledgers of *home* with these texts."""
    if not approved and not rejected:
        return NO_DECISIONS
    return _decisions(approved, rejected, read_salt(home), vouched(home))


def vouched(home: Home) -> frozenset[str]:
    """Return the digests of rows that a person on this machine agreed to, or whose signature this machine trusts."""
    record = read_record(home.machine, VOUCHED) or {}
    return frozenset(digest for kind in ("consented", "signed") for digest in record.get(kind, ()))


def sign_row(home: Home, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ledger row *row* with the signature of this machine.

    Raises:
        MachineKeyUnusable: nothing can be signed here.
    """
    (read,) = rows_of(json.dumps(row))
    return {**row, "mac": sign(_PURPOSE, read_salt(home).encode() + _signed_bytes(read))}


@lru_cache(maxsize=8)
def _decisions(approved: str, rejected: str, salt: str, known: frozenset[str]) -> Decisions:
    approvals, rejections = tuple(rows_of(approved)), tuple(rows_of(rejected))
    own = frozenset(row for row in (*approvals, *rejections) if row.digest in known or _is_own(row, salt))
    allowing = _standing(approvals, approvals)
    refusing = _standing(rejections, own)
    own &= {*allowing, *refusing}
    return Decisions(
        allowing,
        refusing,
        own,
        frozenset(digest for row in allowing if row in own for digest in row.digests),
        frozenset(digest for row in refusing for digest in row.digests),
    )


def _standing(rows: tuple[Decision, ...], trusted: Collection[Decision]) -> tuple[Decision, ...]:
    """Return the decisions among *rows* that no *trusted* row undoes."""
    undone = {digest for row in rows if row.kind == UNDO and row in trusted for digest in row.digests}
    return tuple(row for row in rows if row.kind != UNDO and row.digest not in undone)


def _is_own(row: Decision, salt: str) -> bool:
    return bool(row.mac) and verify(_PURPOSE, salt.encode() + _signed_bytes(row), row.mac)


def _signed_bytes(row: Decision) -> bytes:
    """Return what a row says. The salt before it keeps a row of one home from counting in another."""
    said = [row.ts, row.kind, row.id, row.by, row.commit, *row.digests]
    return json.dumps(said, ensure_ascii=True).encode()


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


def rows_of(ledger: str) -> Iterator[Decision]:
    """Yield the rows of a ledger with this text. Invalid lines are skipped."""
    names = {field.name for field in fields(Decision)}
    for line in ledger.splitlines():
        try:
            values = json.loads(line)
            row = Decision(**{name: values[name] for name in names & values.keys()})
            yield Decision(
                ts=str(row.ts), kind=row.kind, id=str(row.id), by=str(row.by), commit=str(row.commit), mac=str(row.mac),
                digests=tuple(str(digest) for digest in row.digests),
            )  # fmt: skip
        except (ValueError, TypeError, AttributeError):
            continue
