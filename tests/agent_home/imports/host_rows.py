"""Damage rows of session files, and generate JSON that looks like them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

__all__ = ["json_values", "with_wrong_values"]

#: What stands in the place of each value of a row, one after the other.
_WRONG: list[Any] = [None, True, 7, 1e300, "", "\0\ud800", [], {}, [[1]], [None], {"text": 5}, {"type": ["text"]}]


def json_values(keys: Sequence[str]) -> st.SearchStrategy[Any]:
    """Generate JSON values of any depth whose objects have some of *keys*."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(keys), part, max_size=4),
        max_leaves=12,
    )


def with_wrong_values(value: Any) -> Iterator[Any]:
    """Yield *value* with each of its parts in turn replaced by each wrong value."""
    yield from _WRONG
    keys: Iterable[Any] = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        for broken in with_wrong_values(value[key]):
            copy = value.copy()
            copy[key] = broken
            yield copy
