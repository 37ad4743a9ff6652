"""Find the archive files that state something, without parsing the archive, which grows for ever.

For each archive file, ``archived.json`` in the machine state holds the digest of its text and digests of the statements
that are in force there. The salt of this machine is in them, so nobody can confirm a guess. It is a cache: a file that
changed is read again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path

from agent_home import storage
from agent_home.documents.check import entry_files
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.salt import read_salt
from agent_home.store.gateway import Transaction
from recall.text.identity import identity_key

from .carried import stated_text

__all__ = ["Statement", "files_stating", "statement_key", "statements_of"]

#: The prefix of a section, and a statement in the form in which exact duplicates are equal.
Statement = tuple[str, str]
_CACHE = "archived.json"
#: Number of the way in which :func:`statement_key` compares. Another number drops every digest.
_FORM = 1


def files_stating(edits: Transaction, wanted: Collection[Statement]) -> list[str]:
    """Return the archive files with an entry in force that states one of *wanted*, ordered by path.

    Raises:
        DocumentInvalid: a file is not UTF-8.
    """
    if not wanted:
        return []
    texts = {path: edits.text(path) for path in entry_files(edits.home) if path.startswith("Archive/")}
    salt = read_salt(edits.home)
    cache = edits.home.machine / _CACHE
    known = _known(cache)
    digests = {path: _digest(f"{_FORM}\0{path}\0{text}", salt) for path, text in texts.items()}
    held = {path: known[path] for path, digest in digests.items() if known.get(path, [""])[0] == digest}
    if held.keys() != digests.keys() or known.keys() != digests.keys():
        for path in digests.keys() - held.keys():
            held[path] = [digests[path], *(_digest("\0".join(key), salt) for key in statements_of(texts[path]))]
        storage.write_cache(cache, json.dumps(held).encode())
    asked = {_digest("\0".join(key), salt) for key in wanted}
    return sorted(path for path, found in held.items() if not asked.isdisjoint(found[1:]))


def statement_key(entry: Entry) -> str:
    """Return the statement of *entry* in the form in which exact duplicates are equal."""
    return identity_key(stated_text(entry))


@lru_cache(maxsize=64)
def statements_of(text: str) -> Mapping[Statement, Entry]:
    """Index the entries of one file that are in force. The result is cached: the archive changes rarely."""
    found: dict[Statement, Entry] = {}
    for entry in parse(text).entries():
        if not entry.fields.get("Superseded-By") and not entry.retired:
            found.setdefault((entry.prefix, statement_key(entry)), entry)
    return found


def _known(cache: Path) -> dict[str, list[str]]:
    """Return what the cache holds by path: the digest of the file, and those of its statements."""
    try:
        data = json.loads(storage.read_state(cache))
    except (OSError, ValueError):
        return {}
    rows = data.items() if isinstance(data, dict) else ()
    return {path: row for path, row in rows if isinstance(row, list) and row}


def _digest(text: str, salt: str) -> str:
    said = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=8, key=salt.encode()[:64]).hexdigest()
