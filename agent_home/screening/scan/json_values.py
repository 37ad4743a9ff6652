"""Screen JSON values that programs keep: each text is read beside its key, which often says what it is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..service import ScreeningService

__all__ = ["is_plain_name", "json_text", "json_without_values"]

#: Where programs keep such values, for the guard.
_PATH = "outputs/x.txt"
#: Digits of a number that may be a code, and of a name that may be the number of a card.
_LEAST_DIGITS, _CARD_DIGITS = 4, 13


def json_without_values(screening: ScreeningService, value: Any, source: str, *, name: str = "") -> tuple[Any, bool]:
    """Return a JSON value with marks in place of secrets and personal data, and whether nothing of them is left.

    *name* is what the value is called. Something is left where only several values together are a secret.

    Raises:
        GuardRefused: the guard cannot run, or a text is longer than it reads.
    """
    lead = f"{name}: " if name else ""
    if screening.without_values(_PATH, lead + json_text(value), source)[1] == 0:
        return value, True
    clean = _clean(screening, value, source, name)
    return clean, screening.without_values(_PATH, lead + json_text(clean), source)[1] == 0


def json_text(value: Any) -> str:
    """Return the texts in a JSON value, one a line, behind their keys.

    >>> print(json_text({"tries": 2, "files": ["a.py", "b.py"]}))
    tries: 2
    files: a.py
    b.py
    """
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {json_text(item)}" for key, item in value.items())
    return "\n".join(map(json_text, value)) if isinstance(value, list | tuple) else str(value)


@lru_cache(maxsize=1024)
def is_plain_name(name: str) -> bool:
    """Return whether *name* is short words and numbers, as most names of sessions are, and no number of a card.

    >>> is_plain_name("run-20261128-100000"), is_plain_name("4111-1111-1111-1111"), is_plain_name("password is hunter2")
    (True, False, False)
    """
    parts = name.split("-")
    digits = sum(map(str.isdigit, name))
    return all(len(part) <= 8 and part.isalnum() and part.isascii() for part in parts) and not (
        digits >= _CARD_DIGITS and digits == len(name) - len(parts) + 1
    )


def _clean(screening: ScreeningService, value: Any, source: str, key: str) -> Any:
    if isinstance(value, str):
        return _clean_text(screening, value, source, key)
    if isinstance(value, Mapping):
        return {
            screening.without_values(_PATH, str(name), source)[0]: _clean(screening, item, source, str(name))
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_clean(screening, item, source, key) for item in value]
    if key and isinstance(value, int | float) and not isinstance(value, bool) and len(str(value)) >= _LEAST_DIGITS:
        text = _clean_text(screening, str(value), source, key)
        return value if text == str(value) else text
    return value


def _clean_text(screening: ScreeningService, text: str, source: str, key: str) -> str:
    alone = screening.without_values(_PATH, text, source)[0]
    lead = f"{key}: " if key else ""
    beside = screening.without_values(_PATH, lead + alone, source)[0]
    return beside.removeprefix(lead) if beside.startswith(lead) else alone
