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

#: Benign texts that are prompts or articles about attacks. Their requests are stopped by another layer on purpose.
_PROMPTS = frozenset({"wildguard", "qualifire", "deepset", "deepset_hi", "hinglish", "promptshield", "clinc"})
_ARTICLES = frozenset({"owasp_llm10", "promptguide"})
_OWN = frozenset({"own", "phrases", "half"})
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
    """Return one row for each source of attacks, and one for all strangers' together."""
    attacks = [text for text in texts if text.label]
    strangers = [text for text in attacks if text.source not in _OWN]
    rows = [_row(_name(source), own, share) for source, own in _by(attacks, lambda text: text.source)]
    return [*rows, _row("all strangers", strangers, share)] if strangers else rows


def language_rows(texts: Sequence[JudgedText], share: Share) -> list[tuple[str, ...]]:
    """Return one row for each language of the strangers' attacks and of our own sentences, each half by the other."""
    rows = []
    for name, sources in (("strangers", None), ("our own sentences", frozenset({"half"}))):
        chosen = [
            text for text in texts if text.label and (text.source in sources if sources else text.source not in _OWN)
        ]
        for lang, own in _by(chosen, lambda text: text.lang):
            if len(own) >= _LEAST_TEXTS:
                rows.append(_row(f"{lang}, {name}", own, share))
    return rows


def benign_rows(texts: Sequence[JudgedText], share: Share) -> list[tuple[str, ...]]:
    """Return one row for each benign source, and one for each group of them."""
    benign = [text for text in texts if not text.label]
    rows = [_row(_name(source), own, share) for source, own in _by(benign, lambda text: text.source)]
    for name, group in (
        ("all benign texts", [text for text in benign if text.source not in _PROMPTS | _ARTICLES | _OWN]),
        ("articles about attacks", [text for text in benign if text.source in _ARTICLES]),
        ("prompts", [text for text in benign if text.source in _PROMPTS]),
    ):
        if group:
            rows.append(_row(name, group, share))
    return rows


def _name(source: str) -> str:
    if source == "half":
        return "own sentences, each half by the other"
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
