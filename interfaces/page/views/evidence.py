"""Show what git says for an entry: the state, and subject and files of the commit where its repository is here."""

from __future__ import annotations

from dataclasses import dataclass

from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store import transcript
from distill.evidence.repository import Deadline, DeadlinePassed, GitUnavailable, Repository, top_level
from distill.evidence.status import Evidence

__all__ = ["ShownEvidence", "evidence_of"]

#: Seconds for git's answer about the commit of one entry.
_LIMIT_S = 1.0
_MOST_FILES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEvidence:
    """Evidence of an entry. *subject*, *files* and *repository* are empty where the commit is not on this machine.

    *files* are pairs of git's letter for the change and the path. *more* counts files that are not listed.
    """

    state: str
    commit: str = ""
    detail: str = ""
    address: str = ""
    subject: str = ""
    repository: str = ""
    files: tuple[tuple[str, str], ...] = ()
    more: int = 0


def evidence_of(home: Home, entry: Entry, *, field: str = "") -> ShownEvidence | None:
    """Return the evidence of *entry*, or ``None`` where it has none. *field* is used in place of the entry's own."""
    parsed = Evidence.parse(field or entry.fields.get("Evidence", ""))
    if parsed is None:
        return None
    evidence, address = parsed
    found = ShownEvidence(
        state=evidence.state, commit=evidence.commit, detail=evidence.detail, address=address
    )  # fmt: skip
    return _with_commit(home, entry, found) if evidence.commit else found


def _with_commit(home: Home, entry: Entry, found: ShownEvidence) -> ShownEvidence:
    sessions = {part.strip().rpartition("#")[0] for part in entry.fields.get("Sources", "").split(",")}
    limit = Deadline(_LIMIT_S)
    for session in sorted(filter(None, sessions)):
        path = transcript.session_path(home, session)
        folders = dict.fromkeys(turn.message.cwd for turn in transcript.read(path)) if path is not None else ()
        for top in dict.fromkeys(filter(None, map(top_level, filter(None, folders)))):
            try:
                commit = Repository(top, limit).commit(found.commit)
            except (DeadlinePassed, GitUnavailable):
                continue
            files = tuple((change.status, change.path) for change in commit.changes)
            return ShownEvidence(
                state=found.state, commit=found.commit, detail=found.detail, address=found.address,
                subject=commit.subject, repository=top.name, files=files[:_MOST_FILES],
                more=max(0, len(files) - _MOST_FILES),
            )  # fmt: skip
    return found
