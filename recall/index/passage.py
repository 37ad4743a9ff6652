"""Passages: the sections of files that recall finds, each with its address.

Owns the choice of searchable files, their layers, and the borders of passages. Passages are a pure function of a file's
path and bytes, so that `memory index verify` can compute them again.

- A turn of a conversation is one passage. A long turn is split at paragraph and sentence borders. Its parts share the
  turn's address.
- Markdown is split at headings, then packed up to the token limit. Each passage carries its heading path.
- An entry of ``MEMORY.md`` or of the archive is one passage, and so is a list item there that has no id. A daily log in
  the archive is split like other Markdown.
- A stored output has its summary and the parts of its chunks as passages (``agent_home.outputs``).
- The structural lines of a daily log, which name a session's messages, topics and commits, are no passages.

Files and folders whose name begins with a dot have no passages, so neither ``.memory/`` nor ``.git/`` has any.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_home import storage
from agent_home.documents import document
from agent_home.home import ARCHIVED_DAILY, Home
from agent_home.outputs.entry import OUTPUT_ID, OutputDamaged, StoredOutput
from agent_home.outputs.reading import output_chunk, read_output
from agent_home.storage import MAX_MARKDOWN_BYTES
from agent_home.store import transcript
from agent_home.store.speakers import resolve_roles
from guard.lazy_regex import lazy_regex

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

#: In the order in which their vectors are computed.
LAYERS = ("memory", "sessions", "daily", "projects", "knowledge", "archive", "outputs")
#: Chunks of an output that are searched: so many from its beginning and with failures, and so many from its end.
_FIRST_CHUNKS, _LAST_CHUNKS = 16, 8
#: Colours of a terminal, and other control characters than line ends and tabs.
_CONTROLS = lazy_regex(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: Top folder of a home to the layer of its files.
FOLDERS = {
    "sessions": "sessions",
    "DailyActivity": "daily",
    "Projects": "projects",
    "Knowledge": "knowledge",
    "Archive": "archive",
    "outputs": "outputs",
}
#: Files of entries at the top of a home.
ENTRY_FILES = {"MEMORY.md", "EVOLUTION.md"}
_MARKDOWN = {".md", ".markdown"}
_TEXT = {
    "", ".txt", ".text", ".rst", ".org", ".log", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".xml",
    ".html", ".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".h", ".cpp", ".sh", ".sql", ".diff", ".patch", ".out",
}  # fmt: skip
#: Borders where a text may be split, best first: paragraphs, lines, sentences, words.
_BORDERS = tuple(lazy_regex(p) for p in (r"\n[ \t]*\n\s*", r"\n", r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？；])", r"\s+"))
_TIMED = lazy_regex(r"(?P<time>\d{2}:\d{2}) ")
_DATED = lazy_regex(r"(\d{4}-\d{2}-\d{2})")
#: Heading of a closing in a daily log, and the headings below it whose text is no statement.
_CLOSING, _STRUCTURAL = lazy_regex(r"\(s-[0-9a-z]+\)$"), frozenset(("Topics", "Commits"))
_NAMELESS = frozenset(("user", "assistant", "human", "ai", "system", "tool"))
#: Turns on each side whose vectors make up a turn's window. Answers stand up to two turns from their question.
WINDOW_NEIGHBOURS = 2
#: Raised whenever the same file gives other passages under the same settings.
_VERSION = 7
#: Characters of a long message's beginning that stand before each later part when it is embedded.
_LEAD_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage. *source* is its address, *ordinal* its place in the file, *part* counts the parts of one turn from 0.

    *heading* is the heading path, or the speaker's name in a transcript. *meaning* is the text that is embedded, or
    empty. *ts* is ISO 8601 or empty.
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
        """Equal when all searched text is equal. The address may differ."""
        return _digest(self.text, self.heading, self.meaning)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePassages:
    """A file's passages in file order, its session if it is a transcript, and notes on text that was left out."""

    passages: tuple[Passage, ...]
    session: str = ""
    skipped: tuple[str, ...] = ()


def layer_of(path: str) -> str | None:
    """Return the layer of the file *path* (relative, ``/`` between parts), or ``None`` when it is not searchable.

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
    """Return whether a file called *name* in the folder of *layer* has passages. Its suffix decides."""
    suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - asked of ten thousand files, without an object for each
    if layer == "sessions":
        return suffix == ".jsonl"
    return suffix in _MARKDOWN or (layer in {"outputs", "projects", "knowledge"} and suffix in _TEXT)


def read_passages(root: Path, path: str, settings: RecallSettings, screen: Screen | None = None) -> FilePassages:
    """Return the passages of the file *path* of the home at *root*. A file that is no text gives a note instead.

    *screen* leaves out text that the guard rejects, and files whose name it holds back. Without it nothing is left out.

    Raises:
        OSError: the file cannot be read.
    """
    layer = layer_of(path)
    if layer is None:
        return FilePassages(passages=())
    if screen and (found := screen.hides(path)):
        note = f"a file in {layer} has a name that the guard holds back ({found}) and is not indexed. Rename it"
        return FilePassages(passages=(), skipped=(note,))
    file = root / path
    if layer == "sessions":
        return _read_transcript(file, path, settings, screen)
    if layer == "outputs" and OUTPUT_ID.fullmatch(file.stem):
        return _read_output(Home(root), file.stem, path, settings, screen)
    markdown = file.suffix.lower() in _MARKDOWN
    most = min(settings.max_file_bytes, MAX_MARKDOWN_BYTES) if markdown else settings.max_file_bytes
    text, problem = _read(file, path, most)
    if problem:
        return FilePassages(passages=(), skipped=(problem,))
    text, kept_out = screen.document(path, text) if screen else (text, ())
    if layer in {"memory", "archive"} and not path.startswith(ARCHIVED_DAILY):
        return FilePassages(passages=tuple(_entries(text, path, layer)), skipped=kept_out)
    if markdown:
        daily = layer == "daily" or path.startswith(ARCHIVED_DAILY)
        chunks = _markdown_chunks(text, settings.passage_tokens, daily=daily)
    else:
        chunks = _plain_chunks(text, settings.passage_tokens)
    return FilePassages(passages=tuple(_chunk_passages(chunks, path, layer)), skipped=kept_out)


def _read_output(home: Home, name: str, path: str, settings: RecallSettings, screen: Screen | None) -> FilePassages:
    """Return the passages of a stored output: its summary, then those of its chunks, whose numbers they name.

    A summary has a vector. A log would take seconds to embed, and its words find it better.

    Of a long one the first chunks, the last ones, and those that tell of failures are searched. One that a participant
    stored has none.
    """
    try:
        output = read_output(home, name)
        if output.author:  # a participant could say in it what the owner decided
            return FilePassages(passages=())
        numbers = _searched_chunks(output)
        texts: list[tuple[int | None, str]] = [(None, output.summary)] if output.summary else []
        texts += [(number, _as_text(output_chunk(home, output, number))) for number in numbers if not output.binary]
    except OutputDamaged as error:
        return FilePassages(passages=(), skipped=(str(error),))
    found: list[Passage] = []
    kept_out: tuple[str, ...] = ()
    heading = " > ".join(filter(None, (output.tool, " ".join(output.tags), output.headline)))
    for number, text in texts:
        source = name if number is None else f"{name}#{number}"
        clean, notes = screen.document(path, text) if screen else (text, ())
        kept_out += notes
        for part, chunk in enumerate(_plain_chunks(clean, settings.passage_tokens)):
            found.append(
                Passage(
                    source=source, path=path, layer="outputs", ordinal=len(found), part=part, text=chunk.text,
                    heading=heading, ts=output.ts, meaning=chunk.text if number is None else "",
                )
            )  # fmt: skip
    return FilePassages(passages=tuple(found), skipped=kept_out[:1])


def _searched_chunks(output: StoredOutput) -> list[int]:
    """Return the numbers of the chunks that are searched, in order."""
    count = max(1, len(output.chunks))
    failing = dict.fromkeys(number for _, number in output.failures)
    chosen = {*range(_FIRST_CHUNKS), *range(count - _LAST_CHUNKS, count), *list(failing)[:_FIRST_CHUNKS]}
    return sorted(number for number in chosen if 0 <= number < count)


def _as_text(data: bytes) -> str:
    """Return a chunk without colours and other control characters. Bytes that are no UTF-8 are replaced."""
    return _CONTROLS.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n"))


def _read(file: Path, path: str, max_bytes: int) -> tuple[str, str]:
    """Return the file's text, and the reason if it has none."""
    if file.stat().st_size > max_bytes:
        return "", f"{path} is larger than {max_bytes} bytes and is not indexed"
    data = storage.read_bytes(file)
    if b"\x00" in data:
        return "", f"{path} holds NUL bytes, so it is no text and is not indexed"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return "", f"{path}:{line} is not UTF-8. Save the file as UTF-8 to index it"


def passage_signature(settings: RecallSettings) -> str:
    """Return a name for the way passages are made. An index with another signature has to make them all again."""
    return f"{_VERSION}:{settings.passage_tokens}:{WINDOW_NEIGHBOURS}"


def session_of(source: str) -> str:
    """Return the part of an address before ``#``: the session or the file."""
    return source.partition("#")[0]


def estimate_tokens(text: str) -> int:
    """Estimate tokens: four Latin characters, or one of any other script. Borders of passages depend on this rule.

    >>> estimate_tokens("four words of English"), estimate_tokens("中文四字")
    (6, 4)
    """
    if text.isascii():
        return -(-len(text) // 4)
    latin = len(text.encode("ascii", "ignore"))
    return -(-latin // 4) + len(text) - latin


def split_text(text: str, tokens: int) -> list[tuple[int, int]]:
    """Return spans of *text*, in order and without gaps, of at most *tokens* each, split at the best borders.

    >>> text = "One two three. Four five six."
    >>> [text[a:b] for a, b in split_text(text, 4)]
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
    """Yield spans of at most *tokens*, split at the borders of *level*, and at lower levels where those are too few."""
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
    quarantined = 0
    lines = [message for message, _, _ in transcript.read_lines(file)]
    messages = [message for message in lines if message is not None]
    bad = len(lines) - len(messages)
    if screen:
        messages = resolve_roles(messages, screen.owner)
    for message in messages:
        if message.content.strip():
            clean = _storable(message)
            if screen:
                clean = replace(clean, content=screen.message(path, clean.content), name=screen.name(path, clean.name))
            quarantined += not clean.content.strip()
            turns.extend(_turn_parts(clean, path, len(turns), settings.passage_tokens))
    skipped = [f"{path} has {bad} lines that are no messages. They are not indexed"] if bad else []
    if quarantined:
        skipped.append(f"{path} has {quarantined} messages that the guard keeps out. They are not indexed")
    session = turns[0].session if turns else ""
    return FilePassages(passages=tuple(turns), session=session, skipped=tuple(skipped))


def _storable(message: transcript.Message) -> transcript.Message:
    """Return *message* without lone surrogates. JSON can spell them, and SQLite cannot store them."""
    names = ("session", "id", "ts", "role", "name", "content")
    texts = {name: getattr(message, name) for name in names}
    if all(text.isascii() for text in texts.values()):
        return message
    return replace(message, **{name: text.encode("utf-8", "replace").decode("utf-8") for name, text in texts.items()})


def _turn_parts(message: transcript.Message, path: str, ordinal: int, tokens: int) -> Iterator[Passage]:
    spans = split_text(message.content, tokens)
    texts = [text for start, end in spans if (text := message.content[start:end].strip())]
    speaker = f"{message.name}: " if message.name else ""
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
            meaning=f"{speaker}{lead}{text}",
        )


def _lead(content: str) -> str:
    """Return the beginning of a message, which gives the vectors of later parts their topic."""
    start = content.strip()[:_LEAD_CHARS]
    return start.rsplit(None, 1)[0] if len(start) == _LEAD_CHARS and any(map(str.isspace, start)) else start


def _speaker(message: transcript.Message) -> str:
    """Return the speaker's name, or nothing if it only repeats the role. No query names a speaker by role."""
    return "" if message.name.casefold() in {message.role, *_NAMELESS} else message.name


def _entries(text: str, path: str, layer: str) -> Iterator[Passage]:
    """Yield the entries of a memory file, and its list items without an id. Prose between them is not indexed."""
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
        body = entry.text if entry else raw
        yield Passage(
            source=source, path=path, layer=layer, ordinal=ordinal, text=raw, heading=section,
            ts=entry.date if entry else "", meaning=f"{section}: {body}" if section else body,
        )  # fmt: skip
        ordinal += 1


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Text between two lines of a file (from 1, both included), under its headings."""

    first: int
    last: int
    text: str
    headings: tuple[str, ...] = ()


def _markdown_chunks(text: str, tokens: int, *, daily: bool = False) -> Iterator[_Chunk]:
    """Yield the chunks of each section, packed up to *tokens*. A heading with nothing under it is a chunk itself.

    The structural lines of a *daily* log are left out.
    """
    trail: list[tuple[int, str]] = []
    section: list[document.Block] = []
    bare: document.Block | None = None
    for block in (*document.parse(text).blocks, document.Block(kind="heading", raw="", level=0)):
        if block.kind != "heading":
            structural = daily and block.kind != "blank" and _is_structural(block, trail)
            bare = None if structural else bare
            section.append(replace(block, raw="\n" * block.raw.count("\n")) if structural else block)
            continue
        headings = tuple(title for _, title in trail if title)
        body = "".join(part.raw for part in section)
        if body.strip():
            yield from _pack(body, section[0].line, headings, tokens)
        elif bare is not None and block.level <= bare.level:
            yield _Chunk(bare.line, bare.line, bare.raw.strip(), headings)
        section, bare = [], block
        while trail and trail[-1][0] >= block.level:
            trail.pop()
        trail.append((block.level, block.title))


def _is_structural(block: document.Block, trail: Sequence[tuple[int, str]]) -> bool:
    """Return whether *block*, under the headings *trail*, only describes the closing of a session in a daily log."""
    closing = next((title for level, title in trail if level == 2), "")
    if not _CLOSING.search(closing):
        return False
    return block.raw.startswith("Session: `") if trail[-1][0] == 2 else trail[-1][1] in _STRUCTURAL


def _plain_chunks(text: str, tokens: int) -> Iterator[_Chunk]:
    return _pack(text, 1, (), tokens)


def _pack(text: str, line: int, headings: tuple[str, ...], tokens: int) -> Iterator[_Chunk]:
    for start, end in split_text(text, tokens):
        span = text[start:end]
        body = span.strip()
        if not body:
            continue
        lead = len(span) - len(span.lstrip())
        first = line + text.count("\n", 0, start + lead)
        yield _Chunk(first, first + body.count("\n"), body, headings)


def _chunk_passages(chunks: Iterator[_Chunk], path: str, layer: str) -> Iterator[Passage]:
    file = Path(path)
    folders = list(file.parts[1:-1])
    daily = layer == "daily" or path.startswith(ARCHIVED_DAILY)
    date = _DATED.match(file.name) if daily else None
    parts: Counter[str] = Counter()  # a line that is longer than a passage gives several with one address
    for ordinal, chunk in enumerate(chunks):
        trail = " > ".join(chunk.headings)
        heading = " > ".join([*folders, file.stem, *chunk.headings]) if not daily else trail
        output = layer == "outputs" and file.stem.startswith("out-")
        source = f"{file.stem}#{ordinal + 1}" if output else f"{path}#{_lines(chunk.first, chunk.last)}"
        yield Passage(
            source=source, path=path, layer=layer, ordinal=ordinal, part=parts[source], text=chunk.text,
            heading=heading, ts=_daily_time(date[1], chunk.headings) if date else "",
            meaning=f"{trail}\n{chunk.text}" if trail else chunk.text,
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
