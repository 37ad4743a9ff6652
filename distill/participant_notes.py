"""Notes of participants: those who write through a door without being the owner, such as the bot of a group chat.

A participant decides, prefers and corrects nothing in the owner's name. So a note of theirs is a fact or a thread that
names them, and it replaces and ends only entries of theirs. A note of another type, or about a topic on which only the
owner decides, becomes a proposal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import FIELDS, Entry, normalise_id
from agent_home.errors import HomeError
from agent_home.home import MEMORY, Home
from agent_home.store.gateway import transaction
from agent_home.store.proposals import ProposalDraft
from agent_home.store.speakers import speaker_label

from .entries.notes import HELD_BACK, Finished, JudgedNote, NoteType, Remembered, draft_note, finish, remember
from .errors import NotLive
from .reading.foreign_topics import is_owners_topic
from .review.entry_proposals import rejected_or_pending
from .review.queue import waiting_of_sessions
from .statements.risk import risk_of
from .summary.participants import told_by

__all__ = ["MOST_WAITING", "TooManyWaiting", "finish_of_participant", "remember_of_participant"]

#: Proposals of one participant that may wait. A person could not look through more.
MOST_WAITING = 50
#: Types that a participant writes without a person.
_OWN_TYPES: frozenset[NoteType] = frozenset({"fact", "thread"})
#: Sections in which a text without a type must not belong by its words.
_WISHES = frozenset({"SP", "KD", "CO"})
_FIELD_NAME = re.compile(rf"(?i)\b(?:{'|'.join(FIELDS)})\s*[:\uff1a]")
_NOT_THEIRS = "only the owner decides, prefers and corrects"
_OWNERS_TOPIC = "it is about money, access, rules or wishes that only the owner decides"


class TooManyWaiting(HomeError):
    """A participant has proposed so much that waits that no more is taken."""

    def __init__(self, speaker: str) -> None:
        super().__init__(
            f"{MOST_WAITING} notes of {speaker!r} wait already. A person looks at them with `memory review`"
        )
        self.speaker = speaker


def remember_of_participant(
    home: Home,
    text: str,
    *,
    speaker: str,
    now: datetime,
    kind: NoteType | None = None,
    about: str = "",
    until: str = "",
    replaces: str = "",
    tags: Sequence[str] = (),
    session: str = "",
    dry_run: bool = False,
) -> Remembered:
    """Write *text* as a fact or thread that *speaker* told, in one commit, or propose it (see ``Remembered.waits``).

    The arguments are those of :func:`distill.entries.notes.remember`. What is in the name of *session* up to its last
    colon tells whose texts are counted that wait. Without a session, it is *speaker*.

    Raises:
        ValueError: *text* is empty, *until* is no day to come, or *about* or a tag looks like a field of an entry.
        NotLive: *replaces* names no live entry of *speaker*.
        TooManyWaiting: a person has not looked at the last :data:`MOST_WAITING` proposals of *speaker*.
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    for name, value in (("about", about), *(("tags", tag) for tag in tags)):
        if _FIELD_NAME.search("".join(char for char in value if unicodedata.category(char) != "Cf")):
            raise ValueError(f"{name}: {value!r} looks like a field of an entry. Leave the name with the colon out")
    name = speaker_label(speaker)
    words = " ".join(text.split())
    session = session or f"participant {name}:"
    bare = draft_note(home, words, now=now, kind=kind, about=about, until=until, tags=tags, origin="participant")
    told = told_by(name, words) if bare.verdict.stored else words  # what is held back stays as it was judged
    if replaces:
        _require_of(home, name, replaces)
    why = _why_it_waits(bare, words, kind) if bare.verdict.stored else ""
    if why:
        return _proposed(home, bare, told, why, (name, session), now, dry_run=dry_run)
    if not bare.verdict.stored and not dry_run:
        _require_room(home, name, session)
    return remember(
        home, told, now=now, kind=kind or "fact", about=about, until=until, replaces=replaces, tags=tags,
        origin="participant", session=session, dry_run=dry_run,
    )  # fmt: skip


def finish_of_participant(
    home: Home, entry_id: str, *, speaker: str, now: datetime, how: str = "", dry_run: bool = False
) -> Finished:
    """Mark an entry of *speaker* as resolved.

    Raises:
        NotLive: the entry is somebody else's, or ended.
        HomeError: see :func:`distill.entries.notes.finish`. Nothing was written.
    """
    _require_of(home, speaker_label(speaker), entry_id)
    return finish(home, entry_id, now=now, how=how, origin="participant", dry_run=dry_run)


def _require_of(home: Home, name: str, entry_id: str) -> None:
    """Refuse an entry that does not begin with the words by which *name* told it.

    Raises:
        NotLive: it is somebody else's, or there is none. Whether there is one, a participant need not know.
    """
    wanted = normalise_id(entry_id)
    entry = parse(storage.read_text(home.root / MEMORY)).entry(wanted)
    leads = tuple(told_by(name, words).removesuffix(words) for words in ("a", "\u6211"))
    if entry is None or entry.fields.get("Origin") != "participant" or not entry.text.startswith(leads):
        raise NotLive(wanted, f"{name or 'a participant'} did not note it")


def _why_it_waits(bare: JudgedNote, words: str, kind: NoteType | None) -> str:
    """Return why the note waits for a person, or an empty string."""
    reads_as_wish = kind is None and bare.section.prefix in _WISHES
    if reads_as_wish or kind not in {None, *_OWN_TYPES}:
        return _NOT_THEIRS
    return _OWNERS_TOPIC if is_owners_topic(words) else ""


def _proposed(
    home: Home, bare: JudgedNote, told: str, why: str, said: tuple[str, str], now: datetime, *, dry_run: bool
) -> Remembered:
    """Propose the note to a person, unless it waits already or a person rejected it.

    *said* is the name of who said it, and the session.
    """
    name, session = said
    entry = bare.entry.changed(title=told)
    done = Remembered(id="", section=bare.section.title, text=told, waits=why)
    actor = f"participant {name}".strip()
    if dry_run:
        return replace(done, known=rejected_or_pending(home)(entry))
    message = f"Propose a note of {actor}"
    with transaction(home, actor="remember", message=message, session=session, source="participant", now=now) as edits:
        if rejected_or_pending(home)(entry):
            done = replace(done, known=True)
        else:
            _require_room(home, name, session)
            done = replace(done, id=edits.new_id(bare.section.prefix, f"{told}\0{now:%Y-%m-%d}"))
            edits.propose(_draft(bare, entry.changed(id=done.id), actor, why, session))
    held = edits.outcome.quarantined
    return replace(done, quarantined=held, waits=HELD_BACK) if held else done


def _require_room(home: Home, name: str, session: str) -> None:
    """Refuse a note when so many of the same speaker wait that a person could not look through more.

    Raises:
        TooManyWaiting: they do.
    """
    if waiting_of_sessions(home, session[: session.rfind(":") + 1]) >= MOST_WAITING:
        raise TooManyWaiting(name)


def _draft(bare: JudgedNote, entry: Entry, actor: str, why: str, session: str) -> ProposalDraft:
    findings = [asdict(finding) for finding in bare.verdict.findings]
    trailers = {
        "Session": session, "Evidence": "unchecked", "Actor": actor, "Source": "participant", "Doubt": why,
        "Risk": risk_of("participant", "unchecked", findings),
    }  # fmt: skip
    return ProposalDraft(
        id=entry.id, path=MEMORY, section=bare.section.title, text=entry.render(),
        message=f"Propose {entry.id} for {bare.section.title}", trailers=trailers,
    )  # fmt: skip
