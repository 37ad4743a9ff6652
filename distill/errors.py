"""What can go wrong in closing. Every error says what was found, what was wanted and what to do next.

``DistillError``
├── ``NoSuchSession``    no transcript of that name
├── ``EmptySession``     a transcript without messages
├── ``NoSuchProposal``   nothing of that id waits for a person
├── ``NotAllowed``       whoever asks may not decide
├── ``NotPlaceable``     a text cannot go where it was meant to stand
├── ``NotRevertable``    what was done to an entry cannot be undone
├── ``EndpointFailed``   the configured language model did not answer
└── ``Contended``        the session kept being closed or appended to by others meanwhile
"""

from __future__ import annotations

__all__ = [
    "Contended",
    "DistillError",
    "EmptySession",
    "EndpointFailed",
    "NoSuchProposal",
    "NoSuchSession",
    "NotAllowed",
    "NotPlaceable",
    "NotRevertable",
]


class DistillError(Exception):
    """Root of this package's errors."""


class NoSuchSession(DistillError):
    """There is no transcript of that session."""

    def __init__(self, session: str, known: int) -> None:
        super().__init__(
            f"no session {session!r} among the {known} in sessions/; bring it in with `memory import`, or close what "
            "is there with `memory close --all`"
        )
        self.session = session


class EmptySession(DistillError):
    """The transcript holds no message."""

    def __init__(self, session: str, path: str) -> None:
        super().__init__(f"{path} holds no message of session {session!r}; import the conversation again")
        self.session, self.path = session, path


class NoSuchProposal(DistillError):
    """Nothing of that id waits for a person."""

    def __init__(self, waiting_id: str, waiting: int) -> None:
        super().__init__(f"nothing waits as {waiting_id!r}; `memory review list` names the {waiting} that do")
        self.waiting_id = waiting_id


class NotAllowed(DistillError):
    """Whoever asks may not decide. Nothing was written."""

    def __init__(self, person: str, problem: str) -> None:
        super().__init__(f"{person!r} cannot decide this: {problem}; a person does, at a terminal or named with --as")
        self.person = person


class NotPlaceable(DistillError):
    """A text cannot go where it was meant to stand. Nothing was written."""

    def __init__(self, waiting_id: str, problem: str) -> None:
        super().__init__(
            f"{waiting_id} cannot be placed: {problem}; see `memory review show {waiting_id}`, and reject it or write "
            "by hand what you want to keep"
        )
        self.waiting_id = waiting_id


class NotRevertable(DistillError):
    """What the last commit did to an entry cannot be undone. Nothing was written."""

    def __init__(self, entry_id: str, problem: str) -> None:
        super().__init__(f"{entry_id} cannot be reverted: {problem}; `memory history {entry_id}` tells its commits")
        self.entry_id = entry_id


class EndpointFailed(DistillError):
    """The configured language model gave no usable completion. A closing goes on without it."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(
            f"{url}: {problem}. The summary keeps the conversation's own words. See [distill.endpoint] in agent.toml"
        )
        self.url, self.problem = url, problem


class Contended(DistillError):
    """Others closed the session each time while its summary was made. Nothing was written."""

    def __init__(self, session: str) -> None:
        super().__init__(f"session {session!r} was being closed by another process; nothing was written, run it again")
        self.session = session
