"""Judge what a person adds to a file by hand, for the commit hook and for the gateway."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from .added_blocks import runs
from .personal_text import LocatedFinding, PersonalTextJudge, located, parts_of, required

__all__ = ["findings_in_edit"]


def findings_in_edit(judge: PersonalTextJudge, path: str, before: str, after: str) -> list[LocatedFinding]:
    """Return the findings in the text that *after* adds to *before*, in order of the line. Notes are left out."""
    if path.endswith(".md"):
        added = [part for is_new, run in runs(before, after) if is_new for part in parts_of(run)]
        found = [finding for run in added for finding in judge.run(path, run).located]
    else:
        added_lines = _added_lines(before, after)
        found = [finding for line, text in added_lines for finding in _in_lines(judge, path, line, text)]
    return sorted(dict.fromkeys(found), key=lambda finding: (finding.line, finding.layer, finding.rule))


def _in_lines(judge: PersonalTextJudge, path: str, first: int, text: str) -> Iterator[LocatedFinding]:
    """Yield the findings in lines that are no Markdown. They are judged as knowledge, JSON lines by their words."""
    is_jsonl = path.endswith(".jsonl")
    text = "".join(_words(line) for line in text.splitlines(keepends=True)) if is_jsonl else text
    verdict = judge.verdict(path if is_jsonl else f"Knowledge/{path}.md", text)
    for finding in required(verdict):
        yield located(path, first + text.count("\n", 0, finding.start), finding)


def _added_lines(before: str, after: str) -> Iterator[tuple[int, str]]:
    """Yield ``(first line, text)`` of each row of lines in *after* that *before* does not have."""
    known = Counter(before.splitlines(keepends=True))
    start, row = 0, list[str]()
    for number, line in enumerate(after.splitlines(keepends=True), 1):
        if known[line] > 0:
            known[line] -= 1
            if row:
                yield start, "".join(row)
            row = []
            continue
        start = start if row else number
        row.append(line)
    if row:
        yield start, "".join(row)


def _words(line: str) -> str:
    """Return the words of a JSON line on one line: quotes and escapes would hide the text between them."""
    try:
        row = json.loads(line)
    except ValueError:
        return line
    words = " ".join(" ".join(text.split()) for text in _strings(row))
    return words + "\n"


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for item in value.items() for text in _strings(list(item)))
    elif isinstance(value, list):
        yield from (text for item in value for text in _strings(item))
