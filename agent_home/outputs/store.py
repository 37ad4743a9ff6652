"""Store outputs of tools by reference: content in compressed chunks, and a record with a summary.

The record of an output is written last, so an output is there as a whole or not at all. Nothing here needs the home's
lock: records have names of their own, and contents are named by their digest. Outputs are not in git.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain, count
from typing import TypedDict, Unpack

from guard.text.terminal_codes import without_terminal_codes

from .. import storage
from ..clock import now as present
from ..errors import GuardRefused
from ..home import Home
from ..lease.operation import operation
from ..screening.service import ScreeningService
from .blobs import BlobWriter
from .chunking import ChunkDraft, chunks, decoded, encoded, windows
from .entry import OUTPUT_TYPES, OutputChunk, OutputType, StoredOutput, new_output_id, record_path
from .own_place import require_own
from .summaries.summariser import OutputSummariser

__all__ = ["FULLY_SCREENED_BYTES", "INLINE_TOKENS", "OutputLabels", "refused_label", "store_output"]

#: Outputs of fewer tokens are part of their record.
INLINE_TOKENS = 500
#: Bytes that every detector of the guard reads. What is behind them is searched for secrets in known formats, and is
#: screened again by all detectors when it is shown.
FULLY_SCREENED_BYTES = 256 << 10
SUMMARY_TOKENS = 200
_PROBED_BYTES = 8192
#: Control characters that texts of programs do not have, and the share of them from which on a content is no text.
#: Compressed and random bytes have a tenth, whatever the encoding of a text.
_CONTROLS = bytes({*range(32), 127} - {*b"\a\b\t\n\v\f\r\x1b"})
_MOST_CONTROLS, _FEW_CONTROLS = 0.04, 16
_MOST_INLINE_BYTES = 16 << 10
#: Ids that are tried before one in no order: 4 096 outputs may have the same time.
_MOST_ATTEMPTS = 64
_HELD = "the guard holds its summary back: {}"
Progress = Callable[[int], None]


class OutputLabels(TypedDict, total=False):
    """Labels of an output: what is known besides its content.

    Attributes:
        type: transcript, output, summary, context or chunk. Without it, output.
        tags: words by which it is listed.
        directory: the folder that it is about, absolute.
        checkpoint: the checkpoint that it belongs to.
        session: the session in which it was made.
        tool: the tool that printed it.
        command: how the tool was called.
        exit_code: how the tool ended.
        author: the participant who stores it. Then no prompt and no search shows it.
    """

    type: OutputType
    tags: Sequence[str]
    directory: str
    checkpoint: str
    session: str
    tool: str
    command: str
    exit_code: int | None
    author: str


def store_output(
    home: Home,
    content: Iterable[bytes],
    *,
    now: datetime | None = None,
    progress: Progress = lambda _bytes: None,
    **labels: Unpack[OutputLabels],
) -> StoredOutput:
    """Store *content*, which is read once and never held as a whole, and return its record.

    Secrets and personal data are replaced before anything is written. *progress* gets the number of bytes so far.

    Raises:
        ValueError: the type is none.
        GuardRefused: the guard refuses a tag, tool or command, or cannot run. Nothing was stored.
        PlaceIsLink: a folder of the outputs is a link.
        OSError: the disk is full, or the home cannot be written. Nothing was stored.
        NotHeld, NotPublished: a fleet serves the home, and this host may not write it, or its remote did not take it.
    """
    with operation(home):
        return _stored(home, content, now or present(), progress, labels)


def _stored(
    home: Home, content: Iterable[bytes], moment: datetime, progress: Progress, labels: OutputLabels
) -> StoredOutput:
    screening = ScreeningService(home)
    draft = _draft(screening, labels, moment)
    first, rest = _probed(iter(content))
    written = _StreamedOutput(screening, first, progress)
    with BlobWriter(home) as blob:
        found = written.write(draft, first, rest, blob)
        if found.inline is None and found.length:
            found = replace(found, digest=blob.finish())
    return _recorded(home, found, moment)


def refused_label(home: Home, text: str) -> str:
    """Return the rule by which the guard refuses *text* as a tag, tool, session, folder or command, or nothing.

    Raises:
        GuardError: the guard cannot run.
    """
    screening = ScreeningService(home)
    for line in filter(None, _lines(text)):
        verdict = screening.verdict("outputs/x.txt", line, "tool")
        if not verdict.stored:
            return verdict.findings[0].rule
    return ""


def _draft(screening: ScreeningService, labels: OutputLabels, moment: datetime) -> StoredOutput:
    """Return the record of an output without its content."""
    type = labels.get("type", "output")  # noqa: A001 - as the option and the key are called
    if type not in OUTPUT_TYPES:
        raise ValueError(f"type is {type!r}, expected one of {', '.join(OUTPUT_TYPES)}")
    label = partial(_label, screening)
    return StoredOutput(
        id="mem-00000000-000000-00000000", ts=moment.isoformat(timespec="seconds"), type=type,
        tags=tuple(dict.fromkeys(label(tag) for tag in labels.get("tags", ()) if tag.strip())),
        exit_code=labels.get("exit_code"), author=labels.get("author", ""),
        directory=label(labels.get("directory", "")), checkpoint=label(labels.get("checkpoint", "")),
        session=label(labels.get("session", "")), tool=label(labels.get("tool", "")),
        command=label(labels.get("command", "")),
    )  # fmt: skip


class _StreamedOutput:
    """A content while it is written: what was seen of it so far."""

    def __init__(self, screening: ScreeningService, first: bytes, progress: Progress) -> None:
        self._screening, self._progress = screening, progress
        self._binary = _is_binary(first)
        self._summariser = OutputSummariser(max_tokens=SUMMARY_TOKENS)
        self._read = self._redacted = self._lines = 0

    def write(self, draft: StoredOutput, first: bytes, rest: Iterator[bytes], blob: BlobWriter) -> StoredOutput:
        """Write the chunks, and return the record without the digest."""
        parts: list[OutputChunk] = []
        held: ChunkDraft | None = None
        drafts = self._binary_chunks(first, rest) if self._binary else chunks(self._screened(first, rest))
        for chunk in drafts:
            if held is not None:
                parts.append(blob.add(held.data, tokens=held.tokens, first_line=held.first_line))
            held = chunk
        if held is None:
            return replace(draft, inline=b"", summary="no output", kind="text")
        size = len(held.data) if not parts else _MOST_INLINE_BYTES + 1
        inline = size <= _MOST_INLINE_BYTES and held.tokens < INLINE_TOKENS
        if not inline:
            parts.append(blob.add(held.data, tokens=held.tokens, first_line=held.first_line))
        found = replace(
            draft, inline=held.data if inline else None, chunks=tuple(parts), binary=self._binary,
            length=sum(part.length for part in parts) or len(held.data),
            tokens=sum(part.tokens for part in parts) or held.tokens,
            lines=self._lines, redacted=self._redacted,
        )  # fmt: skip
        return found if self._binary else self._summarised(found)

    def _binary_chunks(self, first: bytes, rest: Iterator[bytes]) -> Iterator[ChunkDraft]:
        for window in windows(_joined(first, rest)):
            self._advance(window)
            yield ChunkDraft(window, 0, 1)

    def _screened(self, first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the content without secrets and personal data, and give its lines to the summariser."""
        left = b""
        for window in windows(_joined(first, rest)):
            quick = self._read >= FULLY_SCREENED_BYTES
            text, found = self._screening.without_values("outputs/x.txt", decoded(window), "tool", formats_only=quick)
            self._redacted += found
            self._advance(window)
            data = encoded(text)
            left = self._summarise(left + data)
            yield data
        if left:
            self._lines += 1
            self._summariser.add(left.decode("utf-8", "replace"))

    def _summarise(self, data: bytes) -> bytes:
        """Give whole lines to the summariser, and return what is behind the last of them."""
        lines = data.split(b"\n")
        for line in lines[:-1]:
            self._summariser.add(line.removesuffix(b"\r").decode("utf-8", "replace"))
        self._lines += len(lines) - 1
        return lines[-1] if len(lines[-1]) < _PROBED_BYTES else lines[-1][:_PROBED_BYTES]

    def _advance(self, window: bytes) -> None:
        self._read += len(window)
        self._progress(self._read)

    def _summarised(self, found: StoredOutput) -> StoredOutput:
        """Return the record with a summary that the guard lets into prompts."""
        result = self._summariser.result()
        places = tuple(
            (failure.name, max(0, sum(chunk.first_line <= failure.line for chunk in found.chunks) - 1))
            for failure in result.failures
        )
        verdict = self._screening.verdict("outputs/x.txt", result.text, "tool")
        if not verdict.stored:
            rules = ", ".join(dict.fromkeys(finding.rule for finding in verdict.findings))
            return replace(found, kind=result.kind, summary=_HELD.format(rules), held=rules)
        names = self._screening.verdict("outputs/x.txt", "\n".join(name for name, _ in places), "tool")
        return replace(
            found, kind=result.kind, summary=verdict.text, failures=places if names.action == "allow" else ()
        )


def _probed(content: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of *content*, which tell whether it is text, and the rest."""
    first = b""
    for part in content:
        first += part
        if len(first) >= _PROBED_BYTES:
            break
    return first[:_PROBED_BYTES], chain((first[_PROBED_BYTES:],), content)


def _is_binary(first: bytes) -> bool:
    """Return whether a content that begins so is no text: it has NUL bytes, or many other control characters."""
    controls = len(first) - len(first.translate(None, _CONTROLS))
    return b"\0" in first or controls > max(_FEW_CONTROLS, _MOST_CONTROLS * len(first))


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _label(screening: ScreeningService, text: str) -> str:
    """Return *text* on one line, as the guard lets it into prompts. Codes of a terminal hide nothing from it.

    Raises:
        GuardRefused: it does not.
    """
    shown = ""
    for line in _lines(text):
        verdict = screening.verdict("outputs/x.txt", line, "tool") if line else None
        if verdict is not None and not verdict.stored:
            why = f"no tag, tool, session, folder or command may be called that ({verdict.findings[0].rule})"
            raise GuardRefused("outputs/", why)
        if verdict is not None and verdict.text != line:
            return verdict.text
        shown = shown or line
    return shown


def _lines(text: str) -> Sequence[str]:
    """Return the readings of a label, each on one line: with a blank for each code of a terminal, and without."""
    return list(dict.fromkeys(map(_one_line, [variant.text for variant in without_terminal_codes(text)] or [text])))


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _recorded(home: Home, found: StoredOutput, now: datetime) -> StoredOutput:
    """Write the record of *found* under a new id, and return it. Ids of one second are in the order of their time."""
    for attempt in count():
        digits = (
            f"{now.microsecond:05x}{secrets.token_hex(2)[1:]}" if attempt < _MOST_ATTEMPTS else secrets.token_hex(4)
        )
        named = replace(found, id=new_output_id(now, digits))
        path = require_own(home, home.root / record_path(named.id))
        if not path.exists():
            break
    staged = path.with_name(f".{path.name}.tmp")
    try:
        storage.stage(staged, named.render())
        storage.replace(staged, path)
    finally:
        staged.unlink(missing_ok=True)
    return named
