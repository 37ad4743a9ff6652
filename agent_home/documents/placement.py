"""Where a text goes that was held back or proposed, once a person has said that it may: its place in a document."""

from __future__ import annotations

from .document import Block, Document, parse
from .entry import Entry, parse_entry, section_of

__all__ = ["as_entry", "placed", "replace_mark"]


def as_entry(text: str) -> Entry | None:
    """The entry that *text* is, and nothing besides."""
    said = [block for block in parse(text).blocks if block.kind != "blank"]
    return parse_entry(said[0].raw) if len(said) == 1 and said[0].kind == "entry" else None


def placed(document: Document, text: str, *, section: str = "", mark: str = "") -> Document:
    """*document* with *text* in it.

    An entry goes first into *section*, by default its prefix's. Any other text takes the place of *mark*, the note
    that was left where it was held back; without one there it goes to the end of *section*, or of the document.
    """
    entry = as_entry(text)
    if entry is not None:
        rule = section_of(entry.prefix)
        return document.with_entry(section or (rule.title if rule else "Entries"), entry)
    if mark and mark in document.render():
        return replace_mark(document, mark, text)
    found = document.section(section) if section else None
    text = text.strip("\r\n") + "\n"
    if found is None:
        return document.with_text_at_end(text)
    end = found.end
    while end > found.start + 1 and document.blocks[end - 1].kind == "blank":
        end -= 1
    before = "".join(block.raw for block in document.blocks[:end])
    after = "".join(block.raw for block in document.blocks[found.end :])
    gap = "\n" if before.endswith("\n") else "\n\n"
    return parse(f"{before}{gap}{text}{after and chr(10)}{after}")


def replace_mark(document: Document, mark: str, text: str) -> Document:
    """*document* with *text* wherever *mark* stands; a block that is nothing but the mark goes with it."""
    return parse("".join(_without_mark(block, mark, text) for block in document.blocks))


def _without_mark(block: Block, mark: str, text: str) -> str:
    if mark not in block.raw:
        return block.raw
    if block.kind != "heading" and block.raw.strip() in {f"> {mark}", f"- {mark}"}:
        return text.strip("\r\n") + "\n" if text.strip() else ""
    return block.raw.replace(mark, " ".join(text.split()))
