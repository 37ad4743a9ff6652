"""Say who may not decide about a waiting text: whoever said it, other than the owner, and the agent of the home.

A text names its turns in its field ``Sources``, or its place-holder stands in the transcript. Where no turn is known,
every participant and the assistant of the session count as its authors.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator

from agent_home.documents.placement import as_entry
from agent_home.home import MEMORY, Home
from agent_home.screening.service import ScreeningService
from agent_home.store import transcript
from agent_home.store.speakers import owner_settings, resolve_speakers, speaker_label
from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex

from ..errors import NotAllowed

__all__ = ["WHO_MAY", "is_author", "require_person", "speaker_of", "speaker_of_sources"]

#: Who may decide, as refusals say it.
WHO_MAY = "The owner may ([owner] in agent.toml), or a reviewer who did not say it"
#: Names under which parts of this program write. None of them is a person.
_PROGRAM_NAMES = frozenset({
    "agent", "archive", "assistant", "by hand", "cite", "close", "decay", "distill", "evolution", "forget", "import",
    "init", "job", "memory", "merge", "nightly", "pull", "restore", "resume", "review", "revert", "sync", "system",
    "tool", "verify", "watch", "web",
})  # fmt: skip
_MAX_NAME_CHARS = 80
#: The name before what a participant said, see ``distill.summary.participants``.
_TOLD = lazy_regex(r"(?m)(?P<name>[^\n:*]{1,60}?)(?: \(participant\) said|\uff08参与者\uff09说)")


def require_person(home: Home, name: str, proposer: str = "") -> str:
    """Normalise *name* and return it when that person may decide about a text of *proposer*.

    Raises:
        NotAllowed: *name* is not a name, names a part of this program, or is the agent's or the proposer's.
    """
    person = " ".join(name.split())
    if not person or not person.isprintable() or len(person) > _MAX_NAME_CHARS:
        raise NotAllowed(person[:_MAX_NAME_CHARS], f"a name is one line of 1 to {_MAX_NAME_CHARS} characters")
    if person.casefold() in _PROGRAM_NAMES:
        raise NotAllowed(person, "this is the name of a part of the program. Give your own name")
    if proposer and person.casefold() == " ".join(proposer.split()).casefold():
        raise NotAllowed(person, f"the proposer of a text cannot accept or reject it. {WHO_MAY}")
    if not ScreeningService(home).allows(MEMORY, person, "user"):
        raise NotAllowed("[name]", "the guard does not allow this name. Give another one")
    if _is_agent(home, person):
        raise NotAllowed(person, f"this is the name of the agent of this home. {WHO_MAY}")
    return person


def is_author(home: Home, person: str, *, item_id: str, session: str, text: str) -> bool:
    """Return whether *person* said the waiting *text*, as a participant or as the assistant. The owner never counts.

    Raises:
        GuardRefused: the guard cannot run, so that a session's file is not known.
    """
    own = _forms(person)
    if any(own & _forms(name) for name in owner_settings(home).names):
        return False
    sources = set(_sources(text))
    sessions = {source.rpartition("#")[0] for source in sources} | ({session} if session else set())
    said = [message for one in sorted(sessions) for message in _messages(home, one)]
    authors = [*_speakers(said, item_id, sources), *(match["name"].split("]")[-1] for match in _TOLD.finditer(text))]
    return any(own & _forms(name) for name in authors)


def speaker_of(home: Home, *, item_id: str, session: str) -> Message | None:
    """Return the message of *session* in whose place the note of a waiting text stands, or ``None`` without one.

    Raises:
        GuardRefused: the guard cannot run, so that a session's file is not known.
    """
    return next((one for one in _messages(home, session) if f"[quarantined {item_id}:" in one.content), None)


def speaker_of_sources(home: Home, text: str) -> str:
    """Return who said what the entry *text* names as its first source, or an empty string where that is not known.

    Raises:
        GuardRefused: the guard cannot run, so that a session's file is not known.
    """
    source = next(iter(_sources(text)), "")
    said = _messages(home, source.rpartition("#")[0]) if source else ()
    return next((one.name for one in said if one.source == source and one.role == "participant"), "")


def _sources(text: str) -> list[str]:
    entry = as_entry(text)
    named = (part.strip() for part in (entry.fields.get("Sources", "") if entry else "").split(","))
    return [source for source in named if "#" in source]


def _messages(home: Home, session: str) -> tuple[Message, ...]:
    path = transcript.session_path(home, session)
    turns = transcript.read(path) if path is not None else []
    return tuple(turn.message for turn in resolve_speakers(home, turns).turns)


def _speakers(said: Collection[Message], item_id: str, sources: Collection[str]) -> Iterator[str]:
    own = [message for message in said if message.source in sources or f"[quarantined {item_id}:" in message.content]
    yield from (message.name for message in own or said if message.role in {"participant", "assistant"})


def _forms(name: str) -> set[str]:
    """Return *name* as it is compared: without case, accents' spelling, a leading ``@`` and what no label keeps."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split()).lstrip("@")
    return {plain.casefold(), speaker_label(plain).casefold()} - {""}


def _is_agent(home: Home, person: str) -> bool:
    return bool(_forms(person) & _forms(home.manifest.name))
