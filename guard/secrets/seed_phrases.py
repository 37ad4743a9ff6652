"""Wallet phrases: twelve or more words of one of the published BIP-39 lists in a row.

The lists come from the package ``mnemonic`` and are read when a text has twelve short words in a row, without a short
one such as "the" or "of" between. Prose hardly ever has twelve listed words in a row. A phrase with a misspelt or
missing word counts only after a word such as *seed* or *wallet*.
"""

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from guard.lazy_regex import lazy_regex
from guard.match import Match
from guard.redaction import replaced_match
from guard.text.canonical import TextVariant, utf8

__all__ = ["find_seed_phrases", "has_checksum"]

_FEWEST = 12
_RUN = rb"""(?:[A-Za-z\x80-\xff]{3,30}[\s,;|*#"'`\[\]_.():0-9-]{1,10}){10,}[A-Za-z\x80-\xff]{3,30}"""
"""Eleven or more words of three bytes or more with separators and numbers between, as bytes of UTF-8."""

_TOKEN = lazy_regex(r"(?:[^\W\d_]+|[\u0300-\u036f\u3099\u309a]+)+")
_NAMED = lazy_regex(
    r"(?i)seed|mnemonic|wallet|recovery|phrase|\bbip.?39|frase|fraza|wörter|cartera|portefeuille|portafoglio|carteira"
    r"|кошел|фраз|cüzdan|助记词|助憶|钱包|ウォレット|復元|シード|지갑|복구|니모닉"
)
_BEFORE = 160
_CONTEXT_FEWEST = 9
_LANGUAGES = (
    "english", "spanish", "french", "italian", "portuguese", "czech", "turkish", "russian", "japanese", "korean",
    "chinese_simplified", "chinese_traditional",
)  # fmt: skip


def find_seed_phrases(variant: TextVariant) -> Iterator[Match]:
    """Yield the wallet phrases in *variant*, with offsets into its source."""
    text = variant.text.replace("\u3000", " ")
    if len(text) < 2 * _FEWEST - 1:
        return
    data, counted, characters = utf8(text), 0, 0
    for found in _runs().finditer(data):
        start, end = (_character_start(data, place) for place in found.span())
        characters += len(data[counted:start].decode("utf-8", "ignore"))
        counted = start
        for span in _phrases(text, characters, characters + len(data[start:end].decode("utf-8", "ignore"))):
            yield replaced_match("secret", "seed-phrase", "seed_phrase", variant.span(*span))


def _character_start(data: bytes, place: int) -> int:
    """Return *place*, moved to the start of the next character of UTF-8 where it is inside one."""
    while place < len(data) and data[place] & 0xC0 == 0x80:
        place += 1
    return place


@cache
def _runs() -> Any:
    """Return the pattern of runs, which RE2 runs on bytes."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(_RUN, options)


def has_checksum(words: Sequence[str]) -> bool:
    """Return whether *words* are a complete English BIP-39 phrase with the right checksum.

    >>> has_checksum(["abandon"] * 11 + ["about"])
    True
    """
    places = {word: place for place, word in enumerate(_words("english"))}
    if len(words) not in {12, 15, 18, 21, 24} or any(word not in places for word in words):
        return False
    bits = "".join(f"{places[word]:011b}" for word in words)
    size = len(bits) * 32 // 33
    entropy = int(bits[:size], 2).to_bytes(size // 8, "big")
    return f"{hashlib.sha256(entropy).digest()[0]:08b}".startswith(bits[size:])


def _phrases(text: str, begin: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the phrases in ``text[begin:stop]``, all of the first language that has one."""
    found = _TOKEN.findall(text, begin, stop)
    if len(found) < _CONTEXT_FEWEST or (len(found) < _FEWEST and not _is_named(text, begin, stop)):
        return
    words, listed = list(map(_decomposed, found)), _listed_anywhere()
    if sum(word in listed for word in words) < _CONTEXT_FEWEST:
        return
    tokens, named = list(_TOKEN.finditer(text, begin, stop)), _is_named(text, begin, stop)
    for language in _LANGUAGES:
        known = _known(language)
        hits = [word in known for word in words]
        if sum(hits) < _CONTEXT_FEWEST:
            continue
        spans = [
            (tokens[first].start(), tokens[last - 1].end())
            for first, last in _listed(hits, named=named)
            if named or _is_phrase(words[first:last])
        ]
        yield from spans
        if spans:
            return


def _is_named(text: str, begin: int, stop: int) -> bool:
    """Return whether a word such as *seed* stands in or before the words of ``text[begin:stop]``."""
    spans = [token.span() for token in _TOKEN.finditer(text, begin, stop)]
    return _NAMED.search(text, max(0, spans[0][0] - _BEFORE), spans[-1][1]) is not None


def _decomposed(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKD", word.lower())


def _listed(hits: Sequence[bool], *, named: bool) -> Iterator[tuple[int, int]]:
    """Yield the runs of listed words that are long enough. After a naming word one word in four may be unlisted."""
    start, missing, last = 0, 0, -1
    for place, hit in enumerate([*hits, False, False, False, False]):
        if hit:
            if last < 0:
                start, missing = place, 0
            else:
                missing += place - last - 1
            last = place
        elif last >= 0 and (not named or place - last > 1 or missing * 4 > last - start):
            if last + 1 - start >= (_CONTEXT_FEWEST if named else _FEWEST):
                yield start, last + 1
            last = -1


def _is_phrase(words: Sequence[str]) -> bool:
    """Return whether listed *words* are a phrase and no excerpt of the alphabetical list."""
    return has_checksum(words) or (len(set(words)) > len(words) // 2 and sorted(words) != list(words))


@cache
def _known(language: str) -> frozenset[str]:
    return frozenset(_words(language))


@cache
def _listed_anywhere() -> frozenset[str]:
    return frozenset().union(*map(_known, _LANGUAGES))


@cache
def _words(language: str) -> tuple[str, ...]:
    """Return the list of *language*, decomposed as the standard says. The first call reads the file."""
    from importlib import resources

    text = resources.files("mnemonic").joinpath(f"wordlist/{language}.txt").read_text("utf-8")
    return tuple(unicodedata.normalize("NFKD", text).split())
