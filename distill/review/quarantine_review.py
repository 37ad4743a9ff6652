"""Accept quarantined texts into the places they were written for, or reject them for good.

Each decision is one commit with its line in a ledger. Only then does the text leave the quarantine. A transcript is not
in git and is append-only, so an accepted message is appended once more with an id of its own, between the two steps.
:func:`settle` finishes a decision when the process was killed. Doing a decision twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from agent_home import storage
from agent_home.documents.check import entry_files, holds_entries
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import Entry, section_of
from agent_home.documents.placement import as_entry, insert_text, replace_placeholder
from agent_home.home import ARCHIVED_DAILY, Home
from agent_home.screening import quarantine
from agent_home.screening.quarantine import Quarantined
from agent_home.screening.review_ledger import (
    APPROVED,
    REJECTED,
    approval_digests,
    decisions,
    rejection_digest,
    statement_digest,
)
from agent_home.screening.service import ScreeningService
from agent_home.screening.write_policy import quarantine_note, rejection_note
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.machine_state import hold_home
from agent_home.store.transcript import Message
from guard import Action, Verdict
from guard.lazy_regex import lazy_regex

from ..errors import NoSuchProposal, NotPlaceable

__all__ = [
    "AcceptMode",
    "Acceptance",
    "accept_quarantined",
    "plan_quarantined",
    "redacted_text",
    "reject_quarantined",
    "settle",
]

AcceptMode = Literal["as-is", "redacted"]
#: A sentence with the space after it, for scripts with Latin or Chinese full stops.
_SENTENCE = lazy_regex(r"[^.!?。!?\n]*(?:[.!?。!?]+|\n|$)\s*")
_PLACEHOLDER = lazy_regex(r"\[REDACTED:[^\]]*\]")
_MAX_PASSES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A planned or completed acceptance: *text* as it is written to *path*, and the file *before* and *after*.

    *entry* is the entry's id for a text that is an entry. *commit* is ``None`` for a plan or when nothing changed.
    """

    id: str
    path: str
    section: str
    text: str
    entry: str = ""
    before: str = ""
    after: str = ""
    commit: str | None = None


def accept_quarantined(home: Home, item: Quarantined, *, person: str, mode: AcceptMode, now: datetime) -> Acceptance:
    """Write *item* to the place it was written for, in the name of *person*.

    Mode ``as-is`` writes the text as the quarantine keeps it, with its secrets redacted. Mode ``redacted`` also removes
    the sentences with findings.

    Raises:
        NotPlaceable: nothing would be left, or the place no longer exists.
        NoSuchProposal: somebody else decided meanwhile.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    text = redacted_text(home, item) if mode == "redacted" else item.text
    message = f"Accept {item.id} from quarantine"
    with transaction(home, actor=person, message=message, session=item.session, source=item.source, now=now) as edits:
        _refuse_decided(home, item)
        acceptance = _plan(home, item, text, edits.text, edits.new_id)
        if acceptance.after != acceptance.before:
            edits.write(acceptance.path, acceptance.after)
        if decisions(home).approval_of(item.id) is None:
            digests = approval_digests(acceptance.text) if mode == "as-is" else ()
            edits.append(APPROVED, [_row(item, person, now, digests)])
            reworded = not acceptance.entry and acceptance.text.strip() != item.text.strip()
            if mode == "redacted" or reworded:  # the accepted form replaces the original for good
                edits.append(REJECTED, [_row(item, person, now, (rejection_digest(item.text),))])
        edits.trailer("Guard", f"{item.reason} {'overridden' if mode == 'as-is' else 'redacted'} by a person")
        edits.trailer("Source", item.source)
    _finish(home, item, text, now)
    return replace(acceptance, commit=edits.outcome.commit)


def plan_quarantined(home: Home, item: Quarantined, mode: AcceptMode) -> Acceptance:
    """Return what :func:`accept_quarantined` would do now. It raises the same errors, except those of a write."""
    text = redacted_text(home, item) if mode == "redacted" else item.text
    return _plan(home, item, text, lambda path: storage.read_text(home.path(path)), lambda prefix, _: f"{prefix}-0000")


def reject_quarantined(home: Home, item: Quarantined, *, person: str, now: datetime) -> str | None:
    """Remove *item* and record a digest, so that the same text is never quarantined again. Return the commit."""
    message = f"Reject {item.id} from quarantine"
    with transaction(home, actor=person, message=message, session=item.session, now=now) as edits:
        _refuse_decided(home, item)
        if not decisions(home).rejects(item.text):
            digest = rejection_digest(item.text)
            edits.append(REJECTED, [_row(item, person, now, (digest,))])
        path = _current_path(home, item)
        if path.endswith(".md") and quarantine_note(item) in edits.text(path):
            rejected = f"> {rejection_note(item.id, item.reason)}"
            edits.write(path, replace_placeholder(edits.read(path), quarantine_note(item), rejected))
    with hold_home(home):
        quarantine.discard(home, item.id)
    return edits.outcome.commit


def settle(home: Home, now: datetime) -> None:
    """Finish decisions about quarantined texts that a killed process left incomplete.

    A text whose place no longer exists stays in quarantine, so that it does not block the others.
    """
    decided = decisions(home)
    for item in quarantine.waiting(home):
        if (row := decided.approval_of(item.id)) is not None:
            with suppress(NotPlaceable):
                _finish(home, item, item.text if row.digests else redacted_text(home, item), now)
        elif decided.rejects(item.text):
            with hold_home(home):
                quarantine.discard(home, item.id)


def redacted_text(home: Home, item: Quarantined) -> str:
    """Return *item*'s text without the sentences with findings.

    Raises:
        NotPlaceable: no sentence would be left, or the guard still quarantines the rest.
    """
    entry = as_entry(item.text) if holds_entries(item.path) else None

    screening = ScreeningService(home)

    def screen(text: str) -> Verdict:
        return screening.verdict(item.path, text, item.source)

    if entry is None:
        text = rest = _redact_sentences(item.text, screen)
    else:
        parts = {name: _redact_sentences(getattr(entry, name), screen) for name in ("title", "body", "detail")}
        fields = {name: _redact_sentences(value, screen) for name, value in entry.fields.items()}
        text, rest = entry.changed(**parts, fields=fields).render(), " ".join(parts.values())
    if not any(char.isalnum() for char in _PLACEHOLDER.sub("", rest)):
        raise NotPlaceable(item.id, "nothing would be left of it after redaction. Reject it instead")
    if not screen(text).stored:
        raise NotPlaceable(item.id, "the guard still quarantines the rest of it. Accept it as it is, or reject it")
    return text


def _redact_sentences(text: str, screen: Callable[[str], Verdict]) -> str:
    for _ in range(_MAX_PASSES):
        verdict = screen(text)
        if verdict.stored or not text:
            break
        text = verdict.text
        again = screen(text)
        spans = [(f.start, f.end, f.kind) for f in again.findings if f.action >= Action.QUARANTINE]
        text = "".join(_replace_sentences(text, spans))
    return text


def _replace_sentences(text: str, spans: list[tuple[int, int, str]]) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        kind = next((kind for start, end, kind in spans if start < match.end() and end > match.start()), None)
        sentence = match.group()
        yield sentence if kind is None else f"[REDACTED:{kind}]{sentence[len(sentence.rstrip()) :]}"


def _is_transcript(item: Quarantined) -> bool:
    return item.path.startswith("sessions/")


def _current_path(home: Home, item: Quarantined) -> str:
    """Return the current path of *item*'s file, because daily logs move to the archive."""
    archived = f"{ARCHIVED_DAILY}{item.path.removeprefix('DailyActivity/')}"
    moved = item.path.startswith("DailyActivity/") and not home.path(item.path).exists()
    return archived if moved and home.path(archived).exists() else item.path


def _refuse_decided(home: Home, item: Quarantined) -> None:
    """Raise ``NoSuchProposal`` when somebody decided about *item* meanwhile. Call with the lock held."""
    if not quarantine.holds(home, item.id):
        raise NoSuchProposal(item.id, [other.id for other in quarantine.waiting(home)])


def _plan(
    home: Home, item: Quarantined, text: str, read: Callable[[str], str], new_id: Callable[[str, str], str]
) -> Acceptance:
    """Plan the acceptance. *before* and *after* are equal for a message, and for a text that is in the file already."""
    if _is_transcript(item):
        message = _replaced_message(home, item)
        return Acceptance(id=item.id, path=item.path, section=message.source, text=text)
    path = _current_path(home, item)
    before = read(path)
    document = parse(before)
    entry = as_entry(text) if holds_entries(path) else None
    if entry is not None:
        return _plan_entry(home, item, entry, path, document, new_id)
    if "DailyActivity/" in path:
        text = _lower_headings(text)
    after = insert_text(document, text, section=item.section, placeholder=quarantine_note(item)).render()
    return Acceptance(id=item.id, path=path, section=item.section, text=text, before=before, after=after)


def _plan_entry(
    home: Home, item: Quarantined, entry: Entry, path: str, document: Document, new_id: Callable[[str, str], str]
) -> Acceptance:
    """Plan the acceptance of an entry. A known entry changes nothing, and an id in use is replaced by a new one."""
    rule = section_of(entry.prefix)
    section = item.section or (rule.title if rule else "")
    before = document.render()
    same = next((e for e in document.entries() if statement_digest(e) == statement_digest(entry)), None)
    if same is not None:
        return Acceptance(
            id=item.id, path=path, section=section, text=entry.render(), entry=same.id, before=before, after=before
        )
    if any(parse(storage.read_text(home.root / file)).entry(entry.id) for file in entry_files(home)):
        entry = entry.changed(id=new_id(entry.prefix, entry.render()))
    text = entry.render()
    after = insert_text(document, text, section=section).render()
    return Acceptance(id=item.id, path=path, section=section, text=text, entry=entry.id, before=before, after=after)


def _replaced_message(home: Home, item: Quarantined) -> Message:
    """Return the message that the placeholder of *item* replaced.

    Raises:
        NotPlaceable: the transcript has no such message, or another part of the message was quarantined.
    """
    path = home.path(item.path)
    turns = transcript.read(path) if item.path.endswith(".jsonl") and path.is_file() else []
    found = next((turn.message for turn in turns if turn.message.content == quarantine_note(item)), None)
    if found is None:
        raise NotPlaceable(item.id, f"{item.path} has no placeholder for it. Reject it instead")
    return found


def _finish(home: Home, item: Quarantined, text: str, now: datetime) -> None:
    """Complete an acceptance after its commit: append a message, and remove the text from quarantine."""
    if _is_transcript(item):
        message = _replaced_message(home, item)
        again = replace(message, id=f"{message.id}+{item.id}", content=text)
        transcript.append(home, message.session, [again], actor="review", now=now)
    with hold_home(home):
        quarantine.discard(home, item.id)


def _row(item: Quarantined, person: str, now: datetime, digests: Sequence[str]) -> dict[str, Any]:
    """Return a ledger row: who decided about which text and when, with digests and without the text."""
    return {"ts": now.isoformat(), "kind": "quarantine", "id": item.id, "by": person, "digests": list(digests)}


def _lower_headings(text: str) -> str:
    """Lower the headings of *text* to level 3 for a daily log, where level 2 starts the section of another closing."""
    return "".join(
        f"### {block.title}\n" if block.kind == "heading" and block.level < 3 else block.raw
        for block in parse(text).blocks
    )
