"""Lay a waiting text out for a terminal: what it says first, then what speaks for it, and all of it on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_home.store.speakers import role_and_name
from agent_home.visible import revealed

from ..columns import Span, fitted, wrapped, wrapped_spans
from .word_diff import diff_spans, word_spans

if TYPE_CHECKING:
    from agent_home.store.lineage import CitedTurn
    from distill.review.grounds import Grounds
    from distill.review.queue import ReviewItem

__all__ = ["ItemView", "Layout", "details", "summary"]

#: Lines of a text, and of the reason why it waits, in a summary. The details have the rest.
_MOST_LINES, _MOST_REASON_LINES = 12, 3
#: Turns and files that a summary names.
_MOST_TURNS, _MOST_FILES = 3, 3
_MARGIN, _LABEL_WIDTH = 2, 10
#: Room in the first line for what the session writes before it: "12 of 34".
_POSITION_WIDTH = 10
_ENDS = {
    "resolve": "would be marked as resolved",
    "retract": "would be marked as taken back",
    "retire": "would be retired",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The *width* of lines in columns. *marked* puts brackets around changed words, where there are no colours."""

    width: int
    marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """Lines for a terminal. *complete* says whether they have the whole text that would be written."""

    lines: tuple[Sequence[Span], ...]
    complete: bool


def summary(item: ReviewItem, grounds: Grounds, layout: Layout) -> ItemView:
    """Return *item* in a screenful: its text or what it changes, its evidence, where it was said, why it waits."""
    width = layout.width
    text = _indented(_statement(item, grounds, marked=layout.marked), width)
    cut = text[:_MOST_LINES] if len(text) > _MOST_LINES + 1 else text
    lines: list[Sequence[Span]] = [_head(item, width), (), *cut]
    if len(cut) < len(text):
        lines.append([(f"{' ' * _MARGIN}… {len(text) - len(cut)} more lines: d", "faint")])
    lines.append(())
    lines += _evidence(grounds, width)
    for turn in grounds.turns[:_MOST_TURNS]:
        lines += _turn(turn, width, most_lines=1)
    if len(grounds.turns) > _MOST_TURNS:
        lines += _labelled("", f"and {len(grounds.turns) - _MOST_TURNS} more turns: d", width)
    if not grounds.turns:
        lines += _labelled("from", ", ".join(_writers(item)), width)
    lines += _labelled("waits", _reason(item), width, most_lines=_MOST_REASON_LINES)
    return ItemView(lines=tuple(lines), complete=len(cut) == len(text))


def details(item: ReviewItem, grounds: Grounds, diff: Sequence[str], layout: Layout) -> ItemView:
    """Return all that is known of *item*, with the change of the file line by line."""
    width = layout.width
    text = _indented(_statement(item, grounds, marked=layout.marked), width)
    lines: list[Sequence[Span]] = [_head(item, width), (), *text, ()]
    for name, value in (
        ("waits", _reason(item)),
        ("author", _author(item)),
        ("written by", item.actor),
        ("session", item.conversation),
        ("source", item.source),
        ("since", item.ts),
        ("findings", ", ".join(f"{row.get('layer', '')}/{row.get('rule', '')}" for row in item.findings)),
    ):
        lines += _labelled(name, value, width)
    lines += _evidence(grounds, width, most_files=len(grounds.commit.files) if grounds.commit else 0)
    for turn in grounds.turns:
        lines += _turn(turn, width)
    lines.append(())
    for spans in diff_spans([revealed(line).expandtabs() for line in diff], marked=layout.marked):
        lines += wrapped_spans(spans, width)
    return ItemView(lines=tuple(lines), complete=True)


def _head(item: ReviewItem, width: int) -> list[Span]:
    tier = "of another machine" if item.foreign else f"risk {item.risk}"
    place = f"{item.path} / {item.section}" if item.section else item.path
    begun: list[Span] = [(item.id, "strong"), (f"  {item.kind}, ", "plain")]
    begun.append((tier, "warning" if item.foreign or item.risk == "high" else "plain"))
    used = sum(len(text) for text, _ in begun)
    return [*begun, (f"  {fitted(revealed(place), max(width - used - 2 - _POSITION_WIDTH, 8))}", "faint")]


def _statement(item: ReviewItem, grounds: Grounds, *, marked: bool) -> list[Span]:
    """Return the text that waits, or how it changes the entry that it would end."""
    text = revealed(grounds.statement).expandtabs()
    if item.ends in _ENDS:
        return [(f"{item.id} {_ENDS[item.ends]}:\n", "faint"), (text, "plain")]
    if grounds.replaces:
        verb = "would be superseded" if item.ends == "supersede" else "would say"
        changed = word_spans(revealed(grounds.replaces).expandtabs(), text, marked=marked)
        return [(f"{item.id} {verb}:\n", "faint"), *changed]
    return [(text, "plain")]


def _author(item: ReviewItem) -> str:
    return f'{item.origin} "{item.speaker}"' if item.speaker else item.origin


def _writers(item: ReviewItem) -> Iterator[str]:
    """Yield whose words a text without cited turns has, and what wrote it."""
    yield _author(item)
    if item.conversation:
        yield f"session {item.conversation}"
    if item.actor:
        yield f"written by {item.actor}"


def _reason(item: ReviewItem) -> str:
    return item.reason or "its section is reviewed before it is committed"


def _evidence(grounds: Grounds, width: int, most_files: int = _MOST_FILES) -> Iterator[Sequence[Span]]:
    yield from _labelled("evidence", grounds.evidence, width)
    commit = grounds.commit
    if commit is None:
        return
    yield from _labelled("commit", f"{commit.short} {commit.subject}", width, most_lines=2)
    files = ", ".join(commit.files[:most_files])
    more = len(commit.files) - most_files
    yield from _labelled("files", f"{files} and {more} more" if more > 0 else files, width)


def _turn(turn: CitedTurn, width: int, most_lines: int = 0) -> Iterator[Sequence[Span]]:
    if not turn.found:
        yield from _labelled("said in", f"{turn.source}, whose transcript is not on this machine", width)
        return
    yield from _labelled(
        "said in", "  ".join(filter(None, (turn.source, turn.ts, role_and_name(turn.role, turn.name)))), width
    )
    yield from _labelled("", turn.text if not most_lines else " ".join(turn.text.split()), width, most_lines=most_lines)


def _labelled(name: str, value: str, width: int, *, most_lines: int = 0) -> Iterator[Sequence[Span]]:
    """Yield *value* behind its name, in at most *most_lines* lines, or in all that it takes if that is 0."""
    if not value:
        return
    room = max(width - _MARGIN - _LABEL_WIDTH - 1, 8)
    lines = wrapped(revealed(value).expandtabs(), room)
    if most_lines and len(lines) > most_lines:
        rest = " ".join(lines[most_lines - 1 :])
        lines = [*lines[: most_lines - 1], fitted(rest, room)]
    for number, line in enumerate(lines):
        label = name if not number else ""
        yield [(f"{' ' * _MARGIN}{label:{_LABEL_WIDTH}} ", "faint"), (line, "plain")]


def _indented(spans: Sequence[Span], width: int) -> list[Sequence[Span]]:
    margin: Span = (" " * _MARGIN, "plain")
    return [[margin, *line] for line in wrapped_spans(spans, max(width - _MARGIN, 8))]
