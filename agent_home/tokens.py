"""Token counts without a vocabulary file, estimated within a few per cent of the real count.

A text is split as a byte-pair vocabulary splits it: a word with the sign before it, up to three digits, a run of signs,
white space. Each piece is covered, longest match first, with the entries of ``agent_home.token_weights``: the most
common tokens of one vocabulary. A piece that one entry covers is one token. Further entries cost a calibrated share of
a token each, because a rarer word that the table lacks is often one token in the full vocabulary.

Promises, for every text, lone surrogates included:

- The same text has the same count. "" is 0 tokens, every other text at least 1.
- When *a* ends with a newline, ``count(a) <= count(a + b) <= count(a) + count(b)``. So texts split at line ends can be
  counted one by one, and the sum is never too small.
- Elsewhere an appended text can complete the last word and so lower the count, by less than that word's own count.

The budget and the choice of vocabulary, which is a setting, belong to other modules. ``bench/tokens.py`` makes the
table and measures the error. ``docs/tokens.md`` shows it.
"""

import base64
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from agent_home import token_weights
from guard.lazy_regex import lazy_regex

__all__ = ["DEFAULT", "VOCABULARIES", "PieceCost", "TokenTable", "count_tokens", "pretokenize"]

# cl100k spends the most tokens on Chinese, Japanese and Korean, so for other vocabularies the count is too high.
DEFAULT = "cl100k"
VOCABULARIES: tuple[str, ...] = tuple(token_weights.VOCABULARIES)

# Costs are whole thousandths of a token, so that sums are exact and the promises hold exactly.
_UNIT = 1000
# A longer run is split. This bounds the memory of the cache, and the time for a megabyte without a space.
_LONGEST_RUN = 64
# About this many white-space characters in a row are one token: more for spaces, fewer for line ends.
_LONGEST_BLANK = 32
# In these kinds at most _SHARED_ENTRIES further entries cost a share. Each one after them costs a whole token.
_GRADED = ("lower", "title", "upper", "mixed", "signs")
_SHARED_ENTRIES = 2
_SCRIPTS = (
    ("\u0400", "\u0530", "cyrillic"),
    ("\u3040", "\u3100", "kana"),
    ("\u3400", "\ua000", "han"),
    ("\uac00", "\ud7b0", "hangul"),
)
# Distinct pieces kept with their cost.
_CACHED_PIECES = 1 << 15

_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ"
# Latin letters are split from other scripts. Real vocabularies keep them together, but tokens rarely span both.
_PIECES = lazy_regex(
    r"'(?:[sdmtSDMT]|ll|LL|ve|VE|re|RE)"
    rf"|(?:[^\r\n\w]|_)?(?:[{_LATIN}]{{1,{_LONGEST_RUN}}}|[^\W\d_{_LATIN}]{{1,{_LONGEST_RUN}}})"
    r"|\d{1,3}"
    rf"| ?(?:[^\s\w]|_){{1,{_LONGEST_RUN}}}[\r\n]{{0,{_LONGEST_RUN}}}"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


# No piece spans a line end before a character that is no white space, so the costs of such lines add up to that of a
# text. Most texts are made of lines that were counted before.
_LINE_END = lazy_regex(r"\n(?=\S)")
# Lines kept with their cost, and the characters of the longest one.
_CACHED_LINES, _LONGEST_LINE = 1 << 14, 1_024

#: Beginnings of entries whose lengths are kept. The entries of a vocabulary have some ten thousand.
_KEPT_STARTS = 1 << 16


class PieceCost(NamedTuple):
    """Cost of one piece: *fixed* tokens, and *further* entries, each at the share of its *kind*."""

    fixed: int
    kind: str
    further: int


def count_tokens(text: str, *, vocabulary: str = DEFAULT) -> int:
    """Estimate how many tokens *text* is.

    Args:
        text: any string. Lone surrogates count like other rare characters.
        vocabulary: one of `VOCABULARIES`.

    Returns:
        0 for an empty text, else at least 1.

    Raises:
        ValueError: if *vocabulary* is not known.

    >>> count_tokens("")
    0
    >>> count_tokens("The quick brown fox jumps over the lazy dog.")
    11
    """
    cost, margin = _costs(vocabulary)
    if text.find("\n", 0, -1) < 0:  # most texts are a single line
        return -(-cost(text) * margin // _UNIT**2)
    *lines, last = _LINE_END.split(text)
    total = cost(last) + (sum(map(cost, [f"{line}\n" for line in lines])) if lines else 0)
    return -(-total * margin // _UNIT**2)


def pretokenize(text: str) -> list[str]:
    """Split *text* into pieces that no token spans. Joined in order, they are *text* again."""
    return _PIECES.findall(text)


class _EntryLengths(dict[bytes, tuple[int, ...]]):
    """For the first three bytes of an entry, the lengths worth trying, longest first. They are found when asked for."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        super().__init__()
        self._entries = entries

    def __missing__(self, start: bytes) -> tuple[int, ...]:
        entries, lengths = self._entries, set[int]()
        at = bisect_left(entries, start)
        while at < len(entries) and entries[at][:3] == start:
            lengths.add(len(entries[at]))
            at += 1
        found = tuple(sorted(lengths, reverse=True))
        if len(self) < _KEPT_STARTS:  # a text may have any bytes
            self[start] = found
        return found


class TokenTable:
    """A set of tokens, as bytes, that covers pieces. A byte that starts no token covers itself."""

    def __init__(self, entries: Iterable[bytes]) -> None:
        ordered = sorted(entries)
        self._entries = frozenset(ordered)
        self._lengths = _EntryLengths(ordered)

    def cover(self, piece: str) -> PieceCost:
        """Cover one piece of `pretokenize`. Its kind names script, case and the sign before the word."""
        if piece.isspace():
            return PieceCost(1 + (len(piece) - 1) // _LONGEST_BLANK, "blank", 0)
        signs = piece.rstrip("\r\n")
        # Any number of line ends after a run of signs counts as one: the promise on texts split at line ends needs it.
        entries = self._count(signs if len(signs) == len(piece) else signs + "\n")
        word = piece if piece[0].isalpha() else piece[1:]
        if not word[:1].isalpha():
            return _graded("signs", entries) if signs.isascii() else PieceCost(1, "symbols", entries - 1)
        kind = _script(word)
        if word is piece:
            return _graded(kind, entries)
        if piece[0] == " ":
            return _graded(kind + " after space", entries)
        if entries > self._count(word):
            return _graded(kind + " apart from sign", entries)
        return _graded(kind + " after sign", entries)

    def _count(self, piece: str) -> int:
        data = piece.encode("utf-8", "surrogatepass")
        entries, lengths = self._entries, self._lengths
        position = covered = 0
        while position < len(data):
            for length in lengths[data[position : position + 3]]:
                if data[position : position + length] in entries:
                    position += length
                    break
            else:
                position += 2 if data[position : position + 2] in entries else 1
            covered += 1
        return covered


@cache
def _costs(vocabulary: str) -> tuple[Callable[[str], int], int]:
    """Return a function for the cost of a line, and the margin on the sum. Both are in thousandths.

    The costs of pieces and of lines are cached.
    """
    if vocabulary not in token_weights.VOCABULARIES:
        known = ", ".join(VOCABULARIES)
        raise ValueError(f"unknown vocabulary {vocabulary!r}. Known vocabularies are {known}")
    packed, shares, margin = token_weights.VOCABULARIES[vocabulary]
    table = TokenTable(_unpack(packed))

    @lru_cache(maxsize=_CACHED_PIECES)
    def cost(piece: str) -> int:
        fixed, kind, further = table.cover(piece)
        return _UNIT * fixed + further * shares.get(kind, _UNIT)

    def computed(line: str) -> int:
        return sum(map(cost, pretokenize(line)))

    cached = lru_cache(maxsize=_CACHED_LINES)(computed)
    return lambda line: cached(line) if len(line) <= _LONGEST_LINE else computed(line), margin


def _unpack(packed: str) -> list[bytes]:
    """Unpack the sorted entries. Each is stored as the number of bytes shared with the one before, and the rest."""
    entries = []
    entry = b""
    for line in zlib.decompress(base64.b85decode("".join(packed.split()))).split(b"\xff"):
        entry = entry[: line[0]] + line[1:]
        entries.append(entry)
    return entries


def _graded(kind: str, entries: int) -> PieceCost:
    """Return the cost of *entries*. One token missing from the table explains two or three of them, and no more."""
    further = min(entries - 1, _SHARED_ENTRIES) if kind.startswith(_GRADED) else entries - 1
    return PieceCost(entries - further, kind, further)


def _script(word: str) -> str:
    last = word[-1]
    if last > "\u024f":
        return next((name for first, end, name in _SCRIPTS if first <= last < end), "other")
    if not word.isascii():
        return "accented"
    if word.islower():
        return "lower"
    if word.isupper() and len(word) > 1:
        return "upper"
    return "title" if word[1:].islower() or len(word) == 1 else "mixed"
