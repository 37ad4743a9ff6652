"""Screen what a write adds: redact in place, quarantine, or refuse.

Redacted text is stored as redacted. Text that the guard holds back is left out and goes to quarantine, and a mark
stands in its place. An entry leaves no mark: a new entry is left out, and a changed one stays as it was. A guard that
cannot run stops the write.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from guard import Action, Finding, Source, Verdict

from ..documents.document import Block, parse
from ..documents.entry import Entry
from ..documents.provenance import origin_of_blocks
from ..errors import GuardRefused
from ..home import Home
from .added_blocks import runs, same_words
from .originals import FORGOTTEN, is_kept, keep, kept_days
from .quarantine import Quarantined, hold_back, id_of
from .review_ledger import Decisions, fields_alone
from .shared_secrets import with_shared_secrets

__all__ = ["WriteScreening", "quarantine_note", "reason_of", "rejection_note", "with_forgotten"]


#: Judges a text of a path by its source.
Judge = Callable[[str, str, str], Verdict]


class WriteScreening:
    """Screening of one write.

    *redacted* counts redacted texts, *quarantined* are the texts that were held back, and *withheld* are the ids of
    entries among them. *dropped* counts texts that were not quarantined again because a person had rejected them.
    *kept* counts originals that lost personal data and stay in quarantine. *findings* are rows for the audit. Text that
    a person approved is stored as it is.
    """

    def __init__(
        self, home: Home, judge: Judge, *, source: str, session: str, ts: str, actor: str, decided: Decisions
    ) -> None:
        self.redacted = 0
        self.kept = 0
        self.dropped = 0
        self.quarantined: list[Quarantined] = []
        self.withheld: set[str] = set()
        self.findings: list[dict[str, Any]] = []
        self._home, self._judge, self._source, self._session, self._ts = home, judge, source, session, ts
        self._actor, self._decided, self._section = actor, decided, ""
        self._earlier: dict[str, str] = {}

    def document(self, path: str, before: str, after: str, moved: Mapping[str, int] = MappingProxyType({})) -> str:
        """Return *after* with its additions to *before* screened. Known blocks are left alone.

        *moved* counts, by text, blocks that come from elsewhere in the home. These are known too.

        Blocks that stand together are screened together, so that nothing hides by spanning them. An entry whose field
        ``Origin`` names somebody less trusted than the transaction's source is judged as theirs.

        Raises:
            GuardRefused: the guard cannot run, or holds back a file that is not Markdown.
        """
        if path.endswith(".jsonl"):
            return self._json_lines(path, before, after)
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
        return before if same_words(before, screened) and not same_words(before, after) else screened

    def proposal(self, path: str, text: str, section: str) -> str | None:
        """Return *text* as it may be proposed for *section* of *path*, or ``None`` when it is held back."""
        self._section = section
        verdict = self._verdict(path, text)
        if verdict.stored or self._decided.approves(verdict.text):
            return verdict.text
        self._hold_back(path, verdict)
        return None

    def rows(self, path: str, rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
        """Return JSON rows for *path* as :meth:`row` does, and redact what only the rows together show.

        That is a further copy of a secret of another row, and a secret that is split over rows. The first of *keys*
        holds the text of a row. A row without it has no text of its own.
        """
        texts = [str(row.get(keys[0], "")) for row in rows]
        verdicts = [
            self._judge(path, text, str(row.get("source", self._source))) for text, row in zip(texts, rows, strict=True)
        ]
        shared = with_shared_secrets(texts, verdicts, [str(row.get("role", "")) for row in rows])
        screened = []
        keeps = kept_days(self._home) > 0
        for row, before, after, verdict in zip(rows, texts, shared, verdicts, strict=True):
            was = self.redacted
            stored = self.row(path, {**row, keys[0]: after} if keys[0] in row else row, keys)
            self.redacted = max(self.redacted, was + (after != before))
            screened.append(stored)
            if keeps and after == before and path.startswith("sessions/") and is_kept(verdict):
                keep(self._home, before, source=f"{self._session}#{row.get('id', '')}", ts=self._ts)
                self.kept += 1
        return screened

    def row(self, path: str, row: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
        """Return a JSON row for *path* with the texts under *keys* screened. A note replaces a text held back.

        A key that the row lacks is left out. Of a list or a mapping, each string is a text. The row's own ``source``,
        if it has one, answers for the texts. A row counts once as redacted.
        """
        source = str(row.get("source", self._source))
        before = self.redacted
        screened = {**row, **{key: self._texts(path, row[key], source) for key in keys if key in row}}
        self.redacted = min(self.redacted, before + 1)
        return screened

    def _texts(self, path: str, value: Any, source: str) -> Any:
        if isinstance(value, list):
            return [self._texts(path, item, source) for item in value]
        if isinstance(value, dict):
            return {self._field(path, key, source): self._texts(path, item, source) for key, item in value.items()}
        return value if value is None or isinstance(value, int | float) else self._field(path, str(value), source)

    def _field(self, path: str, text: str, source: str) -> str:
        verdict = self._verdict(path, text, source)
        if verdict.stored or self._decided.approves(verdict.text):
            return verdict.text
        return self._hold_back(path, verdict, source)

    def _whole(self, path: str, text: str) -> str:
        verdict = self._verdict(path, text)
        if not verdict.stored:
            raise GuardRefused(path, reason_of(verdict))
        return verdict.text

    def _json_lines(self, path: str, before: str, after: str) -> str:
        """Screen each new JSON line alone: together they grow past the guard's limit."""
        known = Counter(before.split("\n"))
        lines = []
        for line in after.split("\n"):
            known[line] -= 1
            lines.append(line if known[line] >= 0 else self._json_line(path, line))
        return "\n".join(lines)

    def _json_line(self, path: str, line: str) -> str:
        """Screen the texts of a JSON line without their quotes and escapes."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return self._whole(path, line)
        screened = self._json_value(path, row)
        return line if screened == row else json.dumps(screened, ensure_ascii=False)

    def _json_value(self, path: str, value: Any) -> Any:
        if isinstance(value, str):
            return self._whole(path, value)
        if isinstance(value, list):
            return [self._json_value(path, item) for item in value]
        if isinstance(value, dict):
            return {key: self._json_value(path, item) for key, item in value.items()}
        return value

    def _heading(self, path: str, block: Block) -> str:
        """Screen a heading's title alone: inside a text the guard takes a heading for a forged one."""
        if not block.title:
            return block.raw
        verdict = self._verdict(path, block.title)
        if verdict.action == Action.ALLOW or self._decided.approves(block.title):
            return block.raw
        title = verdict.text.strip() if verdict.stored else self._hold_back(path, verdict)
        return f"{'#' * block.level} {title or '[removed]'}\n"

    def _run(self, path: str, run: Sequence[Block]) -> str:
        text = "".join(block.raw for block in run)
        source = origin_of_blocks(run, self._source)
        verdict = self._verdict(path, text, source)
        if verdict.stored and len(run) == 1 and run[0].entry:
            verdict = self._stricter(path, run[0].entry, verdict, source)
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
        verdicts = [self._verdict(path, block.raw, author) for block, author in zip(blocks, sources, strict=True)]
        if all(part.stored for part in verdicts):  # only the blocks together are an attack
            return f"> {self._hold_back(path, verdict)}\n"
        return "".join(
            _ended_like(block.raw, part.text) if part.stored else self._in_place_of(path, block, part, author)
            for block, part, author in zip(blocks, verdicts, sources, strict=True)
        )

    def _stricter(self, path: str, entry: Entry, verdict: Verdict, source: str) -> Verdict:
        """Return *verdict* on a rendered entry, or the stricter one on its statement alone.

        The id and the date hide how a sentence begins, and strangers' sentences are judged by how they begin.
        """
        if Source(source).trusted:
            return verdict
        statement = self._judge(path, entry.text, source)
        return verdict if statement.stored else replace(statement, text=verdict.text)

    def _in_place_of(self, path: str, block: Block, verdict: Verdict, source: str) -> str:
        """Hold *block* back, and return the text in its place: an entry's earlier version, or else a mark."""
        mark = self._hold_back(path, verdict, source)
        if block.entry is not None:
            self.withheld.add(block.entry.id)
            return self._earlier.get(block.entry.id, "")
        return f"{'-' if block.kind == 'item' else '>'} {mark}\n"

    def _approved(self, path: str, block: Block) -> bool:
        """Return whether a person approved *block*. An approval does not cover an entry's fields: they must pass."""
        if block.kind == "blank":
            return True
        if not self._decided.approves_block(block):
            return False
        if block.entry is None:
            return True
        return self._judge(path, fields_alone(block.entry), self._source).action == "allow"

    def _verdict(self, path: str, text: str, source: str = "") -> Verdict:
        verdict = self._judge(path, text, source or self._source)
        self.findings += [_finding_row(path, finding) for finding in verdict.findings]
        self.redacted += verdict.action == Action.REDACT
        return verdict

    def _hold_back(self, path: str, verdict: Verdict, source: str = "") -> str:
        """Quarantine the text unless a person rejected it before, and return the note that stands in its place.

        A rejected text that leaves memory for the archive is quarantined all the same: nothing is lost.
        """
        if self._decided.rejects(verdict.text) and not path.startswith("Archive/"):
            self.dropped += 1
            return rejection_note(id_of(path, verdict.text), reason_of(verdict))
        item = hold_back(
            self._home,
            verdict.text,
            path=path,
            reason=reason_of(verdict),
            source=source or self._source,
            session=self._session,
            ts=self._ts,
            findings=[{"layer": f.layer, "rule": f.rule, "kind": f.kind} for f in verdict.findings],
            section=self._section,
            actor=self._actor,
        )
        self.quarantined.append(item)
        return quarantine_note(item)


def quarantine_note(item: Quarantined) -> str:
    """Return the note that stands in place of a quarantined text."""
    return f"[quarantined {item.id}: {item.reason}]"


def rejection_note(item_id: str, reason: str) -> str:
    """Return the note that stands in place of a text that a person rejected."""
    return f"[rejected {item_id}: {reason}]"


def reason_of(verdict: Verdict) -> str:
    """Return layer and rule of the findings that decided *verdict*, sorted and joined by commas."""
    decisive = [f for f in verdict.findings if f.action == verdict.action] or list(verdict.findings)
    return ", ".join(sorted({f"{f.layer}/{f.rule}" for f in decisive})) or str(verdict.action)


def with_forgotten(verdict: Verdict, text: str) -> Verdict:
    """Return *verdict* on the whole *text*, out of which something forgotten was taken: at least redacted."""
    finding = Finding(
        layer="pii", rule=FORGOTTEN, kind="forgotten", start=0, end=len(text), action=Action.REDACT, digest=""
    )
    return replace(verdict, action=max(verdict.action, Action.REDACT), findings=(finding, *verdict.findings))


def _finding_row(path: str, finding: Finding) -> dict[str, Any]:
    """Return a finding for the audit: kind and place, and a salted digest in place of the text."""
    keys = ("layer", "rule", "kind", "start", "end", "digest")
    return {"path": path, **{key: getattr(finding, key) for key in keys}}


def _ended_like(text: str, screened: str) -> str:
    """Return *screened* with the final newline of *text*: a cut must not join two blocks."""
    return screened + "\n" if text.endswith("\n") and not screened.endswith("\n") else screened
