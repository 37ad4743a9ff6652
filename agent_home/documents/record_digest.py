"""Own the digest that a JSON record carries over itself, so that a flipped bit is found when it is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["renewed_digest", "require_digest", "with_digest"]

_KEY = "digest_of_record"


def with_digest(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return *row* with the SHA-256 of its canonical JSON."""
    return {**row, _KEY: _digest(row)}


def require_digest(row: dict[str, Any]) -> None:
    """Take the digest out of *row*, and compare it. A record of an earlier version has none.

    Raises:
        ValueError: the record is not what was written.
    """
    if _KEY in row and row.pop(_KEY) != _digest(row):
        raise ValueError("the record is not what was written")


def renewed_digest(before: str, after: str) -> str:
    """Return the record *after*, an edit of *before*, with a digest that fits. A damaged record stays damaged."""
    try:
        old, new = json.loads(before), json.loads(after)
        known = old[_KEY]
        require_digest(old)
        new.pop(_KEY)
        return after.replace(known, _digest(new))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return after


def _digest(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
