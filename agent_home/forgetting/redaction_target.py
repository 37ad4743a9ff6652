"""Redact a text or an entry in the text of any file.

Each kind of file has one rule, which also holds for its versions in git. A mark replaces a passage. The target entry is
removed whole, and so is an entry that holds nothing but marks. Links of other entries to a removed one go with it. A
mark keeps an entry superseded whose successor is forgotten. A line of JSON stays a line of JSON. A line of a
transcript keeps its length in bytes, because watermarks of closings are byte offsets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Any

from guard.lazy_regex import lazy_regex

from ..documents.entry import Entry, parse_entry
from .text_matcher import Phrase, fold, has_other_readings, readings

__all__ = [
    "RedactionTarget",
    "find_entries",
    "is_transcript",
    "matching_lines",
    "redacted",
    "without_empty_entries",
]

#: The keys of a transcript's row that this program fills with times, roles and digests. All others hold text of hosts.
_OWN_KEYS = frozenset({"ts", "role", "source", "said", "heard"})
#: Approximate borders between passages of Markdown: a list item, a heading, a blank line.
_PASSAGE_BORDER = lazy_regex(r"(?m)^(?=[-*+][ \t]|\#|[ \t]*\n)")
_ENTRY_HEAD = lazy_regex(r"[-*+][ \t]+\*\*\[(?P<id>[A-Z]{2}-[0-9A-Z]{4})\]")
_MARK = lazy_regex(r"\[(?:forgotten |removed )?(?:f-[0-9a-f]{8}|…)\]")
#: Lines that a closing writes below a statement. They say nothing without it.
_ABOUT_STATEMENT = lazy_regex(r"(?:Wrong|Root cause|Instead of|Occurrences): ")
#: A field that links an entry to others.
_LINK = lazy_regex(r"(?P<name>Superseded-By|Supersedes): (?P<ids>[^\n·]*)")
#: A section of the daily log that lists topics.
_TOPICS_HEADING = "### Topics"
_TOPICS = lazy_regex(rf"(?m)^(?P<heading>{_TOPICS_HEADING}[ \t]*\n\s*)(?P<topics>[^\n]+)")
_INDENTED = lazy_regex(r"[ \t]+\S")


@dataclass(frozen=True)
class RedactionTarget:
    """The *phrases* to forget, and the entry *entry_id* if it is not empty.

    *cited* are phrases too short to be forgotten everywhere, each with the source of a turn. They are forgotten in that
    turn and in the passages of Markdown that name it. *name* identifies this forgetting in marks and tombstones: ``f-``
    and eight hexadecimal digits. *recognised* are the phrases that later writes are searched for, all without any. From
    a list of topics go *topics*, where it has two or more of these words.
    """

    phrases: tuple[Phrase, ...]
    entry_id: str = ""
    name: str = "f-00000000"
    cited: tuple[tuple[str, Phrase], ...] = ()
    recognised: tuple[Phrase, ...] = ()
    topics: frozenset[str] = frozenset()

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Return the marks that may replace a passage, longest first. A mark that contains a phrase is left out."""
        forms = (f"[forgotten {self.name}]", f"[removed {self.name}]", f"[{self.name}]", "[…]", "")
        return tuple(form for form in forms if not any(phrase.occurs_in(form) for phrase in self.phrases))

    @property
    def mark(self) -> str:
        return self.marks[0]

    def occurs_in(self, text: str) -> bool:
        """Return whether *text* contains any of the phrases, in any reading."""
        for reading in readings(text):
            folded = fold(reading)
            if any(phrase.is_in(reading, folded) for phrase in self.phrases):
                return True
        return False

    def may_occur_in(self, data: bytes) -> bool:
        """Return whether these bytes may contain a phrase or the entry. ``False`` is certain."""
        if self.entry_id and self.entry_id.encode() in data:
            return True
        phrases = (*self.phrases, *(phrase for _, phrase in self.cited))
        if phrases and (has_other_readings(data) or any(phrase.exact for phrase in phrases)):
            return True
        lowered = data.lower()
        in_topics = bool(self.topics) and _TOPICS_HEADING.encode().lower() in lowered
        return in_topics or any(phrase.may_occur_in_plain(lowered) for phrase in phrases)

    def without_topics(self, text: str) -> str:
        """Return Markdown whose lists of topics do not tell the words of the forgotten text."""
        if not self.topics or _TOPICS_HEADING not in text:
            return text
        return _TOPICS.sub(self._shorter_topics, text)

    def _shorter_topics(self, match: re.Match[str]) -> str:
        topics = [topic.strip() for topic in match["topics"].split(",")]
        kept = [topic for topic in topics if not (words := fold(topic).split()) or not self.topics.issuperset(words)]
        told = {word for topic in topics if topic not in kept for word in fold(topic).split()}
        return f"{match['heading']}{', '.join(kept) or self.mark}" if len(told) > 1 else match[0]

    def beside(self, text: str) -> RedactionTarget:
        """Return the target with the phrases of the turns whose sources *text* names."""
        extra = tuple(phrase for source, phrase in self.cited if _names_source(text, source))
        return replace(self, phrases=self.phrases + extra, cited=()) if extra else self

    def redact(self, text: str, mark: str | None = None) -> str:
        """Return *text* with a mark for each passage, including a passage that removing another one forms."""
        if not self.occurs_in(text):
            return text
        mark = self.mark if mark is None else mark
        for phrase in self.phrases:
            text = phrase.redact(text, mark)
        return text if mark else self.redact(text, mark)


def redacted(path: str, text: str, target: RedactionTarget) -> str:
    """Return the text of the file *path* without the target."""
    names_entry = bool(target.entry_id) and target.entry_id in text
    says_cited = any(phrase.occurs_in(text) for _, phrase in target.cited)
    kind = PurePosixPath(path).suffix
    text = target.without_topics(text) if kind == ".md" else text
    if not names_entry and not says_cited and not target.occurs_in(text):
        return text
    if kind == ".jsonl":
        return "".join(_redacted_line(line, target, same_length=is_transcript(path)) for line in _lines(text))
    if kind == ".json":
        return _redacted_json(text, target)
    return _redacted_markdown(text, target) if kind == ".md" else target.redact(text)


def without_empty_entries(path: str, text: str) -> str:
    """Return the text of the file *path* without the entries that earlier erasures left with nothing but marks."""
    if PurePosixPath(path).suffix != ".md" or not _MARK.search(text):
        return text
    passages = _PASSAGE_BORDER.split(text)
    return "".join(passage for passage in passages if not (_MARK.search(passage) and _is_empty_entry(passage)))


def matching_lines(path: str, text: str, target: RedactionTarget) -> list[int]:
    """Return the numbers, from 1, of the lines of *text* that :func:`redacted` would change, in order."""
    if redacted(path, text, target) == text:
        return []
    if PurePosixPath(path).suffix == ".jsonl":
        rows = enumerate(_lines(text), 1)
        return [number for number, line in rows if _redacted_line(line, target, same_length=False) != line]
    starts = {start for phrase in target.phrases for start, _ in phrase.spans(text)}
    lists = _TOPICS.finditer(text) if target.topics else ()
    starts |= {match.start("topics") for match in lists if target.without_topics(match[0]) != match[0]}
    if target.entry_id:
        starts |= {match.start() for match in _ENTRY_HEAD.finditer(text) if match["id"] == target.entry_id}
        starts |= {match.start() for match in _LINK.finditer(text) if target.entry_id in match["ids"]}
    if target.cited:
        starts |= set(_starts_of_cited(text, target))
    return sorted({text.count("\n", 0, start) + 1 for start in starts}) or [1]


def find_entries(text: str, entry_id: str) -> Iterator[Entry]:
    """Yield each copy of the entry *entry_id* in a Markdown text."""
    for passage in _PASSAGE_BORDER.split(text):
        head = _ENTRY_HEAD.match(passage)
        entry = parse_entry(passage) if head is not None and head["id"] == entry_id else None
        if entry is not None:
            yield entry


def is_transcript(path: str) -> bool:
    """Return whether *path*, relative to the home, is a transcript, whose byte offsets are recorded elsewhere."""
    return path.startswith("sessions/") and path.endswith(".jsonl")


def _starts_of_cited(text: str, target: RedactionTarget) -> Iterator[int]:
    """Yield where the phrases begin that are forgotten only beside the source of their turn."""
    at = 0
    for passage in _PASSAGE_BORDER.split(text):
        beside = target.beside(passage)
        if beside is not target:
            yield from (at + start for phrase in beside.phrases for start, _ in phrase.spans(passage))
        at += len(passage)


def _names_source(text: str, source: str) -> bool:
    return source in text and re.search(rf"(?<![\w-]){re.escape(source)}(?![\w~-])", text) is not None


def _lines(text: str) -> list[str]:
    """Return lines as JSON Lines defines them: only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _redacted_markdown(text: str, target: RedactionTarget) -> str:
    passages = list(_redacted_passages(_PASSAGE_BORDER.split(text), target))
    removed = {name for name, done in passages if not done} | ({target.entry_id} if target.entry_id else set())
    done = "".join(_without_links(part, removed - {""}, target) for _, part in passages)
    return target.redact(done) if target.occurs_in(done) else done


def _redacted_passages(passages: Sequence[str], target: RedactionTarget) -> Iterator[tuple[str, str]]:
    """Yield each passage without the target, with the id of the entry that begins there."""
    inside = False  # the target entry
    for passage in passages:
        head = _ENTRY_HEAD.match(passage)
        name = head["id"] if head is not None else ""
        if name and name == target.entry_id:
            inside = True
            continue
        if inside and _INDENTED.match(passage.lstrip("\n")):
            continue  # another paragraph of that entry
        inside = False
        yield name, _redacted_passage(passage, target)


def _without_links(passage: str, removed: Collection[str], target: RedactionTarget) -> str:
    """Return an entry without its links to *removed* entries. A superseded one stays so, by a mark."""
    links = [match["ids"] for match in _LINK.finditer(passage)]
    entry = parse_entry(passage) if any(name in ids for name in removed for ids in links) else None
    if entry is None:
        return passage
    fields = dict(entry.fields)
    for field in ("Supersedes", "Superseded-By"):
        names = [name.strip() for name in fields.get(field, "").split(",")]
        left = ", ".join(name for name in names if name not in removed)
        if left != ", ".join(names):
            fields[field] = left or ((target.mark or "forgotten") if field == "Superseded-By" else "")
    end = passage[len(passage.rstrip()) :]
    return entry.changed(fields=fields).render().rstrip() + end


@lru_cache(maxsize=50_000)  # versions of a file share nearly all of their passages
def _redacted_passage(passage: str, target: RedactionTarget) -> str:
    target = target.beside(passage)
    if not target.occurs_in(passage):
        return passage
    done = target.redact(passage)
    return "" if _is_empty_entry(done) else done


def _is_empty_entry(passage: str) -> bool:
    """Return whether *passage* is an entry that holds nothing but marks, and lines about its erased statement."""
    entry = parse_entry(passage)
    if entry is None:
        return False
    lines = (line for line in entry.detail.splitlines() if not _ABOUT_STATEMENT.match(line))
    return not re.search(r"\w", _MARK.sub("", "\n".join((entry.title, entry.body, *lines))))


def _redacted_json(text: str, target: RedactionTarget) -> str:
    """Return a JSON document with its strings redacted, in the same layout as far as it can be inferred."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return target.redact(text)
    if isinstance(value, dict):
        target = target.beside(str(value.get("source", "")))
    changed = _redacted_value(value, target, target.mark)
    if changed == value:
        return text
    indent = re.search(r"\n( +)\S", text)
    return json.dumps(changed, ensure_ascii=text.isascii(), indent=len(indent[1]) if indent else None)


def _redacted_line(line: str, target: RedactionTarget, *, same_length: bool) -> str:
    """Return a JSON line with its strings redacted. *same_length* keeps its bytes, with blanks at the end."""
    row = _row(line) if target.cited else None
    if row is not None:
        target = target.beside(f"{row.get('session')}#{row.get('id')}")
    if not target.occurs_in(line):
        return line
    row = row or _row(line)
    size = len(line.encode("utf-8", "surrogatepass"))
    for mark in target.marks:
        for separators in ((", ", ": "), (",", ":")):
            done = _rendered(row, line, target, mark, separators)
            if done == line:
                return line
            length = len(done.encode("utf-8", "surrogatepass"))
            if not same_length:
                return done
            if length <= size:
                body, end = done.removesuffix("\n"), "\n" if line.endswith("\n") else ""
                return f"{body}{' ' * (size - length)}{end}"
    return " " * (size - 1) + line[-1:]  # no rendering fits: a blank line is no message


def _rendered(
    row: Mapping[str, Any] | None, line: str, target: RedactionTarget, mark: str, separators: tuple[str, str]
) -> str:
    if row is None:
        return target.redact(line, mark)
    kept = _OWN_KEYS if row.keys() >= {"session", "id", "content"} else ()
    changed = {key: value if key in kept else _redacted_value(value, target, mark) for key, value in row.items()}
    if changed == row:
        return line
    text = json.dumps(changed, ensure_ascii=False, separators=separators)
    return text.encode("utf-8", "backslashreplace").decode() + ("\n" if line.endswith("\n") else "")


def _row(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _redacted_value(value: Any, target: RedactionTarget, mark: str) -> Any:
    if isinstance(value, str):
        return target.redact(value, mark)
    if isinstance(value, list):
        return [_redacted_value(item, target, mark) for item in value]
    if isinstance(value, dict):
        return {key: _redacted_value(item, target, mark) for key, item in value.items()}
    return value
