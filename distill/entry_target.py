"""Build the redaction target of an entry: its versions, and the passages of the turns that they cite.

A passage that is long enough to be specific is forgotten everywhere. A shorter one is forgotten in the cited turn and
beside that turn's source. A turn that an earlier run has redacted is not searched for other passages. Its words are
recognised in git's history by their tombstones instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent_home.documents.entry import Entry
from agent_home.errors import DocumentInvalid, HistoryError, NoSuchEntry
from agent_home.forgetting.redaction_target import RedactionTarget, find_entries
from agent_home.forgetting.structural_words import structural_name
from agent_home.forgetting.text_matcher import Phrase
from agent_home.forgetting.tombstones import Tombstone, recognised, tombstone, tombstone_name, tombstones
from agent_home.git import history
from agent_home.git.objects import object_kinds, objects
from agent_home.home import Home
from agent_home.salt import read_salt
from agent_home.storage import read_text
from agent_home.store import transcript
from agent_home.store.references import entry_places
from guard.lazy_regex import lazy_regex

from .statements.dated_words import without_dates
from .statements.standalone import split_speaker
from .told_turns import states, told_passages

__all__ = ["RemovalPlan", "TurnRemoval", "Turns", "entry_plan"]

#: What is forgotten of the turns that an entry cites: the sentences that tell it, all of each turn, or nothing.
Turns = Literal["sentences", "whole", "keep"]
#: A part of an entry is searched for elsewhere from this many characters and words on, or from this many characters
#: that are not ASCII. A shorter part is likely to be in unrelated texts too.
_MIN_PART_CHARS, _MIN_PART_WORDS = 16, 3
_MIN_PART_WIDE = 6
#: A line of the daily log: its text, and the sources behind it.
_LOG_LINE = lazy_regex(r"- (?P<text>.+) \((?P<sources>[^()\n]*#[^()\n]*)\)$", re.MULTILINE)
_MARK = lazy_regex(r"\[(?:(?:forgotten |removed )?f-[0-9a-f]{8}|…)\]")
_SHORTEST_MARK = "[…]"
_ENDS = ".!?\u3002\uff01\uff1f"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRemoval:
    """A turn that an entry cites, at *line* of the transcript *path*, with its *passages* that are to be forgotten.

    *quoted* are those of them that the entry only quotes. They are forgotten in this turn, and not elsewhere.
    *unclear* is set if the turn says the entry in other words, so that nobody can tell which passage it is.
    """

    source: str
    path: str
    line: int
    passages: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    unclear: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalPlan:
    """The redaction *target*, and for an entry the *turns* it cites and the *missing* sources, which are not here."""

    target: RedactionTarget
    turns: tuple[TurnRemoval, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def unclear(self) -> tuple[TurnRemoval, ...]:
        return tuple(turn for turn in self.turns if turn.unclear)


def entry_plan(home: Home, entry_id: str, turns: Turns = "sentences") -> RemovalPlan:
    """Return what is forgotten with the entry *entry_id*.

    Raises:
        NoSuchEntry: no entry has or had that id, and none was forgotten before.
        HistoryError: the history cannot be read.
    """
    salt = read_salt(home)
    entries = list({entry.raw: entry for entry in _versions(home, entry_id)}.values())
    rows = [row for row in tombstones(home) if row.id == entry_id]
    if not entries and not rows:
        raise NoSuchEntry(entry_id)
    name = tombstone_name(Phrase(entry_id, exact=True), salt)
    parts = list(dict.fromkeys(part for entry in entries for part in _parts(entry)))
    own = {tombstone(Phrase(part), salt, ts="", name="", entry_id="", places=0, actor="").digest for part in parts}
    earlier = [row for row in rows if row.head and row.digest not in own]
    cited, missing = _cited_turns(home, entries, turns, name, done=bool(earlier))
    passages = [(turn.source, passage) for turn in cited for passage in turn.passages if passage not in turn.quoted]
    quoted = [(turn.source, Phrase(passage)) for turn in cited for passage in turn.quoted]
    if turns != "keep":
        passages += _log_passages(home, entries)
    texts = [*parts, *(text.strip().rstrip(_ENDS) or text for _, text in passages), *_recognised(home, earlier)]
    phrases = [Phrase(text) for text in sorted(dict.fromkeys(texts), key=len, reverse=True) if _is_specific(text)]
    short = [(source, Phrase(text.strip())) for source, text in passages if not _is_specific(text.rstrip(_ENDS))]
    target = RedactionTarget(
        tuple(phrase for phrase in phrases if not structural_name(home, phrase)), entry_id, name,
        tuple(dict.fromkeys(pair for pair in (*quoted, *short) if pair[1].folded)),
    )  # fmt: skip
    return RemovalPlan(target=target, turns=tuple(cited), missing=tuple(missing))


def _versions(home: Home, entry_id: str) -> Iterator[Entry]:
    """Yield all versions of the entry in the files and in every object of git."""
    for path in home.files("", "**/*.md"):
        try:
            yield from find_entries(read_text(path), entry_id)
        except (DocumentInvalid, OSError):
            continue
    for text in _blobs(home):
        if f"[{entry_id}]" in text:
            yield from find_entries(text, entry_id)


def _blobs(home: Home) -> Iterator[str]:
    try:
        for item in objects(home.root, [oid for oid, kind in object_kinds(home.root).items() if kind == "blob"]):
            yield item.data.decode("utf-8", "replace")
    except HistoryError:
        if history.head(home.root):
            raise


def _parts(entry: Entry) -> Iterator[str]:
    """Yield the text, title, body and detail lines of an entry, if they are long enough to be specific to it.

    Each is also yielded as its turn may say it: without the speaker and the dates that the entry adds.
    """
    for part in (entry.text, entry.title.removesuffix("…"), entry.body, *entry.detail.splitlines()):
        said = split_speaker(part)[1]
        for form in (part, said, without_dates(said)):
            if _is_specific(form):
                yield form.strip()


def _is_specific(part: str) -> bool:
    folded = Phrase(part).folded
    if sum(not char.isascii() for char in folded) >= _MIN_PART_WIDE:
        return True
    return len(folded) >= _MIN_PART_CHARS and len(folded.split()) >= _MIN_PART_WORDS


def _sources(entries: Sequence[Entry]) -> list[str]:
    named = (part.strip() for entry in entries for part in entry.fields.get("Sources", "").split(","))
    return list(dict.fromkeys(source for source in named if "#" in source))


def _cited_turns(
    home: Home, entries: Sequence[Entry], turns: Turns, name: str, *, done: bool
) -> tuple[list[TurnRemoval], list[str]]:
    """Return the cited turns, and the sources whose session is not on this machine."""
    found, missing = dict[str, TurnRemoval](), list[str]()
    contents: dict[str, str] = {}
    wanted = _sources(entries)
    for session in dict.fromkeys(source.rpartition("#")[0] for source in wanted):
        path = transcript.session_path(home, session)
        if path is None:
            missing += (source for source in wanted if source.rpartition("#")[0] == session)
            continue
        for line, (message, _, _) in enumerate(transcript.read_lines(path, withdrawn_too=True), 1):
            if message is not None and message.source in wanted:
                found[message.source] = TurnRemoval(source=message.source, path=home.relative(path), line=line)
                contents[message.source] = message.content
    marks = (name, *[_SHORTEST_MARK] * done)
    if turns == "sentences":
        contents |= _earlier_contents(home, contents, marks)
    return list(_with_passages(home, entries, found, contents, turns, marks)), missing


def _earlier_contents(home: Home, contents: Mapping[str, str], marks: Collection[str]) -> dict[str, str]:
    """Return the redacted turns of *contents* as git's history says them, if the home keeps transcripts in git."""
    wanted = {source for source, text in contents.items() if any(mark in text for mark in marks)}
    found: dict[str, str] = {}
    for blob in _blobs(home) if wanted else ():
        for line in blob.splitlines() if '"content"' in blob else ():
            row = _row(line)
            source, content = f"{row.get('session')}#{row.get('id')}", row.get("content")
            if source in wanted and isinstance(content, str) and not any(mark in content for mark in marks):
                found[source] = content
    return found


def _row(line: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _with_passages(
    home: Home, entries: Sequence[Entry], found: Mapping[str, TurnRemoval], contents: Mapping[str, str], turns: Turns,
    marks: Collection[str],
) -> Iterator[TurnRemoval]:  # fmt: skip
    """Yield the turns with their passages. A turn with one of *marks* was redacted by an earlier run.

    What the entry only quotes stays if another entry of that turn states it.
    """
    fresh = {source: text for source, text in contents.items() if not any(mark in text for mark in marks)}
    told = told_passages([entry.text for entry in entries], fresh) if turns == "sentences" else None
    is_unclear = told is not None and told.unclear and len(fresh) == len(contents)
    others = list(_other_entries(home, entries[0].id)) if told is not None and told.quoted else []
    for source, turn in found.items():
        passages, quoted = list[str](), list[str]()
        if turns == "whole" and re.search(r"\w", _MARK.sub("", contents[source])):
            passages = [contents[source]]
        elif told is not None and not is_unclear:
            passages = list(told.passages.get(source, ()))
            quoted = [passage for passage in passages if (source, passage) in told.quoted]
        beside = [other.text for other in others if source in _sources([other])]
        kept = {passage for passage in quoted if any(states(text, passage) for text in beside)}
        yield replace(
            turn, passages=tuple(passage for passage in passages if passage not in kept), unclear=is_unclear,
            quoted=tuple(passage for passage in quoted if passage not in kept),
        )  # fmt: skip


def _other_entries(home: Home, entry_id: str) -> Iterator[Entry]:
    return (place[0][1] for other, place in entry_places(home).items() if other != entry_id)


def _log_passages(home: Home, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Yield the lines of daily logs that tell the entry beside a turn that it cites, each with that turn's source."""
    texts, wanted = [entry.text for entry in entries], set(_sources(entries))
    for path in home.files("DailyActivity", "*.md") if wanted else ():
        try:
            log = read_text(path)
        except (DocumentInvalid, OSError):  # not a text file, reported as a place
            continue
        for match in _LOG_LINE.finditer(log):
            source = match["sources"].partition(",")[0].strip()  # the others are only quoted
            if source in wanted:
                told = told_passages(texts, {source: match["text"]})
                passages = told.passages.get(source, ())
                yield from ((source, passage) for passage in passages if (source, passage) not in told.quoted)


def _recognised(home: Home, rows: Sequence[Tombstone]) -> list[str]:
    """Return the words of *rows* as git's history and the files say them."""
    if not rows:
        return []
    files = home.files("", "**/*.md")
    lines = {line for text in _blobs(home) for line in text.splitlines()}
    for path in files:
        try:
            lines.update(read_text(path).splitlines())
        except (DocumentInvalid, OSError):
            continue
    return list(dict.fromkeys(recognised(home, rows, sorted(lines))))
