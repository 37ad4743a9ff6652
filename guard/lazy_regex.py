"""Regular expressions that are compiled at their first use.

A command uses a small part of the patterns of the modules that it imports, and compiling all of them took a quarter of
its time. Patterns that every use of a module needs may as well be compiled with ``re.compile``.
"""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["LazyRegex", "lazy_regex"]

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


class LazyRegex:
    """Stand for a compiled pattern. Its methods are those of the pattern, from the first use on."""

    def __init__(self, pattern: str, flags: int) -> None:
        """Keep the arguments of ``re.compile``."""
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern, and keep its methods, so that no later use comes here."""
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


def lazy_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return *pattern* for later use. An error in it is raised by its first use.

    Functions of ``re`` do not take it: use the methods of the pattern.

    >>> lazy_regex("a+").findall("banana")
    ['a', 'a', 'a']
    """
    return cast("re.Pattern[str]", LazyRegex(pattern, flags))
