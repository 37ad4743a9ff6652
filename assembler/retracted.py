"""Own claims that were taken back: the prompt repeats none of them, and marks the turns that made them.

An entry says that its claim was taken back. The daily log and project notes keep lines with the same statement, which
search still finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent_home.documents.entry import Entry
from agent_home.documents.standing import standings
from recall.text.identity import identity_key

__all__ = ["ITEM", "RetractedClaims"]

#: A list item with its continuation lines.
ITEM = re.compile(r"^[-*+] [^\n]*\n?(?:[ \t]+\S[^\n]*\n?)*", re.MULTILINE)
#: The statement of a list item in a daily log or in project notes, between its date and its turns.
_STATEMENT = re.compile(r"[-*+] (?:\d{4}-\d{2}-\d{2}: )?(?P<text>.*?)(?: \([^()\n]*#[^()\n]*\))?[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractedClaims:
    """Claims that were taken back: keys of their *statements*, and the *turns* that made them with the day of the end.

    The day is empty if it is unknown.
    """

    statements: frozenset[str] = frozenset()
    turns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> RetractedClaims:
        """Return the claims of the retracted ones among *entries*."""
        known = {entry.id: entry for entry in entries if entry.retired}
        found = [(entry, standing) for entry, standing in zip(known.values(), standings(known.values()).values(),
                 strict=True) if standing.ended == "retracted"]  # fmt: skip
        turns = {
            source: standing.date
            for entry, standing in found
            for source in filter(None, (part.strip() for part in entry.fields.get("Sources", "").split(",")))
        }
        return cls(statements=frozenset(identity_key(entry.text) for entry, _ in found), turns=turns)

    def removed_from(self, text: str) -> str:
        """Return *text* without the list items that make one of the claims."""
        if not self.statements:
            return text
        return ITEM.sub(lambda item: "" if self._makes(item[0]) else item[0], text)

    def mark(self, source: str) -> str:
        """Return the remark about the turn at *source*, or an empty string."""
        date = self.turns.get(source)
        return "" if date is None else f"retracted since{f' ({date})' if date else ''}"

    def _makes(self, item: str) -> bool:
        found = _STATEMENT.match(item)
        return found is not None and identity_key(found["text"]) in self.statements
