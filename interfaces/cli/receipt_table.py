"""Lay the receipt of a prompt out in lines: the sums, the sections, and what became of entries and passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..counts import counted
from .columns import Span, Style, fitted, padded, styled, wrapped

if TYPE_CHECKING:
    from assembler.receipt import EntryLine, Receipt, SectionLine

__all__ = ["receipt_table"]

_NAME_WIDTH = 22
#: Columns of a section's line before its reason.
_BEFORE_REASON = _NAME_WIDTH + 1 + 7 + 1 + 7 + 2 + 8
#: Reasons that a summary names. Some reasons name another entry, so there may be as many as entries.
_MOST_REASONS = 6
_SHOWN_ACTIONS = frozenset({"kept", "indexed"})


def receipt_table(receipt: Receipt, *, width: int, details: bool) -> Iterator[list[Span]]:
    """Yield the receipt in lines of at most *width* columns. With *details*, every entry and passage has a line."""
    for line in _sums(receipt):
        yield from styled(wrapped(line, width))
    yield []
    yield [(f"{'section':{_NAME_WIDTH}} {'tokens':>7} {'of':>7}  action  reason", "strong")]
    for section in receipt.sections:
        yield from _section(section, width, details=details)
    yield from _entries(receipt.entries, width, details=details)
    yield []
    yield from _layers(receipt, width, details=details)


def _sums(receipt: Receipt) -> Iterator[str]:
    yield (
        f"{receipt.tokens} of {receipt.budget} tokens (tier {receipt.tier}, window {receipt.window}): {receipt.advice}"
    )
    unchanged = receipt.unchanged_prefix_tokens
    known = "" if unchanged is None else f", unchanged since the last prompt: {unchanged}"
    yield f"stable prefix: {receipt.stable_prefix_tokens} tokens{known}"


def _section(section: SectionLine, width: int, *, details: bool) -> Iterator[list[Span]]:
    room = max(width - _BEFORE_REASON, 8)
    reasons = wrapped(section.reason, room) if details else [fitted(section.reason, room)]
    figures = f"{padded(section.name, _NAME_WIDTH)} {section.tokens:7} {section.full_tokens:7}  "
    style: Style = "plain" if section.action == "kept" else "warning"
    yield [(figures, "plain"), (f"{section.action:8}", style), (reasons[0], "plain")]
    yield from styled(reasons[1:], indent=_BEFORE_REASON)


def _entries(entries: Sequence[EntryLine], width: int, *, details: bool) -> Iterator[list[Span]]:
    """Yield entries and passages by what became of them and why, the largest group first."""
    if not entries:
        return
    groups: dict[tuple[str, str], list[EntryLine]] = {}
    for entry in entries:
        groups.setdefault((entry.action, entry.reason), []).append(entry)
    shown = sum(entry.action in _SHOWN_ACTIONS for entry in entries)
    yield []
    yield [(f"entries and passages: {shown} in the prompt, {len(entries) - shown} not", "strong")]
    ordered = sorted(groups.items(), key=lambda group: (group[0][0] not in _SHOWN_ACTIONS, -len(group[1])))
    for (action, reason), group in ordered if details else ordered[:_MOST_REASONS]:
        style: Style = "plain" if action in _SHOWN_ACTIONS else "warning"
        yield [(f"{len(group):7}  ", "plain"), (f"{action:8} ", style), (fitted(reason, width - 18), "plain")]
        for entry in group if details else ():
            score = f"{entry.score:.3f}" if entry.score is not None else ""
            first, *more = wrapped(entry.id, width - 25)
            yield [(f"{'':9}{score:>7} {entry.tokens:6}  {first}", "faint")]
            yield from styled(more, "faint", indent=25)
    rest = sum(len(group) for _, group in ordered[_MOST_REASONS:])
    if rest and not details:
        yield [(f"{rest:7}  for other reasons", "plain")]


def _layers(receipt: Receipt, width: int, *, details: bool) -> Iterator[list[Span]]:
    total = receipt.load_ms + sum(layer.ms for layer in receipt.layers.values())
    if not details:
        told = ", ".join(f"{name} {counted(layer.tokens, 'token')}" for name, layer in receipt.layers.items())
        yield from styled(wrapped(f"{told}. {total:.0f} ms", width))
        yield [("Every entry and passage: memory prompt --explain --details", "faint")]
        return
    yield [(f"{'layer':{_NAME_WIDTH}} {'tokens':>7} {'ms':>9}", "strong")]
    for name, layer in receipt.layers.items():
        problem = wrapped(". ".join(layer.degraded), max(width - _NAME_WIDTH - 20, 8))
        yield [(f"{name:{_NAME_WIDTH}} {layer.tokens:7} {layer.ms:9.2f}  ".rstrip(), "plain")]
        yield from styled(filter(None, problem), "warning", indent=4)
    yield [(f"{'loading':{_NAME_WIDTH}} {'':7} {receipt.load_ms:9.2f}", "plain")]
    yield [(f"sha256 {receipt.sha256}", "faint")]
