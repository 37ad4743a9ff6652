"""Tables of the classifier of injected instructions on sources that it was not trained on.

The scores come from ``python -m bench.training.instructions --leave-out FILE``. The rules are run here, on the same
texts, so that each row shows the rules alone, the classifier alone and both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.training.instructions import MEASURED_ONLY, UNTRUSTED
from guard import Action, screen

__all__ = ["JudgedText", "attack_rows", "benign_rows", "judged_texts", "language_rows"]

#: Benign texts that are prompts or articles about attacks.
_PROMPTS = frozenset({"wildguard", "qualifire", "deepset", "deepset_hi", "hinglish", "promptshield", "clinc"})
_ARTICLES = frozenset({"owasp_llm10", "promptguide"})
_LEAST_TEXTS = 10

Share = Callable[[int, int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedText:
    """A text of a source left out, and what stops it from a tool.

    *rules* and *learned* are the two halves of the injection layer, *stopped* is any layer at all.
    """

    source: str
    label: int
    lang: str
    rules: bool
    learned: bool
    stopped: bool

    @property
    def by_author(self) -> bool:
        """Return whether one of our authors wrote the text."""
        return self.source.startswith("author ")


def judged_texts(path: Path, most: int = 600) -> list[JudgedText]:
    """Return the texts of the scores in *path*, at most *most* benign ones of a source."""
    seen: dict[str, int] = {}
    found = []
    for line in path.read_text("utf-8").split("\n")[:-1]:
        row = json.loads(line)
        source, label = str(row["source"]), int(row["label"])
        seen[source] = seen.get(source, 0) + (label == 0)
        if not label and seen[source] > most:
            continue
        learned = float(row["score"]) >= UNTRUSTED
        rules, others = _without_classifier(str(row["text"])[:65_536])
        found.append(
            JudgedText(
                source=source, label=label, lang=str(row["lang"]), rules=rules, learned=learned,
                stopped=rules or learned or others,
            )
        )  # fmt: skip
    return found


def _without_classifier(text: str) -> tuple[bool, bool]:
    """Return whether injection rules hold *text* of a tool back, and whether any layer but the classifier does."""
    held = [
        finding
        for finding in screen(text, "tool", "memory").findings
        if finding.action >= Action.QUARANTINE and finding.rule != "classifier"
    ]
    return any(finding.layer in {"injection", "structure"} for finding in held), bool(held)


def attack_rows(texts: Sequence[JudgedText], share: Share) -> list[tuple[str, ...]]:
    """Return one row for each source of attacks, one for all authors and one for all corpora."""
    attacks = [text for text in texts if text.label]
    rows = [_row(_name(source), own, share) for source, own in _by(attacks, lambda text: text.source)]
    for name, wanted in (("all authors", True), ("all corpora", False)):
        if group := [text for text in attacks if text.by_author == wanted]:
            rows.append(_row(name, group, share))
    return rows


def language_rows(texts: Sequence[JudgedText], share: Share) -> list[tuple[str, ...]]:
    """Return one row for each language of the authors' attacks."""
    attacks = [text for text in texts if text.label and text.by_author]
    return [_row(lang, own, share) for lang, own in _by(attacks, lambda text: text.lang) if len(own) >= _LEAST_TEXTS]


def benign_rows(texts: Sequence[JudgedText], share: Share) -> list[tuple[str, ...]]:
    """Return one row for each benign source, and one for each group of them."""
    benign = [text for text in texts if not text.label]
    rows = [_row(_name(source), own, share) for source, own in _by(benign, lambda text: text.source)]
    for name, group in (
        ("all authors, texts that look like attacks", [text for text in benign if text.by_author]),
        (
            "all corpora of ordinary texts",
            [text for text in benign if not text.by_author and text.source not in _PROMPTS | _ARTICLES],
        ),
        ("articles about attacks", [text for text in benign if text.source in _ARTICLES]),
        ("prompts", [text for text in benign if text.source in _PROMPTS]),
    ):
        if group:
            rows.append(_row(name, group, share))
    return rows


def _name(source: str) -> str:
    return f"{source} (never trained on)" if source in MEASURED_ONLY else source


def _by(texts: Iterable[JudgedText], key: Callable[[JudgedText], str]) -> list[tuple[str, list[JudgedText]]]:
    groups: dict[str, list[JudgedText]] = {}
    for text in texts:
        groups.setdefault(key(text), []).append(text)
    return sorted(groups.items())


def _row(name: str, texts: Sequence[JudgedText], share: Share) -> tuple[str, ...]:
    total = len(texts)
    return (
        name,
        share(sum(text.rules for text in texts), total),
        share(sum(text.learned for text in texts), total),
        share(sum(text.rules or text.learned for text in texts), total),
        share(sum(text.stopped for text in texts), total),
    )
