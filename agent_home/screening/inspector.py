"""What the guard makes of text that people put into the home by hand. It is looked at, and nothing is changed.

A person may write what the agent may not: e-mail addresses and telephone numbers stay wherever a person put them.
Everything else is judged as if the agent had written it. What the gateway does with a hand edit, what a prompt shows
of it and what a commit hook says are the callers' business; what *fails* is decided here, once, for all of them: a
secret, or a text that the guard would hold back.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from guard import Action, Destination, Finding, GuardError, GuardSettings, Verdict, screen

from .. import storage
from ..documents.document import Block, parse
from ..errors import DocumentInvalid, SettingsInvalid
from ..home import MEMORY, Home
from .review_ledger import APPROVED, decisions_in, fields_alone
from .ruleset import guard_signature, text_key
from .write_screening import destination_of, guard_settings, runs

__all__ = ["UNAVAILABLE", "Inspector", "Remark", "Shown"]

_EVERYWHERE = frozenset(Destination)
#: Texts that are no Markdown are judged in pieces of this many characters: long ones cost more than their length.
PIECE_CHARS = 16_384
#: Where a piece has to end inside a paragraph, the next one begins this much earlier, so that nothing hides in the cut.
OVERLAP_CHARS = 4_096
#: The rule of a remark on a text that the guard could not read: its own rules do not work.
UNAVAILABLE = "guard-unavailable"
_PRIVATE = re.compile(r"<\s{0,4}private\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something the guard saw. *line* counts from 1; *entry* is the id of the entry that it stands in, or empty."""

    path: str
    line: int
    entry: str = ""
    layer: str
    rule: str
    kind: str
    action: Action

    @property
    def held_back(self) -> bool:
        """Whether the guard would not store the text in any form."""
        return self.action >= Action.QUARANTINE

    @property
    def fails(self) -> bool:
        """Whether the text may not be committed, nor shown to a model, as it is."""
        return self.held_back or self.layer == "secret"

    @property
    def worth_telling(self) -> bool:
        """Whether words are gone, not only characters that nobody can see."""
        return self.fails or self.layer == "pii" or self.rule == "private"

    @property
    def what(self) -> str:
        """Layer and rule, as in ``secret/aws-access-token``."""
        return f"{self.layer}/{self.rule}"

    @property
    def where(self) -> str:
        """The entry's id, or file and line."""
        return self.entry or f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A file's text as a model may see it, what was taken out of it, and the keys of the parts that are clean."""

    text: str
    remarks: tuple[Remark, ...] = ()
    clean: tuple[str, ...] = ()


class Inspector:
    """Judges texts by one home's guard settings, which *signature* names, and by what people let pass there.

    *problem* says why the home's own rules could not be used, or is empty: the bundled ones are used then, because a
    reader must go on. A rule is compiled when a text mentions what it looks for, so *problem* may come with any text;
    with *reading*, that text is judged by the bundled rules alone. Without, as for whoever writes, it is held back.
    """

    def __init__(self, home: Home, *, reading: bool = False) -> None:
        self.signature = guard_signature(home)
        self.problem = ""
        try:
            settings = guard_settings(home)
        except (GuardError, SettingsInvalid) as error:
            settings = GuardSettings()
            self.problem = _unusable(error)
        self._reading = reading
        self._decisions = decisions_in(_approvals(home), "")
        self._settings = replace(settings, keep_email=_EVERYWHERE, keep_phone=_EVERYWHERE)

    def remarks(self, path: str, before: str, after: str) -> list[Remark]:
        """What the guard sees in what *after* adds to *before*, in order of the line; notes that ask for nothing left
        out.
        """
        if path.endswith(".md"):
            added = [part for is_new, run in runs(before, after) if is_new for part in _parts(run)]
            found = [remark for run in added for remark in self._of_run(path, run).remarks]
        else:
            found = [
                remark for line, text in _added_lines(before, after) for remark in self._of_lines(path, line, text)
            ]
        return sorted(dict.fromkeys(found), key=lambda remark: (remark.line, remark.layer, remark.rule))

    def shown(self, path: str, text: str, known: Collection[str] = ()) -> Shown:
        """The Markdown *text* of *path* as a model may see it.

        What fails is a placeholder that names it; what the guard merely takes out is taken out. Parts whose keys are
        *known* to be clean are not looked at again.
        """
        whole = text_key(self.signature, path, text)
        if whole in known:
            return Shown(text=text, clean=(whole,))
        pieces: list[str] = []
        remarks: list[Remark] = []
        clean: list[str] = []
        spotless = True
        for run in (part for _, whole_run in runs("", text) for part in _parts(whole_run)):
            raw = "".join(block.raw for block in run)
            if run[0].kind in {"blank", "front"}:
                pieces.append(raw)
                continue
            key = text_key(self.signature, path, raw)
            judged = _Judged(run, Verdict(action=Action.ALLOW, text=raw)) if key in known else self._of_run(path, run)
            pieces.append(judged.shown())
            remarks += judged.remarks
            if judged.verdict.action is Action.ALLOW:
                clean.append(key)
            else:
                spotless = False
        return Shown(text="".join(pieces), remarks=tuple(remarks), clean=(*clean, whole) if spotless else tuple(clean))

    def masked(self, path: str, text: str) -> Shown:
        """The text of the file *path* for a search index: as :meth:`shown`, but with every line at its place.

        What is taken out leaves a note of its kind, what fails a note or empty lines; an index says no more than that.
        """
        document = path if path.endswith((".md", ".jsonl")) else f"{path}.md"
        if destination_of(document) != Destination.MEMORY:
            return self._masked(path, text, self._asking(document, text), _blocks(path, text))
        pieces: list[str] = []
        remarks: list[Remark] = []
        for block in parse(text).blocks:
            if block.kind in {"blank", "front"}:
                pieces.append(block.raw)
                continue
            start = block.raw.find(block.title) if block.kind == "heading" else 0
            found = self._asking(document, block.title if block.kind == "heading" else block.raw)
            moved = [replace(f, start=f.start + start, end=f.end + start) for f in found]
            part = self._masked(path, block.raw, moved, [block], block.line)
            pieces.append(part.text)
            remarks += part.remarks
        return Shown(text="".join(pieces), remarks=tuple(remarks))

    def _asking(self, path: str, text: str) -> list[Finding]:
        return _asking(self.verdict(path, text)) if text else []

    def _masked(
        self, path: str, text: str, findings: Sequence[Finding], blocks: Iterable[Block], first: int = 1
    ) -> Shown:
        """*text* without what *findings* name: a secret leaves its kind, of what is held back the whole block goes."""
        if not findings:
            return Shown(text=text)
        borders = list(_borders(blocks))
        edits: list[tuple[int, int, str]] = []
        remarks = []
        for finding in findings:
            at, end, block = next(item for item in borders if finding.start < item[1] or item is borders[-1])
            if finding.layer != "secret" and self._approved(block):
                continue
            line = first + text.count("\n", 0, finding.start)
            remarks.append(_remark(path, line, finding, block.entry.id if block.entry else ""))
            if finding.action >= Action.QUARANTINE:
                edits.append((at, max(end, finding.end), ""))
            else:
                edits.append(
                    (finding.start, finding.end, "" if finding.layer == "unicode" else f"[REDACTED:{finding.kind}]")
                )
        return Shown(text=_without(text, edits), remarks=tuple(remarks))

    def verdict(self, path: str, text: str) -> Verdict:
        """The guard's verdict on a person's *text* for *path*. A guard that cannot run holds back.

        A text longer than :data:`PIECE_CHARS` is judged in pieces, and the verdict on it has findings and no text.
        """
        destination = Destination(destination_of(path))
        if len(text) <= PIECE_CHARS:
            return self._judged(text, destination)
        findings: list[Finding] = []
        for start, end in _pieces(text):
            found = self._judged(text[start:end], destination).findings
            findings += [replace(f, start=f.start + start, end=f.end + start) for f in found]
        action = max((finding.action for finding in findings), default=Action.ALLOW)
        return Verdict(action=action, text="", findings=tuple(dict.fromkeys(findings)))

    def _judged(self, text: str, destination: Destination) -> Verdict:
        try:
            return screen(text, "user", destination, settings=self._settings)
        except GuardError as error:
            self.problem = self.problem or _unusable(error)
        if self._reading and self._settings.loaded:
            with suppress(GuardError):
                return screen(text, "user", destination, settings=replace(self._settings, rules=(), loaded=None))
        finding = Finding(
            layer="structure", rule=UNAVAILABLE, kind="unread", start=0, end=len(text),
            action=Action.QUARANTINE, digest="",
        )  # fmt: skip
        return Verdict(action=Action.QUARANTINE, text="", findings=(finding,))

    def _of_run(self, path: str, run: Sequence[Block]) -> _Judged:
        """A heading's words alone are judged: to the guard, a heading inside a text is a forged one."""
        heading = _is_heading(run)
        verdict = self.verdict(path, run[0].title if heading else "".join(block.raw for block in run))
        if verdict.action is Action.ALLOW:
            return _Judged(run, verdict)
        found = [f for f in _asking(verdict) if f.layer == "secret" or not self._approved(_block_at(run, f.start))]
        remarks = []
        for finding in found:
            block = _block_at(run, finding.start)
            line = run[0].line + (0 if heading else "".join(b.raw for b in run).count("\n", 0, finding.start))
            remarks.append(_remark(path, line, finding, block.entry.id if block.entry else ""))
        return _Judged(run, verdict, tuple(found), tuple(remarks))

    def _approved(self, block: Block) -> bool:
        """Whether a person let this very text pass. A secret nobody can; an entry's fields were no part of it."""
        if not self._decisions.approves_block(block):
            return False
        return block.entry is None or not _asking(self.verdict(MEMORY, fields_alone(block.entry)))

    def _of_lines(self, path: str, first: int, text: str) -> Iterator[Remark]:
        """Lines of a file that is no Markdown, judged as a page of knowledge; of JSON lines, what they say."""
        text = "".join(_said(line) for line in text.splitlines(keepends=True)) if path.endswith(".jsonl") else text
        verdict = self.verdict(path if path.endswith(".jsonl") else f"Knowledge/{path}.md", text)
        for finding in _asking(verdict):
            yield _remark(path, first + text.count("\n", 0, finding.start), finding)


def _unusable(error: Exception) -> str:
    reason = " ".join(str(error).split()).removesuffix(", nothing was written")
    return f"the guard's own settings of this home cannot be used: {reason}"


def _approvals(home: Home) -> str:
    """The ledger of approvals; where it cannot be read, nothing is approved."""
    try:
        return storage.read_text(home.root / APPROVED)
    except (DocumentInvalid, OSError):
        return ""


@dataclass(frozen=True, slots=True)
class _Judged:
    """A run of blocks, the verdict on it, and the findings that count, each with its remark."""

    run: Sequence[Block]
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    remarks: tuple[Remark, ...] = ()

    def shown(self) -> str:
        """The run with what the guard takes out taken out; where something fails, its block is a placeholder."""
        raw = "".join(block.raw for block in self.run)
        if not self.findings:
            return raw
        fails = any(remark.fails for remark in self.remarks)
        if _is_heading(self.run):
            title = _placeholder(self.remarks) if fails else self.verdict.text.strip()
            return f"{'#' * self.run[0].level} {title}\n"
        if not fails and self.verdict.text and len(self.findings) == len(_asking(self.verdict)):
            text = self.verdict.text
            return text + "\n" if raw.endswith("\n") and not text.endswith("\n") else text
        pieces, start = [], 0
        for block in self.run:
            end = start + len(block.raw)
            inside = [
                r
                for r, f in zip(self.remarks, self.findings, strict=True)
                if f.start < end and max(f.end, f.start + 1) > start
            ]
            mark = "-" if block.kind in {"entry", "item"} else ">"
            pieces.append(f"{mark} {_placeholder(inside)}\n" if inside and block.kind != "blank" else block.raw)
            start = end
        return "".join(pieces)


def _parts(run: Sequence[Block]) -> Iterator[Sequence[Block]]:
    """The run in parts of at most :data:`PIECE_CHARS`, where its blocks are that short and nothing in it is private."""
    part: list[Block] = []
    chars = 0
    if any(_PRIVATE.search(block.raw) for block in run):
        yield run
        return
    for block in run:
        if part and chars + len(block.raw) > PIECE_CHARS:
            yield part
            part, chars = [], 0
        part.append(block)
        chars += len(block.raw)
    yield part


def _is_heading(run: Sequence[Block]) -> bool:
    return run[0].kind == "heading" and len(run) == 1


def _asking(verdict: Verdict) -> list[Finding]:
    """The findings that ask for something; the others are notes."""
    return [finding for finding in verdict.findings if finding.action >= Action.REDACT]


def _remark(path: str, line: int, finding: Finding, entry: str = "") -> Remark:
    return Remark(
        path=path, line=line, entry=entry, layer=finding.layer, rule=finding.rule, kind=finding.kind,
        action=finding.action,
    )  # fmt: skip


def _blocks(path: str, text: str) -> Iterator[Block]:
    """The blocks of a document; of a text that is no Markdown, its paragraphs."""
    if path.endswith(".md"):
        yield from parse(text).blocks
    else:
        yield from (Block(kind="text", raw=part) for part in re.split(r"(?<=\n\n)", text))


def _borders(blocks: Iterable[Block]) -> Iterator[tuple[int, int, Block]]:
    start = 0
    for block in blocks:
        yield start, start + len(block.raw), block
        start += len(block.raw)


def _without(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """*text* with each ``(start, end, note)`` replaced by its note; line breaks stay, and what overlaps goes once."""
    pieces, done = [], 0
    for start, end, note in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if end <= done:
            continue
        gone = text[max(start, done) : end]
        pieces += [text[done:start], note, "\n" * gone.count("\n")]
        done = end
    return "".join([*pieces, text[done:]])


def _block_at(run: Sequence[Block], offset: int) -> Block:
    """The block of the run in which the character *offset* stands."""
    end = 0
    for block in run:
        end += len(block.raw)
        if offset < end:
            return block
    return run[-1]


def _placeholder(found: Sequence[Remark]) -> str:
    """What stands where a block fails. It names the worst of what was found, never the text."""
    failing = [remark for remark in found if remark.fails] or list(found)
    return f"[blocked {failing[0].where}: {', '.join(dict.fromkeys(r.what for r in failing))}; see memory doctor]"


def _added_lines(before: str, after: str) -> Iterator[tuple[int, str]]:
    """``(first line, text)`` of each row of lines in *after* that *before* does not have."""
    known = Counter(before.splitlines(keepends=True))
    start, row = 0, list[str]()
    for number, line in enumerate(after.splitlines(keepends=True), 1):
        if known[line] > 0:
            known[line] -= 1
            if row:
                yield start, "".join(row)
            row = []
            continue
        start = start if row else number
        row.append(line)
    if row:
        yield start, "".join(row)


def _said(line: str) -> str:
    """The words of a JSON line, on one line: quotes and escapes would hide what is between them."""
    try:
        row = json.loads(line)
    except ValueError:
        return line
    words = " ".join(" ".join(text.split()) for text in _strings(row))
    return words + "\n"


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for item in value.items() for text in _strings(list(item)))
    elif isinstance(value, list):
        yield from (text for item in value for text in _strings(item))


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Spans of at most :data:`PIECE_CHARS`, ending at a blank line where there is one, else overlapping.

    A text with a private passage is one piece: the passage may reach to the end.
    """
    start = len(text) if _PRIVATE.search(text) else 0
    if start:
        yield 0, start
    while len(text) - start > PIECE_CHARS:
        limit = start + PIECE_CHARS
        border = text.rfind("\n\n", start + 1, limit)
        if border > start:
            yield start, border + 2
            start = border + 2
        else:
            yield start, limit
            start = limit - OVERLAP_CHARS
    if start < len(text):
        yield start, len(text)
