"""What can go wrong in closing. Every error says what was found, what was wanted and what to do next.

``DistillError``
├── ``NoSuchSession``    no transcript of that name
├── ``EmptySession``     a transcript without messages
└── ``Contended``        the session kept being closed or appended to by others meanwhile
"""

from __future__ import annotations

__all__ = ["Contended", "DistillError", "EmptySession", "NoSuchSession"]


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


class Contended(DistillError):
    """Others closed the session each time while its summary was made. Nothing was written."""

    def __init__(self, session: str) -> None:
        super().__init__(f"session {session!r} was being closed by another process; nothing was written, run it again")
        self.session = session
