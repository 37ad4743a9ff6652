"""Ask a person about entries whose turns were withdrawn after they became memory.

In some chats people delete or edit what they said. A turn that is withdrawn before its session is closed never becomes
memory. Afterwards a person decides, because an entry may rest on more than the words that are gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Literal

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store.gateway import transaction
from agent_home.store.transcript import whole_source

from ..entries.operations import PossibleEnding, retired
from ..statements.operation import Operation
from .entry_endings import draft_endings

__all__ = ["ask_about_withdrawn"]


def ask_about_withdrawn(
    home: Home, session: str, ids: Collection[str], *, now: datetime, how: Literal["deleted", "edited"] = "deleted"
) -> tuple[str, ...]:
    """Ask whether the live entries end that cite the messages *ids* of *session*. Return the ids of these entries.

    A question about an entry that ends otherwise is dropped, for instance where the edited message replaces it.

    Raises:
        HomeError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    gone = {f"{session}#{name}" for name in ids}
    cited = [entry.id for entry in _citing(list(parse(storage.read_text(home.root / MEMORY)).entries()), gone)]
    if not cited:
        return ()
    message = f"Ask about {len(cited)} entries of {session} whose messages were {how}"
    with transaction(home, actor="withdraw", message=message, session=session, source="participant", now=now) as edits:
        memory = edits.read(MEMORY)
        endings = [_ending(entry, gone, f"{now:%Y-%m-%d}", how) for entry in _citing(list(memory.entries()), gone)]
        for draft in draft_endings(home, memory, endings, session):
            edits.propose(draft)
    return tuple(cited)


def _citing(entries: Collection[Entry], gone: Collection[str]) -> Iterator[Entry]:
    replaced = superseded_by(entries)
    for entry in entries:
        if (
            not entry.retired
            and entry.id not in replaced
            and any(whole_source(source) in gone for source in _sources(entry))
        ):
            yield entry


def _ending(entry: Entry, gone: Collection[str], date: str, how: str) -> PossibleEnding:
    why = f"the message that says it was {how}"
    sources = tuple(source for source in _sources(entry) if whole_source(source) in gone)
    operation = Operation(kind="retract", target=entry.id, sources=sources, text=why, unsure=True)
    return PossibleEnding(
        operation=operation, older=entry, newer=retired(entry, "retract", date, sources[-1], why), origin="participant"
    )


def _sources(entry: Entry) -> list[str]:
    return [part.strip() for part in entry.fields.get("Sources", "").split(",")]
