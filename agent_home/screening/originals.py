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
from pathlib import Path
from typing import TYPE_CHECKING

from guard import Action, GuardSettings, Verdict

from .. import storage
from ..clock import parse_time

if TYPE_CHECKING:
    from ..home import Home

__all__ = [
    "FORGOTTEN",
    "Original",
    "drop_originals",
    "expire",
    "expired",
    "is_kept",
    "keep",
    "kept_days",
    "original",
    "originals",
]

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


def originals(home: Home, now: datetime) -> Iterator[Original]:
    """Yield the originals that are kept and not expired, oldest first. Files that cannot be read are skipped."""
    over = {path.name for path in expired(home, now)}
    yield from (item for path, item in _files(home) if item is not None and path.name not in over)


def original(home: Home, original_id: str, now: datetime) -> Original | None:
    """Return the original with that id, or None where it is not kept or has expired."""
    return next((item for item in originals(home, now) if item.id == original_id), None)


def expired(home: Home, now: datetime) -> list[Path]:
    """Return the files of originals that are as old as the settings let them be, and of those that nobody can find.

    An original is found by its id alone, so one under another name is left over, as is a copy of a killed write. The
    time of the file stands for one that cannot be read.
    """
    limit = now.astimezone() - timedelta(days=kept_days(home))
    found = [path for path, item in _files(home) if not _is_named(path, item) or _time(path, item) <= limit]
    return [*found, *home.quarantine.glob(".o-*.tmp")]


def expire(home: Home, now: datetime) -> int:
    """Remove the files that :func:`expired` names, and return their number. The caller holds the home's lock."""
    found = expired(home, now)
    for path in found:
        storage.remove(path)
    return len(found)


def kept_days(home: Home) -> int:
    """Return for how many days an original is kept."""
    return home.manifest.settings("guard", GuardSettings).keep_originals_days


def drop_originals(home: Home, sources: Collection[str]) -> int:
    """Remove the originals of the messages *sources*, and return their number. The caller holds the home's lock."""
    found = [path for path, item in _files(home) if item is not None and item.source in sources]
    for path in found:
        storage.remove(path)
    return len(found)


def _files(home: Home) -> list[tuple[Path, Original | None]]:
    """Return the files of originals with their content, oldest first, whatever their names. One may be unreadable."""
    found: list[tuple[Path, Original | None]] = []
    for path in home.quarantine.glob("*.json"):
        item = None
        if path.name.startswith("q-"):
            continue
        with suppress(OSError, ValueError, TypeError):
            item = Original(**json.loads(storage.read_bytes(path)))
        if item is not None or path.name.startswith("o-"):
            found.append((path, item))
    return sorted(found, key=lambda pair: (pair[1].ts if pair[1] else "", pair[0].name))


def _is_named(path: Path, item: Original | None) -> bool:
    return path.name.startswith("o-") and (item is None or item.id == path.stem)


def _time(path: Path, item: Original | None) -> datetime:
    with suppress(ValueError):
        return parse_time(item.ts if item else "").astimezone()
    try:
        return datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    except FileNotFoundError:  # removed meanwhile
        return datetime.now().astimezone()
