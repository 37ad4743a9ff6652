"""Record what was forgotten as tombstones, so that it does not come back. A tombstone does not hold the text.

``ledger/forgotten.jsonl`` is in git and merges by union. A row holds the text's length and salted digests of the folded
text and of its first letters. Every write calls :func:`scrubbed` first. Importing the same line, closing the same
session or writing the same entry again therefore stores a mark.

A text is recognised at the beginning of a word, or after a character that is not ASCII. The salt stays on this machine.
A tombstone on another clone says that something was forgotten, but recognises only an entry's id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from guard.lazy_regex import lazy_regex

from ..documents.check import holds_entries, markdown_files
from ..documents.document import parse
from ..errors import DocumentInvalid
from ..home import Home
from ..salt import read_salt
from ..storage import read_text
from .redaction_target import RedactionTarget
from .text_matcher import Phrase, fold, readings

__all__ = [
    "LEDGER", "Returned", "Tombstone", "recognised", "returned", "scrubbed", "scrubber", "tombstone", "tombstone_name",
    "tombstones",
]  # fmt: skip

LEDGER = "ledger/forgotten.jsonl"
#: A word of a folded text, or another character. A forgotten text is recognised where one begins.
_WORD = lazy_regex(r"[a-z0-9]+|[^\sa-z0-9]")
#: Letters of the first word that are compared before the whole text.
_HEAD_CHARS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """One row of the ledger.

    *name* is part of the marks, *id* is the entry's id or empty, *places* counts the erased occurrences, and *actor* is
    the person who asked. *head* is the digest of the first letters, and *chars* the length of the folded text. Both are
    blank for an identifier, which later writes are not searched for.
    """

    ts: str
    name: str
    id: str = ""
    digest: str
    head: str
    chars: int
    places: int
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A place where something forgotten stands again: the entry *id*, or a text when *id* is empty."""

    path: str
    line: int
    id: str = ""


def tombstones(home: Home) -> tuple[Tombstone, ...]:
    """Return every tombstone, oldest first. Invalid lines are skipped."""
    try:
        return _read(read_text(home.root / LEDGER))
    except DocumentInvalid:
        return ()


def tombstone(phrase: Phrase, salt: str, *, ts: str, name: str, entry_id: str, places: int, actor: str) -> Tombstone:
    """Return the tombstone of *phrase*."""
    text = phrase.text if phrase.exact else phrase.folded
    first = _WORD.match(text)
    return Tombstone(
        ts=ts, name=name, id=entry_id, digest=_digest(text, salt), places=places, actor=actor,
        head="" if phrase.exact or first is None else _head(first[0], salt), chars=0 if phrase.exact else len(text),
    )  # fmt: skip


def tombstone_name(phrase: Phrase, salt: str) -> str:
    """Return the name of the forgetting of *phrase* in marks and tombstones."""
    return f"f-{_digest(phrase.text if phrase.exact else phrase.folded, salt)[:8]}"


def scrubber(home: Home) -> Callable[[str], str]:
    """Return a function that puts a mark in the place of forgotten texts, and returns other texts as they are."""
    rows = tombstones(home)
    salt = read_salt(home) if rows else ""

    def scrubbed(text: str) -> str:
        if not salt:
            return text
        for words, name in dict.fromkeys(_recognised(text, _by_head(rows), salt)):
            text = RedactionTarget((Phrase(words),), name=name).redact(text)
        return text

    return scrubbed


def scrubbed(home: Home, text: str) -> str:
    """Return *text* with a mark in the place of each forgotten text."""
    return scrubber(home)(text)


def recognised(home: Home, rows: Sequence[Tombstone], texts: Iterable[str]) -> Iterator[str]:
    """Yield the forgotten texts of *rows* in *texts*, folded. Without this machine's salt nothing is recognised."""
    salt, heads = read_salt(home), _by_head(tuple(rows))
    for text in texts if salt and heads else ():
        yield from (words for words, _ in _recognised(text, heads, salt))


def returned(home: Home) -> Iterator[Returned]:
    """Yield where an entry or a text stands that was forgotten, as after a merge with a clone that still had it.

    An id is recognised on every machine, a text on the machine that forgot it. A file that cannot be read is skipped.
    """
    rows = tombstones(home)
    heads, salt, ids = _by_head(rows), read_salt(home), {row.id for row in rows if row.id}
    for path in markdown_files(home) if rows else ():
        try:
            text = read_text(home.root / path)
        except (DocumentInvalid, OSError):
            continue
        blocks = parse(text).blocks if ids and holds_entries(path) else ()
        found = {block.line: block.entry.id for block in blocks if block.entry and block.entry.id in ids}
        for words, _ in dict.fromkeys(_recognised(text, heads, salt)) if salt else ():
            for start, _ in Phrase(words).spans(text)[:1]:
                found.setdefault(text.count("\n", 0, start) + 1, "")
        yield from (Returned(path=path, line=line, id=found[line]) for line in sorted(found))


def _recognised(text: str, rows: dict[str, tuple[Tombstone, ...]], salt: str) -> Iterator[tuple[str, str]]:
    """Yield each forgotten text in *text*, with the name of its forgetting."""
    for reading in readings(text):
        folded = fold(reading)
        for word in _WORD.finditer(folded):
            for row in rows.get(_head(word[0], salt), ()):
                window = folded[word.start() : word.start() + row.chars]
                if len(window) == row.chars and _digest(window, salt) == row.digest:
                    yield window, row.name


@lru_cache(maxsize=65_536)  # texts repeat the same words
def _head(word: str, salt: str) -> str:
    return _digest(word[:_HEAD_CHARS], salt)[:8]


def _digest(text: str, salt: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=salt.encode()[:64], digest_size=16).hexdigest()


@lru_cache(maxsize=8)
def _by_head(rows: tuple[Tombstone, ...]) -> dict[str, tuple[Tombstone, ...]]:
    heads: dict[str, tuple[Tombstone, ...]] = {}
    for row in dict.fromkeys(rows):
        if row.head:
            heads[row.head] = (*heads.get(row.head, ()), row)
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
