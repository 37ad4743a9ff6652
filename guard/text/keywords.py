"""Which of many words occur in a text: asked once for all rules, before any pattern runs.

A word can only be there when three neighbouring characters of it are, and far fewer words pass that than there are.
"""

from collections.abc import Iterable, Sequence

from guard.text.canonical import Reading


class KeywordIndex:
    """The keywords of numbered rules, in lower case."""

    def __init__(self, keywords: Sequence[Iterable[str]]) -> None:
        """Take the keywords of rule 0, 1, ...; a rule without any is always mentioned."""
        self._always: list[int] = []
        self._short: dict[str, list[int]] = {}
        self._long: dict[tuple[str, ...], dict[str, list[int]]] = {}
        for number, words in enumerate(keywords):
            found = list(words)
            for word in found:
                # The last characters of a keyword are rarer than its first.
                place = self._long.setdefault(tuple(word[-3:]), {}) if len(word) >= 3 else self._short
                place.setdefault(word, []).append(number)
            if not found:
                self._always.append(number)
        self._grams = frozenset(self._long)

    def mentioned(self, reading: Reading) -> list[int]:
        """Return the numbers of the rules of which a keyword occurs in *reading*, ascending."""
        lowered = reading.lowered
        numbers = set(self._always)
        places = [self._short, *(self._long[gram] for gram in self._grams & reading.grams)]
        for place in places:
            for word, owners in place.items():
                if word in lowered:
                    numbers.update(owners)
        return sorted(numbers)
