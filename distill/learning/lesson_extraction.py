"""Extract lessons from a session: corrections, failed attempts, capabilities and competences.

Only statements of the user and the agent are lessons. Output of tools and text of web pages is not. A correction is a
lesson if the agent was wrong. Users who correct themselves teach the agent nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_home.store.transcript import Turn
from guard.lazy_regex import lazy_regex

from ..statements.restatement import OriginOf, nobody
from ..statements.sentences import narrowed, prose_lines, split_sentences
from ..statements.statement_parser import parse_statement
from ..summary.extraction import Item
from .correction_comparison import split_correction, topic_words

__all__ = ["Kind", "Lesson", "lessons_from"]

Kind = Literal["correction", "capability", "competence", "failed"]
_TRUSTED = frozenset({"user", "agent"})
#: Labels with which the agent reports a capability or competence. Other reports of work stay in the daily log.
_LABELS: Mapping[Kind, re.Pattern[str]] = {
    "capability": lazy_regex(r"^(?:new )?(?:capabilit(?:y|ies)|skill|tool)(?: built| added)?\s*:\s*(?P<rest>.+)|"
                             r"^(?:新增?)?(?:能力|技能|工具)\s*:\s*(?P<zh>.+)", re.IGNORECASE),
    "competence": lazy_regex(r"^(?:new )?(?:competences?|know-?how|learned how to)(?:\s*:\s*|\s+)(?P<rest>.+)|"
                             r"^(?:学会了|掌握了|诀窍)\s*:?\s*(?P<zh>.+)", re.IGNORECASE),
}  # fmt: skip  # fmt: skip
#: Words for an attempt, as opposed to an option that was only considered.
_TRIED = lazy_regex(r"\btr(?:ied|ying)\b|\battempt|\bgave up\b|试过|尝试过|试了", re.IGNORECASE)

#: Words with which speakers say that the mistake was theirs.
_ADMITS = lazy_regex(
    r"(?<!not )(?<!n['’]t )\bmy (?:own )?(?:mistake|error|fault|bad)\b|"
    r"\bI (?:misspoke|mistyped|was (?:wrong|mistaken)|mixed (?:it|that|them) up)\b|"
    r"我(?:自己)?(?:刚才|刚刚|之前|昨天)?(?:说|写|打|记|搞|弄|看|算)错|(?<!不是)我的错",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson of a session, not yet in EVOLUTION.md. Only a correction has *wrong* and *root_cause*."""

    kind: Kind
    text: str
    sources: tuple[str, ...]
    origin: str
    date: str
    wrong: str = ""
    root_cause: str = ""


def lessons_from(
    items: Sequence[Item],
    turns: Sequence[Turn],
    origins: Mapping[Item, str],
    date: str,
    origin_of: OriginOf = nobody,
) -> tuple[Lesson, ...]:
    """Return the lessons of a session: corrections and failed attempts of *items*, then labelled lessons of *turns*.

    *origins* maps an item to its origin, and *origin_of* tells sentences of the agent that restate what others said.
    *date* is used for a turn without a time.
    """
    found = [
        Lesson(
            kind=kind, text=item.text, sources=item.sources, origin=origins.get(item, "agent"),
            date=item.ts[:10] or date,
            wrong=item.replaces or split_correction(item.text)[1] if kind == "correction" else "",
            root_cause=_root_cause(item, items) if kind == "correction" else "",
        )
        for item in items
        if (kind := _kind_of(item)) is not None and not (kind == "correction" and _corrects_themselves(item, turns))
    ]  # fmt: skip
    found += [learned for turn in turns for learned in _labelled(turn, date, origin_of)]
    return tuple(learned for learned in found if learned.origin in _TRUSTED)


def _kind_of(item: Item) -> Kind | None:
    if item.kind == "correction":
        return "correction"
    return "failed" if item.kind == "rejected" and _TRIED.search(item.text) else None


def _corrects_themselves(correction: Item, turns: Sequence[Turn]) -> bool:
    """Return whether the user admits the mistake, or said the corrected sentence before anybody else did."""
    if correction.role != "user":
        return False
    if _ADMITS.search(narrowed(correction.text)):
        return True
    wrong = " ".join(correction.replaces.rstrip("…").split())
    said = (turn.message for turn in turns if wrong and wrong in " ".join(turn.message.content.split()))
    return next((message.origin == "user" for message in said), False)


def _root_cause(correction: Item, items: Sequence[Item]) -> str:
    """Return the first root cause after *correction* that shares a word with it or the corrected text, or empty."""
    about = topic_words(parse_statement(f"{correction.text} {correction.replaces}").tokens)
    after = items[items.index(correction) + 1 :]
    causes = (item.text for item in after if item.kind == "root_cause")
    return next((text for text in causes if about & topic_words(parse_statement(text).tokens)), "")


def _labelled(turn: Turn, date: str, origin_of: OriginOf) -> Iterator[Lesson]:
    message = turn.message
    if message.role not in {"user", "assistant"}:
        return
    for sentence in (part for line in prose_lines(message.content) for part in split_sentences(line.text)):
        for kind, label in _LABELS.items():
            match = label.match(narrowed(sentence))
            group = "rest" if match and match["rest"] else "zh"
            if match and len(sentence[slice(*match.span(group))].split()) + len(match[group]) // 4 >= 3:
                restated = origin_of(sentence, message.source) if message.origin == "agent" else ""
                yield Lesson(
                    kind=kind, text=sentence[slice(*match.span(group))].strip(), sources=(message.source,),
                    origin=restated or message.origin, date=message.ts[:10] or date,
                )  # fmt: skip
