"""Files cut into passages: the pieces that recall finds, each with the address it came from.

Owns which files of a home are searchable, in which layer, and where they are cut. A pure function of a file's path
and bytes: the same file gives the same passages everywhere, which is what `memory index verify` relies on.

- A turn of a conversation is one passage. A long one is split at paragraph and sentence borders; its parts share the
  turn's address.
- Markdown is cut by heading, then packed up to the token cap; the heading path goes with each passage.
- An entry of ``MEMORY.md`` or of the archive is one passage, and so is a list item there that has no id. A daily log in
  the archive is cut as it was before.

Nothing under a name that begins with a dot is ever a passage: not ``.memory/``, not ``.git/``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_home.documents import document
from agent_home.home import ARCHIVED_DAILY
from agent_home.store import transcript

from ..settings import RecallSettings
from .indexable import Screen

__all__ = [
    "ENTRY_FILES",
    "FOLDERS",
    "LAYERS",
    "FilePassages",
    "Passage",
    "estimate_tokens",
    "is_searchable",
    "layer_of",
    "passage_signature",
    "read_passages",
    "session_of",
    "split_text",
]

#: In the order in which their vectors are made.
LAYERS = ("memory", "sessions", "daily", "projects", "knowledge", "archive", "outputs")
#: Top folder of a home to the layer of what is in it.
FOLDERS = {
    "sessions": "sessions",
    "DailyActivity": "daily",
    "Projects": "projects",
    "Knowledge": "knowledge",
    "Archive": "archive",
    "outputs": "outputs",
}
#: Files of entries beside them.
ENTRY_FILES = {"MEMORY.md", "EVOLUTION.md"}
_MARKDOWN = {".md", ".markdown"}
_TEXT = {
    "", ".txt", ".text", ".rst", ".org", ".log", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".xml",
    ".html", ".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".h", ".cpp", ".sh", ".sql", ".diff", ".patch", ".out",
}  # fmt: skip
#: Where a text may be cut, best first: paragraphs, lines, sentences, words.
_BORDERS = tuple(re.compile(p) for p in (r"\n[ \t]*\n\s*", r"\n", r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？；])", r"\s+"))
_TIMED = re.compile(r"(?P<time>\d{2}:\d{2}) ")
_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})")
_NAMELESS = frozenset(("user", "assistant", "human", "ai", "system", "tool"))
#: Turns on each side whose vectors make up a turn's window: answers stand two turns from their question.
WINDOW_NEIGHBOURS = 2
#: Changes whenever the same file would be cut otherwise under the same settings.
_VERSION = 4
#: Characters of a long message's beginning that stand before each later part when it is embedded.
_LEAD_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One piece. *source* is its address, *part* counts the pieces of one turn from 0, *ordinal* its place in the file.

    *heading* is the heading path, or the speaker's name where it is one; *meaning* what is embedded. *ts* is ISO 8601
    or empty.
    """

    source: str
    path: str
    layer: str
    ordinal: int
    text: str
    part: int = 0
    session: str = ""
    message: str = ""
    role: str = ""
    name: str = ""
    ts: str = ""
    heading: str = ""
    meaning: str = ""

    @property
    def meaning_digest(self) -> bytes:
        """Equal when the vector is equal under one model."""
        return _digest(self.meaning)

    @property
    def content_digest(self) -> bytes:
        """Equal when everything that is searched is equal; the address may differ."""
        return _digest(self.text, self.heading, self.meaning)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePassages:
    """A file's passages in file order, its session if it is a transcript, and what had to be left out."""

    passages: tuple[Passage, ...]
    session: str = ""
    skipped: tuple[str, ...] = ()


def layer_of(path: str) -> str | None:
    """The layer of the file *path* (relative, ``/`` between parts), or ``None`` when it is not searchable.

    >>> layer_of("Knowledge/a/b.md"), layer_of("SOUL.md"), layer_of("Knowledge/.obsidian/x.md")
    ('knowledge', None, None)
    """
    parts = path.split("/")
    if any(part.startswith(".") for part in parts):
        return None
    if len(parts) == 1:
        return "memory" if path in ENTRY_FILES else None
    layer = FOLDERS.get(parts[0])
    return layer if layer and is_searchable(layer, parts[-1]) else None


def is_searchable(layer: str, name: str) -> bool:
    """Whether a file called *name* in the folder of *layer* is cut into passages; its suffix tells."""
    suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - asked of ten thousand files, without an object for each
    if layer == "sessions":
        return suffix == ".jsonl"
    return suffix in _MARKDOWN or (layer in {"outputs", "projects", "knowledge"} and suffix in _TEXT)


def read_passages(root: Path, path: str, settings: RecallSettings, screen: Screen | None = None) -> FilePassages:
    """The passages of the file *path* of the home at *root*. A file that is no text gives none and says so.

    *screen* keeps out what the guard would, a file with a secret for a name as well; without one, everything is cut.

    Raises:
        OSError: the file cannot be read.
    """
    layer = layer_of(path)
    if layer is None:
        return FilePassages(passages=())
    if screen and screen.hides(path):
        return FilePassages(
            passages=(), skipped=(f"a file in {layer} has a secret for a name and is not indexed; rename it",)
        )
    file = root / path
    if layer == "sessions":
        return _read_transcript(file, path, settings, screen)
    text, problem = _read(file, path, settings.max_file_bytes)
    if problem:
        return FilePassages(passages=(), skipped=(problem,))
    text, kept_out = screen.document(path, text) if screen else (text, ())
    if layer in {"memory", "archive"} and not path.startswith(ARCHIVED_DAILY):
        return FilePassages(passages=tuple(_entries(text, path, layer)), skipped=kept_out)
    if Path(path).suffix.lower() in _MARKDOWN:
        pieces = _markdown_chunks(text, settings.passage_tokens)
    else:
        pieces = _plain_chunks(text, settings.passage_tokens)
    return FilePassages(passages=tuple(_chunk_passages(pieces, path, layer)), skipped=kept_out)


def _read(file: Path, path: str, max_bytes: int) -> tuple[str, str]:
    """The file's text, and why it has none."""
    if file.stat().st_size > max_bytes:
        return "", f"{path} is larger than {max_bytes} bytes; not indexed"
    data = file.read_bytes()
    if b"\x00" in data:
        return "", f"{path} holds NUL bytes and is no text; not indexed"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return "", f"{path}:{line} is not UTF-8; save it as UTF-8 to have it indexed"


def passage_signature(settings: RecallSettings) -> str:
    """Names how files are cut; an index with another signature has to cut them all anew."""
    return f"{_VERSION}:{settings.passage_tokens}:{WINDOW_NEIGHBOURS}"


def session_of(source: str) -> str:
    """What stands before ``#`` in an address: the session or the file."""
    return source.partition("#")[0]


def estimate_tokens(text: str) -> int:
    """Rough tokens: four Latin characters, or one of any other script. Steady, so that cuts never move by themselves.

    >>> size("four words of English"), size("中文四字")
    (6, 4)
    """
    if text.isascii():
        return -(-len(text) // 4)
    latin = len(text.encode("ascii", "ignore"))
    return -(-latin // 4) + len(text) - latin


def split_text(text: str, tokens: int) -> list[tuple[int, int]]:
    """Spans of *text*, in order and without gaps, of at most *tokens* each, cut at the best borders there are.

    >>> text = "One two three. Four five six."
    >>> [text[a:b] for a, b in split(text, 4)]
    ['One two three. ', 'Four five six.']
    """
    spans: list[tuple[int, int]] = []
    for start, end in _split_spans(text, 0, len(text), tokens, 0):
        if spans and estimate_tokens(text[spans[-1][0] : end]) <= tokens:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _split_spans(text: str, start: int, end: int, tokens: int, level: int) -> Iterator[tuple[int, int]]:
    """Pieces of at most *tokens* at the borders of *level* where that suffices, of a lower level where not."""
    if estimate_tokens(text[start:end]) <= tokens:
        if start < end:
            yield start, end
        return
    if level == len(_BORDERS):
        step = tokens * 4 if text[start:end].isascii() else tokens
        yield from ((at, min(at + step, end)) for at in range(start, end, step))
        return
    at = start
    for border in _BORDERS[level].finditer(text, start, end):
        if border.end() > at:
            yield from _split_spans(text, at, border.end(), tokens, level + 1)
            at = border.end()
    yield from _split_spans(text, at, end, tokens, level + 1)


def _read_transcript(file: Path, path: str, settings: RecallSettings, screen: Screen | None) -> FilePassages:
    turns: list[Passage] = []
    bad = held = 0
    for message, _, _ in transcript.read_lines(file):
        if message is None:
            bad += 1
        elif message.content.strip():
            said = _storable(message)
            if screen:
                said = replace(said, content=screen.message(path, said.content), name=screen.name(path, said.name))
            held += not said.content.strip()
            turns.extend(_turn_parts(said, path, len(turns), settings.passage_tokens))
    skipped = [f"{path} has {bad} lines that are no messages; they are not indexed"] if bad else []
    skipped += [f"{path} has {held} messages that the guard keeps out; they are not indexed"] if held else []
    session = turns[0].session if turns else ""
    return FilePassages(passages=tuple(turns), session=session, skipped=tuple(skipped))


def _storable(message: transcript.Message) -> transcript.Message:
    """*message* without halves of surrogate pairs: JSON can spell them, no database can hold them."""
    names = ("session", "id", "ts", "role", "name", "content")
    texts = {name: getattr(message, name) for name in names}
    if all(text.isascii() for text in texts.values()):
        return message
    return replace(message, **{name: text.encode("utf-8", "replace").decode("utf-8") for name, text in texts.items()})


def _turn_parts(message: transcript.Message, path: str, ordinal: int, tokens: int) -> Iterator[Passage]:
    spans = split_text(message.content, tokens)
    texts = [text for start, end in spans if (text := message.content[start:end].strip())]
    said_by = f"{message.name}: " if message.name else ""
    for part, text in enumerate(texts):
        lead = f"{_lead(message.content)}\n" if part else ""
        yield Passage(
            source=message.source,
            path=path,
            layer="sessions",
            ordinal=ordinal + part,
            part=part,
            text=text,
            session=message.session,
            message=message.id,
            role=message.role,
            name=message.name,
            ts=message.ts,
            heading=_speaker(message),
            meaning=f"{said_by}{lead}{text}",
        )


def _lead(content: str) -> str:
    """The beginning of a message: alone, the vector of a later part does not know what the message is about."""
    start = content.strip()[:_LEAD_CHARS]
    return start.rsplit(None, 1)[0] if len(start) == _LEAD_CHARS and any(map(str.isspace, start)) else start


def _speaker(message: transcript.Message) -> str:
    """The speaker's name, unless it only says the role over again: no question names somebody by that."""
    return "" if message.name.casefold() in {message.role, *_NAMELESS} else message.name


def _entries(text: str, path: str, layer: str) -> Iterator[Passage]:
    """The entries of a memory file, and its list items without an id; prose between them is for people."""
    section = ""
    ordinal = 0
    for block in document.parse(text).blocks:
        if block.kind == "heading":
            section = block.title
        if block.kind not in {"entry", "item"}:
            continue
        entry = block.entry
        raw = block.raw.strip()
        lines = raw.count("\n")
        source = f"{path}#{entry.id}" if entry else f"{path}#{_lines(block.line, block.line + lines)}"
        said = entry.text if entry else raw
        yield Passage(
            source=source, path=path, layer=layer, ordinal=ordinal, text=raw, heading=section,
            ts=entry.date if entry else "", meaning=f"{section}: {said}" if section else said,
        )  # fmt: skip
        ordinal += 1


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Text between two lines of a file (from 1, both included), under its headings."""

    first: int
    last: int
    text: str
    headings: tuple[str, ...] = ()


def _markdown_chunks(text: str, tokens: int) -> Iterator[_Chunk]:
    """One section after another, each packed up to *tokens*. A heading with nothing under it is a piece itself."""
    trail: list[tuple[int, str]] = []
    held: list[document.Block] = []
    bare: document.Block | None = None
    for block in (*document.parse(text).blocks, document.Block(kind="heading", raw="", level=0)):
        if block.kind != "heading":
            held.append(block)
            continue
        headings = tuple(title for _, title in trail if title)
        body = "".join(part.raw for part in held)
        if body.strip():
            yield from _pack(body, held[0].line, headings, tokens)
        elif bare is not None and block.level <= bare.level:
            yield _Chunk(bare.line, bare.line, bare.raw.strip(), headings)
        held, bare = [], block
        while trail and trail[-1][0] >= block.level:
            trail.pop()
        trail.append((block.level, block.title))


def _plain_chunks(text: str, tokens: int) -> Iterator[_Chunk]:
    return _pack(text, 1, (), tokens)


def _pack(text: str, line: int, headings: tuple[str, ...], tokens: int) -> Iterator[_Chunk]:
    for start, end in split_text(text, tokens):
        piece = text[start:end]
        said = piece.strip()
        if not said:
            continue
        lead = len(piece) - len(piece.lstrip())
        first = line + text.count("\n", 0, start + lead)
        yield _Chunk(first, first + said.count("\n"), said, headings)


def _chunk_passages(pieces: Iterator[_Chunk], path: str, layer: str) -> Iterator[Passage]:
    file = Path(path)
    folders = list(file.parts[1:-1])
    daily = layer == "daily" or path.startswith(ARCHIVED_DAILY)
    date = _DATED.match(file.name) if daily else None
    parts: Counter[str] = Counter()  # a line that is longer than a passage gives several with one address
    for ordinal, piece in enumerate(pieces):
        trail = " > ".join(piece.headings)
        heading = " > ".join([*folders, file.stem, *piece.headings]) if not daily else trail
        output = layer == "outputs" and file.stem.startswith("out-")
        source = f"{file.stem}#{ordinal + 1}" if output else f"{path}#{_lines(piece.first, piece.last)}"
        yield Passage(
            source=source, path=path, layer=layer, ordinal=ordinal, part=parts[source], text=piece.text,
            heading=heading, ts=_daily_time(date[1], piece.headings) if date else "",
            meaning=f"{trail}\n{piece.text}" if trail else piece.text,
        )  # fmt: skip
        parts[source] += 1


def _daily_time(date: str, headings: Sequence[str]) -> str:
    timed = next((match for title in headings if (match := _TIMED.match(title))), None)
    return f"{date}T{timed['time']}:00" if timed else date


def _lines(first: int, last: int) -> str:
    return f"L{first}" if first == last else f"L{first}-L{last}"


def _digest(*texts: str) -> bytes:
    joined = "".join(f"{len(text)}:{text}" for text in texts)  # with lengths, so that no two lists read alike
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).digest()
