"""Own how long a result may be. A longer one is cut between entries, rows or lines, and says how to get the rest.

Hosts refuse results of more than 25 000 tokens of their own vocabulary, which may count a quarter more than ours does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agent_home.documents.document import parse
from agent_home.tokens import count_tokens

__all__ = ["MOST_TOKENS", "fit_rows", "json_tokens", "text_parts"]

#: Most tokens of a result.
MOST_TOKENS = 18_000
#: Characters of a piece of a line that is longer than a whole result. One character costs at most three tokens.
_PIECE_CHARS = 4000


def json_tokens(value: Any) -> int:
    """Return how many tokens *value* has as compact JSON."""
    return count_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def fit_rows(answer: Mapping[str, Any], key: str, most_tokens: int = MOST_TOKENS) -> dict[str, Any]:
    """Return *answer* with as many rows of its list *key* as fit, from the first on, and at least one.

    The text of a single row that is too long keeps its beginning.
    """
    room = most_tokens - json_tokens({**answer, key: []})
    kept: list[dict[str, Any]] = []
    for row in answer[key]:
        cost = json_tokens(row) + 1
        if cost > room and not kept:
            kept.append(_shortened(row, room))
        if cost > room:
            break
        kept.append(row)
        room -= cost
    return {**answer, key: kept}


def _shortened(row: Mapping[str, Any], room: int) -> dict[str, Any]:
    """Return *row* with the beginning of its text. The mark says that there is more."""
    left = max(1, room - json_tokens({**row, "text": ""}) - 16)
    first, *rest = text_parts(str(row["text"]), left)
    return {**row, "text": f"{first}[the rest is left out]" if rest else first}


def text_parts(text: str, most_tokens: int = MOST_TOKENS) -> list[str]:
    """Cut *text* into parts of at most *most_tokens* each, between blocks of Markdown, and lines of a longer block.

    Joined, the parts are the text. An empty text is one part.
    """
    parts: list[str] = []
    held: list[str] = []
    used = 0
    for piece in _pieces(text, most_tokens):
        cost = json_tokens(piece)
        if held and used + cost > most_tokens:
            parts.append("".join(held))
            held, used = [], 0
        held.append(piece)
        used += cost
    return [*parts, "".join(held)]


def _pieces(text: str, most_tokens: int) -> Iterator[str]:
    """Yield the blocks of *text*. One that is too long gives its lines, and such a line pieces of itself."""
    for block in parse(text).blocks:
        if json_tokens(block.raw) <= most_tokens:
            yield block.raw
            continue
        for line in block.raw.splitlines(keepends=True):
            if json_tokens(line) <= most_tokens:
                yield line
            else:
                size = max(1, min(_PIECE_CHARS, most_tokens // 3))
                yield from (line[at : at + size] for at in range(0, len(line), size))
