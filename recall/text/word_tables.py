"""Word lists of the text layer, read once from ``recall/text/data``.

A table is a text file: ``#`` begins a comment line, everything else is words between white space.

There is one list of stop words for each purpose, and all of them contain ``function_words``. They differ because each
purpose needs other words: ``docs/recall.md`` has the measured loss of exchanging them.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["Purpose", "phrase_pattern", "stop_words", "table_lines", "word_table"]

Purpose = Literal["query", "topic", "statement", "report"]
_TABLES: dict[Purpose, str] = {
    "query": "query_stop_words",
    "topic": "topic_stop_words",
    "statement": "statement_light_words",
    "report": "report_common_words",
}


@cache
def stop_words(purpose: Purpose) -> frozenset[str]:
    """Return the English words that say too little for *purpose*, in lower case."""
    return word_table("function_words") | word_table(_TABLES[purpose])


@cache
def word_table(name: str) -> frozenset[str]:
    """Return the words of a table, in the case of the file."""
    return frozenset(word for line in table_lines(name) for word in line.split())


@cache
def phrase_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that matches the longest phrase of a table at a place."""
    phrases = sorted(word_table(name), key=lambda phrase: (-len(phrase), phrase))
    return re.compile("|".join(map(re.escape, phrases)))


def table_lines(name: str) -> list[str]:
    """Return the lines of a table without comments and blank lines."""
    text = files(__package__).joinpath("data", f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
