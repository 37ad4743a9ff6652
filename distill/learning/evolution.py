"""What the agent learned about itself: its corrections, capabilities, competences and failed attempts in EVOLUTION.md.

A closing adds what a session brought. A correction that was made before is not written again: the older entry gains
the session and counts up. One that turns an older one around, or takes the place of what that calls right, supersedes
it, in whatever order their sessions are closed. An entry says what was wrong and why in its own lines, so that the
words of its title stay as they were said. Only words of the user and the agent teach; what a tool or a web page says is
no lesson about oneself, and what the guard would touch stays out.

The file stays short: what happened once, long ago, and was never referred to leaves a full section for the archive, and
comes back when it happens again. What becomes of a correction that recurs is ``distill.learning.governance``'s
business.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry
from agent_home.documents.provenance import least_trusted
from agent_home.home import Home
from agent_home.screening.service import ScreeningService
from agent_home.store.gateway import Transaction
from agent_home.store.references import last_references
from agent_home.store.transcript import Turn

from ..statements.contradiction import relation
from ..statements.sentences import narrowed, prose_lines, split_sentences, split_title
from ..statements.statement_parser import Statement, Token, are_opposites, parse_statement, stem
from ..summary.extraction import Item, normalised

__all__ = [
    "EVOLUTION",
    "MASKED",
    "SECTIONS",
    "Correction",
    "Lesson",
    "corrections",
    "lessons_from",
    "record_lessons",
    "same_lesson",
    "section_of",
    "split_correction",
]  # fmt: skip

EVOLUTION = "EVOLUTION.md"
Kind = Literal["correction", "capability", "competence", "failed"]
#: The section of each kind, and the prefix of its ids.
SECTIONS: Mapping[Kind, tuple[str, str]] = {
    "correction": ("Corrections", "CR"),
    "capability": ("Capabilities", "CB"),
    "competence": ("Competences", "CM"),
    "failed": ("Failed attempts", "FA"),
}
#: Entries that one closing may add to one section: an agent that is corrected more often learns little from a list.
_MOST_OF_A_KIND = 10
#: Entries of one section that prompts have room for.
_MOST_ENTRIES = 100
_TRUSTED = frozenset({"user", "agent"})
#: Least share of the words of two lessons that are in both.
_ALIKE = 0.6
#: How what the guard took out of a transcript begins: a lesson with a hole is none, and a project need not know of it.
MASKED = "[REDACTED:"
#: Dates named in an entry; more are only counted.
_MOST_DATES = 12

_LEAD = re.compile(
    r"^(?:(?:no|nope|wrong|sorry|wait|actually|correction|in fact|again|"
    r"(?:that|this|it)(?:['’]s| is) (?:wrong|not (?:right|correct|true))|you(?:['’]re| are) wrong|"
    r"又?不对|又?错了|更正|纠正一下|更正一下|数字不对|不准确)\s*[,.:;!。—–-]+\s*)+",
    re.IGNORECASE,
)
_CLAUSE = r"[^,;。]+?(?:[.,]\d[^,;。]*?)?"
#: A sentence that says what is right and what is wrong. Punctuation is narrow.
_CONTRASTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"不是(?P<wrong>{_CLAUSE})[,、;]?\s*(?:而是|应该是|而|是)(?P<right>.+?)[。.!]*$",
        rf"(?P<right>.+?)[,、;]?\s*(?:而不是|而非|不是)(?P<wrong>{_CLAUSE})[。.!]*$",
        rf"(?P<right>.+?),?\s+(?:instead of|rather than|and not|not)\s+(?P<wrong>{_CLAUSE})(?:,? please)?\s*[.!]*$",
    )
)
#: Where the order of the words carries the meaning.
_DIRECTED = re.compile(
    r"\b(?:before|after|than|from|over|under|into|above|below)\b|[先再后前比从到由向给]", re.IGNORECASE
)
#: What the agent says of itself, behind a label; for a report of work in passing there is the daily log.
_LABELS: Mapping[Kind, re.Pattern[str]] = {
    "capability": re.compile(r"^(?:new )?(?:capabilit(?:y|ies)|skill|tool)(?: built| added)?\s*:\s*(?P<rest>.+)|"
                             r"^(?:新增?)?(?:能力|技能|工具)\s*:\s*(?P<zh>.+)", re.IGNORECASE),
    "competence": re.compile(r"^(?:new )?(?:competences?|know-?how|learned how to)(?:\s*:\s*|\s+)(?P<rest>.+)|"
                             r"^(?:学会了|掌握了|诀窍)\s*:?\s*(?P<zh>.+)", re.IGNORECASE),
}  # fmt: skip
#: What was tried, not merely weighed.
_TRIED = re.compile(r"\btr(?:ied|ying)\b|\battempt|\bgave up\b|试过|尝试过|试了", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+")
_OCCURRENCES = re.compile(r"Occurrences: (?P<count>\d+)(?: \((?P<dates>[^)]*)\))?$")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Something that a session taught, on its way into EVOLUTION.md. *root_cause* and *wrong* are a correction's."""

    kind: Kind
    text: str
    sources: tuple[str, ...]
    origin: str
    date: str
    wrong: str = ""
    root_cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A correction as EVOLUTION.md has it. *dates* are the days on which it was made, oldest first, as far as named."""

    entry: Entry
    wrong: str
    root_cause: str
    occurrences: int
    dates: tuple[str, ...]

    @property
    def right(self) -> str:
        """What is right, in the words of the correction, without what it was said instead of."""
        return split_correction(_said(self.entry))[0]


def lessons_from(
    items: Sequence[Item], turns: Sequence[Turn], origins: Mapping[Item, str], date: str
) -> tuple[Lesson, ...]:
    """What a session taught: its corrections and failed attempts among *items*, and what *turns* label as a capability
    or competence, in their order. *date* stands in for a turn without a time.
    """
    found = [
        Lesson(
            kind=kind, text=item.text, sources=item.sources, origin=origins.get(item, "agent"),
            date=item.ts[:10] or date,
            wrong=item.replaces or split_correction(item.text)[1] if kind == "correction" else "",
            root_cause=_root_cause(item, items) if kind == "correction" else "",
        )
        for item in items
        if (kind := _kind_of(item)) is not None
    ]  # fmt: skip
    found += [learned for turn in turns for learned in _labelled(turn, date)]
    return tuple(learned for learned in found if learned.origin in _TRUSTED)


def record_lessons(edits: Transaction, found: Sequence[Lesson], *, title_chars: int) -> tuple[Entry, ...]:
    """Put *found* into EVOLUTION.md, as part of a closing: what is new as an entry, what was there as one more count.

    Nothing happens in a home without that file, and nothing twice: a session counts once for an entry, however often it
    is closed. Returns the entries that were added or changed, in order.
    """
    if not found or not (edits.home.root / EVOLUTION).exists():
        return ()
    document = edits.read(EVOLUTION)
    made: dict[str, Entry] = {}
    for learned in found:
        section, prefix = SECTIONS[learned.kind]
        older = _known(document, section, learned)
        if older is None and (archived := _from_archive(edits, section, learned)):
            document, older = document.with_entry(section, archived), archived
        entry = _counted(older, learned) if older else _new(edits, prefix, learned, title_chars)
        if older and entry == older:
            continue
        if not _passes(edits.home, entry):
            continue
        if older:
            document = document.with_entry_changed(entry)
        elif sum(one.startswith(prefix) for one in made) < _MOST_OF_A_KIND:
            document, entry = _with_new(document, section, entry)
        else:
            continue
        made[entry.id] = entry
    edits.write(EVOLUTION, _shortened(edits, document, made))
    return tuple(made.values())


def section_of(prefix: str) -> str:
    """The section of EVOLUTION.md whose ids start with *prefix*; empty for ids of other files."""
    return next((title for title, own in SECTIONS.values() if own == prefix), "")


def corrections(document: Document) -> list[Correction]:
    """The corrections that *document*, EVOLUTION.md, holds, in file order; superseded and settled ones left out."""
    found = []
    for entry in document.section_entries(SECTIONS["correction"][0]):
        if entry.fields.get("Superseded-By") or entry.resolved:
            continue
        count, dates = _occurrences(entry)
        found.append(
            Correction(
                entry=entry, wrong=_line(entry, "Wrong"), root_cause=_line(entry, "Root cause"), occurrences=count,
                dates=dates,
            )
        )  # fmt: skip
    return found


@lru_cache(maxsize=4096)
def split_correction(text: str) -> tuple[str, str]:
    """What a correction says is right, and what it says is wrong; the second is empty where it does not say.

    >>> split_correction("No, use pnpm, not npm.")
    ('use pnpm', 'npm')
    >>> split_correction("不对,不是按日期,而是按风险排序。")
    ('按风险排序', '按日期')
    """
    lead = _LEAD.match(narrowed(text))
    said = text[lead.end() :] if lead and lead.end() < len(text) else text
    for pattern in _CONTRASTS:
        match = pattern.search(narrowed(said))
        if match:
            before = said[: match.start()] if match.re.pattern.startswith("不是") else ""
            right, wrong = said[slice(*match.span("right"))], said[slice(*match.span("wrong"))]
            return f"{before}{right}".strip(" ,、;"), wrong.strip(" ,、;")
    return said.strip(), ""


def same_lesson(one: str, other: str) -> bool:
    """Whether two corrections teach the same, in other words at most.

    They name the same numbers, dates and names and deny as much; one may say more than the other, but neither has a
    word where the other has another one; and most words are in both, at least one of them no mere number: «it is 12»
    may be said of anything.
    """
    right, wrong = split_correction(one)
    other_right, other_wrong = split_correction(other)
    if not _alike(parse_statement(right), parse_statement(other_right)):
        return False
    return not wrong or not other_wrong or not _swapped(parse_statement(wrong), parse_statement(other_right))


def _kind_of(item: Item) -> Kind | None:
    if item.kind == "correction":
        return "correction"
    return "failed" if item.kind == "rejected" and _TRIED.search(item.text) else None


def _root_cause(correction: Item, items: Sequence[Item]) -> str:
    """The first root cause named after *correction* that shares a word with it or with what it corrects."""
    about = _words(parse_statement(f"{correction.text} {correction.replaces}").tokens)
    after = items[items.index(correction) + 1 :]
    causes = (item.text for item in after if item.kind == "root_cause")
    return next((text for text in causes if about & _words(parse_statement(text).tokens)), "")


def _labelled(turn: Turn, date: str) -> Iterator[Lesson]:
    message = turn.message
    if message.role not in {"user", "assistant"}:
        return
    for sentence in (part for line in prose_lines(message.content) for part in split_sentences(line.text)):
        for kind, label in _LABELS.items():
            match = label.match(narrowed(sentence))
            group = "rest" if match and match["rest"] else "zh"
            if match and len(sentence[slice(*match.span(group))].split()) + len(match[group]) // 4 >= 3:
                yield Lesson(
                    kind=kind, text=sentence[slice(*match.span(group))].strip(), sources=(message.source,),
                    origin=message.origin, date=message.ts[:10] or date,
                )  # fmt: skip


def _known(document: Document, section: str, learned: Lesson) -> Entry | None:
    """The entry of *section* that says what *learned* says."""
    said = normalised(learned.text)
    entries = [entry for entry in document.section_entries(section) if not entry.fields.get("Superseded-By")]
    exact = next((entry for entry in entries if normalised(_said(entry)) == said), None)
    if learned.kind != "correction":
        return exact
    alike = (entry for entry in entries if same_lesson(_said(entry), learned.text))
    # Of numbers alone nobody can tell whether they are about the same: the session decides.
    return next(alike, None) or (exact if exact and _sessions(exact) & _sessions_of(learned.sources) else None)


def _new(edits: Transaction, prefix: str, learned: Lesson, title_chars: int) -> Entry:
    title, body = split_title(learned.text, title_chars)
    detail = [f"Wrong: {learned.wrong}"] if learned.wrong else []
    detail += [f"Root cause: {learned.root_cause}"] if learned.root_cause else []
    detail += [f"Occurrences: 1 ({learned.date})"] if learned.kind == "correction" else []
    return Entry(
        id=edits.new_id(prefix, f"{learned.sources[-1]}\0{learned.text}"), date=learned.date, title=title.rstrip("*"),
        body=body, detail="\n".join(" ".join(line.split()) for line in detail),
        fields={"Sources": ", ".join(learned.sources), "Origin": learned.origin},
    )  # fmt: skip


def _from_archive(edits: Transaction, section: str, learned: Lesson) -> Entry | None:
    """The archived entry that says what *learned* says, taken out of the archive."""
    for file in sorted((edits.home.root / "Archive").glob("EVOLUTION-*.md")):
        path = edits.home.relative(file)
        document = edits.read(path)
        found = _known(document, section, learned)
        if found is not None:
            edits.write(path, document.without_entry(found.id))
            return found
    return None


def _shortened(edits: Transaction, document: Document, made: Collection[str]) -> Document:
    """*document* without what is over the most of each section; that goes to the archive, in the same transaction."""
    referred = last_references(edits.home) if len(list(document.entries())) > _MOST_ENTRIES else {}
    leaving: list[tuple[str, Entry]] = []
    for section, _ in SECTIONS.values():
        entries = document.section_entries(section)
        fit = [
            e for e in entries
            if e.id not in made and e.id not in referred and not e.protected and _occurrences(e)[0] == 1
        ]  # fmt: skip
        fit.sort(key=lambda e: (not e.fields.get("Superseded-By"), e.date))
        leaving += [(section, entry) for entry in fit[: max(0, len(entries) - _MOST_ENTRIES)]]
    if not leaving:
        return document
    path = f"Archive/EVOLUTION-{edits.now:%Y-%m}.md"
    archive = parse(edits.text(path) or f"# What was learned once, archived {edits.now:%Y-%m}\n")
    edits.write(path, archive.with_entries(leaving))
    return document.without_entries({entry.id for _, entry in leaving})


def _with_new(document: Document, section: str, entry: Entry) -> tuple[Document, Entry]:
    """*document* with *entry* in it, and *entry* as it stands there.

    It supersedes what it replaces; of an earlier day than the one that replaces it, it is superseded itself.
    """
    standing = [one for one in document.section_entries(section) if not one.fields.get("Superseded-By")]
    older = [one for one in standing if one.date <= entry.date and _replaces(entry, one)]
    newer = [one for one in standing if one.date > entry.date and _replaces(one, entry)]
    for one in older:
        document = document.with_entry_changed(one.changed(fields={**one.fields, "Superseded-By": entry.id}))
    for one in newer[:1]:
        links = ", ".join(filter(None, (one.fields.get("Supersedes", ""), entry.id)))
        document = document.with_entry_changed(one.changed(fields={**one.fields, "Supersedes": links}))
    fields = {
        **entry.fields, "Supersedes": ", ".join(one.id for one in older),
        "Superseded-By": ", ".join(one.id for one in newer[:1]),
    }  # fmt: skip
    entry = entry.changed(fields={name: value for name, value in fields.items() if value})
    return document.with_entry(section, entry), entry


def _replaces(newer: Entry, older: Entry) -> bool:
    """Whether the correction *newer* turns *older* around, or takes the place of what *older* calls right.

    As in MEMORY.md, what a person protected stands, and so does what somebody more trusted said.
    """
    if _turns_around(newer, older):
        return True
    if newer.prefix != SECTIONS["correction"][1] or older.protected:
        return False
    origins = [entry.fields.get("Origin") or "user" for entry in (older, newer)]
    found = relation(split_correction(_said(older))[0], _said(newer), apart=not _sessions(older) & _sessions(newer))
    return found.kind == "replaced" and least_trusted(origins) == origins[0]


def _turns_around(newer: Entry, older: Entry) -> bool:
    """Whether the correction *newer* calls wrong what *older* calls right, and the other way round."""
    if newer.prefix != SECTIONS["correction"][1]:
        return False
    (right, wrong), (was_right, was_wrong) = split_correction(_said(newer)), split_correction(_said(older))
    if not wrong or not was_wrong or not _swapped(parse_statement(was_wrong), parse_statement(right)):
        return False
    return _swapped(parse_statement(wrong), parse_statement(was_right))


def _counted(older: Entry, learned: Lesson) -> Entry:
    """*older* with the session counted; itself where that session is counted already."""
    if _sessions_of(learned.sources) <= _sessions(older):
        return older
    count, dates = _occurrences(older)
    detail = [line for line in older.detail.splitlines() if not _OCCURRENCES.match(line)]
    if learned.root_cause and not _line(older, "Root cause"):
        detail.append(f"Root cause: {' '.join(learned.root_cause.split())}")
    if learned.kind == "correction":
        named = ", ".join(sorted({*dates, learned.date})[-_MOST_DATES:])
        detail.append(f"Occurrences: {count + 1} ({named})")
    sources = ", ".join(dict.fromkeys([*_sources(older), *learned.sources]))
    origin = least_trusted([older.fields.get("Origin") or "user", learned.origin])
    return older.changed(detail="\n".join(detail), fields={**older.fields, "Sources": sources, "Origin": origin})


def _passes(home: Home, entry: Entry) -> bool:
    """Whether the guard lets *entry* stand there as it is, and took nothing out of the turn that it comes from."""
    if MASKED in entry.render():
        return False
    origin = least_trusted(["agent", entry.fields.get("Origin", "agent")])
    return ScreeningService(home).allows(EVOLUTION, entry.render(), origin)


def _said(entry: Entry) -> str:
    """What an entry says, without its lines about what was wrong, why, and how often."""
    return entry.changed(detail="").text


def _line(entry: Entry, name: str) -> str:
    begins = f"{name}: "
    return next((line.removeprefix(begins) for line in entry.detail.splitlines() if line.startswith(begins)), "")


def _occurrences(entry: Entry) -> tuple[int, tuple[str, ...]]:
    """How often, and the days named; an entry that a person wrote happened once, on its date."""
    for line in entry.detail.splitlines():
        match = _OCCURRENCES.match(line)
        if match:
            return max(1, int(match["count"])), tuple(_DATE.findall(match["dates"] or ""))
    return 1, (entry.date,) if entry.date else ()


def _sources(entry: Entry) -> list[str]:
    """The addresses in its field; a session's name may hold a comma."""
    found: list[str] = []
    for part in entry.fields.get("Sources", "").split(", "):
        if found and "#" not in found[-1]:
            found[-1] += f", {part}"
        elif part.strip():
            found.append(part)
    return found


def _sessions(entry: Entry) -> set[str]:
    return _sessions_of(_sources(entry))


def _sessions_of(sources: Sequence[str]) -> set[str]:
    return {source.rpartition("#")[0].strip() for source in sources}


def _alike(one: Statement, other: Statement) -> bool:
    if set(one.particulars) != set(other.particulars) or one.negations % 2 != other.negations % 2:
        return False
    keys, others = set(one.keys), set(other.keys)
    if not (keys <= others or others <= keys) or _opposed(one.text, other.text):
        return False
    if _DIRECTED.search(f"{one.text} {other.text}"):
        both = keys & others
        if [key for key in one.keys if key in both] != [key for key in other.keys if key in both]:
            return False
    return bool(_words(one.tokens) & _words(other.tokens)) and _shared_weight(one, other) >= _ALIKE


def _opposed(one: str, other: str) -> bool:
    """Whether one has a word and the other its opposite, be it a word that carries little elsewhere."""
    here, there = ({stem(word) for word in _WORD.findall(text)} for text in (one, other))
    return any(are_opposites(a, b) or {a, b} == {"from", "to"} for a in here - there for b in there - here)


def _shared_weight(one: Statement, other: Statement) -> float:
    """The weight of what is in both, as a part of what is in either."""
    weights = {token.key: token.weight for token in (*one.tokens, *other.tokens)}
    either = sum(weights.values())
    both = sum(weight for key, weight in weights.items() if key in one.keys and key in other.keys)
    return both / either if either else 0.0


def _words(tokens: Sequence[Token]) -> set[str]:
    """What is said apart from how much and when; pairs of Chinese characters, because one alone is in everything."""
    words = {token.key for token in tokens if token.kind in {"word", "name"}}
    han = [token for token in tokens if token.kind == "han"]
    pairs = pairwise(han)
    return words | {a.key + b.key for a, b in pairs if a.end == b.start}


def _swapped(wrong: Statement, right: Statement) -> bool:
    """Whether what one calls wrong is what the other calls right."""
    return bool(_words(wrong.tokens)) and set(wrong.keys) == set(right.keys)
