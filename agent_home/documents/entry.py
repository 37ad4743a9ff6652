"""Own the grammar of a memory entry, its ids, and the table of sections of ``MEMORY.md``.

An entry is one Markdown list item with a stable id inside its text, and one short line of named fields below it::

    - **[KD-7F3A]** 2026-11-20 Ship the index with its own SQLite, because stock builds cannot load extensions.
      Evidence: verified, commit 3f9c2e1 · Sources: review-0612#m4 · Origin: user

Homes of earlier versions have entries with a title in bold type (``- **[KD-7F3A] 2026-11-20 Title** - body``) and one
line for each field. Both forms are read. A parsed entry renders to exactly the text it was parsed from, and only a
changed entry is rendered anew. ``agent_home.documents.document`` owns the order of entries in a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from guard.lazy_regex import lazy_regex

__all__ = [
    "ENTRY_ID",
    "FIELDS",
    "SECTIONS",
    "Entry",
    "SectionRule",
    "fold_fields",
    "new_id",
    "normalise_id",
    "parse_entry",
    "parse_fields",
    "section_of",
    "superseded_by",
]

#: Crockford's base 32. It has no I, L, O and U, so that an id can be read aloud.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: An index line costs 12 to 24 tokens. A whole sentence of Chinese would cost as much as the entry.
INDEX_TITLE_CHARS = 48
ENTRY_ID = lazy_regex(rf"\b[A-Z]{{2}}-[{ALPHABET}]{{4}}\b")
#: A continuation line that starts with one of these names holds fields. All others are detail text.
FIELDS = (
    "Evidence", "Sources", "Origin", "About", "Tags", "Until", "Supersedes", "Superseded-By", "State", "Protected",
)  # fmt: skip
#: Prefixes of the ``State`` of a resolved entry.
_RESOLVED = ("resolved", "done", "closed", "已解决", "已完成", "已关闭")
#: Prefixes of the ``State`` of an entry whose claim was taken back.
_RETRACTED = ("retracted", "withdrawn", "已撤回", "已收回")
#: Values of ``Protected`` that mean no protection.
_UNPROTECTED = frozenset({"", "no", "false", "否"})
#: Letters that the alphabet leaves out, with the digits that they look like.
_LOOKALIKES = str.maketrans("OIL", "011")

#: No space follows these.
_FULL_WIDTH_STOPS = ("\uff0c", "\uff1b", "\uff1a", "\u3002", "\u3001")
_HEAD = lazy_regex(
    rf"[-*+][ \t]+\*\*\[(?P<id>[A-Z]{{2}}-[{ALPHABET}]{{4}})\](?:[ \t]+(?P<date>\d{{4}}-\d{{2}}-\d{{2}}))?"
    r"(?:[ \t]+(?P<title>[^\n]*?))?\*\*(?:[ \t]+(?:-|–|—)[ \t]+(?P<body>[^\n]*)|(?P<rest>[^\n]*))$"
)
#: Text behind the bold id of an entry without a bold title.
_STATEMENT = lazy_regex(r"(?:[ \t]*(?P<date>\d{4}-\d{2}-\d{2})(?=[ \t]|$))?[ \t]*(?P<text>.*)$")
#: A statement that starts like this would be read as something else behind a bold id.
_NEEDS_BOLD = lazy_regex(r"(?:-|–|—)(?: |$)|\d{4}-\d{2}-\d{2}(?: |$)")
_NAMES = "|".join(FIELDS)
_FIELD = lazy_regex(rf"[ \t]+(?P<fields>(?:{_NAMES}):.*)$")
#: The mark between two fields of one line.
_SEPARATOR = " · "
_NEXT_FIELD = lazy_regex(rf" · (?=(?:{_NAMES}):)")
#: The mark inside a value where it could begin another field, now or when hidden characters around it are removed.
_FORGED_SEPARATOR = lazy_regex(r"(?<![^\W_])·|·(?![^\W_])")
#: Earlier versions cut a statement into a title of at most so many characters and a body.
_CUT_TITLE_CHARS = 80
_CLAUSE_ENDS = (",", ";", ":", ".", "!", "?", *_FULL_WIDTH_STOPS, "\uff01", "\uff1f")


Leaves = Literal["any", "resolved", "superseded", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRule:
    """A section of ``MEMORY.md``: its heading, the prefix of its ids, and when its entries may be archived."""

    title: str
    prefix: str
    leaves: Leaves  # which entries are archived after some time without references
    always: bool  # shown in full for every message, while the budget has room


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

    *id* is like ``KD-7F3A``. *date* is ISO or empty. *title* is the whole statement on one line. Where a person gave
    the entry a short title in bold type, *body* is the statement. *detail* has further lines of text, and *fields* the
    named values in file order. *raw* is the parsed text with its newline, or empty for a new or changed entry.
    """

    id: str
    date: str = ""
    title: str
    body: str = ""
    detail: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    raw: str = ""

    def render(self) -> str:
        """Render the entry as Markdown that ends in a newline. An unchanged entry renders to its exact source text."""
        if self.raw:
            return self.raw
        lines = [_head_line(self)]
        lines += [f"  {line.strip()}" for line in self.detail.splitlines() if line.strip()]
        folded = fold_fields(self.fields)
        return "\n".join([*lines, *([f"  {folded}"] if folded else [])]) + "\n"

    @property
    def text(self) -> str:
        """The content without id, date and fields, for search, comparison and merging."""
        statement = _joined(self.title, self.body)
        return " ".join(part.strip() for part in (statement, *self.detail.splitlines()) if part.strip())

    @property
    def prefix(self) -> str:
        return self.id[:2]

    @property
    def tags(self) -> tuple[str, ...]:
        """The words of the field ``Tags``, in order."""
        return tuple(tag.strip() for tag in self.fields.get("Tags", "").split(",") if tag.strip())

    @property
    def resolved(self) -> bool:
        """True when the field ``State`` says that the entry is resolved."""
        return self.fields.get("State", "").casefold().startswith(_RESOLVED)

    @property
    def retired(self) -> bool:
        """True when the entry is resolved or its claim was taken back. It is then left out of prompts."""
        return self.resolved or self.fields.get("State", "").casefold().startswith(_RETRACTED)

    @property
    def protected(self) -> bool:
        """True when a person added a line ``Protected: why``. A protected entry is never archived."""
        return self.fields.get("Protected", "").strip().casefold() not in _UNPROTECTED

    @property
    def index_line(self) -> str:
        """The entry as one line of the progressive index, with a long title cut."""
        date = f" {self.date}" if self.date else ""
        title = self.title or self.body
        if len(title) > INDEX_TITLE_CHARS:
            title = title[: INDEX_TITLE_CHARS - 1].rstrip() + "…"
        return f"- [{self.id}]{date} {title}".rstrip()

    def changed(self, **changes: object) -> Entry:
        """Return a copy with *changes*, to be rendered anew. ``fields=`` replaces all fields."""
        return replace(self, raw="", **changes)  # type: ignore[arg-type]


def parse_entry(raw: str) -> Entry | None:
    """Parse one whole list item. Return ``None`` when its first line is not an entry's.

    A title that an earlier version cut from its body is joined with it again.

    >>> entry = parse_entry("- **[KD-7F3A]** 2026-11-20 Use apsw.\\n  Evidence: verified · Origin: user\\n")
    >>> entry.id, entry.date, entry.title, dict(entry.fields)
    ('KD-7F3A', '2026-11-20', 'Use apsw.', {'Evidence': 'verified', 'Origin': 'user'})
    >>> entry = parse_entry("- **[KD-7F3A] 2026-11-20 Use apsw** - stock builds cannot load extensions.\\n")
    >>> entry.date, entry.title, entry.body
    ('2026-11-20', 'Use apsw', 'stock builds cannot load extensions.')
    """
    head, *lines = re.split(r"\r\n|\r|\n", raw.rstrip("\r\n"))
    match = _HEAD.match(head)
    if match is None:
        return None
    detail: list[str] = []
    fields: dict[str, str] = {}
    for line in lines:
        named = parse_fields(line)
        fields |= named
        if not named:
            detail.append(line.strip())
    date, title, body = _read_head(match)
    return Entry(
        id=match["id"],
        date=date,
        title=title,
        body=body,
        detail="\n".join(line for line in detail if line),
        fields=fields,
        raw=raw,
    )


def fold_fields(fields: Mapping[str, str]) -> str:
    """Return *fields* as one line without indentation. Fields without a value are left out.

    >>> fold_fields({"Evidence": "verified, commit 3f9c2e1", "Supersedes": "", "Origin": "user"})
    'Evidence: verified, commit 3f9c2e1 · Origin: user'
    """
    values = ((name, _FORGED_SEPARATOR.sub(";", _one_line(value))) for name, value in fields.items())
    return _SEPARATOR.join(f"{name}: {value}" for name, value in values if value)


def parse_fields(line: str) -> dict[str, str]:
    """Parse an indented *line* of fields, one or several. Return an empty mapping for any other line.

    >>> parse_fields("  Evidence: verified · Origin: user"), parse_fields("  Instead of: the old plan")
    ({'Evidence': 'verified', 'Origin': 'user'}, {})
    """
    match = _FIELD.match(line)
    if match is None:
        return {}
    parts = (part.partition(":") for part in _NEXT_FIELD.split(match["fields"]))
    return {name: value.strip() for name, _, value in parts}


def new_id(prefix: str, seed: str, taken: Collection[str]) -> str:
    """Return an id with *prefix* that is not in *taken*. The same arguments give the same id.

    The id is derived from *seed* and not random, so that a closing that was killed and run again gives its entries the
    same ids. A prefix has 2^20 ids. When the derived id is taken, the next derived one is tried.

    Raises:
        ValueError: all ids with *prefix* are taken.
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
    """Return the rule of the section whose ids start with *prefix*, or ``None``."""
    return next((rule for rule in SECTIONS if rule.prefix == prefix), None)


def normalise_id(typed: str) -> str:
    """Normalise an id that a person typed: no brackets, capital letters, and digits in place of O, I and L.

    >>> normalise_id(" [kd-7foa] ")
    'KD-7F0A'
    """
    prefix, hyphen, rest = typed.strip().strip("[]*").strip().upper().partition("-")
    return prefix + hyphen + rest.translate(_LOOKALIKES)


def superseded_by(entries: Iterable[Entry]) -> dict[str, str]:
    """Return a map from the id of each superseded entry to the id of the entry that supersedes it.

    Either the older entry names the newer one (``Superseded-By``), or the newer one names older ones (``Supersedes``).
    Entries that supersede each other in a circle are left out, because none of them is the newest.
    """
    newer_by_id: dict[str, str] = {}
    for entry in entries:
        for older in ENTRY_ID.findall(entry.fields.get("Supersedes", "")):
            newer_by_id.setdefault(older, entry.id)
        if entry.fields.get("Superseded-By"):
            named = ENTRY_ID.search(entry.fields["Superseded-By"])
            newer_by_id[entry.id] = named.group() if named else entry.fields["Superseded-By"]
    return {older: newer for older, newer in newer_by_id.items() if not _returns_to(older, newer_by_id)}


def _returns_to(start: str, links: Mapping[str, str]) -> bool:
    """Return whether following *links* from *start* leads back to *start*."""
    visited, current = set[str](), links.get(start)
    while current is not None and current not in visited:
        if current == start:
            return True
        visited.add(current)
        current = links.get(current)
    return False


def _head_line(entry: Entry) -> str:
    """Render the first line: a bold id and the statement, or a bold title and a body where the entry has both."""
    date = f" {entry.date}" if entry.date else ""
    title, body = (_one_line(part) for part in (entry.title, entry.body))
    if (title and body) or _NEEDS_BOLD.match(title or body):
        bold = f" {_inside_bold(title or body)}" if title or body else ""
        return f"- **[{entry.id}]{date}{bold}**" + (f" - {body}" if title and body else "")
    return f"- **[{entry.id}]**{date} {title or body}".rstrip()


def _read_head(match: re.Match[str]) -> tuple[str, str, str]:
    """Return date, title and body of an entry's first line."""
    date, title = match["date"] or "", (match["title"] or "").strip()
    rest = match["rest"]
    if not title and not date and rest is not None:
        statement = _STATEMENT.match(rest)
        if statement is not None:
            return statement["date"] or "", statement["text"].strip(), ""
    body = (match["body"] if match["body"] is not None else rest or "").strip()
    if not (title and body):
        return date, title or body, ""
    return (date, _joined(title, body), "") if _is_cut(title, body) else (date, title, body)


def _is_cut(title: str, body: str) -> bool:
    """Return whether an earlier version cut *title* from the statement that *body* ends."""
    if title.endswith(_CLAUSE_ENDS) or (title.endswith("…") and body.startswith(title[:-1])):
        return True
    is_longest = len(title) + 1 + len(body.split(" ", 1)[0]) > _CUT_TITLE_CHARS >= len(title)
    return is_longest and not body[:1].isupper()


def _joined(title: str, body: str) -> str:
    """Return the statement that *title* and *body* make. A title that was cut short is repeated by the body."""
    if body and title.endswith("…") and body.startswith(title[:-1]):
        return body
    separator = "" if title.endswith(_FULL_WIDTH_STOPS) else " "
    return separator.join(part for part in (title, body) if part)


def _inside_bold(title: str) -> str:
    """Return *title* as one line that does not end the bold text around it."""
    line = re.sub(r"\*{2,}", "*", _one_line(title))
    return f"{line} " if line.endswith("*") else line


def _one_line(text: str) -> str:
    return " ".join(text.split())
