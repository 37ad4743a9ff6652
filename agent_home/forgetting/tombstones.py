"""What was forgotten, so that it does not come back: tombstones that say that something is gone, and not what.

``ledger/forgotten.jsonl`` is in git and merges by union. A row has digests of the folded text and of its first letters,
salted with what only this machine knows, and the text's length; whoever writes asks :func:`scrubbed` first, so that
importing the same line again, closing the same session again or writing the same entry again stores a mark in its
place.

A text is recognised where it begins a word, or after a character that is not ASCII. The salt is not in git: on another
clone a tombstone tells that something was forgotten, and cannot recognise it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..errors import DocumentInvalid
from ..home import Home
from ..salt import read_salt
from ..storage import read_text
from .redaction_target import RedactionTarget
from .text_matcher import Phrase, fold, readings

__all__ = ["LEDGER", "Tombstone", "scrubbed", "scrubber", "tombstone", "tombstone_name", "tombstones"]

LEDGER = "ledger/forgotten.jsonl"
#: A word of a folded text, or a character that is none; what is forgotten is recognised where one begins.
_WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
#: Letters of the first word that are compared before anything longer is.
_HEAD_CHARS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """One row. *name* stands in the marks, *id* is the entry's or empty, *places* counts where it stood, *actor* asked.

    *head* is the digest of the first letters and *chars* the length of the folded text; empty and 0 where it is an
    identifier, which is not looked for again.
    """

    ts: str
    name: str
    id: str = ""
    digest: str
    head: str
    chars: int
    places: int
    actor: str


def tombstones(home: Home) -> tuple[Tombstone, ...]:
    """Every tombstone, oldest first; lines that are none are passed over."""
    try:
        return _read(read_text(home.root / LEDGER))
    except DocumentInvalid:
        return ()


def tombstone(phrase: Phrase, salt: str, *, ts: str, name: str, entry_id: str, places: int, actor: str) -> Tombstone:
    """The row for *phrase*."""
    said = phrase.text if phrase.exact else phrase.folded
    first = _WORD.match(said)
    return Tombstone(
        ts=ts, name=name, id=entry_id, digest=_digest(said, salt), places=places, actor=actor,
        head="" if phrase.exact or first is None else _head(first[0], salt), chars=0 if phrase.exact else len(said),
    )  # fmt: skip


def tombstone_name(phrase: Phrase, salt: str) -> str:
    """What the forgetting of *phrase* is called, in marks and tombstones."""
    return f"f-{_digest(phrase.text if phrase.exact else phrase.folded, salt)[:8]}"


def scrubber(home: Home) -> Callable[[str], str]:
    """Return a function that puts a mark in the place of forgotten texts, and returns other texts as they are."""
    graves = tombstones(home)
    salt = read_salt(home) if graves else ""

    def scrubbed(text: str) -> str:
        if not salt:
            return text
        for words, name in dict.fromkeys(_recognised(text, _by_head(graves), salt)):
            text = RedactionTarget((Phrase(words),), name=name).redact(text)
        return text

    return scrubbed


def scrubbed(home: Home, text: str) -> str:
    """Return *text* with a mark in the place of each forgotten text."""
    return scrubber(home)(text)


def _recognised(text: str, graves: dict[str, tuple[Tombstone, ...]], salt: str) -> Iterator[tuple[str, str]]:
    """What stands in *text* that was forgotten, and its name."""
    for reading in readings(text):
        folded = fold(reading)
        for word in _WORD.finditer(folded):
            for grave in graves.get(_head(word[0], salt), ()):
                window = folded[word.start() : word.start() + grave.chars]
                if len(window) == grave.chars and _digest(window, salt) == grave.digest:
                    yield window, grave.name


@lru_cache(maxsize=65_536)  # texts are made of the same words again and again
def _head(word: str, salt: str) -> str:
    return _digest(word[:_HEAD_CHARS], salt)[:8]


def _digest(text: str, salt: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=salt.encode()[:64], digest_size=16).hexdigest()


@lru_cache(maxsize=8)
def _by_head(graves: tuple[Tombstone, ...]) -> dict[str, tuple[Tombstone, ...]]:
    heads: dict[str, tuple[Tombstone, ...]] = {}
    for grave in dict.fromkeys(graves):
        if grave.head:
            heads[grave.head] = (*heads.get(grave.head, ()), grave)
    return heads


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
