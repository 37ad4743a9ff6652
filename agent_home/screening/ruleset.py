"""Which rules a home's texts are judged by, as a name that changes whenever a verdict could.

The guard itself is not loaded for that: a prompt whose texts were all looked at before does without it.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ..home import Home

__all__ = ["guard_signature", "text_key"]


def guard_signature(home: Home) -> str:
    """Names the rules and the policy that this home's texts are judged by: as long as it is the same, so are verdicts.

    The salt is no part of it. A rule file that cannot be read counts by its name.
    """
    table = {key: value for key, value in home.manifest.tables.get("guard", {}).items() if key != "salt"}
    parts = [_program_digest(), json.dumps(table, sort_keys=True, default=str).encode()]
    rules = table.get("rules", ())
    for path in rules if isinstance(rules, list) else ():
        with suppress(OSError):
            parts.append((home.root / str(path)).read_bytes())
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest()


def text_key(signature: str, path: str, text: str) -> str:
    """Names a text of the file *path* under the rules of that signature."""
    named = f"{signature}\0{path}\0{text}"
    return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@cache
def _program_digest() -> bytes:
    """The guard's own program and rules, byte for byte: there is no version that somebody could forget to raise."""
    spec = find_spec("guard")
    folders = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    files = sorted(path for folder in folders for path in Path(folder).rglob("*") if path.suffix in {".py", ".toml"})
    return hashlib.blake2b(b"\0".join(path.read_bytes() for path in files), digest_size=8).digest()
