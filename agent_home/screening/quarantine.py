"""Quarantine: texts that the guard held back and that wait for a person. Nothing that the guard stops is lost.

Each text is one JSON file, named by its content, so that holding the same text back twice keeps one file. Secrets are
redacted before a text comes here. The folder is machine state and never in git. A caller that changes it holds the
home's lock. ``agent_home.screening.review_ledger`` keeps the decisions of people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import storage
from ..errors import DocumentInvalid

if TYPE_CHECKING:
    from ..home import Home

__all__ = ["Quarantined", "discard", "hold_back", "holds", "id_of", "unreadable", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A text that was held back. *text* is redacted, and *findings* never hold the text of a secret.

    *source* is the author (user, agent, tool, web) and *actor* the writer. *path* and *section* are the text's
    destination. *section* is the title of a heading of level 2, or empty.
    """

    id: str
    path: str
    reason: str
    source: str
    session: str
    ts: str
    text: str
    findings: tuple[dict[str, Any], ...] = ()
    section: str = ""
    actor: str = ""


def id_of(path: str, text: str) -> str:
    """Return the quarantine id of *text* for the destination *path*."""
    key = f"{path}\0{text}".encode("utf-8", "surrogatepass")
    return f"q-{hashlib.blake2b(key, digest_size=5).hexdigest()}"


def hold_back(
    home: Home, text: str, *, path: str, reason: str, source: str, session: str, ts: str,
    findings: Sequence[dict[str, Any]], section: str = "", actor: str = "",
) -> Quarantined:  # fmt: skip
    """Write *text* to quarantine, and return it. The same text for the same destination is kept once."""
    item = Quarantined(
        id=id_of(path, text), path=path, reason=reason, source=source, session=session, ts=ts, text=text,
        findings=tuple(findings), section=section, actor=actor,
    )  # fmt: skip
    target = home.quarantine / f"{item.id}.json"
    if not target.exists():
        staged = home.quarantine / f".{item.id}.tmp"
        storage.stage(staged, json.dumps(asdict(item), ensure_ascii=True, indent=1).encode())
        storage.replace(staged, target)
    return item


def waiting(home: Home) -> Iterator[Quarantined]:
    """Yield the texts that wait, ordered by id. Files that :func:`unreadable` names are skipped."""
    for path in sorted(home.quarantine.glob("q-*.json")):
        with suppress(DocumentInvalid):
            yield _read(path)


def unreadable(home: Home) -> Iterator[DocumentInvalid]:
    """Yield an error for each file in quarantine that is not valid, so that one does not hide the others."""
    for path in sorted(home.quarantine.glob("q-*.json")):
        try:
            _read(path)
        except DocumentInvalid as error:
            yield error


def holds(home: Home, item_id: str) -> bool:
    """Return whether a text with that id waits."""
    return (home.quarantine / f"{item_id}.json").is_file()


def discard(home: Home, item_id: str) -> None:
    """Remove the text from the disk. An absent one is no error."""
    storage.remove(home.quarantine / f"{item_id}.json")


def _read(path: Path) -> Quarantined:
    try:
        data = json.loads(storage.read_state(path))
        return Quarantined(**{**data, "findings": tuple(data["findings"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"is not a quarantined text ({type(error).__name__}). Move it out of the folder"
        raise DocumentInvalid(path, 0, "bad-quarantine", problem) from error
