"""Find the decisions of others that a trusted key signed, and record them for this machine.

A row counts if a commit that adds it, compared with all of its parents, has a valid signature of a trusted key. A
signed commit on top of foreign rows does not answer for them.
"""

from __future__ import annotations

from ..consent.signed_record import read_record, write_record
from ..consent.trusted_keys import trusted_keys
from ..git import history
from ..git.signatures import signed_by
from ..home import Home
from ..screening.review_ledger import APPROVED, REJECTED, VOUCHED, rows_of

__all__ = ["consent_to_rows", "find_signed_rows"]

#: Commits of the ledgers that are looked at, newest first.
_MOST_COMMITS = 2000
_LEDGERS = (APPROVED, REJECTED)


def find_signed_rows(home: Home) -> None:
    """Look for signed rows in the history of the ledgers again, and record them. Call with the home's lock held.

    Raises:
        HistoryError: git is absent or refused.
        MachineKeyUnusable: nothing can be recorded.
    """
    known = read_record(home.machine, VOUCHED) or {}
    signed = _signed_rows(home)
    if signed or known:
        write_record(home.machine, VOUCHED, {**known, "signed": sorted(signed)})


def consent_to_rows(home: Home, digests: list[str]) -> None:
    """Record a person's consent to the rows with these digests. Call with the home's lock held."""
    known = read_record(home.machine, VOUCHED) or {}
    write_record(home.machine, VOUCHED, {**known, "consented": sorted({*known.get("consented", ()), *digests})})


def _signed_rows(home: Home) -> set[str]:
    keys = trusted_keys(home.machine)
    if not keys or not history.head(home.root):
        return set()
    options = ("--full-history", "--format=%H %P", f"--max-count={_MOST_COMMITS}")
    lines = [line.split() for line in history.query(home.root, "log", *options, "--", *_LEDGERS).splitlines()]
    parents = {commit: rest for commit, *rest in lines}
    found: set[str] = set()
    for commit in signed_by(home.root, list(parents), keys):
        names = [(one, path) for one in (commit, *parents[commit]) for path in _LEDGERS]
        texts = history.texts_at(home.root, names)
        added = {row.digest for text in texts[:2] for row in rows_of(text)}
        found |= added - {row.digest for text in texts[2:] for row in rows_of(text)}
    return found
