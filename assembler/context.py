"""Own layer 1: the context files of the manifest, read for an audience and fitted into their budget.

When they do not all fit, generated files are cut first, then the others in reverse order, and protected ones last. Each
file keeps its floor. MEMORY.md gets a fixed part of the tokens that floors and protected files leave, so that a long
file of the user does not crowd it out.

Floors that do not fit together shrink in proportion, those of generated files and then those of unprotected ones first.
A floor is kept in whole units: a file gets the tokens of as many units as reach its floor, protected files first. When
there is no room for the unit that reaches the floor, the file keeps the units that fit. ``floor`` in the receipt is the
floor granted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent_home.home import MEMORY, Home
from agent_home.settings import ContextFile

from .budget import BudgetRequest, share_out, shrink
from .onboarding import ONBOARDING, USER, is_filled
from .receipt import EntryLine, SectionLine
from .section import Count, PromptSection, Unit, cut_section, make_section, notice_text, select_units
from .sources import Sources, SourceText

__all__ = [
    "BLANK_TOKENS",
    "ContextSection",
    "Group",
    "closing_line",
    "fit",
    "left_out_notice",
    "load",
    "rests",
    "short_closing_line",
    "with_rest",
    "without_entries",
]

#: Kinds of files in the order in which they get idle room.
Group = Literal["protected", "owned", "generated"]
#: Tokens that the blank line after a part may cost.
BLANK_TOKENS = 2
#: Tokens of the line of files left out, without their names, and the largest share of the room that names may take.
_LEFT_OUT_TOKENS, _MENTIONED_SHARE = 12, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSection:
    """A context file in the prompt: *whole*, and *fitted* into its *share* of tokens.

    *floor* is the number of tokens that it keeps at least in this budget.
    """

    file: ContextFile
    path: str
    whole: PromptSection
    fitted: PromptSection
    share: int
    floor: int
    source: SourceText

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def cut(self) -> bool:
        """Return whether a part of the file was cut."""
        return len(self.fitted.units) != len(self.whole.units)

    @property
    def left_out(self) -> bool:
        """Return whether no part of the file fits, so that only a common line names it."""
        return bool(self.whole.units) and not self.fitted.units and not self.progressive

    @property
    def progressive(self) -> bool:
        """Return whether the file is a MEMORY.md over its share, which layer 2 shows."""
        return self.file.file == MEMORY and self.cut and any(unit.entry_id for unit in self.whole.units)

    @property
    def cut_order(self) -> str:
        """Return which parts of the file are cut first, as words behind a number of cut parts."""
        order = self.file.cut
        return "" if order == "never" else f", {order.removesuffix('-first')} parts cut first"

    def line(self) -> SectionLine:
        """Return the receipt's line about the section."""
        if not self.whole.units:
            return self._line("dropped", self.source.reason or "nothing in it but headings")
        if not self.fitted.units:
            return self._line("dropped", f"no part of it fits its share of {self.share} tokens")
        if self.cut:
            parts = len(self.fitted.dropped)
            return self._line("cut", f"{parts} parts over its share of {self.share} tokens{self.cut_order}")
        return self._line("kept", "whole")

    def entry_lines(self) -> list[EntryLine]:
        """Return the receipt's lines about the file's entries, in file order."""
        kept = {unit.entry_id for unit in self.fitted.units}
        return [
            EntryLine(id=unit.entry_id, action="kept", reason=f"{self.path} is shown", tokens=unit.tokens)
            if unit.entry_id in kept
            else EntryLine(id=unit.entry_id, action="dropped", reason=f"over the share of {self.path}", tokens=0)
            for unit in self.whole.units
            if unit.entry_id
        ]

    def superseded_lines(self) -> list[EntryLine]:
        """Return the receipt's lines about superseded entries and then retired ones, each in file order."""
        reasons = [(entry_id, f"superseded by {newer}") for entry_id, newer in self.whole.superseded]
        reasons += self.whole.retired
        return [EntryLine(id=entry_id, action="dropped", reason=reason, tokens=0) for entry_id, reason in reasons]

    def _line(self, action: str, reason: str) -> SectionLine:
        return SectionLine(
            name=self.name, tokens=self.fitted.tokens, full_tokens=self.whole.tokens, action=action, reason=reason,
            floor=self.floor,
        )  # fmt: skip


def load(home: Home, sources: Sources, count: Count) -> list[ContextSection]:
    """Load the context files whole, in prompt order. A file that cannot be shown has no units and a reason.

    The onboarding file is left out once USER.md says who the user is.
    """
    loaded = []
    for file in home.manifest.context:
        path = home.context_path(file.file)
        source = sources.read(path)
        if file.file == ONBOARDING and source.text and is_filled(sources.read(home.context_path(USER)).text):
            source = SourceText(reason=f"{USER} is filled in, so the onboarding is over")
        whole = make_section(file.name, source.text, file.cut, count)
        loaded.append(
            ContextSection(file=file, path=path, whole=whole, fitted=whole, share=whole.tokens, floor=0, source=source)
        )
    return loaded


def fit(sections: Sequence[ContextSection], tokens: int, count: Count, *, memory_first: float) -> list[ContextSection]:
    """Fit all sections together into *tokens*, and return them in the same order.

    *memory_first* is MEMORY.md's part of the tokens that floors and protected files leave.
    """
    tokens = max(0, tokens - _LEFT_OUT_TOKENS)
    floors = _floors(sections, tokens, count)
    bonus = _memory_bonus(sections, floors, tokens, memory_first)
    requests = [
        BudgetRequest(
            name=s.name, full=s.whole.tokens, floor=floors[s.name] + bonus.get(s.name, 0), rank=_rank(s, place)
        )
        for place, s in enumerate(sections)
    ]
    shares = share_out(requests, tokens)
    by_name = {s.name: _cut(s, shares[s.name], floors[s.name], count) for s in sections}
    _redistribute(sections, requests, by_name, tokens, count)
    return [by_name[section.name] for section in sections]


def left_out_notice(sections: Sequence[ContextSection]) -> str:
    """Return one line that names the files of which no part fits, and counts those for whose names there is no room."""
    left_out = [section for section in sections if section.left_out]
    names = [section.path for section in left_out if section.fitted.tokens]
    others = len(left_out) - len(names)
    if not names:
        return f"[{others} file{'s' * (others > 1)} left out: see agent.toml]\n" if others else ""
    return f"[Left out: {', '.join(names)}{f' and {others} more' if others else ''}]\n"


def closing_line(sections: Sequence[ContextSection]) -> str:
    """Return one line that names each file of which a part or all is missing, and says how to get the rest.

    MEMORY.md over its share says it itself.
    """
    cut = [section.path for section in sections if section.cut and section.fitted.units and not section.progressive]
    absent = [section.path for section in sections if section.left_out]
    if not cut and not absent:
        return ""
    shown_in_part = f"Shown in part: {', '.join(cut)}. " if cut else ""
    not_shown = f"Not shown: {', '.join(absent)}. " if absent else ""
    return f"[{shown_in_part}{not_shown}Read the files, or search with `memory search`]\n"


def short_closing_line(sections: Sequence[ContextSection]) -> str:
    """Return the line that only counts the files of which a part or all is missing."""
    number = sum(section.cut and not section.progressive for section in sections)
    return f"[{number} file{'s' * (number > 1)} not shown in full: see agent.toml]\n" if number else ""


def without_entries(section: ContextSection, ids: Collection[str]) -> ContextSection:
    """Return *section* without the entries *ids*."""
    if not any(unit.entry_id in ids for unit in section.whole.units if unit.entry_id):
        return section
    kept = select_units(section.whole, lambda unit: unit.entry_id not in ids)
    whole = replace(section.whole, units=kept.units, tokens=kept.tokens)
    return replace(section, whole=whole, fitted=whole, share=whole.tokens)


def with_rest(section: ContextSection, rest: PromptSection) -> ContextSection:
    """Return *section* with the units of *rest* in their places among those that were shown before."""
    shown = {unit.rank for part in (section.fitted, rest) for unit in part.units if not unit.heading}
    fitted = select_units(section.whole, lambda unit: unit.rank in shown)
    dropped = tuple(unit for unit in section.whole.units if not unit.heading and unit.rank not in shown)
    return replace(section, fitted=replace(fitted, dropped=dropped))


def rests(
    sections: Sequence[ContextSection], tokens: int, count: Count, group: Group
) -> Iterator[tuple[ContextSection, PromptSection]]:
    """Yield the parts of the cut files of *group* that fit into *tokens*. MEMORY.md over its share has its own way.

    Each part costs ``BLANK_TOKENS`` beside its own tokens.
    """
    for section in sections:
        if not section.cut or section.progressive or _group(section) != group:
            continue
        shown = {unit.rank for unit in section.fitted.units if not unit.heading}
        rest = select_units(section.whole, lambda unit, shown=shown: unit.rank not in shown)  # type: ignore[misc]
        label = f"[The rest of {section.path}]\n"
        part = cut_section(rest, tokens - count(label) - BLANK_TOKENS, count, hint=_hint(section))
        if part.units:
            cost = count(label) + part.tokens
            tokens -= cost + BLANK_TOKENS
            yield section, replace(part, units=(Unit(text=label, tokens=0, heading=True), *part.units), tokens=cost)


def _group(section: ContextSection) -> Group:
    if section.file.cut == "never":
        return "protected"
    return "generated" if section.file.owner == "generated" else "owned"


def _rank(section: ContextSection, place: int) -> int:
    """Return the rank of a section: protected files first, then others in prompt order, MEMORY.md, generated files."""
    group = _group(section)
    if group == "protected":
        return place
    if section.file.file == MEMORY:
        return 2_000
    return place + (3_000 if group == "generated" else 1_000)


def _floors(sections: Sequence[ContextSection], tokens: int, count: Count) -> dict[str, int]:
    """Return the floor of each file by name, rounded up to whole units if there is room.

    A file without a floor keeps its mention among the files left out. Floors of protected files are served first.
    """
    mentions = {s.name: min(s.whole.tokens, _mention_cost(s, count)) for s in sections}
    if sum(mentions.values()) > _MENTIONED_SHARE * tokens:
        mentions = dict.fromkeys(mentions, 0)
    more = {s.name: max(0, min(s.file.floor, s.whole.tokens) - mentions[s.name]) for s in sections}
    left = tokens - sum(mentions.values())
    if sum(more.values()) > left:
        more |= {s.name: 0 for s in sections if s.file.owner == "generated"}
    protected = shrink({s.name: more[s.name] for s in sections if s.file.cut == "never"}, left)
    others = {s.name: more[s.name] for s in sections if s.file.cut != "never"}
    more = protected | shrink(others, left - sum(protected.values()))
    floors = {name: mentions[name] + more[name] for name in mentions}
    left = tokens - sum(floors.values())
    for _, section in sorted(enumerate(sections), key=lambda item: _rank(item[1], item[0])):
        rest = _whole_units(section, floors[section.name], count) - floors[section.name]
        if rest <= left:
            floors[section.name] += rest
            left -= rest
    return floors


def _memory_bonus(
    sections: Sequence[ContextSection], floors: Mapping[str, int], tokens: int, part: float
) -> Mapping[str, int]:
    """Return the tokens that MEMORY.md gets above its floor, after protected files and before all others, by name."""
    protected = sum(s.whole.tokens - floors[s.name] for s in sections if s.file.cut == "never")
    left = max(0, tokens - sum(floors.values()) - protected)
    return {s.name: min(int(left * part), s.whole.tokens - floors[s.name]) for s in sections if s.file.file == MEMORY}


def _whole_units(section: ContextSection, floor: int, count: Count) -> int:
    """Return the tokens of the fewest whole units, best rank first, that reach *floor*."""
    if section.whole.tokens <= floor or section.file.floor == 0:
        return floor
    units = section.whole.units
    total, kept = _notice_cost(section, count), set[int]()
    for index in sorted(range(len(units)), key=lambda i: units[i].rank):
        if total >= floor:
            break
        if not units[index].heading:
            added = {index, *units[index].headings} - kept
            kept |= added
            total += sum(units[i].tokens for i in added)
    return min(total, section.whole.tokens)


def _notice_cost(section: ContextSection, count: Count) -> int:
    """Return the tokens of the notice of a cut, for which every file has room."""
    return count(notice_text(len(section.whole.units), _hint(section)))


def _cut(section: ContextSection, share: int, floor: int, count: Count) -> ContextSection:
    fitted = cut_section(section.whole, share, count, hint=_hint(section))
    if section.whole.units and not fitted.units:  # a common line names the file
        cost = _mention_cost(section, count)
        fitted = replace(fitted, notice="", tokens=cost if cost <= share else 0)
    return replace(section, fitted=fitted, share=share, floor=floor)


def _mention_cost(section: ContextSection, count: Count) -> int:
    """Return the tokens of the file's mention among those left out, for which every file has room."""
    return count(f", {section.path}\n")


def _redistribute(
    sections: Sequence[ContextSection],
    requests: Sequence[BudgetRequest],
    fitted: dict[str, ContextSection],
    tokens: int,
    count: Count,
) -> None:
    """Distribute tokens that whole units left over, in order of rank. MEMORY.md uses its share in layer 2."""
    used = {name: s.share if s.progressive else s.fitted.tokens for name, s in fitted.items()}
    left = tokens - sum(used.values())
    by_name = {section.name: section for section in sections}
    for request in sorted(requests, key=lambda request: request.rank):
        section = fitted[request.name]
        if section.cut and left > 0:
            again = _cut(by_name[request.name], used[request.name] + left, section.floor, count)
            spent = again.share if again.progressive else again.fitted.tokens
            left -= spent - used[request.name]
            fitted[request.name] = again


def _hint(section: ContextSection) -> str:
    return f"see {section.path}"
