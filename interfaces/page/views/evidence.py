"""Show what git says for an entry: the state, and subject and files of the commit where its repository is here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agent_home.documents.entry import Entry
from agent_home.home import Home
from distill.evidence.status import Evidence
from distill.review.grounds import evidence_commit

__all__ = ["ShownEvidence", "evidence_of"]

_MOST_FILES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEvidence:
    """Evidence of an entry. *subject* and *files* are empty where the commit is not on this machine.

    *more* counts files that are not listed.
    """

    state: str
    commit: str = ""
    detail: str = ""
    address: str = ""
    subject: str = ""
    files: tuple[str, ...] = ()
    more: int = 0


def evidence_of(home: Home, entry: Entry, now: datetime, *, field: str = "") -> ShownEvidence | None:
    """Return the evidence of *entry*, or ``None`` where it has none. *field* is used in place of the entry's own."""
    parsed = Evidence.parse(field or entry.fields.get("Evidence", ""))
    if parsed is None:
        return None
    evidence, address = parsed
    sources = [source.strip() for source in entry.fields.get("Sources", "").split(",")]
    commit = evidence_commit(home, evidence.commit, sources, now) if evidence.commit else None
    files = commit.files if commit is not None else ()
    return ShownEvidence(
        state=evidence.state, commit=evidence.commit, detail=evidence.detail, address=address,
        subject=commit.subject if commit is not None else "", files=files[:_MOST_FILES],
        more=max(0, len(files) - _MOST_FILES),
    )  # fmt: skip
