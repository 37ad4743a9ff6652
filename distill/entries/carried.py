"""Keep what a superseded entry says and its successor does not.

A newer sentence often changes one value of an entry that says more. Its entry then says the older sentence with the
value exchanged, and cites the turns of both. Where no single value can be exchanged, the clauses that the newer
sentence does not touch become sentences of its entry, and only the replaced clause is quoted. Where nobody can tell the
clause from the words, :func:`replaces_unknown_part` says so, and a person decides.
"""

from __future__ import annotations

from functools import reduce

from agent_home.documents.entry import Entry

from ..statements.clauses import TouchedClauses, ended_clauses, replaced_clauses
from ..statements.contradiction import named_change
from ..statements.pairs.pair_features import word_weight
from ..statements.standalone import join_sentences, split_speaker
from ..statements.statement_parser import parse_statement
from ..statements.value_exchange import exchange_value, says_more
from .withheld import has_placeholder

__all__ = [
    "INSTEAD_OF",
    "ended_part",
    "is_of_another_talk",
    "lost_words",
    "narrowed",
    "replaced_part",
    "replaces_unknown_part",
    "says_more_than",
    "stated_text",
    "with_all_kept",
    "with_kept_words",
]

#: Opens the detail line with the sentence that an entry replaced.
INSTEAD_OF = "Instead of: "
#: Least weight of words beside a changed value with which the newer sentence is kept as well.
_LEAST_OWN = 1.5
#: Least weight of the words of a newer sentence, and of the older one, that the other lacks, of another talk.
_MUCH_ELSE, _MUCH_LOST = 4.2, 2.5
#: Least weight of a word that says something.
_CONTENT = 0.2
#: Values that move, and most weight of the other words of a sentence that only moves one.
_MOVED, _MOST_MOVED = frozenset({"date", "day", "time"}), 1.0


def with_kept_words(older: Entry, newer: Entry, *, reworded: bool = True) -> Entry:
    """Return *newer*, the successor of *older*, so that it loses nothing of *older* that it does not replace.

    Unless it may be *reworded*, because it is committed already, it only gains lines below its title.
    """
    was, now = stated_text(older), stated_text(newer)
    (name, body), (speaker, said) = split_speaker(was), split_speaker(now)
    if has_placeholder(was) or has_placeholder(now):
        return newer
    touched = replaced_clauses(body, said)
    if touched.certain and not touched.kept and not says_more(body, said):
        moved = _with_moved_value(body, said) if reworded and _origin(older) == _origin(newer) else ""
        opening = was[: len(was) - len(body)]
        return newer.changed(title=f"{opening}{moved}", body="", detail="") if moved else newer
    # The words of another origin are only quoted, so that a correction of the user's stays the user's.
    if _origin(older) != _origin(newer):
        return _with_lines(newer, f"{INSTEAD_OF}{was}")
    exchanged = exchange_value(body, said)
    if not exchanged and not (touched.certain and touched.kept):
        return _with_lines(newer, f"{INSTEAD_OF}{was}")
    sources = [part.strip() for entry in (older, newer) for part in entry.fields.get("Sources", "").split(",")]
    cited = newer.changed(fields={**newer.fields, "Sources": ", ".join(dict.fromkeys(filter(None, sources)))})
    opening = was[: len(was) - len(body)]
    kept = [_ended(text) for text in touched.kept if text not in now]
    if not reworded or (name and speaker and name != speaker):
        lines = [*kept, f"{INSTEAD_OF}{touched.gone}"] if kept else [exchanged] if exchanged else []
        return _with_lines(cited, *(line if line.startswith(INSTEAD_OF) else f"{opening}{line}" for line in lines))
    # An entry that replaced another one already holds that one's words in its title.
    if exchanged and not newer.fields.get("Supersedes"):
        if _own_weight(body, said, exchanged) >= _LEAST_OWN:
            exchanged = join_sentences(exchanged, said)
        return cited.changed(title=f"{opening}{exchanged}", body="", detail="")
    mine = split_speaker(newer.title)[1]
    title = reduce(join_sentences, [*([exchanged] if exchanged else kept), mine])
    head = newer.title[: len(newer.title) - len(mine)] or opening
    lines = [] if exchanged else [f"{INSTEAD_OF}{touched.gone}"]
    return _with_lines(cited.changed(title=f"{head}{title}"), *lines)


def with_all_kept(older: Entry, newer: Entry, *, reworded: bool = True) -> Entry:
    """Return *newer*, which a person put in the place of *older*, so that no word of *older* gets lost.

    Where the words do not tell what stays, the older sentence is quoted. See :func:`with_kept_words`.
    """
    kept = with_kept_words(older, newer, reworded=reworded)
    if kept is not newer or has_placeholder(stated_text(older)) or has_placeholder(stated_text(newer)):
        return kept
    body, said = split_speaker(stated_text(older))[1], split_speaker(stated_text(newer))[1]
    known = {token.key for token in parse_statement(said).tokens}
    lost = sum(token.weight for token in parse_statement(body).tokens if token.key not in known)
    return _with_lines(newer, f"{INSTEAD_OF}{stated_text(older)}") if lost >= _LEAST_OWN else newer


def replaces_unknown_part(older: Entry, newer: Entry) -> bool:
    """Return whether *older* says several things, and the words do not tell which of them *newer* replaces."""
    body, said = split_speaker(stated_text(older))[1], split_speaker(stated_text(newer))[1]
    return not replaced_clauses(body, said).certain and not exchange_value(body, said)


def is_of_another_talk(older: Entry, newer: Entry) -> bool:
    """Return whether *newer* says much that *older* does not, and no single value of *older* is exchanged.

    Where one value could be, *older* says much else as well. One that names what it replaces is of the same talk.
    """
    body, said = split_speaker(stated_text(older))[1], split_speaker(stated_text(newer))[1]
    change = named_change(said)
    known = set(parse_statement(body).keys)
    if change is not None and known & set(change[0].keys):
        return False
    own, lost = _weight_beside(said, body), _weight_beside(body, said)
    return own >= _MUCH_ELSE and (lost >= _MUCH_LOST or not exchange_value(body, said))


def lost_words(older: Entry, newer: Entry) -> str:
    """Return the words of *older* that its successor *newer* neither keeps nor exchanges one value of."""
    body, said = split_speaker(stated_text(older))[1], split_speaker(stated_text(newer))[1]
    return "" if exchange_value(body, said) else replaced_clauses(body, said).gone


def says_more_than(known: str, said: str) -> bool:
    """Return whether *said* has a content word, a number or a name that *known* lacks.

    >>> says_more_than("My husband is allergic to penicillin.", "My husband is allergic to penicillin and aspirin.")
    True
    >>> says_more_than("The release date is May 3.", "Release date: May 3.")
    False
    """
    keys = set(parse_statement(known).keys)
    return any(word_weight(token) >= _CONTENT for token in parse_statement(said).tokens if token.key not in keys)


def ended_part(entry: Entry, said: str) -> TouchedClauses:
    """Return which clauses of *entry* the sentence *said* ends."""
    return ended_clauses(split_speaker(stated_text(entry))[1], said)


def replaced_part(entry: Entry, said: str) -> TouchedClauses:
    """Return which clauses of *entry* the sentence *said* replaces."""
    return replaced_clauses(split_speaker(stated_text(entry))[1], split_speaker(said)[1])


def narrowed(entry: Entry, ended: TouchedClauses, state: str, source: str) -> Entry:
    """Return *entry* with the clauses that stay open. The *ended* ones are quoted with their *state*."""
    was = stated_text(entry)
    opening = was[: len(was) - len(split_speaker(was)[1])]
    quoted = [line for line in entry.detail.splitlines() if line.startswith(INSTEAD_OF)]
    title = reduce(join_sentences, map(_ended, ended.kept))
    detail = "\n".join([*quoted, f"{INSTEAD_OF}{ended.gone} ({state})"])
    sources = [*filter(None, map(str.strip, entry.fields.get("Sources", "").split(","))), source]
    fields = {**entry.fields, "Sources": ", ".join(dict.fromkeys(sources))}
    return entry.changed(title=f"{opening}{title}", body="", detail=detail, fields=fields)


def stated_text(entry: Entry) -> str:
    """Return the statement of *entry* without the sentences that it replaced."""
    lines = [line for line in entry.detail.splitlines() if not line.startswith(INSTEAD_OF)]
    return entry.changed(detail="\n".join(lines)).text


def _origin(entry: Entry) -> str:
    return entry.fields.get("Origin") or "user"


def _with_lines(entry: Entry, *lines: str) -> Entry:
    """Return *entry* with the *lines* that it does not say yet.

    A sentence that it quotes is not quoted again in a longer one.
    """
    known = entry.detail.splitlines()
    quoted = [line.removeprefix(INSTEAD_OF) for line in known if line.startswith(INSTEAD_OF)]
    fresh = [
        line
        for line in lines
        if line not in known and not (line.startswith(INSTEAD_OF) and any(text in line for text in quoted))
    ]
    return entry.changed(detail="\n".join([*known, *fresh])) if fresh else entry


def _with_moved_value(older: str, newer: str) -> str:
    """Return *older* with the day, date or time that *newer* gives, if *newer* says nothing else and *older* does."""
    moved = exchange_value(older, newer)
    if not moved or named_change(newer) is not None:
        return ""
    was, now = parse_statement(older).tokens, parse_statement(newer).tokens
    value = next((token for token in now if token.kind in _MOVED and token.key not in {t.key for t in was}), None)
    said, known = {token.key for token in now}, {token.key for token in parse_statement(moved).tokens}
    own = sum(token.weight for token in now if token.key not in known)
    lost = [token for token in was if token.key not in said and (value is None or token.kind != value.kind)]
    details = sum(token.weight for token in lost)
    return moved if value is not None and own <= _MOST_MOVED and details >= _LEAST_OWN else ""


def _ended(clause: str) -> str:
    """Return *clause* as a sentence."""
    clause = clause.rstrip(" ,;\uff0c\uff1b")
    ends = clause[-1:] in ".!?\u3002\uff01\uff1f"
    return clause if ends else f"{clause}{chr(0x3002) if parse_statement(clause).chinese else '.'}"


def _weight_beside(said: str, other: str) -> float:
    """Return the weight of the words of *said* that *other* lacks."""
    known = set(parse_statement(other).keys)
    return sum(word_weight(token) for token in parse_statement(said).tokens if token.key not in known)


def _own_weight(older: str, newer: str, exchanged: str) -> float:
    """Return the weight of the words of *newer* that neither *older* nor *exchanged* says, besides the old value."""
    change = named_change(newer)
    said = parse_statement(newer) if change is None else change[1]
    known = {token.key for text in (older, exchanged) for token in parse_statement(text).tokens}
    return sum(token.weight for token in said.tokens if token.key not in known)
