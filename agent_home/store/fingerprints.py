"""Keep what tools and pages said as salted hashes: enough to recognise their words, too little to read them.

A fingerprint has the hashes of pairs of words that stand near each other, in either order, and of single values such as
numbers, addresses and names. Words count by their first letters, so that endings do not matter. A long text has several
fingerprints, one for each part. Of each only the smallest hashes are kept, an even sample, of which some ten pairs of a
sentence remain. The salt is the machine's (``agent_home.salt``).
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest

from guard.lazy_regex import lazy_regex

__all__ = ["Fingerprint", "decode_fingerprints", "encode_fingerprints", "fingerprint", "fingerprints_of_parts"]

#: Characters of a part of a text, and parts that are read: the first ones and the last one.
_MAX_PART, _MAX_PARTS = 24_000, 20
#: Words behind a word that form pairs with it.
_REACH = 3
#: Letters of a word that count.
_STEM = 5
#: Shorter words in small letters are articles, prepositions and the like.
_LEAST_LETTERS = 4
#: Hashes of pairs and of values in a stored fingerprint.
_MAX_PAIRS, _MAX_VALUES = 4096, 1024
#: Pairs of a fingerprint that was stored without its limit, from which on they are a sample.
_SAMPLED = 512
#: Characters that two parts share, so that no sentence is cut in both.
_OVERLAP = 400
#: Fingerprints stored with one message. Of more texts, the earliest are stored as one.
_MAX_STORED = 20
_HASH_MASK = 0xFFFFFFFF
_WORD = lazy_regex(
    r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7a3]+|[^\W_](?:[\w.@/:,'\u2019-]*[^\W_])?",
)
_CJK = lazy_regex(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7a3]")
_SENTENCE_END = frozenset(".!?:\u3002\uff01\uff1f\uff1a")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hashes of the *pairs* and *values* of a text. Only pairs up to *limit* were kept, and all values."""

    pairs: frozenset[int]
    values: frozenset[int]
    limit: int = _HASH_MASK

    def share(self, other: Fingerprint) -> tuple[float, int]:
        """Return the share of the pairs of *other* that this text has, and how many pairs could be compared."""
        known = [pair for pair in other.pairs if pair <= self.limit]
        return (sum(pair in self.pairs for pair in known) / len(known) if known else 0.0), len(known)


def fingerprint(text: str, salt: str) -> Fingerprint:
    """Return the whole fingerprint of *text*, of a very long one that of its beginning."""
    words, values = _words(unicodedata.normalize("NFKC", text[: _MAX_PART * _MAX_PARTS]))
    hashes = [_hash(word, salt) for word in words]
    pairs = {
        (one + other) & _HASH_MASK
        for step in range(1, _REACH + 1)
        for one, other in zip(hashes, hashes[step:], strict=False)
        if one != other
    }
    return Fingerprint(frozenset(pairs), frozenset(_hash(value, salt) for value in values))


def fingerprints_of_parts(text: str, salt: str) -> list[Fingerprint]:
    """Return the fingerprints of the parts of *text*, in order.

    Of a text of more than 480 000 characters, parts between the first ones and the last one are left out. A part begins
    some words before the end of the one before it.
    """
    parts = [text[max(0, at - _OVERLAP) : at + _MAX_PART] for at in range(0, len(text), _MAX_PART)]
    if len(parts) > _MAX_PARTS:
        parts = [*parts[: _MAX_PARTS - 1], parts[-1]]
    return [fingerprint(part, salt) for part in parts]


def encode_fingerprints(found: Sequence[Fingerprint]) -> str:
    """Return fingerprints as a text of bounded length."""
    more = len(found) - _MAX_STORED
    if more > 0:
        first = found[: more + 1]
        pairs = frozenset[int]().union(*(each.pairs for each in first))
        values = frozenset[int]().union(*(each.values for each in first))
        merged = Fingerprint(pairs, values, min(each.limit for each in first))
        found = [merged, *found[more + 1 :]]
    return " ".join(map(_encode, found))


def _encode(found: Fingerprint) -> str:
    pairs = sorted(found.pairs)[:_MAX_PAIRS]
    limit = pairs[-1] if len(pairs) < len(found.pairs) else found.limit
    return f"{_packed(pairs)}.{_packed(nsmallest(_MAX_VALUES, found.values))}.{limit:x}"


def decode_fingerprints(text: str) -> list[Fingerprint]:
    """Return the fingerprints of :func:`encode_fingerprints`. What is damaged is left out."""
    return [found for part in text.split() if (found := _decoded(part)) is not None]


def _decoded(part: str) -> Fingerprint | None:
    pairs, _, rest = part.partition(".")
    values, _, stored_limit = rest.partition(".")
    try:
        kept, single = _numbers(pairs), _numbers(values)
        limit = int(stored_limit, 16) if stored_limit else max(kept) if len(kept) >= _SAMPLED else _HASH_MASK
    except ValueError:
        return None
    return Fingerprint(frozenset(kept), frozenset(single), limit)


def _packed(hashes: Iterable[int]) -> str:
    return base64.b64encode(array("I", hashes).tobytes()).decode("ascii")


def _numbers(text: str) -> array[int]:
    kept = array("I")
    kept.frombytes(base64.b64decode(text, validate=True))
    return kept


def _ends_sentence(gap: str) -> bool:
    """Return whether a sentence or a line ends in *gap*, the text between two words, and nothing follows."""
    stated = gap.rstrip()
    return stated[-1:] in _SENTENCE_END or "\n" in gap[len(stated) :]


def _words(text: str) -> tuple[list[str], set[str]]:
    """Return the words of *text* that say something, each cut to its stem, and those that name a value."""
    words: list[str] = []
    values: set[str] = set()
    end = 0
    for match in _WORD.finditer(text):
        word, starts = match[0], not words or _ends_sentence(text[max(end - 1, 0) : match.start()])
        end = match.end()
        if _CJK.match(word):
            words += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
            continue
        folded = word.casefold()
        if any(map(str.isdigit, word)) or "@" in word:
            plain = "".join(filter(str.isalnum, folded))
            words.append(plain)
            if len(plain) > 1:
                values.add(plain)
        elif len(word) >= _LEAST_LETTERS or (word[0].isupper() and not starts):
            words.append(folded[:_STEM])
            if word[0].isupper() and not starts:
                values.add(folded[:_STEM])
    return words, values


@lru_cache(maxsize=65536)
def _hash(word: str, salt: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4, key=salt.encode()[:64])
    return int.from_bytes(digest.digest(), "little")
