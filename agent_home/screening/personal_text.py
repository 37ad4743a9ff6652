"""Judge the text that people put into a home by hand.

A person may write what the agent may not: e-mail addresses and telephone numbers may stay. Everything else is judged
as if the agent had written it. What *fails* is decided here for prompts, search, the commit hook and the gateway: a
secret, or a text that the guard would not store in any form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from guard import Action, Finding, GuardError, GuardSettings, Verdict
from guard.lazy_regex import lazy_regex

from .. import storage
from ..documents.document import Block
from ..errors import DocumentInvalid, SettingsInvalid
from ..home import MEMORY, Home
from .review_ledger import APPROVED, decisions_in, fields_alone
from .ruleset import destination_of
from .verdicts import Verdicts, guard_settings, verdicts_under

__all__ = [
    "CHUNK_CHARS", "UNAVAILABLE", "JudgedRun", "LocatedFinding", "PersonalTextJudge", "block_at", "located",
    "parts_of", "required",
]  # fmt: skip

#: A longer text is judged in chunks of this many characters: the time for long texts grows faster than their length.
CHUNK_CHARS = 16_384
#: A chunk that has to begin inside a paragraph repeats this many characters, so that the cut hides nothing.
OVERLAP_CHARS = 4_096
#: Rule of a finding on a text that the guard could not read because its own rules do not work.
UNAVAILABLE = "guard-unavailable"
_PRIVATE = lazy_regex(r"<\s{0,4}private\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedFinding:
    """A finding with its place. *line* counts from 1. *entry* is the id of the entry around it, or empty."""

    path: str
    line: int
    entry: str = ""
    layer: str
    rule: str
    kind: str
    action: Action

    @property
    def held_back(self) -> bool:
        """True if the guard would not store the text in any form."""
        return self.action >= Action.QUARANTINE

    @property
    def fails(self) -> bool:
        """True if the text may be neither committed nor shown to a model as it is."""
        return self.held_back or self.layer == "secret"

    @property
    def removes_words(self) -> bool:
        """True if words are gone from the text, not only invisible characters."""
        return self.fails or self.layer == "pii" or self.rule == "private"

    @property
    def name(self) -> str:
        """Layer and rule, as in ``secret/aws-access-token``."""
        return f"{self.layer}/{self.rule}"

    @property
    def where(self) -> str:
        """The entry's id, or file and line."""
        return self.entry or f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run of blocks, its verdict, and the findings that count, each with its place."""

    blocks: Sequence[Block]
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    located: tuple[LocatedFinding, ...] = ()

    @property
    def is_heading(self) -> bool:
        """True if the run is one heading, which is judged by its title alone."""
        return _is_heading(self.blocks)


class PersonalTextJudge:
    """Judge texts by one home's guard settings and by what people approved there.

    *problem* says why the home's own rules could not be used, and is empty while they work. A rule is compiled when a
    text mentions its keyword, so *problem* may appear with any text. With *reading*, such a text is judged by the
    bundled rules alone, because reading must go on. Without, it is held back, as for every writer.
    """

    def __init__(self, home: Home, *, reading: bool = False) -> None:
        self.problem = ""
        try:
            settings = guard_settings(home)
        except (GuardError, SettingsInvalid) as error:
            settings = GuardSettings()
            self.problem = _unusable(error)
        self._verdicts = verdicts_under(settings)
        self._reading = reading
        self._decisions = decisions_in(home, _approvals(home), "")

    def verdict(self, path: str, text: str) -> Verdict:
        """Return the guard's verdict on a person's *text* for *path*. A guard that cannot run holds it back.

        What lies below ``outputs/`` is a tool's text, whoever stored it.
        A text longer than :data:`CHUNK_CHARS` is judged in chunks, and its verdict has findings and no text.
        """
        destination = destination_of(path)
        if len(text) <= CHUNK_CHARS:
            return self._read(path, text, destination)
        findings: list[Finding] = []
        for start, end in _chunks(text):
            found = self._read(path, text[start:end], destination).findings
            findings += [replace(f, start=f.start + start, end=f.end + start) for f in found]
        action = max((finding.action for finding in findings), default=Action.ALLOW)
        return Verdict(action=action, text="", findings=tuple(dict.fromkeys(findings)))

    def name_verdict(self, text: str, *, own: bool) -> Verdict:
        """Return the guard's verdict on the name of a file or folder, see :meth:`Verdicts.of_name`."""
        return self._judged(text, lambda verdicts: verdicts.of_name(text, own=own))

    def run(self, path: str, blocks: Sequence[Block]) -> JudgedRun:
        """Judge blocks that stand together. Of a heading the title alone counts: inside a text it would be forged."""
        heading = _is_heading(blocks)
        raw = "".join(block.raw for block in blocks)
        verdict = self.verdict(path, blocks[0].title if heading else raw)
        if verdict.action is Action.ALLOW:
            return JudgedRun(blocks, verdict)
        found = [f for f in required(verdict) if f.layer == "secret" or not self.approves(block_at(blocks, f.start))]
        places = []
        for finding in found:
            line = blocks[0].line + (0 if heading else raw.count("\n", 0, finding.start))
            places.append(located(path, line, finding, block_at(blocks, finding.start)))
        return JudgedRun(blocks, verdict, tuple(found), tuple(places))

    def approves(self, block: Block) -> bool:
        """Return whether a person approved this very block. The fields of an entry must pass by themselves.

        Nobody can approve a secret: the caller does not ask for one.
        """
        if not self._decisions.approves_block(block):
            return False
        return block.entry is None or not required(self.verdict(MEMORY, fields_alone(block.entry)))

    def _read(self, path: str, text: str, destination: str) -> Verdict:
        if path.startswith("outputs/"):
            return self._judged(text, lambda verdicts: verdicts.to_store(text, "tool", destination))
        return self._personal(text, destination)

    def _personal(self, text: str, destination: str) -> Verdict:
        return self._judged(text, lambda verdicts: verdicts.of_personal(text, destination))

    def _judged(self, text: str, ask: Callable[[Verdicts], Verdict]) -> Verdict:
        """Return the answer to *ask*, or what stands for it where the guard cannot read *text*."""
        try:
            return ask(self._verdicts)
        except GuardError as error:
            self.problem = self.problem or _unusable(error)
        settings = self._verdicts.settings
        if self._reading and settings.loaded:
            with suppress(GuardError):
                return ask(verdicts_under(replace(settings, rules=(), loaded=None)))
        finding = Finding(
            layer="structure", rule=UNAVAILABLE, kind="unread", start=0, end=len(text),
            action=Action.QUARANTINE, digest="",
        )  # fmt: skip
        return Verdict(action=Action.QUARANTINE, text="", findings=(finding,))


def required(verdict: Verdict) -> list[Finding]:
    """Return the findings that require a change of the text. All others are notes."""
    return [finding for finding in verdict.findings if finding.action >= Action.REDACT]


def located(path: str, line: int, finding: Finding, block: Block | None = None) -> LocatedFinding:
    """Return *finding* with its place."""
    return LocatedFinding(
        path=path, line=line, entry=block.entry.id if block and block.entry else "", layer=finding.layer,
        rule=finding.rule, kind=finding.kind, action=finding.action,
    )  # fmt: skip


def block_at(blocks: Sequence[Block], offset: int) -> Block:
    """Return the block in which the character *offset* of the joined *blocks* stands."""
    end = 0
    for block in blocks:
        end += len(block.raw)
        if offset < end:
            return block
    return blocks[-1]


def parts_of(run: Sequence[Block]) -> Iterator[Sequence[Block]]:
    """Yield *run* in parts of at most :data:`CHUNK_CHARS`, as far as single blocks are that short.

    A run with a private passage is one part: the passage may reach to its end.
    """
    part: list[Block] = []
    chars = 0
    if any(_PRIVATE.search(block.raw) for block in run):
        yield run
        return
    for block in run:
        if part and chars + len(block.raw) > CHUNK_CHARS:
            yield part
            part, chars = [], 0
        part.append(block)
        chars += len(block.raw)
    yield part


def _is_heading(blocks: Sequence[Block]) -> bool:
    return blocks[0].kind == "heading" and len(blocks) == 1


def _unusable(error: Exception) -> str:
    reason = " ".join(str(error).split()).removesuffix(", nothing was written")
    return f"the guard's own settings of this home cannot be used: {reason}"


def _approvals(home: Home) -> str:
    """Return the ledger of approvals, or an empty text where it cannot be read."""
    try:
        return storage.read_text(home.root / APPROVED)
    except (DocumentInvalid, OSError):
        return ""


def _chunks(text: str) -> Iterator[tuple[int, int]]:
    """Yield spans of at most :data:`CHUNK_CHARS` that end at a blank line where there is one, and overlap elsewhere.

    A text with a private passage is one chunk: the passage may reach to its end.
    """
    start = len(text) if _PRIVATE.search(text) else 0
    if start:
        yield 0, start
    while len(text) - start > CHUNK_CHARS:
        limit = start + CHUNK_CHARS
        border = text.rfind("\n\n", start + 1, limit)
        if border > start:
            yield start, border + 2
            start = border + 2
        else:
            yield start, limit
            start = limit - OVERLAP_CHARS
    if start < len(text):
        yield start, len(text)
