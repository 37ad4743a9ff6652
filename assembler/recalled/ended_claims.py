"""Own statements that ended: the prompt repeats no retracted claim, and marks superseded ones.

An entry says that its statement ended. The daily log and project notes keep lines with the same statement, and
conversations keep the turns that made it. Search still finds them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent_home.documents.entry import Entry
from agent_home.documents.standing import Standing, standings
from guard.lazy_regex import lazy_regex
from recall.text.identity import identity_key

__all__ = ["ITEM", "EndedClaims"]

#: A list item with its continuation lines.
ITEM = lazy_regex(r"^[-*+] [^\n]*\n?(?:[ \t]+\S[^\n]*\n?)*", re.MULTILINE)
#: The statement of a list item in a daily log or in project notes, between its date and its turns.
_STATEMENT = lazy_regex(r"[-*+] (?:\d{4}-\d{2}-\d{2}: )?(?P<text>.*?)(?: \([^()\n]*#[^()\n]*\))?[ \t]*$", re.MULTILINE)
_SPEAKER = lazy_regex(r"[^:\uff1a\n]{1,40}[:\uff1a] ?")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedClaims:
    """Retracted and superseded statements by their keys, and the key of the statement that ended for each turn.

    A statement that a live entry makes again has not ended.
    """

    ends: Mapping[str, Standing] = field(default_factory=dict)
    turns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> EndedClaims:
        """Return the statements of *entries* that ended. The successors of superseded entries are among them."""
        known = {entry.id: entry for entry in entries}
        keys = {name: identity_key(entry.text) for name, entry in known.items()}
        found = standings(known.values())
        valid = {keys[name] for name, standing in found.items() if not standing.ended}
        ended = {
            name: standing
            for name, standing in found.items()
            if standing.ended in {"retracted", "superseded"} and keys[name] not in valid
        }
        turns = {
            source: keys[name]
            for name in ended
            for source in filter(None, (part.strip() for part in known[name].fields.get("Sources", "").split(",")))
        }
        return cls(ends={keys[name]: standing for name, standing in ended.items()}, turns=turns)

    def applied_to(self, text: str) -> str:
        """Return *text* without the list items that make a retracted claim, and with a mark in superseded ones."""
        return ITEM.sub(lambda item: self._item(item[0]), text) if self.ends else text

    def mark(self, source: str, text: str) -> str:
        """Return the remark about the turn at *source* with *text*, or an empty string."""
        key = self.turns.get(source)
        if key is None:
            return ""
        said = identity_key(text)
        whole = said == key or identity_key(_SPEAKER.sub("", text, count=1)) == key or key.endswith(said)
        return f"{'' if whole else 'in part '}{self.ends[key].words}"

    def _item(self, item: str) -> str:
        """Return a list item as the prompt may show it."""
        found = _STATEMENT.match(item)
        standing = self.ends.get(identity_key(found["text"])) if found else None
        if found is None or standing is None:
            return item
        return "" if standing.ended == "retracted" else f"{item[: found.end()]} [{standing.words}]{item[found.end() :]}"
