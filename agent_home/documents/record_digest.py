"""Own the digest that a JSON record carries over itself, so that a flipped bit is found when it is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["DIGEST_KEY", "record_digest", "renewed_digest", "require_digest", "with_digest"]

#: The field of a record that holds its digest.
DIGEST_KEY = "digest_of_record"


def with_digest(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return *row* with the SHA-256 of its canonical JSON."""
    return {**row, DIGEST_KEY: record_digest(row)}


def require_digest(row: dict[str, Any]) -> None:
    """Take the digest out of *row*, and compare it. A record of an earlier version has none.

    Raises:
        ValueError: the record is not what was written.
    """
    if DIGEST_KEY in row and row.pop(DIGEST_KEY) != record_digest(row):
        raise ValueError("the record is not what was written")


def renewed_digest(before: str, after: str) -> str:
    """Return the record *after*, an edit of *before*, with a digest that fits. A damaged record stays damaged."""
    try:
        old, new = json.loads(before), json.loads(after)
        known = old[DIGEST_KEY]
        require_digest(old)
        new.pop(DIGEST_KEY)
        return after.replace(known, record_digest(new))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return after


def record_digest(row: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the fields of *row* in the order of their names.

    Lists are read item by item. An iterator stands for the list of what it yields.
    """
    found = hashlib.sha256()
    for name in sorted(row):
        value = row[name]
        found.update(f"{_text(name)}:".encode())
        is_list = isinstance(value, list | tuple | Iterator)
        for item in value if is_list else (value,):
            found.update(f"{_text(item)},".encode())
        found.update(b"]" if is_list else b";")
    return found.hexdigest()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
