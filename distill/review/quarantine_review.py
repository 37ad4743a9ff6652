"""Texts in quarantine that a person decides about: accepted into the place they were meant for, or dropped for good.

Accepting and rejecting are one commit each, with the decision's line in its ledger; only then does the text leave the
quarantine. A transcript is not in git and only grows: there an accepted message is appended once more, under an id of
its own, between the two. Whoever is killed on the way is finished by :func:`settle`, and doing it twice changes
nothing.
"""

from __future__ import annotations

import re
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
from agent_home.lock import hold
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
from agent_home.store.transcript import Message
from guard import Action, Verdict

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
#: A sentence with the space behind it, in the scripts whose stops end one.
_SENTENCE = re.compile(r"[^.!?。!?\n]*(?:[.!?。!?]+|\n|$)\s*")
_PLACEHOLDER = re.compile(r"\[REDACTED:[^\]]*\]")
_PASSES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What accepting a text does, or did: *text* as it stands in *path*, the file *before* and *after*.

    *entry* is the id of the entry that it is; *commit* is ``None`` before it is done, and when nothing was left to do.
    """

    id: str
    path: str
    section: str
    text: str
    entry: str = ""
    before: str = ""
    after: str = ""
    commit: str | None = None


def accept_quarantined(home: Home, item: Quarantined, *, person: str, form: AcceptMode, now: datetime) -> Acceptance:
    """Write *item* where it was meant to stand, in the name of *person*.

    As it is, it stays as it was kept: its secrets are redacted since then. Redacted, the sentences that the guard
    objects to are taken out as well.

    Raises:
        NotPlaceable: nothing would be left, or the place is gone.
        NoSuchProposal: somebody else decided meanwhile.
        HomeError: see :func:`agent_home.store.gateway.transaction`.
    """
    text = redacted_text(home, item) if form == "redacted" else item.text
    message = f"Accept {item.id}, which the guard had held back"
    with transaction(home, actor=person, message=message, session=item.session, source=item.source, now=now) as edits:
        _refuse_decided(home, item)
        release = _release(home, item, text, edits.text, edits.new_id)
        if release.after != release.before:
            edits.write(release.path, release.after)
        if decisions(home).approval_of(item.id) is None:
            digests = approval_digests(release.text) if form == "as-is" else ()
            edits.append(APPROVED, [_row(item, person, now, digests)])
            reworded = not release.entry and release.text.strip() != item.text.strip()
            if form == "redacted" or reworded:  # what stands now is all of it that is wanted
                edits.append(REJECTED, [_row(item, person, now, (rejection_digest(item.text),))])
        edits.trailer("Guard", f"{item.reason} {'overridden' if form == 'as-is' else 'redacted'} by a person")
        edits.trailer("Source", item.source)
    _finish(home, item, text, now)
    return replace(release, commit=edits.outcome.commit)


def plan_quarantined(home: Home, item: Quarantined, form: AcceptMode) -> Acceptance:
    """Return what :func:`accept_quarantined` would do now. It raises the same errors, except those of a write."""
    text = redacted_text(home, item) if form == "redacted" else item.text
    return _release(
        home, item, text, lambda path: storage.read_text(home.path(path)), lambda prefix, _: f"{prefix}-0000"
    )


def reject_quarantined(home: Home, item: Quarantined, *, person: str, now: datetime) -> str | None:
    """Forget *item* but for a digest, so that the same text never waits again; the commit that says so."""
    message = f"Reject {item.id}, which the guard had held back"
    with transaction(home, actor=person, message=message, session=item.session, now=now) as edits:
        _refuse_decided(home, item)
        if not decisions(home).rejects(item.text):
            digest = rejection_digest(item.text)
            edits.append(REJECTED, [_row(item, person, now, (digest,))])
        path = _path_now(home, item)
        if path.endswith(".md") and quarantine_note(item) in edits.text(path):
            rejected = f"> {rejection_note(item.id, item.reason)}"
            edits.write(path, replace_placeholder(edits.read(path), quarantine_note(item), rejected))
    with hold(home.lock):
        quarantine.discard(home, item.id)
    return edits.outcome.commit


def settle(home: Home, now: datetime) -> None:
    """Finish what somebody who was killed had decided about texts that still lie in quarantine.

    What has no place any more goes on waiting: one text must not keep a person from all the others.
    """
    decided = decisions(home)
    for item in quarantine.waiting(home):
        if (row := decided.approval_of(item.id)) is not None:
            with suppress(NotPlaceable):
                _finish(home, item, item.text if row.digests else redacted_text(home, item), now)
        elif decided.rejects(item.text):
            with hold(home.lock):
                quarantine.discard(home, item.id)


def redacted_text(home: Home, item: Quarantined) -> str:
    """*item*'s text without the sentences that the guard objects to.

    Raises:
        NotPlaceable: the guard objects to all of it, or to what the sentences are only together.
    """
    entry = as_entry(item.text) if holds_entries(item.path) else None

    screening = ScreeningService(home)

    def screen(text: str) -> Verdict:
        return screening.verdict(item.path, text, item.source)

    if entry is None:
        text = left = _without_findings(item.text, screen)
    else:
        parts = {name: _without_findings(getattr(entry, name), screen) for name in ("title", "body", "detail")}
        fields = {name: _without_findings(value, screen) for name, value in entry.fields.items()}
        text, left = entry.changed(**parts, fields=fields).render(), " ".join(parts.values())
    if not any(char.isalnum() for char in _PLACEHOLDER.sub("", left)):
        raise NotPlaceable(item.id, "nothing of it would be left without what the guard objects to")
    if not screen(text).stored:
        raise NotPlaceable(item.id, "what is left of it after redaction is still held back by the guard")
    return text


def _without_findings(text: str, screen: Callable[[str], Verdict]) -> str:
    for _ in range(_PASSES):
        verdict = screen(text)
        if verdict.stored or not text:
            break
        text = verdict.text
        again = screen(text)
        spans = [(f.start, f.end, f.kind) for f in again.findings if f.action >= Action.QUARANTINE]
        text = "".join(_sentences_without(text, spans))
    return text


def _sentences_without(text: str, spans: list[tuple[int, int, str]]) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        kind = next((kind for start, end, kind in spans if start < match.end() and end > match.start()), None)
        sentence = match.group()
        yield sentence if kind is None else f"[REDACTED:{kind}]{sentence[len(sentence.rstrip()) :]}"


def _is_transcript(item: Quarantined) -> bool:
    return item.path.startswith("sessions/")


def _path_now(home: Home, item: Quarantined) -> str:
    """Where *item*'s file lies now: daily logs move to the archive."""
    archived = f"{ARCHIVED_DAILY}{item.path.removeprefix('DailyActivity/')}"
    moved = item.path.startswith("DailyActivity/") and not home.path(item.path).exists()
    return archived if moved and home.path(archived).exists() else item.path


def _refuse_decided(home: Home, item: Quarantined) -> None:
    """Stop when somebody decided about *item* since it was looked at. Call with the lock held."""
    if not quarantine.holds(home, item.id):
        raise NoSuchProposal(item.id, sum(1 for _ in quarantine.waiting(home)))


def _release(
    home: Home, item: Quarantined, text: str, text_of: Callable[[str], str], new_id: Callable[[str, str], str]
) -> Acceptance:
    """Where *text* goes; the same *before* and *after* when it stands there already, or when it is a message's."""
    if _is_transcript(item):
        message = _marked(home, item)
        return Acceptance(id=item.id, path=item.path, section=message.source, text=text)
    path = _path_now(home, item)
    before = text_of(path)
    document = parse(before)
    entry = as_entry(text) if holds_entries(path) else None
    if entry is not None:
        return _entry_release(home, item, entry, path, document, new_id)
    if "DailyActivity/" in path:
        text = _demoted(text)
    after = insert_text(document, text, section=item.section, placeholder=quarantine_note(item)).render()
    return Acceptance(id=item.id, path=path, section=item.section, text=text, before=before, after=after)


def _entry_release(
    home: Home, item: Quarantined, entry: Entry, path: str, document: Document, new_id: Callable[[str, str], str]
) -> Acceptance:
    """The same for an entry: one that is there already is left, an id that another one has is exchanged."""
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


def _marked(home: Home, item: Quarantined) -> Message:
    """The message in whose place the note about *item* stands.

    Raises:
        NotPlaceable: there is none, or it is not the message's words that were held back.
    """
    path = home.path(item.path)
    turns = transcript.read(path) if item.path.endswith(".jsonl") and path.is_file() else []
    found = next((turn.message for turn in turns if turn.message.content == quarantine_note(item)), None)
    if found is None:
        raise NotPlaceable(item.id, f"no message of {item.path} was left out for it")
    return found


def _finish(home: Home, item: Quarantined, text: str, now: datetime) -> None:
    """What comes after the commit of an acceptance: a message is appended, the text leaves the quarantine."""
    if _is_transcript(item):
        message = _marked(home, item)
        again = replace(message, id=f"{message.id}+{item.id}", content=text)
        transcript.append(home, message.session, [again], actor="review", now=now)
    with hold(home.lock):
        quarantine.discard(home, item.id)


def _row(item: Quarantined, person: str, now: datetime, digests: Sequence[str]) -> dict[str, Any]:
    """A line of a ledger. It says who, when and what was decided about, and nothing of what it says."""
    return {"ts": now.isoformat(), "kind": "quarantine", "id": item.id, "by": person, "digests": list(digests)}


def _demoted(text: str) -> str:
    """*text* for a daily log, where a heading of level 2 would begin the record of another closing."""
    return "".join(
        f"### {block.title}\n" if block.kind == "heading" and block.level < 3 else block.raw
        for block in parse(text).blocks
    )
