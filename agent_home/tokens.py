"""Count the tokens of a text without a vocabulary file: an estimate, within a few per cent of the real count.

Owns the estimator. The text is cut into the pieces a byte-pair vocabulary cuts it into (a word with the sign before
it, up to three digits, a run of signs, white space); each piece is covered, longest match first, with the table of
``agent_home.token_weights`` (the most common tokens of one vocabulary). A piece covered by one entry costs one token;
every further entry costs a calibrated share of a token, because a rare word that the table leaves out often still is
one token in the full vocabulary.

Promises, for every text, lone surrogates included:

- the same text gives the same count; "" is 0 tokens and everything else at least 1;
- cutting at line ends never saves: when *a* ends with a newline, ``count(a) <= count(a + b) <= count(a) + count(b)``;
- elsewhere an appended text can complete a word and lower the count, but only by what that last word had cost.

Leaves to others: the budget, and which vocabulary a model uses (a setting). How the table is made and how far off it
is: ``bench/tokens.py`` and ``docs/tokens.md``.
"""

import base64
import re
import zlib
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from agent_home import token_weights

__all__ = ["DEFAULT", "VOCABULARIES", "count_tokens"]

# It spends the most tokens on Chinese, Japanese and Korean: for a model with another vocabulary the count is too high.
DEFAULT = "cl100k"
VOCABULARIES: tuple[str, ...] = tuple(token_weights.VOCABULARIES)

# Costs are whole thousandths of a token, so that sums are exact and the promises above hold to the last digit.
_UNIT = 1000
# A longer run is cut: bounds the memory of the cache and the time for a megabyte without a space.
_LONGEST_RUN = 64
# Blank runs of up to so many characters are one token in every vocabulary looked at.
_LONGEST_BLANK = 80
# Distinct pieces kept with their cost; a vocabulary in daily use has fewer.
_CACHED_PIECES = 1 << 15

_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ"
_PIECES = re.compile(
    r"'(?:[sdmtSDMT]|ll|LL|ve|VE|re|RE)"
    rf"|(?:[^\r\n\w]|_)?(?:[{_LATIN}]{{1,{_LONGEST_RUN}}}|[^\W\d_{_LATIN}]{{1,{_LONGEST_RUN}}})"
    r"|\d{1,3}"
    rf"| ?(?:[^\s\w]|_){{1,{_LONGEST_RUN}}}[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def count_tokens(text: str, *, vocabulary: str = DEFAULT) -> int:
    """Estimate how many tokens *text* is.

    Args:
        text: any string; lone surrogates are counted like other rare characters.
        vocabulary: one of `VOCABULARIES`.

    Returns:
        0 for an empty text, else at least 1.

    Raises:
        ValueError: if *vocabulary* is not known.

    >>> count_tokens("")
    0
    >>> count_tokens("The quick brown fox jumps over the lazy dog.")
    12
    """
    cost, margin = _costs(vocabulary)
    return -(-sum(map(cost, _PIECES.findall(text))) * margin // _UNIT**2)


@cache
def _costs(vocabulary: str) -> tuple[Callable[[str], int], int]:
    """The cost of one piece, cached, and the margin on the sum; both in thousandths."""
    if vocabulary not in token_weights.VOCABULARIES:
        known = ", ".join(VOCABULARIES)
        raise ValueError(f"unknown vocabulary {vocabulary!r}; known are {known}; correct the setting tokens.vocabulary")
    packed, shares, margin = token_weights.VOCABULARIES[vocabulary]
    entries = _unpack(packed)
    lengths = _lengths(entries)

    @lru_cache(maxsize=_CACHED_PIECES)
    def cost(piece: str) -> int:
        if piece.isspace():
            return _UNIT * (1 + (len(piece) - 1) // _LONGEST_BLANK)
        signs = piece.rstrip("\r\n")
        newlines = len(piece) - len(signs)
        data = (signs + "\n" if newlines else piece).encode("utf-8", "surrogatepass")
        further = _cover(data, entries, lengths) - 1
        return _UNIT * (1 + newlines // _LONGEST_BLANK) + further * shares.get(_kind(signs), _UNIT)

    return cost, margin


def _unpack(packed: str) -> frozenset[bytes]:
    """The entries of a table: sorted, each stored as the length it shares with the one before, and the rest."""
    entries = []
    entry = b""
    for line in zlib.decompress(base64.b85decode("".join(packed.split()))).split(b"\xff"):
        entry = entry[: line[0]] + line[1:]
        entries.append(entry)
    return frozenset(entries)


def _lengths(entries: frozenset[bytes]) -> dict[bytes, tuple[int, ...]]:
    """For the first three bytes of an entry, the lengths worth trying, longest first."""
    found: dict[bytes, set[int]] = {}
    for entry in entries:
        found.setdefault(entry[:3], set()).add(len(entry))
    return {start: tuple(sorted(lengths, reverse=True)) for start, lengths in found.items()}


def _cover(data: bytes, entries: frozenset[bytes], lengths: Mapping[bytes, tuple[int, ...]]) -> int:
    """How many entries, longest first, cover *data*; a byte that no entry starts with stands alone."""
    position = covered = 0
    while position < len(data):
        for length in lengths.get(data[position : position + 3], ()):
            if data[position : position + length] in entries:
                position += length
                break
        else:
            position += 2 if data[position : position + 2] in entries else 1
        covered += 1
    return covered


def _kind(piece: str) -> str:
    """Which share a piece's further entries cost: by script and by case."""
    word = piece if piece[0].isalpha() else piece[1:]
    if not word or not word[0].isalpha():
        return "signs"
    if word[-1] > "\u024f":
        return "other"
    if word.islower():
        return "lower"
    if word.isupper() and len(word) > 1:
        return "upper"
    return "title" if word[1:].islower() or len(word) == 1 else "mixed"
