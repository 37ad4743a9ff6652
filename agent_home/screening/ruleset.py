"""Identify the guard rules of a home, and map each file to its guard destination.

This module does not load the guard: a prompt whose texts are all known to be clean does without it.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .. import storage
from ..home import ARCHIVED_DAILY, Home

__all__ = ["destination_of", "guard_signature", "text_key"]

_DESTINATIONS = (
    ("sessions/", "transcript"),
    ("outputs/", "output"),
    ("DailyActivity/", "daily"),
    (ARCHIVED_DAILY, "daily"),
    ("Knowledge/", "knowledge"),
    ("Projects/", "project"),
    ("USER.md", "user_profile"),
)


def destination_of(path: str) -> str:
    """Return the guard's name for the destination of a text that is written to *path*."""
    if not path.endswith((".md", ".jsonl")):
        return "settings"
    return next((name for start, name in _DESTINATIONS if path.startswith(start)), "memory")


def guard_signature(home: Home) -> str:
    """Return a digest of the rules and the policy that judge this home's texts. Equal digests mean equal verdicts.

    The salt does not count. A rule file that cannot be read counts by its name.
    """
    table = {key: value for key, value in home.manifest.tables.get("guard", {}).items() if key != "salt"}
    parts = [_program_digest(), json.dumps(table, sort_keys=True, default=str).encode()]
    rules = table.get("rules", ())
    for path in rules if isinstance(rules, list) else ():
        with suppress(OSError):
            parts.append(storage.read_bytes(home.root / str(path)))
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest()


def text_key(signature: str, path: str, text: str) -> str:
    """Return a digest that names *text* in the file *path* under the rules of *signature*."""
    named = f"{signature}\0{path}\0{text}"
    return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@cache
def _program_digest() -> bytes:
    """Return a digest of the guard's own source and rules, so that no version number has to be raised by hand."""
    spec = find_spec("guard")
    folders = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    files = sorted(
        path
        for folder in folders
        for path in Path(folder).rglob("*")
        if path.suffix in {".bin", ".json", ".py", ".toml"}
    )
    return hashlib.blake2b(b"\0".join(path.read_bytes() for path in files), digest_size=8).digest()
