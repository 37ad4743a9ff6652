"""Errors of this package. Each message says what is wrong, where, and what to do next.

``DistillError``
├── ``NoSuchSession``    no transcript has that name
├── ``EmptySession``     the transcript has no messages
├── ``NoSuchProposal``   no item with that id waits for review
├── ``NotAllowed``       the caller may not decide on proposals
├── ``NotLive``          an entry is not in MEMORY.md, or was replaced
├── ``NotShown``         a proposal of another machine was not read here
├── ``NotPlaceable``     a text cannot be placed in its target file
├── ``NotRevertable``    the last change of an entry cannot be undone
│   └── ``StillSuperseded``  another entry still supersedes it
├── ``NotUndoable``      a decision cannot be undone
├── ``EndpointFailed``   the configured language model gave no usable completion
└── ``Contended``        other processes kept closing or appending to the session
"""

from __future__ import annotations

from collections.abc import Collection

from agent_home.suggestions import did_you_mean, near_names

__all__ = [
    "Contended",
    "DistillError",
    "EmptySession",
    "EndpointFailed",
    "NoSuchProposal",
    "NoSuchSession",
    "NotAllowed",
    "NotLive",
    "NotPlaceable",
    "NotRevertable",
    "NotShown",
    "NotUndoable",
    "StillSuperseded",
]


class DistillError(Exception):
    """Root of this package's errors."""


class NoSuchSession(DistillError):
    """No transcript has that session's name. *absent* says why there are none at all."""

    def __init__(self, session: str, known: Collection[str], absent: str = "") -> None:
        advice = absent or did_you_mean(near_names(session, known)) or "Run `memory search` or list sessions/"
        super().__init__(f"no session {session!r} among the {len(known)} in sessions/. {advice}")
        self.session = session


class EmptySession(DistillError):
    """The transcript has no messages."""

    def __init__(self, session: str, path: str) -> None:
        super().__init__(f"{path} has no message of session {session!r}. Import the conversation again")
        self.session, self.path = session, path


class NoSuchProposal(DistillError):
    """No item with that id waits for review."""

    def __init__(self, waiting_id: str, waiting: Collection[str]) -> None:
        hint = did_you_mean(near_names(waiting_id, waiting))
        others = f"`memory review list` names the {len(waiting)} that do" if waiting else "Nothing else does"
        advice = hint or others
        super().__init__(f"no item {waiting_id!r} waits for review. {advice}")
        self.waiting_id = waiting_id


class NotAllowed(DistillError):
    """The caller may not decide on proposals. Nothing was written."""

    def __init__(self, person: str, problem: str) -> None:
        super().__init__(
            f"{person!r} cannot decide this: {problem}. A person decides, at a terminal or named with --as"
        )
        self.person = person


class NotLive(DistillError):
    """An entry is not in ``MEMORY.md``, or another one replaced it. Nothing was written."""

    def __init__(self, entry_id: str, problem: str) -> None:
        super().__init__(f"{entry_id} is not open: {problem}. `memory history {entry_id}` shows what became of it")
        self.entry_id = entry_id


class NotUndoable(DistillError):
    """A decision cannot be undone. Nothing was written. *item_id* is empty where no decision is left."""

    def __init__(self, item_id: str, problem: str) -> None:
        super().__init__(f"the decision about {item_id} cannot be undone: {problem}" if item_id else problem)
        self.item_id = item_id


class NotShown(DistillError):
    """Another machine made the proposal, and nobody on this one was shown it. Nothing was written."""

    def __init__(self, waiting_id: str) -> None:
        super().__init__(
            f"{waiting_id} was not made on this machine, and nobody here has read it. Run `memory review show "
            f"{waiting_id}`, and then accept or reject it"
        )
        self.waiting_id = waiting_id


class NotPlaceable(DistillError):
    """A text cannot be placed in its target file. Nothing was written."""

    def __init__(self, waiting_id: str, problem: str) -> None:
        super().__init__(
            f"{waiting_id} cannot be placed: {problem}. See `memory review show {waiting_id}`. Reject it, or write the "
            "text that you want to keep by hand"
        )
        self.waiting_id = waiting_id


class NotRevertable(DistillError):
    """The last change of an entry cannot be undone. Nothing was written."""

    def __init__(self, entry_id: str, problem: str) -> None:
        super().__init__(f"{entry_id} cannot be reverted: {problem}. `memory history {entry_id}` lists its commits")
        self.entry_id = entry_id


class StillSuperseded(NotRevertable):
    """The entry would stay superseded after the revert. Nothing was written."""

    def __init__(self, entry_id: str, successor: str) -> None:
        DistillError.__init__(
            self,
            f"{entry_id} cannot be valid again: {successor} supersedes it as well. Revert that entry instead: "
            f"`memory revert {successor} --apply`",
        )
        self.entry_id, self.successor = entry_id, successor


class EndpointFailed(DistillError):
    """The configured language model gave no usable completion. A closing goes on without it."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(
            f"{url}: {problem}. The session is read by rules instead. See [distill.endpoint] in agent.toml"
        )
        self.url, self.problem = url, problem


class Contended(DistillError):
    """Other processes closed the session during every attempt to summarise it. Nothing was written."""

    def __init__(self, session: str) -> None:
        super().__init__(
            f"session {session!r} was being closed by another process. Nothing was written, run the command again"
        )
        self.session = session
