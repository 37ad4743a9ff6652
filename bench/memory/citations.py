"""Count the questions about a conversation whose answering turns MEMORY.md or the daily log cites."""

from __future__ import annotations

import json
import re
from calendar import month_name
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from distill.statements.dated_words import add_dates
from distill.statements.sentences import prose_lines, split_sentences
from distill.statements.topics import content_terms
from recall.embedding.embedder import Embedder, NoEmbedder

from .answer_dates import named_days, written_days
from .closed_homes import ClosedHome, Told, closed_home, read_messages

__all__ = ["CitationCounts", "leading", "measure_citations"]

#: Share of an answer's terms that the citing lines must hold to say it.
_SAYS = 0.5
_CAPTION = re.compile(r"\[image: ?([^\]\n]*)\]")
_DAY = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")


@dataclass(slots=True, kw_only=True)
class CitationCounts:
    """Counts of the questions of some conversations.

    *memory*, *log* and *either* count questions with a gold turn cited there. *answered* counts those of *either* that
    have an answer, and *says* those of them whose citing lines hold half of the answer's terms. *sayable* counts those
    whose whole gold turns hold them, the most that any line could. *lead* counts the
    questions whose gold turn is among the first lines of the turns with as many tokens as memory and log. *prose*
    counts entries whose only sources are turns of the assistant.
    """

    questions: int = 0
    memory: int = 0
    log: int = 0
    either: int = 0
    answered: int = 0
    says: int = 0
    sayable: int = 0
    lead: int = 0
    entries: int = 0
    prose: int = 0


def measure_citations(folder: Path, embedder: Embedder | NoEmbedder | None, *, most: int = 0) -> CitationCounts:
    """Close every conversation of the set in a home of its own, at most *most* of them, and count."""
    counts = CitationCounts()
    paths = sorted(folder.glob("*.transcript.jsonl"))
    for path in paths[: most or None]:
        messages = read_messages(path)
        with closed_home(messages, embedder) as closed:
            _count(counts, path, messages, closed)
    return counts


def _count(counts: CitationCounts, path: Path, messages: Sequence[Message], closed: ClosedHome) -> None:
    turns = {message.source: Told(text=_dated(message), sources=(message.source,)) for message in messages}
    roles = {message.source: message.role for message in messages}
    counts.entries += len(closed.entries)
    counts.prose += sum(all(roles.get(source) == "assistant" for source in line.sources) for line in closed.entries)
    room = sum(count_tokens(line.text) for line in (*closed.entries, *closed.log))
    lead = {source for source, _ in leading(messages, room)}
    questions = path.with_name(path.name.replace(".transcript.", ".queries."))
    for text in questions.read_text("utf-8").splitlines():
        row = json.loads(text)
        gold = set(row["expect"])
        if not gold:
            continue
        entries, log = (_citing(lines, gold) for lines in (closed.entries, closed.log))
        counts.questions += 1
        counts.memory += bool(entries)
        counts.log += bool(log)
        counts.either += bool(entries or log)
        answer = str(row.get("answer") or "")
        counts.answered += bool(answer and (entries or log))
        counts.says += bool(answer) and _says([*entries, *log], answer)
        whole = [turns[source] for source in gold if source in turns] if entries or log else []
        counts.sayable += bool(answer) and _says([*whole, *entries, *log], answer)
        counts.lead += not gold.isdisjoint(lead)


def _dated(message: Message) -> str:
    """Return the content of a turn with the dates that its words name."""
    day = message.ts[:10]
    return add_dates(message.content, date.fromisoformat(day)) if _DAY.fullmatch(day) else message.content


def _citing(lines: Sequence[Told], gold: set[str]) -> list[Told]:
    return [line for line in lines if not gold.isdisjoint(line.sources)]


def _says(lines: Sequence[Told], answer: str) -> bool:
    """Return whether *lines* together hold half of the answer's terms, cut to five letters, or the day it names.

    A date is read in words.
    """
    days = named_days(answer)
    if days is not None and any(
        first <= days[1] and last >= days[0] for line in lines for first, last in written_days(line.text)
    ):
        return True
    terms = {term.casefold()[:5] for term in content_terms(answer)}
    held = {term.casefold()[:5] for line in lines for term in content_terms(_readable(line.text))}
    return bool(lines) and len(terms & held) >= _SAYS * len(terms)


def _readable(text: str) -> str:
    """Return *text* with its dates in words and the captions of its pictures as plain text."""
    return _CAPTION.sub(r"\1", _DAY.sub(_in_words, text))


def _in_words(day: re.Match[str]) -> str:
    """Return a date as an answer writes it («3 July 2023»), behind its digits."""
    number = int(day[2])
    month = month_name[number] if 1 <= number <= 12 else ""
    return f"{day.group()} {int(day[3] or 0) or ''} {month} {day[1]}"


def leading(messages: Sequence[Message], room: int) -> Iterator[tuple[str, str]]:
    """Yield the first sentence of each turn, evenly over the conversation, until *room* tokens are used."""
    firsts = []
    for message in messages:
        lines = (part for line in prose_lines(message.content) for part in split_sentences(line.text))
        first = next(lines, "")
        if first:
            firsts.append((message.source, first, count_tokens(first)))
    total = sum(tokens for _, _, tokens in firsts)
    step = max(1.0, total / max(room, 1))
    place = 0.0
    while int(place) < len(firsts) and room > 0:
        source, first, tokens = firsts[int(place)]
        room -= tokens
        yield source, first
        place += step
