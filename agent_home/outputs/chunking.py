"""Split what a tool printed: into windows that the guard reads, and into chunks that an agent fetches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..tokens import count_tokens

__all__ = ["CHUNK_TOKENS", "ChunkDraft", "chunks", "decoded", "encoded", "windows"]

#: Most tokens of a chunk.
CHUNK_TOKENS = 4000
_WINDOW_BYTES = 48 << 10
#: A window may be so much longer to hold a private key as a whole.
_LONGEST_WINDOW = 60 << 10
_KEY_BEGINS, _KEY_ENDS = b"-----BEGIN ", b"-----END "
#: A longer line is cut. A token has a byte or more, so the piece of a line is no larger than a chunk.
_PIECE_BYTES = 3000
_SLICE_BYTES = 1 << 18
#: Characters that divide words in text, JSON and tables, and the length of a word that is not divided.
_BETWEEN_WORDS = tuple(sign.encode() for sign in " \t\r\"'`,;<>(){}[]|")
_LONGEST_WORD = 8 << 10
_CONTINUATION = range(0x80, 0xC0)


class ChunkDraft(NamedTuple):
    """A chunk before it is written. *first_line* counts from 1."""

    data: bytes
    tokens: int
    first_line: int


def windows(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield *parts* again as windows of 48 KB that end with a line, or else with a word, if one ends there."""
    held = b""
    for part in _slices(parts):
        held += part
        while len(held) > _LONGEST_WINDOW:
            end = _window_end(held)
            yield held[:end]
            held = held[end:]
    while held:
        end = len(held) if len(held) <= _WINDOW_BYTES else _window_end(held)
        yield held[:end]
        held = held[end:]


def _slices(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield *parts* again, long ones in slices: what is left of a slice is copied for each window."""
    for part in parts:
        for start in range(0, len(part), _SLICE_BYTES):
            yield part[start : start + _SLICE_BYTES]


def _window_end(held: bytes) -> int:
    """Return where a window of *held* ends: at a line's end, not inside of a private key, a word or a character."""
    end = held.rfind(b"\n", 0, _WINDOW_BYTES) + 1 or _word_end(held, _WINDOW_BYTES)
    key = held.rfind(_KEY_BEGINS, 0, end)
    if key >= 0 and held.find(_KEY_ENDS, key, end) < 0:
        closed = held.find(_KEY_ENDS, end, _LONGEST_WINDOW)
        line = held.find(b"\n", closed, _LONGEST_WINDOW) + 1 if closed >= 0 else 0
        if line:
            return line
        if key > 0:
            return key
    return end


def _word_end(held: bytes, end: int) -> int:
    """Return the last place up to *end* behind a character that no secret has, or the end of a character."""
    found = [held.rfind(sign, end - _LONGEST_WORD, end) for sign in _BETWEEN_WORDS]
    return max(found) + 1 or _character_end(held, end)


def _character_end(data: bytes, end: int) -> int:
    """Return *end*, or up to three bytes less where it would cut a character."""
    for at in range(end, max(end - 4, 0), -1):
        if at >= len(data) or data[at] not in _CONTINUATION:
            return at
    return end


def decoded(data: bytes) -> str:
    """Return *data* as text. Bytes that are no UTF-8 become lone surrogates, from which :func:`encoded` makes them."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Return the bytes from which :func:`decoded` made *text*."""
    return text.encode("utf-8", "surrogateescape")


def chunks(parts: Iterable[bytes]) -> Iterator[ChunkDraft]:
    """Yield the text in *parts* as chunks of at most :data:`CHUNK_TOKENS`, cut behind lines where a line is short."""
    held: list[bytes] = []
    tokens, line, first = 0, 1, 1
    for piece in _pieces(parts):
        cost = count_tokens(piece.decode("utf-8", "replace"))
        if held and tokens + cost > CHUNK_TOKENS:
            yield ChunkDraft(b"".join(held), tokens, first)
            held, tokens, first = [], 0, line
        held.append(piece)
        tokens += cost
        line += piece.endswith(b"\n")
    if held:
        yield ChunkDraft(b"".join(held), tokens, first)


def _pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their ends, long ones in pieces."""
    held = b""
    for part in parts:
        *lines, held = (held + part).split(b"\n") if held else part.split(b"\n")
        for line in lines:
            yield from _cut(line + b"\n")
        while len(held) > _PIECE_BYTES:
            end = _character_end(held, _PIECE_BYTES)
            yield held[:end]
            held = held[end:]
    if held:
        yield held


def _cut(line: bytes) -> Iterator[bytes]:
    while len(line) > _PIECE_BYTES:
        end = _character_end(line, _PIECE_BYTES)
        yield line[:end]
        line = line[end:]
    yield line
