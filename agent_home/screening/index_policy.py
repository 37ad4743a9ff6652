"""Prepare a home's file for the search index: notes in place of secrets, failing paragraphs left out.

The result is a pure function of the file, the guard's program and rules, and what people approved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from guard import Action, Destination, Finding

from ..documents.document import Block, parse
from .personal_text import LocatedFinding, PersonalTextJudge, located, required
from .ruleset import destination_of
from .screened_text import ScreenedText

__all__ = ["indexable"]


def indexable(judge: PersonalTextJudge, path: str, text: str) -> ScreenedText:
    """Return the text of the file *path* as it may be indexed.

    A secret and personal data leave a note of their kind. A block that the guard would not store leaves empty lines.
    """
    document = path if path.endswith((".md", ".jsonl")) else f"{path}.md"
    if destination_of(document) != Destination.MEMORY:
        findings = required(judge.verdict(document, text)) if text else []
        return _without_findings(judge, path, text, findings, _blocks(path, text))
    pieces: list[str] = []
    places: list[LocatedFinding] = []
    for block in parse(text).blocks:
        if block.kind in {"blank", "front"}:
            pieces.append(block.raw)
            continue
        said = block.title if block.kind == "heading" else block.raw
        start = block.raw.find(said)
        findings = required(judge.verdict(document, said)) if said else []
        moved = [replace(f, start=f.start + start, end=f.end + start) for f in findings]
        part = _without_findings(judge, path, block.raw, moved, [block], block.line)
        pieces.append(part.text)
        places += part.findings
    return ScreenedText(text="".join(pieces), findings=tuple(places))


def _without_findings(
    judge: PersonalTextJudge, path: str, text: str, findings: Sequence[Finding], blocks: Iterable[Block], first: int = 1
) -> ScreenedText:
    """Return *text*, which begins on line *first*, without the words that *findings* name."""
    if not findings:
        return ScreenedText(text=text)
    borders = list(_borders(blocks))
    edits: list[tuple[int, int, str]] = []
    places = []
    for finding in findings:
        start, end, block = next(item for item in borders if finding.start < item[1] or item is borders[-1])
        if finding.layer != "secret" and judge.approves(block):
            continue
        places.append(located(path, first + text.count("\n", 0, finding.start), finding, block))
        if finding.action >= Action.QUARANTINE:
            edits.append((start, max(end, finding.end), ""))
        else:
            note = "" if finding.layer == "unicode" else f"[REDACTED:{finding.kind}]"
            edits.append((finding.start, finding.end, note))
    return ScreenedText(text=_edited(text, edits), findings=tuple(places))


def _blocks(path: str, text: str) -> Iterator[Block]:
    """Yield the blocks of a Markdown document, the lines of a tool's output, or the paragraphs of any other text."""
    if path.endswith(".md"):
        yield from parse(text).blocks
    else:
        border = r"(?<=\n)" if path.startswith("outputs/") else r"(?<=\n\n)"
        yield from (Block(kind="text", raw=part) for part in re.split(border, text))


def _borders(blocks: Iterable[Block]) -> Iterator[tuple[int, int, Block]]:
    start = 0
    for block in blocks:
        yield start, start + len(block.raw), block
        start += len(block.raw)


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """Return *text* with each ``(start, end, note)`` replaced by its note. Line breaks stay, and overlaps go once."""
    pieces, done = [], 0
    for start, end, note in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if end <= done:
            continue
        gone = text[max(start, done) : end]
        pieces += [text[done:start], note, "\n" * gone.count("\n")]
        done = end
    return "".join([*pieces, text[done:]])
