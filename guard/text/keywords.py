"""Search for the keywords of all rules at once, before any pattern runs."""

from collections.abc import Iterable, Sequence
from typing import Any

from guard.text.canonical import TextVariant, utf8

__all__ = ["KeywordIndex"]


class KeywordIndex:
    """Lower-case keywords of numbered rules in one RE2 set. Search time does not depend on their number."""

    def __init__(self, keywords: Sequence[Iterable[str]]) -> None:
        """Take the keywords of rule 0, 1 and so on. A rule without keywords always matches."""
        import re2

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        self._set: Any = re2.Set.SearchSet(options)
        self._always: list[int] = []
        self._owners: list[int] = []
        for number, words in enumerate(keywords):
            alternatives = "|".join(re2.escape(word) for word in words)
            if alternatives:
                self._set.Add(utf8(alternatives))
                self._owners.append(number)
            else:
                self._always.append(number)
        # The end of the text always matches. A set that runs out of memory reports nothing, not even the end.
        self._end = self._set.Add(rb"\z")
        try:
            self._set.Compile()
        except re2.error:
            # Too many keywords for the set's memory, some hundred thousand characters: every rule runs.
            self._set = None

    def matching_rules(self, variant: TextVariant) -> list[int]:
        """Return the numbers of the rules with a keyword in *variant*, in ascending order."""
        hits = (self._set.Match(utf8(variant.lowered)) if self._set else None) or ()
        if self._end not in hits:
            return sorted((*self._always, *self._owners))
        return sorted((*self._always, *(self._owners[hit] for hit in hits if hit != self._end)))
