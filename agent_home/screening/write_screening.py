"""Passing what an edit adds through the guard, and acting on what the guard says.

Redacted text is written as redacted. Text that the guard holds back is left out and waits in quarantine; a mark stands
in its place, except for an entry: a new one is simply not there, a changed one stays as it was. A guard that cannot run
stops the write.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from guard import Action, Finding, GuardError, GuardSettings, RuleSet, Source, Verdict, rules_from_gitleaks, screen

from ..documents.document import Block, parse
from ..documents.entry import Entry
from ..documents.provenance import origin_of_blocks
from ..errors import GuardRefused
from ..forgetting.tombstones import scrubbed
from ..home import ARCHIVED_DAILY, Home
from ..salt import salt_of
from .quarantine import Quarantined, hold_back, id_of
from .review_ledger import NO_DECISIONS, Decisions, fields_alone

__all__ = [
    "Screening",
    "destination_of",
    "dropped_note",
    "entry_verdict",
    "guard_settings",
    "held_back",
    "moved_to",
    "note",
    "reason_of",
    "runs",
    "screened_text",
]

_DESTINATIONS = (
    ("sessions/", "transcript"),
    ("outputs/", "output"),
    ("DailyActivity/", "daily"),
    (ARCHIVED_DAILY, "daily"),
    ("Knowledge/", "knowledge"),
    ("Projects/", "project"),
    ("USER.md", "user_profile"),
)
#: How gzip, zip, xz, zstd and bzip2 files begin.
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")
#: Blocks that are screened alone: joined, each would look like a forged part of the one before it.
_ALONE = frozenset({"entry", "heading"})
_PRIVATE = re.compile(r"<\s{0,4}(/?)\s{0,4}private\b", re.IGNORECASE)


class Screening:
    """One transaction's screening. *redacted*, *held*, *dropped* and *findings* tell what it came to.

    *dropped* counts the texts that were not held back again because a person had rejected them. What a person approved
    is stored as it is.
    """

    def __init__(
        self, home: Home, *, source: str, session: str, ts: str, actor: str = "", decided: Decisions = NO_DECISIONS
    ) -> None:
        self.redacted = 0
        self.dropped = 0
        self.held: list[Quarantined] = []
        self.findings: list[dict[str, Any]] = []
        self._home, self._source, self._session, self._ts = home, source, session, ts
        self._actor, self._decided, self._section = actor, decided, ""
        self._earlier: dict[str, str] = {}

    def document(self, path: str, before: str, after: str, moved: Mapping[str, int] = MappingProxyType({})) -> str:
        """*after* with what it adds to *before* screened; blocks that *before* has as well are left alone.

        So are blocks that come from elsewhere in the home, counted in *moved* by their texts.

        Blocks that stand together are screened together, so that nothing hides by spanning them. An entry whose field
        ``Origin`` names somebody less trusted than the transaction's source is judged as theirs.

        Raises:
            GuardRefused: the guard cannot run, or holds back a file that is not Markdown.
        """
        if path.endswith(".jsonl"):
            return self._lines(path, before, after)
        if not path.endswith(".md"):
            return self._whole(path, after)
        pieces = []
        self._section = ""
        self._earlier = {entry.id: entry.raw for entry in parse(before).entries()}
        for added, run in runs(before, after, moved):
            if run[0].kind == "heading" and run[0].level <= 2:
                self._section = run[0].title if run[0].level == 2 else ""
            if not added or all(self._approved(path, block) for block in run):
                pieces.append("".join(block.raw for block in run))
            elif run[0].kind == "heading" and len(run) == 1:
                pieces.append(self._heading(path, run[0]))
            else:
                pieces.append(self._run(path, run))
        screened = "".join(pieces)
        return before if _says_the_same(before, screened) and not _says_the_same(before, after) else screened

    def text(self, path: str, text: str, section: str) -> str | None:
        """*text* as it may be proposed for *section* of *path*; ``None`` when it is held back."""
        self._section = section
        verdict = self._verdict(path, text)
        if verdict.stored or self._decided.approves(verdict.text):
            return verdict.text
        self._hold(path, verdict)
        return None

    def _whole(self, path: str, text: str) -> str:
        verdict = self._verdict(path, text)
        if not verdict.stored:
            raise GuardRefused(path, reason_of(verdict))
        return verdict.text

    def _lines(self, path: str, before: str, after: str) -> str:
        """JSON lines, each screened alone: together they grow past what the guard reads at once."""
        known = Counter(before.split("\n"))
        lines = []
        for line in after.split("\n"):
            known[line] -= 1
            lines.append(line if known[line] >= 0 else self._line(path, line))
        return "\n".join(lines)

    def _line(self, path: str, line: str) -> str:
        """One JSON line with its texts screened as what they say, not as how JSON spells it."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return self._whole(path, line)
        screened = self._values(path, row)
        return line if screened == row else json.dumps(screened, ensure_ascii=False)

    def _values(self, path: str, value: Any) -> Any:
        if isinstance(value, str):
            return self._whole(path, value)
        if isinstance(value, list):
            return [self._values(path, item) for item in value]
        if isinstance(value, dict):
            return {key: self._values(path, item) for key, item in value.items()}
        return value

    def _heading(self, path: str, block: Block) -> str:
        """A heading's words alone are screened: to the guard, a heading inside a text is a forged one."""
        if not block.title:
            return block.raw
        verdict = self._verdict(path, block.title)
        if verdict.action == Action.ALLOW or self._decided.approves(block.title):
            return block.raw
        title = verdict.text.strip() if verdict.stored else self._hold(path, verdict)
        return f"{'#' * block.level} {title or '[removed]'}\n"

    def _run(self, path: str, run: Sequence[Block]) -> str:
        text = "".join(block.raw for block in run)
        source = origin_of_blocks(run, self._source)
        verdict = self._verdict(path, text, source)
        if verdict.stored and len(run) == 1 and run[0].entry:
            verdict = entry_verdict(self._home, path, run[0].entry, verdict, source)
        if verdict.stored:
            return _ended_like(text, verdict.text)
        if len(run) == 1:
            return self._in_place_of(path, run[0], verdict, source)
        if any(self._approved(path, block) for block in run):
            return "".join(
                block.raw if block.kind == "blank" or self._approved(path, block) else self._run(path, [block])
                for block in run
            )
        blocks = parse(_ended_like(text, verdict.text)).blocks
        sources = [origin_of_blocks([block], self._source) for block in blocks]
        verdicts = [self._verdict(path, block.raw, said_by) for block, said_by in zip(blocks, sources, strict=True)]
        if all(each.stored for each in verdicts):  # only together are they what the guard holds back
            return f"> {self._hold(path, verdict)}\n"
        return "".join(
            _ended_like(block.raw, each.text) if each.stored else self._in_place_of(path, block, each, said_by)
            for block, each, said_by in zip(blocks, verdicts, sources, strict=True)
        )

    def _in_place_of(self, path: str, block: Block, verdict: Verdict, source: str = "") -> str:
        """What stands where a block was held back: an entry as it was before, if it was; a mark for anything else."""
        mark = self._hold(path, verdict, source)
        if block.entry is not None:
            return self._earlier.get(block.entry.id, "")
        return f"{'-' if block.kind == 'item' else '>'} {mark}\n"

    def _approved(self, path: str, block: Block) -> bool:
        """Whether a person approved *block*. An entry's fields were no part of that: they must pass by themselves."""
        if block.kind == "blank":
            return True
        if not self._decided.approves_block(block):
            return False
        if block.entry is None:
            return True
        return screened_text(self._home, path, fields_alone(block.entry), self._source).action == Action.ALLOW

    def _verdict(self, path: str, text: str, source: str = "") -> Verdict:
        verdict = screened_text(self._home, path, text, source or self._source)
        self.findings += [_finding_row(path, finding) for finding in verdict.findings]
        self.redacted += verdict.action == Action.REDACT
        return verdict

    def _hold(self, path: str, verdict: Verdict, source: str = "") -> str:
        """Put the text into quarantine, unless a person rejected it already; the note that stands in its place."""
        if self._decided.rejects(verdict.text) and not path.startswith("Archive/"):  # what leaves memory is never lost
            self.dropped += 1
            return dropped_note(id_of(path, verdict.text), reason_of(verdict))
        item = held_back(
            self._home,
            verdict,
            path,
            source or self._source,
            self._session,
            self._ts,
            section=self._section,
            actor=self._actor,
        )
        self.held.append(item)
        return note(item)


def screened_text(home: Home, path: str, text: str, source: str) -> Verdict:
    """The guard's verdict on *text* from *source* for the file *path*. What was forgotten does not come back by it.

    Raises:
        GuardRefused: the guard cannot run, or the text is too long to be read by it; nothing may be written.
    """
    known = scrubbed(home, text)
    try:
        verdict = screen(known, source, destination_of(path), settings=guard_settings(home))
    except GuardError as error:
        raise GuardRefused(path, f"it cannot run: {error}") from error
    if any(finding.rule == "oversize" for finding in verdict.findings):  # unread, so quarantine could not keep it
        raise GuardRefused(path, f"{len(text)} characters are more than it reads at once; split the text")
    return verdict if known == text else _without_forgotten(verdict, text)


def _without_forgotten(verdict: Verdict, text: str) -> Verdict:
    """*verdict* with the note that something was taken out of *text* before: redacted, if nothing worse."""
    finding = Finding(
        layer="pii", rule="forgotten", kind="forgotten", start=0, end=len(text), action=Action.REDACT, digest=""
    )
    return replace(verdict, action=max(verdict.action, Action.REDACT), findings=(finding, *verdict.findings))


def entry_verdict(home: Home, path: str, entry: Entry, verdict: Verdict, source: str) -> Verdict:
    """*verdict* on a rendered entry, or the stricter one on what it says: its id and date hide how a sentence begins.

    Only strangers' sentences are judged by how they begin.
    """
    if Source(source).trusted:
        return verdict
    said = screened_text(home, path, entry.text, source)
    return verdict if said.stored else replace(said, text=verdict.text)


def guard_settings(home: Home) -> GuardSettings:
    """The home's ``[guard]`` table, with the rule files that it names read in and the home's salt, unless it names one.

    Paths of rule files are relative to the home.

    Raises:
        SettingsInvalid: the table has an unknown key or a wrong value.
        GuardError: a rule file cannot be read or understood.
    """
    settings = home.manifest.settings("guard", GuardSettings)
    settings = settings if settings.salt else replace(settings, salt=salt_of(home))
    if not settings.rules:
        return settings
    return replace(settings, loaded=tuple(_rule_set(home.root / path) for path in settings.rules))


def _rule_set(path: Path) -> RuleSet:
    try:
        data = path.read_bytes()
        if data.startswith(_PACKED):
            raise GuardError(f"the rule file {path} is packed; unpack it first and correct `rules` in [guard]")
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise GuardError(f"the rule file {path} cannot be read ({error}); correct `rules` in [guard]") from error
    return rules_from_gitleaks(text)


def destination_of(path: str) -> str:
    """The guard's name for what a text becomes part of when it is written to *path*."""
    if not path.endswith((".md", ".jsonl")):
        return "settings"
    return next((name for start, name in _DESTINATIONS if path.startswith(start)), "memory")


def held_back(
    home: Home, verdict: Verdict, path: str, source: str, session: str, ts: str, *, section: str = "", actor: str = ""
) -> Quarantined:
    """Put a text that may not be stored into quarantine, redacted."""
    return hold_back(
        home,
        verdict.text,
        path=path,
        reason=reason_of(verdict),
        source=source,
        session=session,
        ts=ts,
        findings=[{"layer": f.layer, "rule": f.rule, "kind": f.kind} for f in verdict.findings],
        section=section,
        actor=actor,
    )


def note(item: Quarantined) -> str:
    """What stands where a quarantined text would have stood."""
    return f"[quarantined {item.id}: {item.reason}]"


def dropped_note(item_id: str, reason: str) -> str:
    """What stands where a text would have stood that a person rejected."""
    return f"[rejected {item_id}: {reason}]"


def runs(
    before: str, after: str, moved: Mapping[str, int] = MappingProxyType({})
) -> Iterator[tuple[bool, list[Block]]]:
    """*after*'s blocks in order, as runs of blocks that are all new or all known; entries and headings alone."""
    known = Counter(block.raw for block in parse(before).blocks)
    known.update(moved)
    run: list[Block] = []
    adding = False
    for block in parse(after).blocks:
        if block.kind == "blank" and run:
            run.append(block)
            continue
        added = block.kind != "blank" and known[block.raw] <= 0
        known[block.raw] -= 1
        alone = (block.kind in _ALONE or run[0].kind in _ALONE) and not _in_private(run) if run else False
        if run and (added != adding or alone):
            yield from _split_blanks(adding, run)
            run = []
        adding = added
        run.append(block)
    if run:
        yield from _split_blanks(adding, run)


def moved_to(path: str, changed: Mapping[str, str], before: Mapping[str, str]) -> Counter[str]:
    """The blocks that a transaction takes out of other files of *path*'s kind: what moves adds nothing to memory."""
    left: Counter[str] = Counter()
    for other, text in changed.items():
        if other != path and destination_of(other) == destination_of(path):
            kept = Counter(block.raw for block in parse(text).blocks)
            left += Counter(block.raw for block in parse(before[other]).blocks) - kept
    return left


def _in_private(run: Sequence[Block]) -> bool:
    """Whether a passage marked private is still open at the end of the run: what follows belongs to it."""
    tags = [tag for block in run for tag in _PRIVATE.findall(block.raw)]
    return bool(tags) and not tags[-1]


def _says_the_same(one: str, other: str) -> bool:
    """Whether two texts differ in blank lines at most: what remains when all that was added is held back."""
    said = [[block.raw.rstrip() for block in parse(text).blocks if block.kind != "blank"] for text in (one, other)]
    return said[0] == said[1]


def _split_blanks(adding: bool, run: list[Block]) -> Iterator[tuple[bool, list[Block]]]:  # noqa: FBT001
    """The blank lines that end a run are nobody's: they are known whatever the run is."""
    end = len(run)
    while end > 1 and run[end - 1].kind == "blank":
        end -= 1
    yield adding, run[:end]
    if end < len(run):
        yield False, run[end:]


def reason_of(verdict: Verdict) -> str:
    decisive = [f for f in verdict.findings if f.action == verdict.action] or list(verdict.findings)
    return ", ".join(sorted({f"{f.layer}/{f.rule}" for f in decisive})) or str(verdict.action)


def _finding_row(path: str, finding: Finding) -> dict[str, Any]:
    """A finding for the audit: what and where, and a salted hash instead of the text."""
    keys = ("layer", "rule", "kind", "start", "end", "digest")
    return {"path": path, **{key: getattr(finding, key) for key in keys}}


def _ended_like(text: str, screened: str) -> str:
    """*screened* with the newline at its end that *text* has: a cut must not join two blocks."""
    return screened + "\n" if text.endswith("\n") and not screened.endswith("\n") else screened
