"""Show what waits for a decision, one text in detail, and the decisions that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_home.documents.placement import as_entry
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.store.lineage import CitedTurn, cited_turns
from distill.errors import DistillError
from distill.review import queue
from distill.review.decided_items import DecidedItem, undoable
from distill.review.queue import ReviewItem
from distill.statements.risk import RISKS

from ...word_diff import TextPart, word_diff
from .evidence import ShownEvidence, evidence_of

__all__ = ["ReviewCard", "ReviewLine", "ReviewList", "ReviewView", "review_cards", "review_view"]

_LINE_CHARS = 140
#: Items of the list beside the one that is shown, and decisions that are offered to undo.
_MOST_LINES, _MOST_DECIDED = 100, 5
_MOST_TURNS = 8
#: Cards of a list, and kinds of items whose texts no list shows.
_MOST_CARDS = 200
_HELD = frozenset({"quarantine", "recovered"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLine:
    """An item of the list: its id, kind, risk, place, and the beginning of its text."""

    id: str
    kind: str
    risk: str
    section: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCard:
    """An item in detail. *parts* are the change of its file, word by word.

    *problem* says why it cannot be accepted. *redactable* means that it can be accepted without what the guard found.
    A text that *is_message* goes back into a transcript.
    """

    item: ReviewItem
    statement: str
    parts: tuple[TextPart, ...]
    evidence: ShownEvidence | None
    turns: tuple[CitedTurn, ...]
    further_turns: int
    findings: tuple[str, ...]
    problem: str
    editable: bool
    redactable: bool
    is_message: bool
    next_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewView:
    """Texts that wait, riskiest first, with the item that is *shown*, and the newest decisions."""

    lines: tuple[ReviewLine, ...]
    total: int
    shown: ReviewCard | None
    decided: tuple[DecidedItem, ...]

    def words(self, decided: DecidedItem) -> str:
        """Return the text of a decision as a person reads it."""
        return _words(decided.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewList:
    """Texts that wait, in detail, and how many wait in all."""

    cards: tuple[ReviewCard, ...]
    total: int


def review_view(home: Home, now: datetime, item_id: str = "") -> ReviewView:
    """Return the view with the item of that id in detail, or the first one. It counts as shown to a person."""
    items = _ordered(home, now)
    at = next((number for number, item in enumerate(items) if item.id == item_id), 0)
    shown = None
    if items:
        shown = _card(home, items[at], items[at + 1].id if at + 1 < len(items) else "", now)
        queue.note_shown(home, items[at])
    first = max(0, min(at - _MOST_LINES // 2, len(items) - _MOST_LINES))
    return ReviewView(
        lines=tuple(map(_line, items[first : first + _MOST_LINES])), total=len(items), shown=shown,
        decided=tuple(undoable(home, now)[:_MOST_DECIDED]),
    )  # fmt: skip


def review_cards(home: Home, now: datetime) -> ReviewList:
    """Return every text that waits in detail, riskiest first. Texts that the guard holds back are left out."""
    items = _ordered(home, now)
    shown = [item for item in items if item.kind not in _HELD]
    cards = tuple(_card(home, item, "", now) for item in shown[:_MOST_CARDS])
    return ReviewList(cards=cards, total=len(items))


def _ordered(home: Home, now: datetime) -> list[ReviewItem]:
    return sorted(queue.waiting(home, now), key=lambda item: (-RISKS.index(item.risk), item.ts, item.id))


def _line(item: ReviewItem) -> ReviewLine:
    text = _words(item.text)
    short = text if len(text) <= _LINE_CHARS else f"{text[: _LINE_CHARS - 1].rstrip()}…"
    return ReviewLine(id=item.id, kind=item.kind, risk=item.risk, section=item.section or item.path, text=short)


def _words(text: str) -> str:
    entry = as_entry(text)
    return entry.text if entry is not None else " ".join(text.split())


def _card(home: Home, item: ReviewItem, next_id: str, now: datetime) -> ReviewCard:
    entry = as_entry(item.text)
    turns = tuple(cited_turns(home, entry)) if entry is not None else ()
    parts, problem = _change(home, item)
    return ReviewCard(
        item=item, statement=entry.text if entry is not None else item.text, parts=parts,
        evidence=evidence_of(home, entry, now, field=item.evidence.replace(" ", ", commit ", 1)) if entry else None,
        turns=turns[:_MOST_TURNS], further_turns=max(0, len(turns) - _MOST_TURNS),
        findings=tuple(sorted({str(found.get("kind") or found.get("rule", "")) for found in item.findings})),
        problem=problem, editable=item.kind == "proposal" and not item.ends,
        redactable=item.kind == "quarantine", is_message=item.path.startswith("sessions/"), next_id=next_id,
    )  # fmt: skip


def _change(home: Home, item: ReviewItem) -> tuple[tuple[TextPart, ...], str]:
    """Return the change that accepting *item* would make to its file, and why it cannot be accepted."""
    try:
        diff = queue.plan(home, item).diff
    except (DistillError, HomeError, OSError) as error:
        return (), " ".join(str(error).split())
    old, new = (_lines(diff, sign) for sign in ("-", "+"))
    return word_diff(old, new), ""


def _lines(diff: Sequence[str], sign: str) -> str:
    """Return the lines of a unified diff with that *sign*, behind the two of its head."""
    return "\n".join(line[1:] for line in diff[2:] if line.startswith(sign))
