"""Own how an edit of MEMORY.md as a text becomes entries: added lines are remembered, removed entries end.

The file itself is never rewritten. What the user said stays: an edit that would change or remove an entry of another
author is refused before anything is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_home.documents.document import Block, Document, parse
from agent_home.documents.entry import Entry, section_of
from distill.entries.notes import NOTE_TYPES, NoteType
from guard.lazy_regex import lazy_regex

from .api import AgentHome

__all__ = ["EditRefused", "MemoryEdit", "inserted", "replaced"]

#: Most entries that one edit adds or ends. Each is a commit.
_MOST = 50
_ITEM = lazy_regex(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_TYPES: Mapping[str, NoteType] = {prefix: kind for kind, prefix in NOTE_TYPES.items()}
_READ_ONLY = "MEMORY.md changes by entries: add lines to remember, or edit and remove your own entries"


class EditRefused(Exception):
    """An edit of MEMORY.md is not made. Nothing was written, and the message is for the model."""


@dataclass(frozen=True, slots=True)
class _NoteDraft:
    """A text to remember, and the type of entry that its section is for."""

    text: str
    kind: NoteType | None
    replaces: str = ""
    tags: tuple[str, ...] = ()
    about: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class MemoryEdit:
    """An edit of MEMORY.md as statements to remember and entries to end."""

    statements: tuple[_NoteDraft, ...]
    ended: tuple[str, ...] = ()

    def texts(self) -> list[str]:
        """Return what would be added, for the guard."""
        return [statement.text for statement in self.statements]

    def apply(self, agent: AgentHome, now: datetime | None = None) -> list[str]:
        """Write the edit as the agent's, each part in a commit, and return the ids of the entries.

        Everything is tried before anything is written.

        Raises:
            EditRefused: the guard held a statement back. The others are written.
            NotLive, NoSuchEntry, GuardRefused: nothing was written.
        """
        self._run(agent, now, dry_run=True)
        return self._run(agent, now, dry_run=False)

    def _run(self, agent: AgentHome, now: datetime | None, *, dry_run: bool) -> list[str]:
        ids = [agent.resolve(entry, origin="agent", dry_run=dry_run, now=now).id for entry in self.ended]
        held = 0
        for said in self.statements:
            done = agent.remember(
                said.text, kind=said.kind, replaces=said.replaces, tags=said.tags, about=said.about, until=said.until,
                origin="agent", dry_run=dry_run, now=now,
            )  # fmt: skip
            held += bool(done.quarantined)
            ids += [] if done.quarantined else [done.id]
        if held:
            raise EditRefused(
                f"The guard held {held} of {len(self.statements)} lines back. `memory review` shows them."
            )
        return ids


def inserted(before: str, line: int, text: str) -> MemoryEdit:
    """Return what *text* behind line number *line* of *before* means. Its section decides the type of the entries.

    Raises:
        EditRefused: there is nothing to remember in *text*, or too much.
    """
    lead = parse("\n".join([*before.split("\n")[:line], ""]))
    found = [_statement(part, kind) for part, kind in _said(parse(text).blocks, _kind_at_end(lead))]
    return _checked(MemoryEdit(tuple(found)))


def replaced(before: str, after: str) -> MemoryEdit:
    """Return what the change from *before* to *after* means.

    Raises:
        EditRefused: it changes more than the agent's own entries, or is too large.
    """
    old, new = parse(before), parse(after)
    _require_prose(old, new)
    olds, news = _by_id(old), _by_id(new)
    ended = [name for name in olds if name not in news]
    changed = [name for name in olds if name in news and olds[name].raw.strip() != news[name].raw.strip()]
    for name in (*ended, *changed):
        if olds[name].fields.get("Origin") != "agent":
            what = "remove" if name in ended else "change"
            raise EditRefused(f"The edit would {what} {name}, which is the user's entry. Nothing was written.")
    statements = [_changed(olds[name], news[name]) for name in changed]
    known = Counter(block.raw.strip() for block in old.blocks)
    added = [block for block in new.blocks if _is_added(block, known, olds)]
    statements += [_statement(part, kind) for part, kind in _said(added, None, new)]
    return _checked(MemoryEdit(tuple(statements), tuple(ended)))


def _checked(edit: MemoryEdit) -> MemoryEdit:
    count = len(edit.statements) + len(edit.ended)
    if not count:
        raise EditRefused(f"There is nothing to remember in it. {_READ_ONLY}.")
    if count > _MOST:
        raise EditRefused(f"The edit has {count} entries, and at most {_MOST} are written at once. Write it in parts.")
    return edit


def _by_id(document: Document) -> dict[str, Entry]:
    return {entry.id: entry for entry in document.entries()}


def _require_prose(old: Document, new: Document) -> None:
    """Refuse an edit that takes headings, prose or items without an id away."""
    kept = Counter(block.raw.strip() for block in new.blocks)
    for block in old.blocks:
        kept[block.raw.strip()] -= 1
        if block.kind not in {"blank", "entry"} and kept[block.raw.strip()] < 0:
            first = block.raw.strip().splitlines()[0]
            raise EditRefused(f"The edit would change {first[:80]!r}. {_READ_ONLY}. Nothing was written.")


def _is_added(block: Block, known: Counter[str], olds: Mapping[str, Entry]) -> bool:
    if block.kind == "blank" or (block.entry is not None and block.entry.id in olds):
        return False
    known[block.raw.strip()] -= 1
    return known[block.raw.strip()] < 0


def _changed(old: Entry, new: Entry) -> _NoteDraft:
    """Return an entry whose statement was edited, as the one that replaces it."""
    if not new.text or new.text == old.text:
        raise EditRefused(f"Only the statement of {old.id} can be changed, not its fields. Nothing was written.")
    about, until = (old.fields.get(name, "") for name in ("About", "Until"))
    return _NoteDraft(new.text, _TYPES.get(old.prefix), old.id, old.tags, about, until)


def _said(
    blocks: Sequence[Block], kind: NoteType | None, whole: Document | None = None
) -> Iterator[tuple[Block, NoteType | None]]:
    """Yield the blocks that say something, each with the type of its section."""
    for block in blocks:
        if block.kind == "heading":
            kind = _kind_of(block.title)
        elif block.kind != "blank":
            yield block, _kind_at(whole, block) if whole is not None else kind


def _statement(block: Block, kind: NoteType | None) -> _NoteDraft:
    """Return the statement of a block. An id that the agent made up is left out."""
    if block.entry is not None:
        prefix = block.entry.prefix
        return _NoteDraft(block.entry.text, _TYPES.get(prefix, kind), tags=block.entry.tags)
    text = " ".join(_ITEM.sub("", block.raw, count=1).split())
    if not text:
        raise EditRefused("A line of it is empty. Nothing was written.")
    return _NoteDraft(text, kind)


def _kind_at(document: Document, block: Block) -> NoteType | None:
    """Return the type of the section of *document* in which *block* stands."""
    return _kind_at_end(Document(tuple(one for one in document.blocks if one.line <= block.line)))


def _kind_at_end(document: Document) -> NoteType | None:
    titles = [block.title for block in document.blocks if block.kind == "heading" and block.level == 2]
    return _kind_of(titles[-1]) if titles else None


def _kind_of(title: str) -> NoteType | None:
    for prefix, kind in _TYPES.items():
        rule = section_of(prefix)
        if rule is not None and rule.title.casefold() == title.strip().casefold():
            return kind
    return None
