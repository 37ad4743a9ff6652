"""Own the count of leading tokens that equal the previous prompt, which a provider's prompt cache can reuse.

This machine keeps the digests of the last prompt's parts for each audience and window. If the record is damaged or
lost, the next prompt counts as the first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from agent_home import storage
from agent_home.home import Home

from .section import Count

__all__ = ["unchanged_tokens"]

#: Pairs of audience and window whose last prompt is recorded.
_MAX_KEYS = 32


def unchanged_tokens(home: Home, key: str, parts: Sequence[str], count: Count) -> int | None:
    """Count the tokens of leading *parts* that equal the previous prompt of the same *key*, and record *parts*.

    Return ``None`` for the first prompt. In a home that cannot be written, nothing is recorded.
    """
    path = home.machine / "last-prompts.json"
    digests = [hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() for part in parts]
    known = _load(path)
    before = known.pop(key, None)
    if before != digests:
        known = {**dict(list(known.items())[1 - _MAX_KEYS :]), key: digests}
        storage.write_cache(path, json.dumps(known).encode())
    if before is None:
        return None
    same = 0
    while same < min(len(before), len(digests)) and before[same] == digests[same]:
        same += 1
    return count("".join(parts[:same]))


def _load(path: Path) -> dict[str, list[str]]:
    try:
        data = json.loads(storage.read_state(path))
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in data.items() if isinstance(value, list)} if isinstance(data, dict) else {}
