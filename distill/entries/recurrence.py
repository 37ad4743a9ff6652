"""What comes up again: facts of a session whose topic another session of the last weeks had in the daily log.

A fact that nobody marks stays in the daily log; the second session that speaks of it earns it an entry, with the turns
of both. Only the daily logs of some days are read, never a transcript, so that a closing costs what its own session and
these days cost, however old the home is. Two lines have a topic in common when they share half of what the one that
says less says; words that many lines hold count little.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from urllib.parse import unquote

from agent_home import storage
from agent_home.documents.daily_log import daily_path
from agent_home.documents.provenance import least_trusted
from agent_home.home import Home

from ..statements.statement_parser import parse_statement
from ..summary.extraction import Item

__all__ = ["EarlierMention", "LogLine", "all_log_lines", "find_recurring", "read_recent_logs", "standing_log_lines"]

#: How much of the lighter of two lines both must hold, and how many words that must be at least.
_SHARE = 0.5
_LEAST_WORDS = 2.0
#: A line of fewer words tells of nothing in particular ("The kids loved it!").
_LEAST_SAID = 4.0
#: Added to the number of lines: in a short log one mention more or less says little about how common a word is.
_SMOOTHED = 20
#: Earlier turns that an entry names; more would say no more.
_MAX_SOURCES = 3
_LINE = re.compile(r"^- \\?(?P<text>.+) \((?P<sources>[^()\s]+#[^()\n]+)\)[ \t]*$")
_BELOW = re.compile(r"^  (?P<name>State|Evidence|Origin): (?P<value>.*)$")
_COVERS = re.compile(r"^Session: `(?P<session>[^`\n]+)` messages ")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of the daily log, or the topics of one of its sections; *sources* are empty for these.

    *corrected* says that its session took it back, *contradicted* that git does not have what it claims.
    """

    text: str
    session: str
    sources: tuple[str, ...] = ()
    origin: str = "agent"
    corrected: bool = False
    contradicted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMention:
    """Where a topic came up before: turns of other sessions, oldest first, and who answers for them."""

    sessions: tuple[str, ...]
    sources: tuple[str, ...]
    origin: str


def read_recent_logs(home: Home, day: str, days: int) -> list[str]:
    """The texts of the daily logs of the *days* up to *day*, oldest first; those that are not there are left out."""
    last = date.fromisoformat(day)
    paths = (home.root / daily_path(f"{last - timedelta(days=back):%Y-%m-%d}") for back in range(days - 1, -1, -1))
    return [storage.read_text(path) for path in paths if path.exists()]


def find_recurring(
    items: Sequence[Item], logs: Iterable[str], session: str, *, most: int
) -> dict[Item, EarlierMention]:
    """Of *items* those whose topic other sessions than *session* had in *logs*: the *most* that share most."""
    if not items:
        return {}
    known = [one for text in logs for one in zip(standing_log_lines(text), _words_of(text), strict=True)]
    known = [(line, keys) for line, keys in known if line.session != session]
    if not known:
        return {}
    lines, held = [line for line, _ in known], [keys for _, keys in known]
    spread = Counter(key for keys in held for key in keys)
    holding: dict[str, list[int]] = {}
    for place, keys in enumerate(held):
        for key in keys:
            holding.setdefault(key, []).append(place)
    found: dict[Item, tuple[float, EarlierMention]] = {}
    for item in items:
        shares = _shares(item, held, spread, holding)
        if shares:
            places = sorted(shares, key=lambda place: (-shares[place], place))[:_MAX_SOURCES]
            found[item] = max(shares.values()), _seen([lines[place] for place in sorted(places)])
    best = sorted(found, key=lambda item: -found[item][0])[:most]
    return {item: found[item][1] for item in items if item in best}


@lru_cache(maxsize=128)
def standing_log_lines(text: str) -> tuple[LogLine, ...]:
    """The lines of a daily log that stand; what was corrected or what git contradicts is left out."""
    return tuple(line for line in all_log_lines(text) if not line.corrected and not line.contradicted)


@lru_cache(maxsize=128)
def _words_of(text: str) -> tuple[frozenset[str], ...]:
    """The words of each line of a log; kept, because of all the days that a closing looks at only one changes."""
    return tuple(frozenset(parse_statement(line.text).keys) for line in standing_log_lines(text))


def all_log_lines(text: str) -> Iterator[LogLine]:
    """The lines of a daily log in file order, with those that were corrected or that git contradicts."""
    rows = text.splitlines()
    session, topics = "", False
    for at, row in enumerate(rows):
        covers = _COVERS.match(row)
        if covers:
            session = unquote(covers["session"], errors="surrogatepass")
        elif row.startswith("#"):
            topics = row == "### Topics"
        elif topics and row.strip():
            yield LogLine(text=row, session=session)
            topics = False
        elif match := _LINE.match(row):
            below = _below(rows, at + 1)
            yield LogLine(
                text=match["text"],
                session=session,
                sources=tuple(source.strip() for source in match["sources"].split(",")),
                origin=below.get("Origin", "agent"),
                corrected="State" in below,
                contradicted=below.get("Evidence", "").startswith("contradicted"),
            )


def _below(rows: Sequence[str], at: int) -> dict[str, str]:
    """What stands indented below a line."""
    found = {}
    while at < len(rows) and rows[at].startswith("  "):
        match = _BELOW.match(rows[at])
        if match:
            found[match["name"]] = match["value"].strip()
        at += 1
    return found


def _shares(
    item: Item, held: Sequence[frozenset[str]], spread: Mapping[str, int], holding: Mapping[str, Sequence[int]]
) -> dict[int, float]:
    """For each line with the item's topic, how much of the lighter of both it shares."""
    words = {token.key: token.weight for token in parse_statement(item.text).tokens}
    if sum(words.values()) < _LEAST_SAID:
        return {}
    shared: dict[int, set[str]] = {}
    for key in words:
        for place in holding.get(key, ()):
            shared.setdefault(place, set()).add(key)

    def rare(keys: Iterable[str]) -> float:
        return sum(words.get(key, 1.0) * math.log(1 + (len(held) + _SMOOTHED) / (1 + spread[key])) for key in keys)

    found = {}
    for place, keys in shared.items():
        if sum(words[key] for key in keys) >= _LEAST_WORDS:
            found[place] = rare(keys) / min(rare(words), rare(held[place]))
    return {place: share for place, share in found.items() if share >= _SHARE}


def _seen(lines: Sequence[LogLine]) -> EarlierMention:
    return EarlierMention(
        sessions=tuple(dict.fromkeys(line.session for line in lines)),
        sources=tuple(dict.fromkeys(source for line in lines for source in line.sources)),
        origin=least_trusted(line.origin for line in lines),
    )
