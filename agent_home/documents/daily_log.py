"""Own the daily log: files in ``DailyActivity/`` with one section for each closing of a session.

The second line of a section names the session, and the messages and bytes of the transcript from which it was made.
``agent_home.store.closings`` knows which messages these were, also on another machine.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from guard.lazy_regex import lazy_regex

from .. import storage
from ..home import ARCHIVED_DAILY, Home
from .document import parse

__all__ = [
    "NOTHING_KEPT",
    "Closing",
    "anchor_of",
    "closings",
    "covers_session",
    "daily_files",
    "daily_path",
    "parse_closings",
    "render_closing",
    "watermark",
    "without_empty_closings",
]

#: Body of a closing that keeps nothing of its session.
NOTHING_KEPT = "Nothing was said that a rule marks as worth keeping.\n"

_HEADING = lazy_regex(r"(?P<time>\d{2}:\d{2}) (?P<title>.*) \((?P<anchor>s-[0-9a-z]+)\)$")
_COVERS = lazy_regex(
    r"Session: `(?P<session>[^`\n]+)` messages (?P<first>\d+)-(?P<last>\d+), bytes (?P<start>\d+)-(?P<end>\d+)"
)
#: Text of a section behind its watermark that tells nothing: topics, or the sentence that says so.
_TELLS_NOTHING = lazy_regex(rf"\s*(?:### Topics\s+[^\n]+\s*)?(?:{re.escape(NOTHING_KEPT.strip())}\s*)?")
_NOT_PLAIN = lazy_regex(r"[%`\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DATE_FILE = lazy_regex(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """One section of a daily file.

    *first* and *last* count the session's messages from 1. *start* and *end* are byte offsets in its transcript.
    *line* is the first line of the section in *path*, or 0 before the section is written. *recorded_anchor* is the
    anchor in the file. *archived* is true when the daily file of that date is in the archive.
    """

    session: str
    date: str
    time: str
    title: str
    first: int
    last: int
    start: int
    end: int
    line: int = 0
    recorded_anchor: str = ""
    archived: bool = False

    @property
    def anchor(self) -> str:
        """The section's name inside its file, such as ``s-1a2b3c``. It depends on session and start only."""
        return self.recorded_anchor or anchor_of(self.session, self.start)

    @property
    def path(self) -> str:
        return f"Archive/{daily_path(self.date)}" if self.archived else daily_path(self.date)

    @property
    def address(self) -> str:
        """The address by which evidence and sources refer to the section."""
        return f"{self.path}#{self.anchor}"


def anchor_of(session: str, start: int, first: str = "") -> str:
    """Return a short name for the part of *session* that begins at byte *start*.

    *first* tells parts apart that begin at the same byte on two machines: the id of their first message.
    """
    part = f"{session}\0{start}\0{first}" if first else f"{session}\0{start}"
    digest = hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"s-{digest}"


def daily_path(date: str) -> str:
    """Return the path of the daily file of an ISO date, relative to the home."""
    return f"DailyActivity/{date}.md"


def render_closing(closing: Closing, body: str) -> str:
    """Render the section as Markdown that ends in one newline. Headings of level 1 and 2 in *body* become level 3.

    A body therefore cannot start another section and claim that another session was closed.
    """
    title = " ".join(closing.title.split()) or "Session"
    covers = f"Session: `{_quoted(closing.session)}` messages {closing.first}-{closing.last}"
    covers += f", bytes {closing.start}-{closing.end}"
    inner = "".join(
        f"### {block.title}\n" if block.kind == "heading" and block.level < 3 else block.raw
        for block in parse(f"\n{body.strip()}\n").blocks
    )
    return f"## {closing.time} {title} ({closing.anchor})\n\n{covers}\n\n{inner.strip()}\n"


def parse_closings(text: str, date: str) -> list[Closing]:
    """Parse the closings of a daily file, in file order. A section without a watermark line is skipped."""
    document = parse(text)
    found = []
    for section in document.sections(level=2):
        heading = _HEADING.match(section.title)
        lines = (block.raw for block in document.blocks[section.start + 1 : section.end] if block.kind == "text")
        covers = next((match for line in lines if (match := _COVERS.match(line))), None)
        if covers is not None:
            numbers: dict[str, Any] = {key: int(covers[key]) for key in ("first", "last", "start", "end")}
            found.append(
                Closing(
                    session=unquote(covers["session"], errors="surrogatepass"), date=date,
                    time=heading["time"] if heading else "",
                    title=heading["title"] if heading else section.title, line=section.line,
                    recorded_anchor=heading["anchor"] if heading else "", **numbers,
                )
            )  # fmt: skip
    return found


@lru_cache(maxsize=16)
def without_empty_closings(text: str) -> str:
    """Return the text of a daily file without the closings that keep nothing of their session.

    The file needs their watermarks, a reader does not need them. The result is cached, because a warm process reads the
    same logs for every message.
    """
    document = parse(text)
    dropped: set[int] = set()
    for section in document.sections(level=2):
        body = "".join(block.raw for block in document.blocks[section.start + 1 : section.end])
        covers = _COVERS.search(body)
        if covers and not body[: covers.start()].strip() and _TELLS_NOTHING.fullmatch(body[covers.end() :]):
            dropped.update(range(section.start, section.end))
    if not dropped:
        return text
    return "".join(block.raw for at, block in enumerate(document.blocks) if at not in dropped)


def closings(home: Home, since: str = "") -> list[Closing]:
    """Return every closing in daily files dated *since* or later, oldest day first."""
    found = []
    for path in daily_files(home):
        if path.stem >= since:
            archived = path.parent != home.daily
            parsed = parse_closings(storage.read_text(path), path.stem)
            found += [replace(closing, archived=True) for closing in parsed] if archived else parsed
    return found


def daily_files(home: Home) -> list[Path]:
    """Return the daily files, oldest first. Of two files of one day the archived file comes first."""
    folders = (ARCHIVED_DAILY, "DailyActivity")
    paths = (path for folder in folders for path in home.files(folder, "*.md") if _DATE_FILE.fullmatch(path.stem))
    return sorted(paths, key=lambda path: path.stem)


def watermark(home: Home, session: str, since: str = "") -> Closing | None:
    """Return the closing of *session* with the highest end offset, or ``None`` when it was never closed."""
    own = [closing for closing in closings(home, since) if covers_session(closing, session)]
    return max(own, key=lambda closing: closing.end, default=None)


def covers_session(closing: Closing, session: str) -> bool:
    """Return whether *closing* covers *session*. Anchors are compared where the guard redacted the session's name."""
    if "[REDACTED" in closing.session:
        return closing.recorded_anchor == anchor_of(session, closing.start)
    return closing.session == session


def _quoted(session: str) -> str:
    """Encode a session id for a place between backticks on one line. Different ids stay different."""
    return _NOT_PLAIN.sub(lambda match: quote(match[0], safe="", errors="surrogatepass"), session)
