"""Import conversations into a home, close them as a user would, and return what memory then says."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

from agent_home import storage
from agent_home.creation import create
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from distill.entries.recurrence import all_log_lines
from distill.errors import EndpointFailed
from distill.language_model.endpoint import Completion, Endpoint
from distill.summary.composition import Models
from recall.embedding.embedder import Embedder, NoEmbedder

__all__ = ["AskedModel", "ClosedHome", "Told", "Unread", "closed_home", "memory_line", "read_messages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A line of memory with the turns it cites. *prefix* is that of its section and empty in the log."""

    text: str
    sources: tuple[str, ...]
    prefix: str = ""
    stands: bool = True
    id: str = ""


class Unread(Exception):
    """The model gave no answer for a *session*, so the week cannot be measured with it."""

    def __init__(self, session: str, reason: str) -> None:
        super().__init__(f"session {session} was not read by the model: {reason}")
        self.session, self.reason = session, reason


@dataclass(frozen=True, kw_only=True)
class AskedModel(Endpoint):
    """A language model whose requests without an answer are kept in *failures*."""

    failures: list[str] = field(default_factory=list)

    def complete(self, instructions: str, prompt: str) -> Completion:
        """Return the completion of *prompt*. See :meth:`Endpoint.complete`."""
        try:
            return super().complete(instructions, prompt)
        except EndpointFailed as error:
            self.failures.append(str(error))
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedHome:
    """A home after its sessions were closed. *proposed* are the lines that wait for a person.

    *dropped* says why operations of a model were dropped.
    """

    home: Home
    entries: tuple[Told, ...]
    log: tuple[Told, ...]
    proposed: tuple[Told, ...]
    dropped: tuple[str, ...] = ()


@contextmanager
def closed_home(
    messages: Iterable[Message],
    embedder: Embedder | NoEmbedder | None = None,
    *,
    owner: str = "",
    model: Endpoint | None = None,
    progress: Callable[[str], None] = lambda _text: None,
) -> Iterator[ClosedHome]:
    """Import *messages*, whose sessions stand together and in order, and close each session when it ended.

    Raises:
        Unread: *model* gave no answer for a session.
    """
    models = Models(embedder=(lambda: embedder) if embedder is not None else None, endpoint=model)
    with tempfile.TemporaryDirectory(prefix="memory-") as folder:
        listed = [(session, list(group)) for session, group in groupby(messages, key=lambda message: message.session)]
        first = _time(listed[0][1][0].ts)
        home = create(Path(folder) / "home", name="Assistant", now=first).home
        if owner:
            (home.root / "USER.md").write_text(f"# User\n\n- Name: {owner}\n", "utf-8")
        proposed, dropped = [], []
        for number, (session, turns) in enumerate(listed, 1):
            now = _time(turns[-1].ts) + timedelta(minutes=30)
            transcript.append(home, session, turns, actor="import", now=now)
            done = close(home, session, now=now, models=models)
            if model is not None and done.degraded:
                raise Unread(session, "; ".join(done.degraded))
            proposed += [Told(text=item.text, sources=(), prefix=item.id[:2], id=item.id) for item in done.proposed]
            dropped += list(done.use.dropped) if done.use else []
            dropped += [
                f"{item.kind} {item.id} {item.text[:80]!r}: {item.detail}" for item in done.changed if not item.applied
            ]
            if number % 20 == 0:
                progress(f"{number} of {len(listed)} sessions closed")
        document = parse(storage.read_text(home.root / MEMORY))
        entries = list(document.entries())
        replaced = superseded_by(entries)
        yield ClosedHome(
            home=home,
            entries=tuple(memory_line(entry, stands=entry.id not in replaced) for entry in entries),
            log=tuple(_log_lines(home)),
            proposed=tuple(proposed),
            dropped=tuple(dropped),
        )


def read_messages(path: Path) -> list[Message]:
    """Return the messages of a transcript in the chat format, packed or not, in order."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    keys = ("session", "id", "ts", "role", "name", "content")
    return [Message(**{key: str(row.get(key) or "") for key in keys}) for row in rows]


def memory_line(entry: Entry, *, stands: bool) -> Told:
    """Return what *entry* tells. A resolved or retracted entry does not stand."""
    sources = tuple(part.strip() for part in entry.fields.get("Sources", "").split(",") if part.strip())
    state = entry.fields.get("State", "open")
    return Told(
        text=entry.text, sources=sources, prefix=entry.prefix, stands=stands and state in {"", "open"}, id=entry.id
    )


def _log_lines(home: Home) -> Iterator[Told]:
    for path in sorted((home.root / "DailyActivity").glob("*.md")):
        for line in all_log_lines(path.read_text("utf-8")):
            if line.sources:
                yield Told(text=line.text, sources=line.sources, stands=not (line.corrected or line.contradicted))


def _time(text: str) -> datetime:
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
