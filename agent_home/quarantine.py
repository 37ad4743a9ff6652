"""Texts that the guard held back, waiting for a person. Nothing that it stops is lost.

One JSON file for each text, named by its content, so that holding the same text back twice keeps one. Secrets are
redacted before a text comes here. The folder is machine state and never in git.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from . import storage

if TYPE_CHECKING:
    from .home import Home

__all__ = ["Quarantined", "hold_back", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A text held back. *findings* never hold the text of a secret; *text* is redacted."""

    id: str
    path: str  # the file that it was meant for
    reason: str
    source: str
    session: str
    ts: str
    text: str
    findings: tuple[dict[str, Any], ...] = ()


def hold_back(
    home: Home, text: str, *, path: str, reason: str, source: str, session: str, ts: str,
    findings: Sequence[dict[str, Any]],
) -> Quarantined:  # fmt: skip
    """Keep *text* for a person to look at; idempotent for the same text and destination."""
    digest = hashlib.blake2b(f"{path}\0{text}".encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    item = Quarantined(
        id=f"q-{digest}", path=path, reason=reason, source=source, session=session, ts=ts, text=text,
        findings=tuple(findings),
    )  # fmt: skip
    target = home.quarantine / f"{item.id}.json"
    if not target.exists():
        staged = home.quarantine / f".{item.id}.tmp"
        storage.stage(staged, json.dumps(asdict(item), ensure_ascii=True, indent=1).encode())
        storage.replace(staged, target)
    return item


def waiting(home: Home) -> Iterator[Quarantined]:
    """The texts that wait, in the order of their ids."""
    for path in sorted(home.quarantine.glob("q-*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        yield Quarantined(**{**data, "findings": tuple(data["findings"])})
