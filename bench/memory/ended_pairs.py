"""Close sessions whose turns end older entries, and read what became of each entry.

The pairs of a file are spread over homes, so that no pair of a home concerns another one. Each older statement becomes
an entry through the gateway. A few newer sentences at a time are the turns of a session, which is closed as the product
closes one, with a language model or without. Every session starts from the same entries, so that no prompt depends on
an earlier answer.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from agent_home import storage
from agent_home.creation import create
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, section_of, superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message
from distill.close import close
from distill.language_model.endpoint import Endpoint
from distill.reading.classifier import Act, read_sentence
from distill.summary.composition import Models
from recall.embedding.embedder import Embedder, NoEmbedder

__all__ = [
    "ENDINGS",
    "EndedPair",
    "EndingCounts",
    "PairOutcome",
    "confusions",
    "count_outcomes",
    "end_pairs",
    "read_pairs",
]

#: What may become of an older entry. The first three are endings.
Fate = Literal["replaced", "resolved", "retracted", "standing", "removed"]
ENDINGS: tuple[Fate, ...] = ("replaced", "resolved", "retracted")
#: Entries of a home, and turns of a session. With fewer turns than entries, most entries have no turn about them.
_ENTRIES, _TURNS = 10, 5
#: Words of four letters, numbers and runs of Chinese characters. Words are compared by their beginning.
_WORD, _HAN, _STEM_CHARS = re.compile(r"[a-z]{4,}|\d+"), re.compile(r"[\u3400-\u9fff]+"), 5
#: A word of more pairs, and of a larger share of them, tells nothing of what a pair is about.
_COMMON, _COMMON_SHARE = 6, 0.04
#: Most words that a statement may share with a pair of the same home.
_MOST_SHARED = 1
_PREFIXES: Mapping[Act, str] = {
    "preference": "SP",
    "decision": "KD",
    "lesson": "LL",
    "correction": "CO",
    "thread": "OT",
}
_PROPOSED: Mapping[str, Fate] = {
    "supersede": "replaced",
    "revise": "replaced",
    "resolve": "resolved",
    "retract": "retracted",
}
_NOTED = datetime(2026, 3, 2, 9, tzinfo=UTC)
_SAID = datetime(2026, 3, 16, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedPair:
    """An older statement, a newer sentence with its speaker, and the *relation* that people gave them."""

    older: str
    newer: str
    role: str
    relation: str
    lang: str

    @property
    def fate(self) -> Fate:
        """Fate that the older entry should have."""
        return next((name for name in ENDINGS if name == self.relation), "standing")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOutcome:
    """Fate of the older entry of *pair*. Without *said*, its newer sentence was no turn of the session.

    *proposed* is the fate that the closing asks a person about.
    """

    pair: EndedPair
    fate: Fate
    said: bool
    text: str = ""
    proposed: Fate = "standing"


@dataclass(slots=True, kw_only=True)
class EndingCounts:
    """Counts of one fate: *gold* should have it, *found* have it, *right* both.

    *asked* have it or are proposed to have it, and *asked_right* should.
    """

    gold: int = 0
    found: int = 0
    right: int = 0
    asked: int = 0
    asked_right: int = 0


@dataclass(slots=True)
class _HomePairs:
    """Pairs of one home, and the words of each."""

    pairs: list[EndedPair] = field(default_factory=list)
    words: list[tuple[frozenset[str], frozenset[str]]] = field(default_factory=list)

    def fits(self, older: frozenset[str], newer: frozenset[str]) -> bool:
        return len(self.pairs) < _ENTRIES and all(
            max(len(older & (was | now)), len(newer & was)) <= _MOST_SHARED for was, now in self.words
        )


def read_pairs(path: Path) -> list[EndedPair]:
    """Read labelled pairs, one on each line."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip())
    return [EndedPair(**{name: str(row[name]) for name in EndedPair.__slots__}) for row in rows]


def end_pairs(
    pairs: Iterable[EndedPair],
    embedder: Embedder | NoEmbedder | None = None,
    *,
    endpoint: Endpoint | None = None,
) -> Iterator[PairOutcome]:
    """Yield what becomes of the older entries when the newer sentences are said, also where they are not said."""
    models = Models(embedder=(lambda: embedder) if embedder is not None else None, endpoint=endpoint)
    for group in _groups(pairs):
        ordered = sorted(group, key=lambda pair: hashlib.blake2b(pair.newer.encode()).digest())
        for at in range(0, len(ordered), _TURNS):
            yield from _closed(group, ordered[at : at + _TURNS], models)


def count_outcomes(outcomes: Sequence[PairOutcome]) -> dict[tuple[str, str], EndingCounts]:
    """Count *outcomes* by language and ending.

    An ending where the newer sentence was not said is wrong. ``any`` asks only whether the entry ended.
    """
    found: dict[tuple[str, str], EndingCounts] = {}
    for outcome in outcomes:
        wanted: Fate = outcome.pair.fate if outcome.said else "standing"
        for lang in (outcome.pair.lang, "all"):
            for name in (*ENDINGS, "any"):
                counts = found.setdefault((lang, name), EndingCounts())
                should, does, might = (
                    fate != "standing" if name == "any" else fate == name
                    for fate in (wanted, outcome.fate, outcome.proposed)
                )  # fmt: skip
                counts.gold += should
                counts.found += does
                counts.right += should and does
                counts.asked += does or might
                counts.asked_right += should and (does or might)
    return found


def _groups(pairs: Iterable[EndedPair]) -> list[list[EndedPair]]:
    """Return *pairs* by home. A pair goes to the first home of its language with whose pairs it shares no words."""
    listed = list(pairs)
    often = Counter(word for pair in listed for word in _words(pair.older) | _words(pair.newer))
    common = {word for word, count in often.items() if count > max(_COMMON, _COMMON_SHARE * len(listed))}
    found: dict[str, list[_HomePairs]] = {}
    for pair in listed:
        older, newer = _words(pair.older) - common, _words(pair.newer) - common
        groups = found.setdefault(pair.lang, [])
        group = next((group for group in groups if group.fits(older, newer)), None)
        if group is None:
            groups.append(group := _HomePairs())
        group.pairs.append(pair)
        group.words.append((older, newer))
    return [group.pairs for groups in found.values() for group in groups]


def _words(text: str) -> frozenset[str]:
    """Return the longer words of a statement by their beginning, its numbers, and its Chinese characters by two.

    No code of the product is asked, so that prompts and their recorded answers outlast its changes.
    """
    words = {word[:_STEM_CHARS] for word in _WORD.findall(text.lower())}
    return frozenset(words | {run[at : at + 2] for run in _HAN.findall(text) for at in range(len(run) - 1)})


def _closed(group: Sequence[EndedPair], said: Sequence[EndedPair], models: Models) -> Iterator[PairOutcome]:
    """Make a home with the entries of *group*, close a session with the turns of *said*, and yield the outcomes."""
    with tempfile.TemporaryDirectory(prefix="pairs-") as folder:
        home = create(Path(folder) / "home", name="Assistant", now=_NOTED).home
        ids = _enter(home, group)
        turns = [
            Message(
                session="chat", id=f"m{number}", ts=(_SAID + timedelta(minutes=number)).isoformat(),
                role=pair.role, name="", content=pair.newer,
            )
            for number, pair in enumerate(said, 1)
        ]  # fmt: skip
        now = _SAID + timedelta(hours=1)
        transcript.append(home, "chat", turns, actor="import", now=now)
        closed = close(home, "chat", now=now, models=models)
        proposed = {changed.id: _PROPOSED[changed.kind] for changed in closed.changed if changed.unsure}
        entries = list(parse(storage.read_text(home.root / MEMORY)).entries())
        known, replaced = {entry.id: entry for entry in entries}, superseded_by(entries)
        for pair, entry_id in zip(group, ids, strict=True):
            successor = known.get(replaced.get(entry_id, ""))
            yield PairOutcome(
                pair=pair, fate=_fate(known.get(entry_id), replaced), said=pair in said,
                text=successor.text if successor else "", proposed=proposed.get(entry_id, "standing"),
            )  # fmt: skip


def _enter(home: Home, group: Sequence[EndedPair]) -> list[str]:
    """Write an entry for each older statement. Return their ids.

    The trained reader chooses the section. What the assistant will take back or replace is its own statement.
    """
    entries = []
    with transaction(home, actor="import", message="Note what is known", source="user", now=_NOTED) as edits:
        for number, pair in enumerate(group, 1):
            reading = read_sentence(pair.older)
            prefix = _PREFIXES.get(reading.likeliest, "RC")
            origin = "agent" if pair.role == "assistant" else "user"
            entries.append(Entry(
                id=edits.new_id(prefix, pair.older), date=f"{_NOTED:%Y-%m-%d}", title=pair.older,
                fields={"Sources": f"notes#m{number}", "Origin": origin},
            ))  # fmt: skip
        titled = [(rule.title, entry) for entry in entries if (rule := section_of(entry.prefix))]
        edits.write(MEMORY, edits.read(MEMORY).with_entries(titled, []))
    return [entry.id for entry in entries]


def _fate(entry: Entry | None, replaced: Mapping[str, str]) -> Fate:
    """Return what became of *entry*."""
    if entry is None:
        return "removed"
    if entry.id in replaced:
        return "replaced"
    word = entry.fields.get("State", "").partition(" ")[0]
    return next((name for name in get_args(Fate) if name == word), "standing")


def confusions(outcomes: Iterable[PairOutcome]) -> Counter[tuple[str, str]]:
    """Count the pairs that were said by relation and fate."""
    return Counter((outcome.pair.relation, outcome.fate) for outcome in outcomes if outcome.said)
