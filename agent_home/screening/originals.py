"""Originals of messages that lost personal data, kept for the owner for a time.

A message with a telephone number is redacted in its transcript. Its original stays in quarantine, one file for each
message, readable by the owner of the home alone. It is in no index, prompt or commit, `memory forget` erases it, and
it expires. A message that held a secret is not kept: a second copy of a secret is a risk of its own, and a password
has its place in a password manager. Nor is a message that held something forgotten: what was forgotten does not come
back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from guard import Action, Verdict

from .. import storage

if TYPE_CHECKING:
    from ..home import Home

__all__ = ["FORGOTTEN", "Original", "drop_originals", "expire", "is_kept", "keep", "original", "originals"]

#: Rule of the finding that stands for a forgotten text.
FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """The *text* of a message before its redaction. *source* is its address, *ts* the time of the import."""

    id: str
    source: str
    ts: str
    text: str


def is_kept(verdict: Verdict) -> bool:
    """Return whether the original of a text with this *verdict* is kept: it lost personal data and nothing else.

    Words that ``memory forget`` erased are not personal data here.
    """
    removed = [finding for finding in verdict.findings if finding.action > Action.ALLOW]
    only_personal = all(finding.layer == "pii" and finding.rule != FORGOTTEN for finding in removed)
    return verdict.action is Action.REDACT and only_personal


def keep(home: Home, text: str, *, source: str, ts: str) -> Original:
    """Write *text* to quarantine. The caller holds the home's lock. The same message is kept once."""
    key = f"{source}\0{text}".encode("utf-8", "surrogatepass")
    item = Original(id=f"o-{hashlib.blake2b(key, digest_size=5).hexdigest()}", source=source, ts=ts, text=text)
    target = home.quarantine / f"{item.id}.json"
    if not target.exists():
        staged = home.quarantine / f".{item.id}.tmp"
        storage.stage(staged, json.dumps(asdict(item), indent=1).encode())
        storage.replace(staged, target)
    return item


def originals(home: Home) -> Iterator[Original]:
    """Yield the originals that are kept, oldest first. Files that cannot be read are skipped."""
    found = []
    for path in home.quarantine.glob("o-*.json"):
        with suppress(OSError, ValueError, TypeError):
            found.append(Original(**json.loads(storage.read_bytes(path))))
    yield from sorted(found, key=lambda item: (item.ts, item.id))


def original(home: Home, original_id: str) -> Original | None:
    """Return the original with that id, or None where it is not kept or has expired."""
    return next((item for item in originals(home) if item.id == original_id), None)


def expire(home: Home, now: datetime, days: int) -> int:
    """Remove the originals that are older than *days*, and return their number. The caller holds the home's lock."""
    limit = (now - timedelta(days=days)).isoformat()
    old = [item for item in originals(home) if item.ts < limit]
    for item in old:
        storage.remove(home.quarantine / f"{item.id}.json")
    return len(old)


def drop_originals(home: Home, sources: Collection[str]) -> int:
    """Remove the originals of the messages *sources*, and return their number. The caller holds the home's lock."""
    found = [item for item in originals(home) if item.source in sources]
    for item in found:
        storage.remove(home.quarantine / f"{item.id}.json")
    return len(found)
