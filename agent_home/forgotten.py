"""What was forgotten, so that it does not come back: tombstones that say that something is gone, and not what.

``ledger/forgotten.jsonl`` is in git and merges by union. A row has the digest of the folded text, salted with what only
this machine knows, and the text's length; whoever writes asks :func:`scrubbed` first, so that importing the same line
again, closing the same session again or writing the same entry again stores a mark in its place.

A text is recognised where it begins a word, or after a character that is not ASCII. The salt is not in git: on another
clone a tombstone tells that something was forgotten, and cannot recognise it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .errors import DocumentInvalid
from .home import Home
from .phrase import Phrase, fold, readings
from .salt import salt_of
from .storage import read_text
from .wanted import Wanted

__all__ = ["LEDGER", "Tombstone", "digest", "name_of", "scrubbed", "tombstones"]

LEDGER = "ledger/forgotten.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """One row. *name* stands in the marks, *id* is the entry's or empty, *places* counts where it stood, *actor* asked.

    *chars* is the length of the folded text; 0 where it is an identifier, which is not looked for again.
    """

    ts: str
    name: str
    id: str = ""
    digest: str
    chars: int
    places: int
    actor: str


def tombstones(home: Home) -> tuple[Tombstone, ...]:
    """Every tombstone, oldest first; lines that are none are passed over."""
    try:
        return _read(read_text(home.root / LEDGER))
    except DocumentInvalid:
        return ()


def digest(phrase: Phrase, salt: str) -> str:
    """32 hexadecimal digits for what *phrase* says, however it is spelled."""
    return _digest(phrase.text if phrase.exact else phrase.folded, salt)


def name_of(phrase: Phrase, salt: str) -> str:
    """What the forgetting of *phrase* is called, in marks and tombstones."""
    return f"f-{digest(phrase, salt)[:8]}"


def scrubbed(home: Home, text: str) -> str:
    """*text* with a mark wherever it says what was forgotten; *text* itself where it does not."""
    graves = {(grave.chars, grave.digest): grave for grave in tombstones(home)}
    salt = salt_of(home) if graves else ""
    if not salt:
        return text
    for words, name in dict.fromkeys(_recognised(text, graves, salt)):
        wanted = Wanted((Phrase(words),), name=name)
        text = wanted.replaced(text)
    return text


def _recognised(text: str, graves: dict[tuple[int, str], Tombstone], salt: str) -> Iterator[tuple[str, str]]:
    """What stands in *text* that was forgotten, and its name."""
    lengths = sorted({chars for chars, _ in graves})
    for reading in readings(text):
        folded = fold(reading)
        for at in _beginnings(folded):
            for length in lengths:
                window = folded[at : at + length]
                if len(window) == length and (grave := graves.get((length, _digest(window, salt)))):
                    yield window, grave.name


def _beginnings(folded: str) -> Iterator[int]:
    for at, char in enumerate(folded):
        before = folded[at - 1] if at else " "
        if char != " " and not (before.isascii() and before.isalnum() and char.isalnum()):
            yield at


def _digest(text: str, salt: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=salt.encode()[:64], digest_size=16).hexdigest()


@lru_cache(maxsize=8)
def _read(text: str) -> tuple[Tombstone, ...]:
    found = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
            found.append(Tombstone(**{key: row[key] for key in Tombstone.__slots__}))
        except (ValueError, KeyError, TypeError):
            continue
    return tuple(found)
