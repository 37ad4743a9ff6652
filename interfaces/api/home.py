"""Own one object for a home, with what an agent and its host need.

Every method does what the command of the same name does, and gives the result as frozen values. ``interfaces.answers``
turns them into JSON. Objects may be shared between threads. Two processes may use one home: writes take its lock.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_home.clock import now as present
from agent_home.home import Home, find_home
from agent_home.last_manifest import with_last_manifest

from ..indexing import home_embedder, index_changes

if TYPE_CHECKING:
    from agent_home.documents.entry import Entry
    from agent_home.imports import ImportReport
    from agent_home.store.lineage import Lineage
    from assembler.receipt import Receipt
    from distill.closing_result import Closed, ClosedAll
    from distill.entries.citation import Cited
    from distill.entries.notes import Finished, NoteOrigin, NoteType, Remembered
    from distill.review.queue import ReviewItem
    from recall.hot_state import HotState
    from recall.search.hybrid import Mode, SearchResult, Unit

    from .checkpoints import Checkpoints
    from .event_log import EventLog
    from .outputs import Outputs
    from .semantic_store import SemanticStore
    from .tool_memory import ToolMemory

__all__ = ["AgentHome", "create_home", "open_home"]

#: Hits among which those with a tag are looked for.
_MOST_HITS = 1000


def open_home(folder: str | os.PathLike[str] | None = None, *, warn: Callable[[str], None] | None = None) -> AgentHome:
    """Open the home in *folder*, else the one that ``$AGENT_HOME`` names, else the nearest above the working folder.

    *warn* gets one line for each problem that stops nothing, such as a broken ``agent.toml`` whose last good version
    is used. Without it, :attr:`AgentHome.warnings` collects them.

    Raises:
        NoHome: there is none.
        SettingsBroken: ``agent.toml`` is broken, and git has no good version.
    """
    found = find_home(os.fspath(folder) if folder is not None else None, os.environ, Path.cwd())
    return AgentHome(found, warn=warn)


def create_home(
    folder: str | os.PathLike[str], *, name: str = "", owner: Sequence[str] = (), accounts: Sequence[str] = ()
) -> AgentHome:
    """Create a home in *folder*, as ``memory init`` does, and open it. A home that is there is opened as it is.

    Args:
        folder: the folder, which is made.
        name: the agent's name.
        owner: names of the person that the agent works for.
        accounts: the person's account ids in chats.

    Raises:
        NotCreatable, GuardRefused, GitFailed: nothing usable was made.
    """
    from agent_home.creation import create
    from agent_home.settings import OwnerSettings

    known = OwnerSettings(names=tuple(owner), accounts=tuple(accounts))
    return AgentHome(create(Path(folder), name=name, owner=known, now=present()).home)


class AgentHome:
    """The memory of one agent. Make it with :func:`open_home` or :func:`create_home`."""

    def __init__(self, home: Home, *, warn: Callable[[str], None] | None = None) -> None:
        self.warnings: list[str] = []
        self._warn = warn or self.warnings.append
        self.home, problem = with_last_manifest(home)
        if problem:
            self._warn(problem)

    def __repr__(self) -> str:
        return f"AgentHome({str(self.home.root)!r})"

    # ------------------------------------------------------------------------------------------------- reading

    def prompt(
        self,
        message: str = "",
        *,
        window: int = 0,
        used: int = 0,
        audience: str = "owner",
        session: str = "",
        resume: str = "",
        now: datetime | None = None,
    ) -> Receipt:
        """Assemble the system prompt. Its text is :attr:`~assembler.receipt.Receipt.text`. Changes nothing.

        Args:
            message: the first message of the session, for which conversations, knowledge and memory are searched.
            window: the model's context window in tokens. 0 takes the setting.
            used: tokens of the window that the conversation uses already.
            audience: who will see the prompt: owner, trusted, group or job.
            session: the session that will use the prompt. It is not recalled.
            resume: the session that is continued. Its summary is part of the prompt.
            now: the time of the prompt.

        Raises:
            WindowTooSmall: the window has no room for the floors of the context files.
            NoSuchSession, EmptySession: *resume* names no session with turns.
        """
        from assembler.prompt import Request

        from ..prompting import prompt_for

        home = self._fresh()
        request = Request(
            message=message, window=window, used=used, audience=audience, session=session,
            continued=_continued(home, resume) if resume else None, now=now or present(),
        )  # fmt: skip
        return prompt_for(home, request)

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        layers: Sequence[str] | None = None,
        mode: Mode = "hybrid",
        audience: str = "owner",
        unit: Unit = "passage",
        tags: Sequence[str] = (),
        now: datetime | None = None,
    ) -> SearchResult:
        """Return the *k* passages that best answer *query*, best first. Changed files are indexed first.

        Args:
            query: a question or words. A blank one finds nothing.
            k: number of hits, from 1 to 1000.
            layers: memory, sessions, daily, knowledge, projects, archive, outputs. ``None`` means all.
            mode: by words (lexical), vectors (vector) or both (hybrid).
            audience: who will see the hits.
            unit: ``passage``, or ``session`` for whole conversations and files.
            tags: only entries that have all of these tags. Other layers have none.
            now: gives "yesterday" a meaning.

        Raises:
            ValueError: an unknown layer, mode or unit, or a *k* out of range.
        """
        from dataclasses import replace

        from recall.index.sync import ensure_fresh
        from recall.problems import told_once
        from recall.search.hybrid import SearchResult, search
        from recall.settings import RecallSettings

        if not 1 <= k <= _MOST_HITS:
            raise ValueError(f"k is {k}. Give a number from 1 to {_MOST_HITS}")
        if tags and layers and "memory" not in layers:
            return SearchResult(hits=())
        home = self._fresh()
        settings = home.manifest.settings("recall", RecallSettings)
        embedder = None if mode == "lexical" else home_embedder(home, self._warn, build_missing=False)
        fresh = ensure_fresh(home, settings, embedder)
        places = tuple(layers) if layers else None
        found = search(
            home, query, settings=settings, embedder=embedder, k=_MOST_HITS if tags else k,
            layers=("memory",) if tags else places, mode=mode, audience=audience, now=now or present(),
            duplicates="collapse", unit=unit,
        )  # fmt: skip
        hits = [hit for hit in found.hits if _has_tags(hit.text, tags)][:k] if tags else found.hits
        return replace(found, hits=tuple(hits), degraded=told_once((*fresh.degraded, *found.degraded)))

    def tagged(self, tags: Sequence[str], *, audience: str = "owner") -> list[Entry]:
        """Return the live entries of memory that have all of *tags*, newest first. Case does not matter."""
        from agent_home import storage
        from agent_home.documents.document import parse
        from agent_home.documents.entry import superseded_by
        from agent_home.home import MEMORY

        home = self._fresh()
        if not home.may_read(MEMORY, audience):
            return []
        entries = list(parse(storage.read_text(home.root / MEMORY)).entries())
        replaced = superseded_by(entries)
        live = [entry for entry in entries if not entry.retired and entry.id not in replaced]
        return sorted(
            (entry for entry in live if _covers(entry.tags, tags)), key=lambda entry: entry.date, reverse=True
        )

    def history(self, entry_id: str) -> Lineage:
        """Return where an entry comes from: commits, sessions and turns, and what became of it.

        Raises:
            NoSuchEntry: no entry, archived entry or proposal has that id.
        """
        from agent_home.store.lineage import lineage

        return lineage(self._fresh(), entry_id)

    def require_session(self, session: str) -> None:
        """Check that *session* has a transcript.

        Raises:
            NoSuchSession: there is none.
        """
        from agent_home.store import closings, transcript
        from distill.errors import NoSuchSession

        home = self._fresh()
        if transcript.session_path(home, session) is None:
            known = [item.session for item in transcript.sessions(home)]
            raise NoSuchSession(session, known, closings.absent_transcripts(home))

    def review(self, *, now: datetime | None = None) -> list[ReviewItem]:
        """Return the texts that wait for a person, oldest first. Only a person decides: `memory review`."""
        from distill.review.queue import waiting

        return list(waiting(self._fresh(), now or present()))

    # ------------------------------------------------------------------------------------------------- writing

    def append(
        self, session: str, messages: Sequence[Mapping[str, Any]], *, now: datetime | None = None
    ) -> ImportReport:
        """Append *messages* to the transcript of *session*, after the guard has screened them.

        Args:
            session: any name that is not blank.
            messages: mappings with ``role`` (user, assistant, tool, system) and ``content``, and optionally ``id``,
                ``ts`` (ISO 8601), ``name``, ``account``, ``channel`` and ``cwd``. A message with the id and words of
                a stored one adds nothing, so a host that gives ids may send a message again. One without an id is new.
            now: the time of messages without ``ts``.

        Raises:
            ValueError: a message has an unknown role or no content. Nothing was written.
            Locked, GuardRefused, DocumentInvalid: nothing was written.
        """
        from agent_home.imports import import_messages
        from agent_home.imports.chat import require_usable

        require_usable(messages)
        moment = now or present()
        rows = [{"id": f"m-{uuid.uuid4().hex[:12]}", "ts": moment.isoformat(), **message} for message in messages]
        return import_messages(self._fresh(), session, rows, now=moment)

    def close(self, session: str, *, now: datetime | None = None) -> Closed:
        """Turn the new turns of *session* into a section of the daily log and entries of memory, in one commit.

        Raises:
            NoSuchSession, EmptySession: there is no such session, or nothing in it.
            Locked, GuardRefused, Contended: nothing was written.
        """
        from distill.close import close

        home = self._fresh()
        closed = close(home, session, now=now or present(), models=self._models(home))
        if closed.commit:
            self._index(home)
        return closed

    def close_all(
        self, *, now: datetime | None = None, progress: Callable[[str, int, int], None] | None = None
    ) -> ClosedAll:
        """Close every session with new turns, oldest first. One that fails is named and stops no other."""
        from distill.close import close_all

        home = self._fresh()
        done = close_all(home, now=now or present(), models=self._models(home), progress=progress)
        if any(closed.commit for closed in done.closed):
            self._index(home)
        return done

    def remember(
        self,
        text: str,
        *,
        kind: NoteType | None = None,
        about: str = "",
        until: str = "",
        replaces: str = "",
        tags: Sequence[str] = (),
        origin: NoteOrigin = "agent",
        speaker: str = "",
        session: str = "",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Remembered:
        """Write *text* as an entry of memory, in one commit. What memory says already adds nothing.

        Args:
            text: the statement.
            kind: preference, decision, lesson, correction, thread or fact. ``None`` leaves it to the words.
            about: the person or thing that it is about.
            until: the last day on which it holds, ISO 8601.
            replaces: the id of the entry that it supersedes.
            tags: words by which it is found.
            origin: who says it. What the agent notes supersedes nothing of the user. A participant's note names
                *speaker*, and waits for a person unless it is a fact or a thread on which not only the owner decides.
            speaker: the name of a participant.
            session: the session in which it was said.
            dry_run: write nothing, and return what would be written.
            now: the time of the note.

        Raises:
            ValueError: *text* is blank.
            NotLive: *replaces* names no live entry.
            Locked, GuardRefused: nothing was written.
        """
        if not text.strip():
            raise ValueError("the text is blank. Write what to remember")
        home, moment = self._fresh(), now or present()
        if origin == "participant":
            from distill.participant_notes import remember_of_participant

            done = remember_of_participant(
                home, text, speaker=speaker, now=moment, kind=kind, about=about, until=until, replaces=replaces,
                tags=tags, session=session, dry_run=dry_run,
            )  # fmt: skip
        else:
            from distill.entries.notes import remember

            done = remember(
                home, text, now=moment, kind=kind, about=about, until=until, replaces=replaces, tags=tags,
                origin=origin, session=session, dry_run=dry_run,
            )  # fmt: skip
        if done.commit:
            self._index(home)
        return done

    def cite(self, ids: str | Sequence[str], *, session: str = "", now: datetime | None = None) -> Cited:
        """Record that entries were useful, which keeps them in memory. An archived one is restored.

        Raises:
            NoSuchEntry: one of *ids* is unknown. None was recorded.
        """
        from distill.entries.citation import cite

        home = self._fresh()
        done = cite(home, (ids,) if isinstance(ids, str) else tuple(ids), now=now or present(), session=session)
        if done.restored:
            self._index(home)
        return done

    def resolve(
        self,
        entry_id: str,
        *,
        how: str = "",
        origin: NoteOrigin = "agent",
        speaker: str = "",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Finished:
        """End an entry: an open thread that is done, or another entry that holds no longer.

        The agent ends open threads and its own entries, and the participant *speaker* entries that name them.

        Raises:
            NoSuchEntry, NotLive: no live entry has that id, or *origin* may not end it.
        """
        home, moment = self._fresh(), now or present()
        if origin == "participant":
            from distill.participant_notes import finish_of_participant

            done = finish_of_participant(home, entry_id, speaker=speaker, now=moment, how=how, dry_run=dry_run)
        else:
            from distill.entries.notes import finish

            done = finish(home, entry_id, now=moment, how=how, origin=origin, dry_run=dry_run)
        if done.commit:
            self._index(home)
        return done

    # ------------------------------------------------------------------------------------------------- working memory

    @property
    def outputs(self) -> Outputs:
        """Give the outputs of tools, by reference."""
        from .outputs import Outputs

        return Outputs(self._fresh)

    @property
    def checkpoints(self) -> Checkpoints:
        """Give the checkpoints, which say where the work stands."""
        from .checkpoints import Checkpoints

        return Checkpoints(self._fresh)

    @property
    def hot_state(self) -> HotState:
        """Give the working context of sessions, which ends by itself."""
        from recall.hot_state import hot_state

        return hot_state(self.home)

    @property
    def semantic_store(self) -> SemanticStore:
        """Give what was said, found by its meaning and its words."""
        from .semantic_store import SemanticStore

        return SemanticStore(self.append, self.search)

    @property
    def event_log(self) -> EventLog:
        """Give what happened, in order."""
        from .event_log import EventLog

        return EventLog(self._fresh)

    @property
    def tool_memory(self) -> ToolMemory:
        """Give what tools returned, by session."""
        from .tool_memory import ToolMemory

        return ToolMemory(self._fresh)

    def retrieve_for_inference(self, session_id: str, query: str, memory_depth: int = 3) -> dict[str, Any]:
        """Return what a model needs for its next step.

        Args:
            session_id: the session that goes on.
            query: what it is about.
            memory_depth: half the number of passages that are looked up.

        Returns:
            ``hot_state``: the working context of the session by name; ``semantic_context``: the passages of all memory
            that best fit, best first, each with ``message``, ``score``, ``timestamp``, ``source`` and ``layer``;
            ``retrieval_strategy``: ``l1-l2-hybrid``, or ``l1-l2-lexical`` while vectors are missing; ``degraded``: why,
            and what the working context does without.

        Raises:
            ValueError: *memory_depth* is below 1.
        """
        from .semantic_store import as_message

        if memory_depth < 1:
            raise ValueError(f"memory_depth is {memory_depth}. Give a number from 1 on")
        found = self.semantic_store.retrieve_memory(query, memory_depth * 2)
        said: list[str] = []
        kept = self.hot_state.items(session_id, said.append)
        return {
            "hot_state": {item.name: item.value for item in kept if item.kind == "context"},
            "semantic_context": [as_message(hit) for hit in found.hits],
            "retrieval_strategy": "l1-l2-lexical" if found.degraded else "l1-l2-hybrid",
            "degraded": [*found.degraded, *said],
        }

    def commit_execution(
        self, session_id: str, event_type: str, details: Mapping[str, Any], *, now: datetime | None = None
    ) -> str:
        """Keep a step of an agent: its prompt in the transcript, results of tools as outputs, and an event for it.

        Args:
            session_id: the session.
            event_type: see :meth:`EventLog.log_execution`.
            details: ``prompt``, and optionally ``role`` and ``timestamp`` of it, and ``tool_results``: a mapping with
                ``tool_name``, or several. The event keeps references to these, and everything else itself.
            now: when it happened.

        Returns:
            The id of the event, whose details name the outputs.

        Raises:
            TypeError, EventRefused: *details* or *event_type* are not as described. Nothing was written.
            ToolResultRefused, Locked, GuardRefused: a part cannot be kept. The parts before it are.
        """
        from .execution import commit_execution

        return commit_execution(
            self.semantic_store, self.tool_memory, self.event_log, session_id, event_type, details, now=now
        )

    # ------------------------------------------------------------------------------------------------- private

    def _fresh(self) -> Home:
        """Return the home as ``agent.toml`` is now, which a person or a pull may have changed."""
        home, problem = with_last_manifest(Home(self.home.root))
        if problem:
            self._warn(problem)
        return home

    def _models(self, home: Home) -> Any:
        from ..models import home_models

        return home_models(home, os.environ, self._warn)

    def _index(self, home: Home) -> None:
        for problem in index_changes(home, self._warn):
            self._warn(problem)


def _has_tags(text: str, tags: Sequence[str]) -> bool:
    from agent_home.documents.entry import parse_entry

    entry = parse_entry(text + "\n")
    return entry is not None and _covers(entry.tags, tags)


def _covers(own: Sequence[str], tags: Sequence[str]) -> bool:
    return {tag.strip().casefold() for tag in tags} <= {tag.casefold() for tag in own}


def _continued(home: Home, session: str) -> Any:
    from ..continued_session import continued_session

    return continued_session(home, session)
