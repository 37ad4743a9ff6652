"""What of a file may be found by search: texts that nobody screened pass the guard before they are indexed.

People put files into a home by hand. What is a secret in them is indexed as a note of its kind, what the guard would
hold back is not indexed at all, and the sync's report counts both. A pure function of the file, the guard's program and
rules, and what people approved; ``agent_home.screening.ruleset.guard_signature`` names the first two in the index.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from agent_home.home import Home

if TYPE_CHECKING:
    from agent_home.screening.inspector import Inspector

__all__ = ["Screen"]

#: What the name of a file is judged as.
_NAME = "Knowledge/name.txt"


class Screen:
    """Screens the files of one home. *known* are messages that are known to be clean."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._names: dict[str, str] = {}
        self._hidden: dict[str, bool] = {}
        self.known: Collection[str] = ()

    @cached_property
    def _inspector(self) -> Inspector:
        """Loaded with the first text: most searches find nothing changed."""
        from agent_home.screening.inspector import Inspector

        return Inspector(self._home, reading=True)

    @property
    def problem(self) -> str:
        """Why a text was judged by the bundled rules alone; empty while the home's own ones can be used."""
        problem = self._inspector.problem if "_inspector" in self.__dict__ else ""
        return f"{problem}; texts are judged by the bundled rules" if problem else ""

    def hides(self, path: str) -> bool:
        """Whether a name in *path* is a secret: a hit would print it."""
        return any(self._is_secret(name) for name in path.split("/"))

    def _is_secret(self, name: str) -> bool:
        if name not in self._hidden:
            self._hidden[name] = any(remark.layer == "secret" for remark in self._inspector.masked(_NAME, name).remarks)
        return self._hidden[name]

    def document(self, path: str, text: str) -> tuple[str, tuple[str, ...]]:
        """The text of a file as it may be indexed, line by line at its place; and what the report says of the rest."""
        masked = self._inspector.masked(path, text)
        told = [remark for remark in masked.remarks if remark.worth_telling]
        if not told:
            return masked.text, ()
        first, lines = told[0], len({remark.line for remark in told})
        places = "1 line" if lines == 1 else f"{lines} lines"
        return masked.text, (f"{path} has {places} that the guard keeps out, the first {first.line}: {first.what}",)

    def message(self, path: str, content: str) -> str:
        """A message's words as they may be indexed; empty when the guard holds them back."""
        if content.strip() in self.known:
            return content
        masked = self._inspector.masked(path, content)
        return "" if any(remark.held_back for remark in masked.remarks) else masked.text

    def name(self, path: str, name: str) -> str:
        """A speaker's name as it may be indexed."""
        if name not in self._names:
            self._names[name] = self.message(path, name) if name else ""
        return self._names[name]
