"""Insert an accepted text, quarantined or proposed before, into a document."""

from __future__ import annotations

from .document import Block, Document, parse
from .entry import Entry, parse_entry, section_of

__all__ = ["as_entry", "end_entry", "insert_text", "replace_placeholder"]


def as_entry(text: str) -> Entry | None:
    """Parse *text* as one entry. Return ``None`` when it is anything else, or more than one entry."""
    content = [block for block in parse(text).blocks if block.kind != "blank"]
    return parse_entry(content[0].raw) if len(content) == 1 and content[0].kind == "entry" else None


def insert_text(document: Document, text: str, *, section: str = "", placeholder: str = "") -> Document:
    """Return *document* with *text* in it.

    An entry becomes the first one of *section*, by default the section of its prefix. Any other text replaces
    *placeholder*, the note that stands where the guard took a text out. Without a placeholder in the document the text
    goes to the end of *section*, or of the document where there is no such section.
    """
    entry = as_entry(text)
    if entry is not None:
        rule = section_of(entry.prefix)
        return document.with_entry(section or (rule.title if rule else "Entries"), entry)
    if placeholder and placeholder in document.render():
        return replace_placeholder(document, placeholder, text)
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


def end_entry(document: Document, ended: str, entry: Entry) -> Document:
    """Return *document* with its entry *ended* as *entry* leaves it.

    An *entry* of the same id takes its place. Any other one supersedes it: that one is added, unless it is there, and
    both name each other. One that is there gains the lines and the sources that *entry* has besides.
    """
    older = document.entry(ended)
    if older is None:
        return document
    if entry.id == ended:
        return document.with_entry_changed(entry)
    known = document.entry(entry.id)
    if known is None:
        document = insert_text(document, entry.render())
    else:
        fields = {**known.fields, "Supersedes": _joined(known.fields.get("Supersedes", ""), ended)}
        if sources := _joined(known.fields.get("Sources", ""), entry.fields.get("Sources", "")):
            fields["Sources"] = sources
        lines = dict.fromkeys([*known.detail.splitlines(), *entry.detail.splitlines()])
        document = document.with_entry_changed(known.changed(detail="\n".join(lines), fields=fields))
    return document.with_entry_changed(older.changed(fields={**older.fields, "Superseded-By": entry.id}))


def _joined(*lists: str) -> str:
    """Return comma-separated lists as one, without doubles."""
    parts = (part.strip() for text in lists for part in text.split(","))
    return ", ".join(dict.fromkeys(filter(None, parts)))


def replace_placeholder(document: Document, placeholder: str, text: str) -> Document:
    """Return *document* with *text* in place of *placeholder*. A block with only the placeholder is replaced whole."""
    return parse("".join(_replaced_in(block, placeholder, text) for block in document.blocks))


def _replaced_in(block: Block, placeholder: str, text: str) -> str:
    if placeholder not in block.raw:
        return block.raw
    if block.kind != "heading" and block.raw.strip() in {f"> {placeholder}", f"- {placeholder}"}:
        return text.strip("\r\n") + "\n" if text.strip() else ""
    return block.raw.replace(placeholder, " ".join(text.split()))
