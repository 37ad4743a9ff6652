"""Redaction: replace what detectors matched, and map the new text back to the original.

``apply_replacements`` returns an ``EditedText`` that maps each of its spans back to the original text.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from guard.match import Match, Strength

__all__ = ["EditedText", "apply_replacements", "merge_floods", "placeholder", "replaced_match"]


@dataclass(frozen=True)
class EditedText:
    """A text after replacements.

    ``edits`` are ``(start, end, replacement)`` with offsets into the original text, in order and without overlap.
    ``before`` is the length of the original text.
    """

    text: str
    edits: tuple[tuple[int, int, str], ...]
    before: int

    @cached_property
    def _segments(self) -> list[tuple[int, int, int, bool]]:
        """Segments ``(start in this text, start in the original, end in the original, copied)``, without gaps."""
        segments: list[tuple[int, int, int, bool]] = []
        new = old = 0
        for start, end, replacement in [*self.edits, (self.before, self.before, "")]:
            if start > old:
                segments.append((new, old, start, True))
                new += start - old
            if replacement:
                segments.append((new, start, end, False))
                new += len(replacement)
            old = end
        return segments

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of this text to the smallest span of the original text."""
        if not self.edits or not self.text:
            return start, end
        new, old, old_end, copied = self._segment_at(start)
        first = min(old + start - new, old_end) if copied else old
        new, old, old_end, copied = self._segment_at(max(start, end - 1))
        last = min(old + end - new, old_end) if copied else old_end
        return first, max(first, last)

    def _segment_at(self, position: int) -> tuple[int, int, int, bool]:
        index = bisect_right(self._segments, position, key=lambda segment: segment[0]) - 1
        return self._segments[max(0, index)]


def placeholder(kind: str) -> str:
    """Return the note that replaces a removed text."""
    return f"[REDACTED:{kind}]"


_FLOOD = 1_000
"""Number of matches from which neighbouring matches are merged."""

_LONGEST_RUN = 512
"""Characters that merged matches may span."""


def replaced_match(layer: str, rule: str, kind: str, span: tuple[int, int]) -> Match:
    """Return the match of a text that the placeholder of its *kind* replaces."""
    return Match(
        layer=layer, rule=rule, kind=kind, start=span[0], end=span[1], strength=Strength.CLEAN,
        replacement=placeholder(kind),
    )  # fmt: skip


def merge_floods(text: str, matches: Iterable[Match]) -> list[Match]:
    """Return *matches* of one detector, with similar neighbours merged when there are very many.

    The replacement of a merged match keeps the text between its parts. Merging keeps a text of nothing but stray
    characters cheap. Only matches with a replacement are merged.
    """
    all_matches = list(matches)
    if len(all_matches) < _FLOOD:
        return all_matches
    result: list[Match] = []
    run: list[Match] = []
    for match in sorted(all_matches, key=lambda match: match.start):
        alike = run and (match.rule, match.strength) == (run[0].rule, run[0].strength)
        apart = run and run[-1].end <= match.start and match.end - run[0].start <= _LONGEST_RUN
        if not (alike and apart and match.replacement is not None):
            result += _merge_run(text, run)
            run = []
        run.append(match)
    return result + _merge_run(text, run)


def _merge_run(text: str, run: list[Match]) -> list[Match]:
    if len(run) < 2:
        return run
    edits = [(match.start, match.end, match.replacement or "") for match in run]
    start, end = run[0].start, run[-1].end
    copied = _splice(text[start:end], [(first - start, last - start, note) for first, last, note in edits]).text
    return [run[0]._replace(end=end, replacement=copied)]


def apply_replacements(text: str, matches: Iterable[Match], rank: Sequence[str]) -> EditedText:
    """Replace every match that has a replacement.

    Overlapping matches are replaced once, as one span. Adjacent matches with the same replacement are one span too,
    so that a run of a thousand tokens leaves one note.

    Args:
        rank: layers, most important first. The replacement of overlapping matches comes from the first layer in
            *rank*. Within a layer, a note wins over an empty replacement, then the earlier match wins.
    """
    replaced = [match for match in matches if match.replacement is not None and match.start < match.end]
    replaced.sort(key=lambda match: (match.start, -match.end))
    edits: list[tuple[int, int, str]] = []
    winner: Match | None = None
    for match in replaced:
        replacement = match.replacement or ""
        if edits and winner is not None:
            start, end, previous = edits[-1]
            if match.start < end:
                winner = min(winner, match, key=lambda item: _importance(item, rank))
                edits[-1] = (start, max(end, match.end), winner.replacement or "")
                continue
            if match.start == end and replacement == previous:
                edits[-1] = (start, match.end, previous)
                continue
        winner = match
        edits.append((match.start, match.end, replacement))
    return _splice(text, edits)


def _importance(match: Match, rank: Sequence[str]) -> tuple[bool, int]:
    return not match.replacement, rank.index(match.layer)


def _splice(text: str, edits: list[tuple[int, int, str]]) -> EditedText:
    parts: list[str] = []
    old = 0
    for start, end, replacement in edits:
        parts += (text[old:start], replacement)
        old = end
    return EditedText("".join([*parts, text[old:]]), tuple(edits), len(text))
