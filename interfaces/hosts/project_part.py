"""Own the part of a brief about the project at hand: its entries of MEMORY.md and its last sessions.

A project is known by git's common folder, so all work trees of a repository belong to one. A session belongs to the
project of the folder that its transcript names first. An entry belongs to the project if it cites one of its sessions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from agent_home import storage
from agent_home.audience import Audience
from agent_home.documents.daily_log import daily_path
from agent_home.git_folder import main_worktree
from agent_home.home import MEMORY, Home
from agent_home.store.transcript import SessionFile, sessions
from assembler.file_screening import FileScreening
from assembler.recalled.ended_claims import ITEM
from assembler.section import Count, defused, make_section
from assembler.sources import Sources
from guard.lazy_regex import lazy_regex

__all__ = ["ProjectPart", "project_part"]

#: Transcripts that are looked at, those written last first, and the bytes of each.
_LOOKED_AT, _HEAD_BYTES = 400, 65_536
#: Sessions whose lines of the daily log are shown, and the days that are looked at for them.
_SHOWN_SESSIONS, _DAYS = 3, 30
#: The session of an address of a turn.
_SESSION = lazy_regex(r"([^\s(),;\[\]`]+)#")
#: The addresses at the end of a line of the log.
_ADDRESSES = lazy_regex(r"\s*\([^()]*#[^()]*\)\s*$")
_TITLE = "# This project: {}\n\n"
_RECENT = "\nLast sessions:\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPart:
    """The text about a project, and the ids of the entries in it."""

    text: str = ""
    entries: frozenset[str] = frozenset()


def project_part(home: Home, cwd: str, tokens: int, count: Count, *, session: str = "") -> ProjectPart:
    """Return what memory holds of the project of the folder *cwd*, in at most *tokens*, newest first.

    It is empty for a folder that no session worked in. The last sessions get at most half of the room, and entries the
    rest. A line of the log that says what an entry says is left out, and so is *session*.
    """
    top = _top(cwd)
    files = [file for file in _sessions_of(home, top) if file.session != session] if top is not None else []
    if top is None or not files:
        return ProjectPart()
    sources = Sources(home, Audience.owner, FileScreening(home))
    title = _TITLE.format(defused(" ".join(top.name.split())))
    left = tokens - count(title) - count(_RECENT)
    entries = _entries(home, sources, {file.session for file in files}, count)
    sure = [_words(text) for text in _fitting(entries, left - left // 2, count)]
    lines = (line for line in _log_lines(home, sources, files) if not _is_told(line, sure))
    told = list(_fitting(lines, left // 2, count))
    shown = list(_fitting(entries, left - sum(map(count, told)), count))
    if not shown and not told:
        return ProjectPart()
    recent = _RECENT + "".join(told) if told else ""
    return ProjectPart(
        text=title + "".join(shown) + recent, entries=frozenset(entries[text] for text in shown)
    )  # fmt: skip


def _top(cwd: str) -> Path | None:
    """Return the main work tree of the repository that holds *cwd*, or the folder itself where there is none."""
    if not cwd or "\0" in cwd or not os.path.isabs(cwd):  # noqa: PTH117 - of a text
        return None
    return _known_top(Path(os.path.normpath(cwd)))


@lru_cache(maxsize=256)
def _known_top(folder: Path) -> Path:
    top = next((path for path in (folder, *folder.parents) if (path / ".git").exists()), None)
    return folder if top is None else main_worktree(top)


def _sessions_of(home: Home, top: Path) -> list[SessionFile]:
    """Return the transcripts of the project, those written last first."""
    recent = sorted(sessions(home), key=lambda file: (-file.mtime_ns, file.session))[:_LOOKED_AT]
    found = ((file, _top(_first_folder(file))) for file in recent)
    return [file for file, place in found if place == top]


@lru_cache(maxsize=2 * _LOOKED_AT)
def _first_folder(file: SessionFile) -> str:
    """Return the first folder that the transcript names, or an empty text."""
    try:
        with storage.open_file(file.path) as stream:
            lines = stream.read(_HEAD_BYTES).splitlines()
    except OSError:
        return ""
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:  # the last line may be cut
            continue
        if isinstance(row, dict) and isinstance(row.get("cwd"), str) and row["cwd"]:
            return str(row["cwd"])
    return ""


def _entries(home: Home, sources: Sources, names: Collection[str], count: Count) -> dict[str, str]:
    """Return the entries of MEMORY.md that cite a session of *names*, newest first, with their ids."""
    text = sources.read(home.context_path(MEMORY)).text
    units = make_section("MEMORY", text, "oldest-first", count).units
    cited = [unit for unit in units if unit.entry_id and not _cited(unit.text).isdisjoint(names)]
    return {unit.text.rstrip("\r\n") + "\n": unit.entry_id for unit in sorted(cited, key=lambda unit: unit.rank)}


def _cited(text: str) -> frozenset[str]:
    return frozenset(_SESSION.findall(text))


def _log_lines(home: Home, sources: Sources, files: Collection[SessionFile]) -> list[str]:
    """Return the lines of the daily log that tell turns of the last sessions, session by session."""
    days = sorted((path.stem for path in home.files("DailyActivity", "*.md")), reverse=True)[:_DAYS]
    texts = [sources.read(daily_path(day)).text for day in days]
    items = [(item[0], _cited(item[0])) for text in texts for item in ITEM.finditer(text)]
    told = (
        [defused(item.rstrip("\n")) + "\n" for item, cited in items if file.session in cited] for file in files
    )  # fmt: skip
    return [line for lines in islice(filter(None, told), _SHOWN_SESSIONS) for line in lines]


def _is_told(line: str, texts: Sequence[str]) -> bool:
    """Return whether one of *texts* has the words of *line*, a line of the log."""
    words = _words(_ADDRESSES.sub("", line))
    return any(words in text for text in texts)


def _words(text: str) -> str:
    """Return the letters and digits of *text*, to compare what entries and lines say."""
    return "".join(char for char in text.casefold() if char.isalnum())


def _fitting(texts: Iterable[str], tokens: int, count: Count) -> Iterator[str]:
    """Yield those of *texts* that fit into *tokens*, in order."""
    for text in texts:
        cost = count(text)
        if cost <= tokens:
            tokens -= cost
            yield text
