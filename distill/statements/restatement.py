"""Find sentences of the agent that restate what a tool, a page or another participant said in the session.

An agent repeats what it reads: behind "the page says that", with a word more or less, in another order or tense. The
sentence is then its source's. It is compared with all that was heard before it by pairs of words that stand near each
other and by values, see ``agent_home.store.fingerprints``. What the owner said as well stays the owner's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_home.store.fingerprints import Fingerprint, decode_fingerprints, fingerprint, fingerprints_of_parts
from agent_home.store.transcript import Message

from .sentences import prose_lines

__all__ = ["OriginOf", "WordsOfOthers", "nobody", "words_of_others"]

#: Returns the origin of a text that the turn at a source says, if others said it before, or an empty string.
OriginOf = Callable[[str, str], str]

#: Share of a sentence's pairs that another one said, so that it is a restatement.
_LEAST_SHARE = 0.34
#: The same for a sentence with values, each of which the other one said and the owner did not.
_LEAST_WITH_VALUES = 0.12
#: Pairs that can be compared. Below it, a share says nothing.
_LEAST_PAIRS = 3
#: Values of a sentence that only another one said, so that no shared pair is needed. A translation keeps values.
_LEAST_VALUES = 2
#: Pairs of words in the quoted lines, code and tables of a turn that count as somebody else's words.
_LEAST_PASTED = 8


def nobody(text: str, source: str) -> str:
    """Return no origin: nothing was heard."""
    del text, source
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ForeignWords:
    """Words of somebody else, at their place in the session."""

    place: int
    origin: str
    said: Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsOfOthers:
    """Words that a session heard from others, and those of its owner.

    *places* are the places of turns by source.
    """

    heard: tuple[_ForeignWords, ...] = ()
    own: tuple[Fingerprint, ...] = ()
    places: dict[str, int] = field(default_factory=dict)
    salt: str = ""

    def origin_of(self, text: str, source: str) -> str:
        """Return the origin of *text*, a sentence of the agent's turn at *source*, or "" if it is the agent's own."""
        place = self.places.get(source, len(self.places))
        before = [heard for heard in self.heard if heard.place <= place]
        if not before:
            return ""
        said = fingerprint(text, self.salt)
        own_share = max((own.share(said)[0] for own in self.own), default=0.0)
        own_values = frozenset[int]().union(*(own.values for own in self.own))
        found = [heard for heard in reversed(before) if _restates(said, heard.said, own_share, own_values)]
        return found[0].origin if found else ""

    def any_before(self, source: str) -> bool:
        """Return whether the session heard others before the turn at *source*."""
        place = self.places.get(source, len(self.places))
        return any(heard.place <= place for heard in self.heard)

    def is_owners(self, text: str) -> bool:
        """Return whether one turn of the owner said much of *text*, and all of its values."""
        said = fingerprint(text, self.salt)
        values = frozenset[int]().union(*(own.values for own in self.own))
        return said.values <= values and any(own.share(said)[0] >= _LEAST_SHARE for own in self.own)


def words_of_others(messages: Sequence[Message], salt: str) -> WordsOfOthers:
    """Return what others say in *messages* of one session, whose roles are resolved."""
    heard: list[_ForeignWords] = []
    own: list[Fingerprint] = []
    for place, message in enumerate(messages):
        if message.origin not in {"user", "agent"}:
            parts = fingerprints_of_parts(message.content, salt)
            heard += [_ForeignWords(place=place, origin=message.origin, said=said) for said in parts]
        elif message.origin == "user":
            said = fingerprint("\n".join(line.text for line in prose_lines(message.content)), salt)
            own.append(said)
            pasted = fingerprint(message.content, salt)  # quoted lines, code and tables are not the owner's words
            rest = Fingerprint(pasted.pairs - said.pairs, pasted.values - said.values)
            if len(rest.pairs) > _LEAST_PASTED:
                heard.append(_ForeignWords(place=place, origin="tool", said=rest))
        heard += [_ForeignWords(place=place, origin="tool", said=said) for said in decode_fingerprints(message.heard)]
    places = {message.source: place for place, message in enumerate(messages)}
    return WordsOfOthers(heard=tuple(heard), own=tuple(own), places=places, salt=salt)


def _restates(said: Fingerprint, heard: Fingerprint, own_share: float, own_values: frozenset[int]) -> bool:
    share, compared = heard.share(said)
    foreign = {value for value in said.values if value in heard.values and value not in own_values}
    unknown = said.values - heard.values - own_values
    if compared >= _LEAST_PAIRS and share >= _LEAST_SHARE and share > own_share:
        return True
    if foreign and compared >= _LEAST_PAIRS and share >= _LEAST_WITH_VALUES and share > own_share:
        return True
    return len(foreign) >= _LEAST_VALUES and len(foreign) > len(unknown)
