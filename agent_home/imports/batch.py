"""Messages of one file to import, with stable ids and counts of skipped lines.

The module reads JSON lines of other programs, which may still be writing them. It prepares messages of every format:
storable characters, no injected text, an id. The formats are ``chat`` and ``claude_code``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guard import GuardSettings
from guard.lazy_regex import lazy_regex

from .. import storage
from ..screening.injected_context import strip_injected, strip_marked, without_tags
from ..store.fingerprints import Fingerprint, encode_fingerprints, fingerprints_of_parts
from ..store.transcript import Message
from .pasted_text import PastedText, split_pasted
from .wrapped_text import WrappedText, split_wrapped

__all__ = [
    "BOM",
    "MAX_LINE_BYTES",
    "Batch",
    "ParsedFile",
    "file_lines",
    "json_rows",
    "storable",
    "text_of",
    "timestamp",
]

#: Longer lines are skipped. No message is that long, and parsing a line takes several times its size in memory.
MAX_LINE_BYTES = 32 * 1024 * 1024
#: Longer messages are skipped, because the guard does not screen them. They stay in their file.
MAX_CONTENT_CHARS = GuardSettings().max_document_chars
#: Lines that are not JSON objects are named up to this number in each file.
MAX_BROKEN = 3
#: Mark at the beginning of files that some editors write.
BOM = b"\xef\xbb\xbf"
_UNSTORABLE = lazy_regex(r"\x00|[\ud800-\udfff]")  # NUL, and halves of a character that UTF-8 cannot hold
_DATE = lazy_regex(r"\d{4}-\d{2}-\d{2}(?!\d)")
_EPOCH_MS = 1e11  # a larger number is in milliseconds: in seconds it would be the year 5138


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFile:
    """Messages of one file, in order.

    *skipped* counts lines without a message, by reason. *duplicates* counts messages with the same id and content.
    *waiting* is true when the last line is half-written and should be read by a later import. *broken* holds the
    number, from 1, and the reason of the first lines that are not JSON objects. *undated* counts messages whose time
    could not be read. They have none.
    """

    messages: tuple[Message, ...]
    skipped: Counter[str]
    duplicates: int
    waiting: bool
    broken: tuple[tuple[int, str], ...] = ()
    undated: int = 0


@dataclass(slots=True)
class Batch:
    """Collector of the messages of one file. :meth:`add` decides whether to keep a message.

    Without a *salt*, no fingerprints are kept.
    """

    messages: list[Message] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    waiting: bool = False
    broken: list[tuple[int, str]] = field(default_factory=list)
    undated: int = 0
    salt: str = ""
    _heard: dict[str, list[Fingerprint]] = field(default_factory=dict)
    _ids: set[tuple[str, str]] = field(default_factory=set)
    _digests: set[tuple[str, str, str]] = field(default_factory=set)
    _same_content: Counter[str] = field(default_factory=Counter)

    def add(self, message: Message, *, sent_ts: object = None, parts: Sequence[str] = ()) -> None:
        """Add *message*, whose id may be empty. Unstorable characters and injected text are removed.

        *sent_ts* is the time as it stands in the line. A message is undated when there is one and it cannot be read.

        A message with a known id and other content gets a suffix derived from its content. Both messages are kept,
        and a later import derives the same id. The id of a message without one is derived from its content and the
        number of equal messages before it. Text that a host or a paste wrapped into a human's message becomes a message
        of a tool before it, or only a fingerprint. What a user pasted without tags becomes a message of a participant,
        or of a tool if it is a page. *parts* are the blocks of the content, if the host sent several. No
        element reaches from one block into the next.
        """
        content_as_sent = storable(message.content)
        is_human = message.role in {"user", "participant"}
        strip = strip_marked if is_human else strip_injected
        content, removed = strip(content_as_sent)
        wrapped: list[WrappedText] = []
        pasted: list[PastedText] = []
        if is_human and len(content) <= MAX_CONTENT_CHARS:
            blocks = [strip(storable(part))[0] for part in parts] if len(parts) > 1 else [content]
            content, wrapped, pasted = _apart(blocks, message)
        if not content.strip() and not pasted and not any(part.text and not part.noise for part in wrapped):
            self.skipped["injected" if removed else "command" if wrapped else "empty"] += 1
            self.hear(message.session, *(part.text for part in wrapped))
            return
        if len(content) > MAX_CONTENT_CHARS:
            self.skipped["too-long"] += 1
            return
        session = storable(message.session)
        self.hear(session, *(part.text for part in wrapped if part.noise))
        name = storable(message.id)
        name = name if name.strip() else self._derived_id(session, message, content_as_sent)
        digest = _digest(content_as_sent)
        if (session, name, digest) in self._digests:
            self.duplicates += 1
            return
        self._digests.add((session, name, digest))
        if (session, name) in self._ids:
            name = f"{name}~{digest[:8]}"
        self._ids.add((session, name))
        self.undated += not message.ts and sent_ts is not None and sent_ts != ""
        stored = Message(
            session=session, id=name, ts=message.ts, role=message.role, name=storable(message.name),
            content=content.strip(), cwd=storable(message.cwd),
            account=storable(message.account), channel=storable(message.channel),
            heard=encode_fingerprints(self._heard.pop(session, [])),
        )  # fmt: skip
        kept = [("wrapped", "tool", part.name, part.text) for part in wrapped if part.text and not part.noise]
        kept += [("pasted", part.role, f"pasted {part.kind}", part.text) for part in pasted]
        for number, (how, role, speaker, text) in enumerate(kept):
            self.messages.append(
                replace(stored, id=f"{name}:{how}{number or ''}", role=role, name=speaker, content=text, account="")
            )
            stored = replace(stored, heard="")
        if stored.content:
            self.messages.append(stored)

    def hear(self, session: str, *texts: str) -> None:
        """Keep fingerprints of *texts* of tools, pages and hosts with the next message of *session*."""
        if self.salt:
            heard = self._heard.setdefault(session, [])
            heard += [found for text in texts if text.strip() for found in fingerprints_of_parts(text, self.salt)]

    def result(self) -> ParsedFile:
        """Return the collected messages and counts."""
        return ParsedFile(
            messages=tuple(self.messages), skipped=self.skipped, duplicates=self.duplicates, waiting=self.waiting,
            broken=tuple(self.broken), undated=self.undated,
        )  # fmt: skip

    def _derived_id(self, session: str, message: Message, content_as_sent: str) -> str:
        base = _digest("\0".join((session, message.ts, message.role, content_as_sent)))[:16]
        self._same_content[base] += 1
        return f"h-{_digest(f'{base} {self._same_content[base]}')[:12]}"


def file_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of *path* up to its present end. Bytes that a writer adds meanwhile are not read.

    A line longer than ``MAX_LINE_BYTES`` is cut, to a length that still exceeds the limit.
    """
    with storage.open_file(path) as file:
        remaining = os.fstat(file.fileno()).st_size
        while remaining > 0:
            line = file.readline(min(remaining, MAX_LINE_BYTES + 1))
            remaining -= len(line)
            incomplete = len(line) > MAX_LINE_BYTES and not line.endswith(b"\n")
            while incomplete and remaining > 0:
                rest = file.readline(min(remaining, MAX_LINE_BYTES))
                remaining -= len(rest)
                if not rest or rest.endswith(b"\n"):
                    line += b"\n"
                    break
            if not line:
                return
            yield line


def json_rows(lines: Iterable[bytes], batch: Batch) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among *lines*. Blank lines are ignored, other lines are counted in *batch*.

    A last line without a newline is an object if it is complete. Otherwise its writer has not finished it.
    """
    for number, line in enumerate(lines):
        text = line.removeprefix(BOM) if number == 0 else line
        if not text.strip():
            continue
        row, problem = _parse_row(text)
        if row is not None:
            yield row
        elif line.endswith(b"\n"):
            batch.skipped[problem] += 1
            if len(batch.broken) < MAX_BROKEN:
                batch.broken.append((number + 1, problem))
        else:
            batch.waiting = True


def text_of(value: object) -> str:
    """Return a text of a JSON value: a string unchanged, an integer in digits, all else as an empty string."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def timestamp(value: object) -> str:
    """Return ISO 8601 for a JSON value: such a text, or seconds or milliseconds since 1970. Otherwise return "".

    >>> timestamp("2026-11-20T14:02:00Z"), timestamp(1_763_647_320), timestamp("soon")
    ('2026-11-20T14:02:00Z', '2025-11-20T14:02:00+00:00', '')
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return ""
        return value.strip() if _DATE.match(value.strip()) else moment.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    try:
        return datetime.fromtimestamp(value / 1000 if value > _EPOCH_MS else value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _parse_row(line: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the object in *line*, or None and the reason for skipping the line."""
    if len(line) > MAX_LINE_BYTES:
        return None, "too-long"
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return None, "not-utf8"
    except (ValueError, RecursionError):
        return None, "not-json"
    return (value, "") if isinstance(value, dict) else (None, "not-an-object")


def _apart(blocks: Sequence[str], message: Message) -> tuple[str, list[WrappedText], list[PastedText]]:
    """Return the own words in *blocks* of a human's *message*, what is wrapped in them, and what is pasted."""
    own: list[str] = []
    wrapped: list[WrappedText] = []
    pasted: list[PastedText] = []
    for block in blocks:
        kept, elements = split_wrapped(block)
        wrapped += elements
        if message.role == "user":
            kept, paste = split_pasted(kept, message.name)
            pasted += [paste] if paste else []
        own.append(kept)
    return "\n\n".join(map(without_tags, filter(str.strip, own))), wrapped, pasted


def storable(text: str) -> str:
    """Return *text* without NUL, and with a replacement for each half of a character."""
    return _UNSTORABLE.sub(lambda match: "" if match[0] == "\0" else "\ufffd", text)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()
