"""A memory entry: one Markdown list item with a stable id inside its text.

Owns the grammar of an entry, its id alphabet, and the table of sections. An entry that was parsed renders to
exactly the text it was parsed from; only a changed entry is rendered anew. Where entries stand in a file is the
business of ``agent_home.documents.document``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

__all__ = [
    "ENTRY_ID",
    "FIELDS",
    "SECTIONS",
    "Entry",
    "SectionRule",
    "new_id",
    "normalise_id",
    "parse_entry",
    "section_of",
    "superseded_by",
]

#: Crockford's base 32: no I, L, O, U, so that an id survives being read aloud.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: An index line costs a dozen tokens or two; a whole sentence of Chinese would cost as much as the entry.
INDEX_TITLE_CHARS = 48
ENTRY_ID = re.compile(rf"\b[A-Z]{{2}}-[{ALPHABET}]{{4}}\b")
#: Continuation lines ``  Name: value`` with one of these names are fields, all others are detail text.
FIELDS = ("Evidence", "Sources", "Origin", "Supersedes", "Superseded-By", "State", "Protected")
#: What begins the ``State`` of a thread that needs nothing more.
_RESOLVED = ("resolved", "done", "closed", "已解决", "已完成", "已关闭")
#: Values of ``Protected`` that protect nothing.
_UNPROTECTED = frozenset({"", "no", "false", "否"})
#: Letters that the alphabet leaves out, and the digits that they are taken for.
_LOOKALIKES = str.maketrans("OIL", "011")

#: Behind these no space stands.
_FULL_WIDTH_STOPS = ("\uff0c", "\uff1b", "\uff1a", "\u3002", "\u3001")
_HEAD = re.compile(
    rf"[-*+][ \t]+\*\*\[(?P<id>[A-Z]{{2}}-[{ALPHABET}]{{4}})\](?:[ \t]+(?P<date>\d{{4}}-\d{{2}}-\d{{2}}))?"
    r"(?:[ \t]+(?P<title>[^\n]*?))?\*\*(?:[ \t]+(?:-|–|—)[ \t]+(?P<body>[^\n]*)|(?P<rest>[^\n]*))$"
)
_FIELD = re.compile(rf"[ \t]+(?P<name>{'|'.join(FIELDS)}):[ \t]*(?P<value>.*)$")


Leaves = Literal["any", "resolved", "superseded", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRule:
    """A section of ``MEMORY.md``: its heading, the prefix of its ids, and when its entries leave."""

    title: str
    prefix: str
    leaves: Leaves  # which of its entries are archived when nobody refers to them for long enough
    always: bool  # shown in full whatever the message is


SECTIONS = (
    SectionRule(title="Standing Preferences", prefix="SP", leaves="never", always=True),
    SectionRule(title="Open Threads", prefix="OT", leaves="resolved", always=True),
    SectionRule(title="Corrections and root causes", prefix="CO", leaves="never", always=False),
    SectionRule(title="Key Decisions", prefix="KD", leaves="superseded", always=False),
    SectionRule(title="Lessons Learned", prefix="LL", leaves="any", always=False),
    SectionRule(title="Recent Context", prefix="RC", leaves="any", always=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One remembered thing.

    *id* is like ``KD-7F3A``; *date* is ISO or empty; *title* and *body* are one line each; *detail* holds further
    lines of text; *fields* the named lines in file order. *raw* is the text it was parsed from, newline included,
    or empty for an entry that was made or changed here.
    """

    id: str
    date: str = ""
    title: str
    body: str = ""
    detail: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    raw: str = ""

    def render(self) -> str:
        """Markdown of the entry, ending in a newline. The exact source text when nothing changed."""
        if self.raw:
            return self.raw
        date = f" {self.date}" if self.date else ""
        title = f" {_inside_bold(self.title)}" if self.title.strip() else ""
        body = f" - {_one_line(self.body)}" if self.body.strip() else ""
        lines = [f"- **[{self.id}]{date}{title}**{body}"]
        lines += [f"  {line.strip()}" for line in self.detail.splitlines() if line.strip()]
        lines += [f"  {name}: {_one_line(value)}" for name, value in self.fields.items() if value]
        return "\n".join(lines) + "\n"

    @property
    def text(self) -> str:
        """What the entry says, without id, date and fields: for search, comparison and merging.

        A body that begins by repeating a title cut short with an ellipsis stands for both.
        """
        title = self.title
        if self.body and title.endswith("…") and self.body.startswith(title[:-1]):
            title = ""
        joint = "" if title.endswith(_FULL_WIDTH_STOPS) else " "
        said = joint.join(part for part in (title, self.body) if part)
        return " ".join(part.strip() for part in (said, *self.detail.splitlines()) if part.strip())

    @property
    def prefix(self) -> str:
        return self.id[:2]

    @property
    def resolved(self) -> bool:
        """Whether its ``State`` says that nothing more is needed."""
        return self.fields.get("State", "").casefold().startswith(_RESOLVED)

    @property
    def protected(self) -> bool:
        """Whether a person marked it with a line ``Protected: why``, so that it is never archived."""
        return self.fields.get("Protected", "").strip().casefold() not in _UNPROTECTED

    @property
    def index_line(self) -> str:
        """The entry in one line of the progressive index, its title cut where it is long."""
        date = f" {self.date}" if self.date else ""
        title = self.title or self.body
        if len(title) > INDEX_TITLE_CHARS:
            title = title[: INDEX_TITLE_CHARS - 1].rstrip() + "…"
        return f"- [{self.id}]{date} {title}".rstrip()

    def changed(self, **changes: object) -> Entry:
        """A copy with *changes*; it will be rendered anew. Fields given as ``fields=`` replace all fields."""
        return replace(self, raw="", **changes)  # type: ignore[arg-type]


def parse_entry(raw: str) -> Entry | None:
    """The entry that *raw*, one whole list item, spells; ``None`` when its first line is no entry.

    >>> entry = parse_entry("- **[KD-7F3A] 2026-11-20 Use apsw** - stock builds cannot load extensions.\\n")
    >>> entry.id, entry.date, entry.title, entry.body
    ('KD-7F3A', '2026-11-20', 'Use apsw', 'stock builds cannot load extensions.')
    """
    head, *others = re.split(r"\r\n|\r|\n", raw.rstrip("\r\n"))
    match = _HEAD.match(head)
    if match is None:
        return None
    detail, fields = [], {}
    for line in others:
        named = _FIELD.match(line)
        if named:
            fields[named["name"]] = named["value"].strip()
        else:
            detail.append(line.strip())
    body = match["body"] if match["body"] is not None else (match["rest"] or "").strip()
    return Entry(
        id=match["id"],
        date=match["date"] or "",
        title=(match["title"] or "").strip(),
        body=body.strip(),
        detail="\n".join(line for line in detail if line),
        fields=fields,
        raw=raw,
    )


def new_id(prefix: str, seed: str, taken: Collection[str]) -> str:
    """An id with *prefix* that is not in *taken*, the same for the same arguments.

    Derived from *seed* rather than drawn at random: a closing that was killed and run again names its entries
    alike. 2^20 ids per prefix; a taken one moves on to the next.
    """
    for attempt in range(1 << 20):
        digest = hashlib.blake2b(
            f"{prefix}\0{seed}\0{attempt}".encode("utf-8", "surrogatepass"), digest_size=4
        ).digest()
        number = int.from_bytes(digest, "big")
        candidate = f"{prefix}-" + "".join(ALPHABET[(number >> shift) & 31] for shift in (15, 10, 5, 0))
        if candidate not in taken:
            return candidate
    raise ValueError(f"all ids with prefix {prefix} are taken")


def section_of(prefix: str) -> SectionRule | None:
    """The section whose ids start with *prefix*."""
    return next((rule for rule in SECTIONS if rule.prefix == prefix), None)


def normalise_id(spelled: str) -> str:
    """The id that a person means: brackets off, capitals, and the digits for which O, I and L are easily taken.

    >>> normalise_id(" [kd-7foa] ")
    'KD-7F0A'
    """
    prefix, hyphen, rest = spelled.strip().strip("[]*").strip().upper().partition("-")
    return prefix + hyphen + rest.translate(_LOOKALIKES)


def superseded_by(entries: Iterable[Entry]) -> dict[str, str]:
    """The id of every entry that another one took the place of, and of that other one.

    The older entry says it (``Superseded-By``) or the newer one (``Supersedes``, which may name several). Entries that
    supersede each other in a circle all stand: none of them is the last word.
    """
    found: dict[str, str] = {}
    for entry in entries:
        for older in ENTRY_ID.findall(entry.fields.get("Supersedes", "")):
            found.setdefault(older, entry.id)
        if entry.fields.get("Superseded-By"):
            named = ENTRY_ID.search(entry.fields["Superseded-By"])
            found[entry.id] = named.group() if named else entry.fields["Superseded-By"]
    return {older: newer for older, newer in found.items() if not _returns_to(older, found)}


def _returns_to(start: str, links: Mapping[str, str]) -> bool:
    """Whether following *links* from *start* leads back to it."""
    seen, at = set[str](), links.get(start)
    while at is not None and at not in seen:
        if at == start:
            return True
        seen.add(at)
        at = links.get(at)
    return False


def _inside_bold(title: str) -> str:
    """*title* as one line that does not end the bold text it stands in."""
    line = re.sub(r"\*{2,}", "*", _one_line(title))
    return f"{line} " if line.endswith("*") else line


def _one_line(text: str) -> str:
    return " ".join(text.split())
