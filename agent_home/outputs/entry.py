"""Own the record of an output: what a tool printed, by reference, with a summary and where its parts lie."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, get_args

from ..clock import moment_of
from ..documents.record_digest import DIGEST_KEY, record_digest, require_digest
from ..errors import HomeError

__all__ = [
    "OUTPUT_ID",
    "OUTPUT_TYPES",
    "OutputChunk",
    "OutputDamaged",
    "OutputType",
    "StoredOutput",
    "new_output_id",
    "parse_record",
    "record_path",
]

OutputType = Literal["transcript", "output", "summary", "context", "chunk"]
OUTPUT_TYPES: tuple[OutputType, ...] = get_args(OutputType)
#: ``mem-YYYYMMDD-HHMMSS-xxxxxxxx``, with the local time at which it was stored.
OUTPUT_ID = re.compile(r"mem-(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})-\d{6}-[0-9a-f]{8}")
_VERSION = 1


class OutputDamaged(HomeError):
    """A stored output is not what was stored."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name} is damaged: {problem}. Restore its file below outputs/ from a backup")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChunk:
    """A part of an output.

    *offset* and *size* are those of its compressed frame in the blob, and *length* are the bytes of the part.
    *first_line* counts from 1. *digest* is the SHA-256 of the part.
    """

    offset: int
    size: int
    length: int
    tokens: int
    first_line: int
    digest: str

    def row(self) -> list[int | str]:
        """Return the fields as a record has them."""
        return [self.offset, self.size, self.length, self.tokens, self.first_line, self.digest]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOutput:
    """An output without its content, unless it is short.

    Attributes:
        id: its name (:data:`OUTPUT_ID`).
        ts: when it was stored, ISO 8601.
        type: what it is: transcript, output, summary, context.
        tags: words by which it is listed.
        directory: the folder that it is about, absolute, or empty.
        checkpoint: the checkpoint that it belongs to, or empty.
        session: the session in which it was made, or empty.
        tool: the tool that printed it, or empty.
        command: how the tool was called, or empty.
        exit_code: how the tool ended, or ``None``.
        author: the participant who stored it, or empty for the owner and the agent. No prompt and no search shows it.
        length: bytes after redaction.
        tokens: the same in tokens. A binary output has none.
        lines: number of lines.
        digest: SHA-256 of the content after redaction, which names its blob.
        binary: whether it is no text. It is neither searched nor summarised.
        inline: the content of a short output.
        chunks: its parts, unless it is inline.
        kind: the shape that its summary knows, such as ``pytest``.
        summary: what an agent reads instead of it. The first line says the most.
        failures: pairs of a failure's name and the number of the chunk that tells of it.
        redacted: how many secrets and personal data were replaced.
        held: why the guard does not let its text into prompts, or empty.
    """

    id: str
    ts: str
    type: OutputType = "output"
    tags: tuple[str, ...] = ()
    directory: str = ""
    checkpoint: str = ""
    session: str = ""
    tool: str = ""
    command: str = ""
    exit_code: int | None = None
    author: str = ""
    length: int = 0
    tokens: int = 0
    lines: int = 0
    digest: str = ""
    binary: bool = False
    inline: bytes | None = None
    chunks: tuple[OutputChunk, ...] = ()
    kind: str = ""
    summary: str = ""
    failures: tuple[tuple[str, int], ...] = ()
    redacted: int = 0
    held: str = ""

    @property
    def moment(self) -> datetime:
        """The time at which it was stored, with its zone."""
        return moment_of(self.ts)

    @property
    def headline(self) -> str:
        """The first line of the summary."""
        return self.summary.partition("\n")[0]

    def render(self) -> bytes:
        """Return the record as JSON."""
        names = [field.name for field in fields(self) if field.name not in {"chunks", "inline"}]
        row = {"version": _VERSION, **{name: getattr(self, name) for name in names}}
        if self.inline is not None:
            row |= _inline_row(self.inline)
        given = {key: value for key, value in row.items() if value not in ("", None, [], ())}
        # A gigabyte has 100 000 chunks, so no list of their rows is made.
        rows = {"chunks": (chunk.row() for chunk in self.chunks)} if self.chunks else {}
        text = bytearray(json.dumps({**given, DIGEST_KEY: record_digest({**given, **rows})}).encode())
        if self.chunks:
            text[-1:] = b', "chunks": ['
            for chunk in self.chunks:
                text += json.dumps(chunk.row()).encode() + b","
            text[-1:] = b"]}"
        return bytes(text + b"\n")


def parse_record(name: str, data: bytes) -> StoredOutput:
    """Return the record in *data*, which is that of the output *name*.

    Raises:
        OutputDamaged: it is no record of that output.
    """
    try:
        row: dict[str, Any] = json.loads(data)
        require_digest(row)
        if row.pop("version") != _VERSION:
            raise OutputDamaged(name, "another version of agent-home made it")
        inline = _inline_of(row)
        names = [field.name for field in fields(OutputChunk)]
        row["chunks"] = tuple(
            OutputChunk(**dict(zip(names, _checked(part), strict=True))) for part in row.get("chunks", ())
        )
        row["failures"] = tuple((str(said), int(place)) for said, place in row.get("failures", ()))
        row["tags"] = tuple(map(str, row.get("tags", ())))
        found = StoredOutput(**row, inline=inline)
        moment_of(found.ts)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OutputDamaged(name, "its record is not readable") from error
    if found.id != name:
        raise OutputDamaged(name, "its record is that of another output")
    return found


def record_path(name: str) -> str:
    """Return where the record of the output *name* lies in a home.

    Raises:
        ValueError: *name* is no id.
    """
    match = OUTPUT_ID.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is no id of an output. `memory list` shows them")
    return f"outputs/{match['year']}/{match['month']}/{match['day']}/{name}.json"


def new_output_id(now: datetime, random: str) -> str:
    """Return the id of an output stored at *now*. *random* are eight hexadecimal digits."""
    return f"mem-{now:%Y%m%d-%H%M%S}-{random}"


def _inline_row(content: bytes) -> Mapping[str, str]:
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _inline_of(row: dict[str, Any]) -> bytes | None:
    text, packed = row.pop("text", None), row.pop("base64", None)
    if packed is not None:
        return base64.b64decode(packed, validate=True)
    return str(text).encode("utf-8") if text is not None else None


def _checked(part: Sequence[Any]) -> Sequence[Any]:
    if len(part) != len(fields(OutputChunk)) or not all(type(value) is int for value in part[:-1]):
        raise ValueError("no chunk")
    return part
