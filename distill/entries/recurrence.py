"""Recurrence: the items of a session whose topic another recent session already had in the daily log.

A fact without a cue stays in the daily log. It earns an entry when a second session mentions its topic, and the entry
cites the turns of both. Only the daily logs of some days are read and no transcript, so the cost of a closing does not
grow with the age of the home. Two lines share a topic when both hold half of the lighter line's words, weighted by
rarity.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from urllib.parse import unquote

from agent_home import storage
from agent_home.documents.daily_log import daily_path
from agent_home.documents.entry import parse_fields
from agent_home.documents.provenance import least_trusted
from agent_home.home import Home
from guard.lazy_regex import lazy_regex

from ..statements.contradiction import are_at_odds
from ..statements.statement_parser import parse_statement
from ..summary.extraction import Item

__all__ = ["EarlierMention", "LogLine", "all_log_lines", "find_recurring", "read_recent_logs", "standing_log_lines"]

#: Least share of the lighter line that two lines of one topic have in common, and the least weight of these words.
_MIN_SHARE = 0.5
_MIN_SHARED_WEIGHT = 2.0
#: Lines of less weight have no topic of their own ("The kids loved it!").
_MIN_LINE_WEIGHT = 4.0
#: Added to the number of lines. In a short log the count of a word says little about its rarity.
_SMOOTHING = 20
#: Most earlier lines that an entry cites.
_MAX_CITED_LINES = 3
#: Most lines with the topic that are compared with the item. One that says otherwise is no mention of the same.
_MAX_COMPARED_LINES = 12
_LINE = lazy_regex(r"^- \\?(?P<text>.+) \((?P<sources>[^()\s]+#[^()\n]+)\)[ \t]*$")
_COVERS = lazy_regex(r"^Session: `(?P<session>[^`\n]+)` messages ")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of the daily log, or the topics of a section, which have no *sources*.

    *corrected*: a later turn of the session corrected the line. *contradicted*: git contradicts its claim.
    """

    text: str
    session: str
    sources: tuple[str, ...] = ()
    origin: str = "agent"
    corrected: bool = False
    contradicted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMention:
    """Earlier mentions of a topic: the *sources* in other sessions, oldest first, and their least trusted *origin*."""

    sessions: tuple[str, ...]
    sources: tuple[str, ...]
    origin: str


def read_recent_logs(home: Home, day: str, days: int) -> list[str]:
    """Read the daily logs of the *days* up to and including *day*, oldest first. Missing logs are left out."""
    last = date.fromisoformat(day)
    paths = (home.root / daily_path(f"{last - timedelta(days=back):%Y-%m-%d}") for back in range(days - 1, -1, -1))
    return [storage.read_text(path) for path in paths if path.exists()]


def find_recurring(
    items: Sequence[Item], logs: Iterable[str], session: str, *, most: int
) -> dict[Item, EarlierMention]:
    """Find the items, at most *most*, whose topic another session had in *logs*. Those that share most are kept."""
    if not items:
        return {}
    known = [pair for text in logs for pair in zip(standing_log_lines(text), _line_words(text), strict=True)]
    known = [(line, words) for line, words in known if line.session != session]
    if not known:
        return {}
    lines, line_words = [line for line, _ in known], [words for _, words in known]
    frequency = Counter(word for words in line_words for word in words)
    postings: dict[str, list[int]] = {}
    for place, words in enumerate(line_words):
        for word in words:
            postings.setdefault(word, []).append(place)
    found: dict[Item, tuple[float, EarlierMention]] = {}
    for item in items:
        shares = _shares(item, line_words, frequency, postings)
        most_alike = sorted(shares, key=lambda place: (-shares[place], place))[:_MAX_COMPARED_LINES]
        shares = {place: shares[place] for place in most_alike if not are_at_odds(lines[place].text, item.text)}
        if shares:
            places = sorted(shares, key=lambda place: (-shares[place], place))[:_MAX_CITED_LINES]
            found[item] = max(shares.values()), _mention([lines[place] for place in sorted(places)])
    best = sorted(found, key=lambda item: -found[item][0])[:most]
    return {item: found[item][1] for item in items if item in best}


@lru_cache(maxsize=128)
def standing_log_lines(text: str) -> tuple[LogLine, ...]:
    """Return the lines of a daily log that are neither corrected nor contradicted by git."""
    return tuple(line for line in all_log_lines(text) if not line.corrected and not line.contradicted)


@lru_cache(maxsize=128)
def _line_words(text: str) -> tuple[frozenset[str], ...]:
    """Return the words of each line. The result is cached: of the days that a closing reads, only one changes."""
    return tuple(frozenset(parse_statement(line.text).keys) for line in standing_log_lines(text))


def all_log_lines(text: str) -> Iterator[LogLine]:
    """Yield the lines of a daily log in file order, including corrected and contradicted ones."""
    rows = text.splitlines()
    session, in_topics = "", False
    for index, row in enumerate(rows):
        covers = _COVERS.match(row)
        if covers:
            session = unquote(covers["session"], errors="surrogatepass")
        elif row.startswith("#"):
            in_topics = row == "### Topics"
        elif in_topics and row.strip():
            yield LogLine(text=row, session=session)
            in_topics = False
        elif match := _LINE.match(row):
            fields = _fields(rows, index + 1)
            yield LogLine(
                text=match["text"],
                session=session,
                sources=tuple(source.strip() for source in match["sources"].split(",")),
                origin=fields.get("Origin", "agent"),
                corrected="State" in fields,
                contradicted=fields.get("Evidence", "").startswith("contradicted"),
            )


def _fields(rows: Sequence[str], start: int) -> dict[str, str]:
    """Read the indented fields below a line, from row *start*."""
    found: dict[str, str] = {}
    index = start
    while index < len(rows) and rows[index].startswith("  "):
        found |= parse_fields(rows[index])
        index += 1
    return found


def _shares(
    item: Item,
    line_words: Sequence[frozenset[str]],
    frequency: Mapping[str, int],
    postings: Mapping[str, Sequence[int]],
) -> dict[int, float]:
    """Return, by index, the lines with the item's topic and the share of the lighter text that both hold."""
    weights = {token.key: token.weight for token in parse_statement(item.text).tokens}
    if sum(weights.values()) < _MIN_LINE_WEIGHT:
        return {}
    shared: dict[int, set[str]] = {}
    for word in weights:
        for place in postings.get(word, ()):
            shared.setdefault(place, set()).add(word)

    def rarity(words: Iterable[str]) -> float:
        lines = len(line_words) + _SMOOTHING
        return sum(weights.get(word, 1.0) * math.log(1 + lines / (1 + frequency[word])) for word in words)

    found = {}
    for place, words in shared.items():
        if sum(weights[word] for word in words) >= _MIN_SHARED_WEIGHT:
            found[place] = rarity(words) / min(rarity(weights), rarity(line_words[place]))
    return {place: share for place, share in found.items() if share >= _MIN_SHARE}


def _mention(lines: Sequence[LogLine]) -> EarlierMention:
    return EarlierMention(
        sessions=tuple(dict.fromkeys(line.session for line in lines)),
        sources=tuple(dict.fromkeys(source for line in lines for source in line.sources)),
        origin=least_trusted(line.origin for line in lines),
    )
