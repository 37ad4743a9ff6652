"""Show a home's file to a model: placeholders for blocks that fail, and without the words that the guard takes out."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache

from guard import Action

from ..documents.document import Block
from .added_blocks import runs
from .personal_text import JudgedRun, LocatedFinding, PersonalTextJudge, parts_of, required
from .ruleset import text_key
from .screened_text import ScreenedText

__all__ = ["shown"]

#: Texts with a part that is not clean whose parts a process keeps. A text that is clean as a whole needs none.
_TEXTS = 8


def shown(judge: PersonalTextJudge, signature: str, path: str, text: str, known: Container[str] = ()) -> ScreenedText:
    """Return the Markdown *text* of *path* as a model may see it.

    A block that fails becomes a placeholder that names it. Parts whose keys are *known* to be clean are not judged
    again.
    """
    whole = text_key(signature, path, text)
    if whole in known:
        return ScreenedText(text=text, clean=(whole,))
    pieces: list[str] = []
    findings: list[LocatedFinding] = []
    clean: list[str] = []
    all_clean = True
    for run, raw, key in _keyed_parts(signature, path, text):
        if not key:
            pieces.append(raw)
            continue
        if key in known:
            pieces.append(raw)
            clean.append(key)
            continue
        judged = judge.run(path, run)
        pieces.append(_with_placeholders(judged))
        findings += judged.located
        if judged.verdict.action is Action.ALLOW:
            clean.append(key)
        else:
            all_clean = False
    return ScreenedText(
        text="".join(pieces), findings=tuple(findings), clean=(*clean, whole) if all_clean else tuple(clean)
    )


@lru_cache(maxsize=_TEXTS)
def _keyed_parts(signature: str, path: str, text: str) -> tuple[tuple[Sequence[Block], str, str], ...]:
    """Return the parts of *text* that are judged, each with its raw text and its key. What is not judged has no key."""
    found = []
    for run in (part for _, whole_run in runs("", text) for part in parts_of(whole_run)):
        raw = "".join(block.raw for block in run)
        judged = run[0].kind not in {"blank", "front"}
        found.append((run, raw, text_key(signature, path, raw) if judged else ""))
    return tuple(found)


def _with_placeholders(judged: JudgedRun) -> str:
    """Return the run without the words that the guard takes out, and with placeholders for blocks that fail."""
    run = judged.blocks
    raw = "".join(block.raw for block in run)
    if not judged.findings:
        return raw
    fails = any(finding.fails for finding in judged.located)
    if judged.is_heading:
        title = _placeholder(judged.located) if fails else judged.verdict.text.strip()
        return f"{'#' * run[0].level} {title}\n"
    if not fails and judged.verdict.text and len(judged.findings) == len(required(judged.verdict)):
        text = judged.verdict.text
        return text + "\n" if raw.endswith("\n") and not text.endswith("\n") else text
    return "".join(_block_or_placeholder(judged, block, start) for block, start in _starts(run))


def _block_or_placeholder(judged: JudgedRun, block: Block, start: int) -> str:
    end = start + len(block.raw)
    inside = [
        place
        for place, finding in zip(judged.located, judged.findings, strict=True)
        if finding.start < end and max(finding.end, finding.start + 1) > start
    ]
    if not inside or block.kind == "blank":
        return block.raw
    return f"{'-' if block.kind in {'entry', 'item'} else '>'} {_placeholder(inside)}\n"


def _starts(blocks: Sequence[Block]) -> list[tuple[Block, int]]:
    """Return each block with the offset of its first character in the joined text."""
    starts, start = [], 0
    for block in blocks:
        starts.append((block, start))
        start += len(block.raw)
    return starts


def _placeholder(found: Sequence[LocatedFinding]) -> str:
    """Return the note in place of a failing block. It names the worst findings, never the text."""
    failing = [finding for finding in found if finding.fails] or list(found)
    names = ", ".join(dict.fromkeys(finding.name for finding in failing))
    return f"[blocked {failing[0].where}: {names}; see memory doctor]"
