"""Find stored outputs, read them back, list and count them. Every chunk that is read is compared with its digest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from .. import storage
from ..clock import moment_of
from ..errors import HomeError
from ..home import Home
from .blobs import blobs, read_chunk, require_content
from .entry import OUTPUT_ID, OutputDamaged, StoredOutput, parse_record, record_path
from .own_place import PlaceIsLink, require_own

__all__ = [
    "CheckedOutputs",
    "NoSuchOutput",
    "OutputFilter",
    "OutputStats",
    "check_outputs",
    "find_output",
    "output_chunk",
    "output_content",
    "output_stats",
    "outputs",
    "read_output",
]
#: Ids that an error names.
_MOST_SIMILAR = 5


class NoSuchOutput(HomeError):
    """No output has that id, or several have ids that begin so."""

    def __init__(self, name: str, similar: Sequence[str] = ()) -> None:
        known = f"It may be {', '.join(similar)}" if similar else "`memory list` shows what is there"
        super().__init__(f"no output {name!r}. {known}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFilter:
    """A choice of outputs: those for which everything holds that is given. *directory* counts with what is below it."""

    type: str = ""
    tag: str = ""
    directory: str = ""
    checkpoint: str = ""
    session: str = ""
    tool: str = ""

    def fits(self, output: StoredOutput) -> bool:
        """Return whether the list shows *output*."""
        folder = self.directory.rstrip("/")
        return (
            (not self.type or output.type == self.type)
            and (not self.tag or self.tag.casefold() in {tag.casefold() for tag in output.tags})
            and (not folder or output.directory == folder or output.directory.startswith(f"{folder}/"))
            and all(
                not wanted or wanted == own
                for wanted, own in (
                    (self.checkpoint, output.checkpoint), (self.session, output.session), (self.tool, output.tool)
                )
            )
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputStats:
    """Counts over all outputs. *stored_bytes* is what lies on the disk, and *bytes* what was printed.

    Records that are *damaged* count nowhere else.
    """

    outputs: int = 0
    chunks: int = 0
    tokens: int = 0
    bytes: int = 0
    stored_bytes: int = 0
    types: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    oldest: str = ""
    newest: str = ""
    damaged: int = 0


def find_output(home: Home, name: str) -> StoredOutput:
    """Return the output called *name*, which may be the beginning or the last digits of one id.

    Raises:
        NoSuchOutput: there is none, or there are several.
        OutputDamaged: its record is damaged.
    """
    if OUTPUT_ID.fullmatch(name):
        record = home.root / record_path(name)
        similar = [name] if record.is_file() or record.is_symlink() else []
    else:
        wanted = name.removeprefix("mem-")
        ids = (path.stem for path in _records(home))
        similar = list(
            islice((one for one in ids if wanted and (one[4:].startswith(wanted) or one.endswith(wanted))), 5)
        )
    if len(similar) != 1:
        raise NoSuchOutput(name, similar)
    return read_output(home, similar[0])


def output_content(home: Home, output: StoredOutput) -> Iterator[bytes]:
    """Yield the content of *output* chunk by chunk, each checked.

    Raises:
        OutputDamaged: a chunk is not what was stored.
    """
    if output.inline is not None:
        yield output.inline
    for chunk in output.chunks:
        yield read_chunk(home, output.id, output.digest, chunk)


def output_chunk(home: Home, output: StoredOutput, number: int) -> bytes:
    """Return the chunk of that *number*, from 0.

    Raises:
        ValueError: there is none.
        OutputDamaged: it is not what was stored.
    """
    count = max(1, len(output.chunks))
    if not 0 <= number < count:
        raise ValueError(f"{output.id} has {'the chunk 0' if count == 1 else f'chunks 0 to {count - 1}'}")
    if output.inline is not None:
        return output.inline
    return read_chunk(home, output.id, output.digest, output.chunks[number]) if output.chunks else b""


def outputs(
    home: Home,
    wanted: OutputFilter = OutputFilter(),
    *,
    limit: int = 0,
    on_damaged: Callable[[OutputDamaged], object] = lambda _error: None,
) -> Iterator[StoredOutput]:
    """Yield outputs that fit *wanted*, newest first by local time, at most *limit* if it is not 0.

    A damaged record is left out, and *on_damaged* gets its error.
    """
    found = (output for output in _all(home, on_damaged) if wanted.fits(output))
    yield from islice(found, limit) if limit else found


def output_stats(home: Home) -> OutputStats:
    """Return counts over all outputs."""
    types, tools, tags = Counter[str](), Counter[str](), Counter[str]()
    count = parts = tokens = size = 0
    oldest = newest = ""
    damaged: list[OutputDamaged] = []
    for output in outputs(home, on_damaged=damaged.append):
        count, parts = count + 1, parts + len(output.chunks)
        tokens, size = tokens + output.tokens, size + output.length
        types[output.type] += 1
        tools.update([output.tool] if output.tool else [])
        tags.update(output.tags)
        newest = max(newest, output.ts, key=_moment)
        oldest = min(oldest or output.ts, output.ts, key=_moment)
    stored = sum(path.stat().st_size for path in (*_records(home), *blobs(home)))
    return OutputStats(
        outputs=count, chunks=parts, tokens=tokens, bytes=size, stored_bytes=stored, types=types, tools=tools,
        tags=tags, oldest=oldest, newest=newest, damaged=len(damaged),
    )  # fmt: skip


def _moment(text: str) -> float:
    return moment_of(text).timestamp() if text else -math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOutputs:
    """Result of :func:`check_outputs`: what is *damaged*, newest first, the number of *outputs*, and bytes *unread*."""

    damaged: tuple[OutputDamaged, ...] = ()
    outputs: int = 0
    unread: int = 0


def check_outputs(home: Home, *, most_bytes: int) -> CheckedOutputs:
    """Read every record and the newest contents, at most *most_bytes* of them, and return what is damaged.

    Of a content that is not read, its file must be there.
    """
    damaged: list[OutputDamaged] = []
    count = unread = 0
    for path in _records(home):
        count += 1
        try:
            output = read_output(home, path.stem)
            if most_bytes > 0:
                most_bytes -= sum(len(part) for part in output_content(home, output))
            elif output.chunks:
                unread += output.length
                require_content(home, output.id, output.digest)
        except OutputDamaged as error:
            damaged.append(error)
    return CheckedOutputs(damaged=tuple(damaged), outputs=count, unread=unread)


def _all(home: Home, on_damaged: Callable[[OutputDamaged], object]) -> Iterator[StoredOutput]:
    for path in _records(home):
        try:
            output = read_output(home, path.stem)
        except OutputDamaged as error:
            on_damaged(error)
        else:
            yield output


def _records(home: Home) -> Iterator[Path]:
    """Yield the files of records, newest first."""
    root = home.root / "outputs"
    for year in _newest(root, 4):
        for month in _newest(year, 2):
            for day in _newest(month, 2):
                names = [path for path in day.glob("mem-*.json") if OUTPUT_ID.fullmatch(path.stem)]
                yield from sorted(names, key=lambda path: path.name, reverse=True)


def _newest(folder: Path, digits: int) -> list[Path]:
    """Return the folders in *folder* that are called by so many digits, the highest first."""
    with suppress(OSError):
        found = [path for path in folder.iterdir() if len(path.name) == digits and path.name.isdigit()]
        return sorted((path for path in found if path.is_dir() and not path.is_symlink()), reverse=True)
    return []


def read_output(home: Home, name: str) -> StoredOutput:
    """Return the record of the output *name*.

    Raises:
        OutputDamaged: it is absent or damaged, or lies behind a link.
    """
    try:
        return parse_record(name, storage.read_bytes(require_own(home, home.root / record_path(name))))
    except PlaceIsLink as error:
        raise OutputDamaged(name, f"{error.place} is a link") from error
    except OSError as error:
        raise OutputDamaged(name, f"its record cannot be read ({error.strerror})") from error
