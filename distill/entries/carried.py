"""Keep what a superseded entry says and its successor does not.

A newer sentence often changes one value of an entry that says more. Its entry then says the older sentence with the
value exchanged, and cites the turns of both. Where no single value can be exchanged and the older sentence has a clause
about something else, the successor quotes the older sentence.
"""

from __future__ import annotations

from agent_home.documents.entry import Entry

from ..statements.contradiction import named_change
from ..statements.standalone import join_sentences, split_speaker
from ..statements.statement_parser import parse_statement
from ..statements.value_exchange import exchange_value, says_more
from .withheld import has_placeholder

__all__ = ["INSTEAD_OF", "stated_text", "with_kept_words"]

#: Opens the detail line with the sentence that an entry replaced.
INSTEAD_OF = "Instead of: "
#: Least weight of words beside a changed value with which the newer sentence is kept as well.
_LEAST_OWN = 1.5


def with_kept_words(older: Entry, newer: Entry, *, reworded: bool = True) -> Entry:
    """Return *newer*, the successor of *older*, so that it loses nothing of *older* that it does not replace.

    Unless it may be *reworded*, because it is committed already, it only gains a quotation.
    """
    was, now = stated_text(older), stated_text(newer)
    body, said = split_speaker(was)[1], split_speaker(now)[1]
    if has_placeholder(was) or has_placeholder(now) or not says_more(body, said):
        return newer
    # An entry that replaced another one already holds that one's words.
    # The words of another origin are only quoted, so that a correction of the user's stays the user's.
    own = _origin(older) == _origin(newer)
    exchanged = exchange_value(body, said) if reworded and own and not newer.fields.get("Supersedes") else ""
    if not exchanged:
        quoted = f"{INSTEAD_OF}{was}"
        lines = newer.detail.splitlines()
        return newer if quoted in lines or _repeats(lines, was) else newer.changed(detail="\n".join([*lines, quoted]))
    if _own_weight(body, said, exchanged) >= _LEAST_OWN:
        exchanged = join_sentences(exchanged, said)
    sources = [part.strip() for entry in (older, newer) for part in entry.fields.get("Sources", "").split(",")]
    fields = {**newer.fields, "Sources": ", ".join(dict.fromkeys(filter(None, sources)))}
    return newer.changed(title=f"{was[: len(was) - len(body)]}{exchanged}", body="", detail="", fields=fields)


def stated_text(entry: Entry) -> str:
    """Return the statement of *entry* without the sentences that it replaced."""
    lines = [line for line in entry.detail.splitlines() if not line.startswith(INSTEAD_OF)]
    return entry.changed(detail="\n".join(lines)).text


def _origin(entry: Entry) -> str:
    return entry.fields.get("Origin") or "user"


def _repeats(lines: list[str], text: str) -> bool:
    return any(line.startswith(INSTEAD_OF) and line.removeprefix(INSTEAD_OF) in text for line in lines)


def _own_weight(older: str, newer: str, exchanged: str) -> float:
    """Return the weight of the words of *newer* that neither *older* nor *exchanged* says, besides the old value."""
    change = named_change(newer)
    said = parse_statement(newer) if change is None else change[1]
    known = {token.key for text in (older, exchanged) for token in parse_statement(text).tokens}
    return sum(token.weight for token in said.tokens if token.key not in known)
