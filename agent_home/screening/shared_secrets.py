"""Redact what only several messages together show: copies of a secret, and secrets in parts."""

from __future__ import annotations

from collections.abc import Sequence

from guard import Verdict, find_in_conversation, find_repeats

__all__ = ["with_shared_secrets"]

#: Characters of neighbouring messages that are searched together. More messages are searched in turn, with an overlap.
_WINDOW_CHARS = 262_144
_OVERLAP = 3


def with_shared_secrets(texts: Sequence[str], verdicts: Sequence[Verdict], speakers: Sequence[str]) -> list[str]:
    """Return *texts* with notes in place of the secrets that single *verdicts* on them cannot find.

    *verdicts* are the guard's on each text alone. What they redact by themselves stays for them. The texts of each of
    the *speakers* are also read without the texts between.
    """
    secrets = {
        text[finding.start : finding.end]: finding.kind
        for text, verdict in zip(texts, verdicts, strict=True)
        for finding in verdict.findings
        if finding.layer == "secret"
    }
    spans = _in_parts(texts)
    for speaker in set(speakers) if len(set(speakers)) > 1 else ():
        places = [place for place, other in enumerate(speakers) if other == speaker]
        for place, found in zip(places, _in_parts([texts[place] for place in places]), strict=True):
            spans[place] += found
    for text, found in zip(texts, spans, strict=True):
        secrets |= {text[start:end]: kind for start, end, kind in found}
    known = tuple(secrets.items())
    result = []
    for text, parts in zip(texts, spans, strict=True):
        copies = [(match.start, match.end, match.kind) for match in find_repeats(text, known)] if known else []
        result.append(_replaced(text, [*parts, *copies]))
    return result


def _in_parts(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
    """Return the spans of secrets that are split over neighbouring texts."""
    found: list[list[tuple[int, int, str]]] = [[] for _ in texts]
    start = 0
    while start < len(texts) - 1:
        end, size = start, 0
        while end < len(texts) and (size + len(texts[end]) <= _WINDOW_CHARS or end < start + 2):
            size += len(texts[end])
            end += 1
        for number, spans in enumerate(find_in_conversation(texts[start:end]), start):
            found[number] += spans
        start = end if end == len(texts) else max(start + 1, end - _OVERLAP)
    return found


def _replaced(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    pieces, position = [], 0
    for start, end, kind in sorted(set(spans)):
        if start >= position:
            pieces += [text[position:start], f"[REDACTED:{kind}]"]
            position = end
    return "".join([*pieces, text[position:]]) if pieces else text
