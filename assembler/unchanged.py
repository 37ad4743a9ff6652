"""How many leading tokens are as in the prompt before: what a provider's prompt cache can reuse.

The digests of the last prompt's parts are kept for each audience and window, on this machine alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from agent_home import storage
from agent_home.home import Home

from .piece import Count

__all__ = ["unchanged_tokens"]


def unchanged_tokens(home: Home, key: str, parts: Sequence[str], count: Count) -> int | None:
    """Tokens of the leading *parts* that equal those of the prompt before under the same *key*; ``None`` if first.

    Remembers *parts* for the next time. On a home that cannot be written, nothing is remembered.
    """
    path = home.machine / "last-prompts.json"
    digests = [hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() for part in parts]
    known = _load(path.read_text(encoding="utf-8") if path.exists() else "{}")
    before = known.get(key)
    if before != digests:
        _remember(home, {**known, key: digests})
    if before is None:
        return None
    same = 0
    while same < min(len(before), len(digests)) and before[same] == digests[same]:
        same += 1
    return sum(count(part) for part in parts[:same])


def _load(text: str) -> dict[str, list[str]]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return {str(k): list(map(str, v)) for k, v in data.items()} if isinstance(data, dict) else {}


def _remember(home: Home, known: dict[str, list[str]]) -> None:
    staged = home.machine / f".last-prompts.{id(known):x}.tmp"
    try:
        storage.stage(staged, json.dumps(known).encode())
        storage.replace(staged, home.machine / "last-prompts.json")
    except OSError:
        staged.unlink(missing_ok=True)
