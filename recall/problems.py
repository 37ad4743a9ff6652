"""Own how problems of several steps of one search are told together."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["told_once"]


def told_once(problems: Iterable[str]) -> tuple[str, ...]:
    """Return *problems* in order, each once, and none that another one begins with.

    A server that does not answer is met by the update of the index and by the search, and the second one says more.

    >>> told_once(["it is silent", "no model", "it is silent. Nothing was searched", "no model"])
    ('no model', 'it is silent. Nothing was searched')
    """
    found = tuple(dict.fromkeys(problems))
    return tuple(one for one in found if not any(other != one and other.startswith(one) for other in found))
