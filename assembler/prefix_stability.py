"""How many leading tokens are as in the prompt before: what a provider's prompt cache can reuse.

The digests of the last prompt's parts are kept for each audience and window, on this machine alone. They are a
convenience: a damaged or lost record means only that the next prompt counts as the first.
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

#: Pairs of audience and window that are remembered.
_MAX_KEYS = 32


def unchanged_tokens(home: Home, key: str, parts: Sequence[str], count: Count) -> int | None:
    """Tokens of the leading *parts* that equal those of the prompt before under the same *key*; ``None`` if first.

    Remembers *parts* for the next time. On a home that cannot be written, nothing is remembered.
    """
    path = home.machine / "last-prompts.json"
    digests = [hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() for part in parts]
    known = _load(path)
    before = known.pop(key, None)
    if before != digests:
        known = {**dict(list(known.items())[1 - _MAX_KEYS :]), key: digests}
        storage.keep(path, json.dumps(known).encode())
    if before is None:
        return None
    same = 0
    while same < min(len(before), len(digests)) and before[same] == digests[same]:
        same += 1
    return count("".join(parts[:same]))


def _load(path: Path) -> dict[str, list[str]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in data.items() if isinstance(value, list)} if isinstance(data, dict) else {}
