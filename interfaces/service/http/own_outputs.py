"""Own which outputs a caller may know of. The owner sees all, and any other caller those of its own sessions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from agent_home.outputs.entry import OUTPUT_ID, StoredOutput
from agent_home.outputs.reading import NoSuchOutput, OutputFilter, find_output, outputs

from .callers import Caller
from .problem import HttpProblem

__all__ = ["author_of_output", "own_output", "own_outputs", "require_output_room", "session_of_output"]

#: Outputs of a token other than the owner's, among so many newest ones, from which on it stores no more.
_MOST_OF_OTHERS, _LOOKED_AT = 200, 1000


def own_outputs(caller: Caller, wanted: OutputFilter) -> Iterator[StoredOutput]:
    """Yield the outputs that *caller* may know of, newest first."""
    return (output for output in outputs(caller.home, wanted) if output.session.startswith(caller.lead))


def own_output(caller: Caller, name: str) -> StoredOutput:
    """Return an output that *caller* may know of. For others than the owner, an error names no other id.

    Raises:
        NoSuchOutput: there is none, or for the owner there are several whose ids begin so.
        OutputDamaged: its record is damaged.
        HttpProblem: with status 404, none of this caller has exactly that id.
    """
    if not caller.lead:
        return find_output(caller.home, name)
    output = None
    if OUTPUT_ID.fullmatch(name):
        try:
            output = find_output(caller.home, name)
        except NoSuchOutput:
            output = None
    if output is None or not output.session.startswith(caller.lead):
        raise HttpProblem(404, "no such output of this token")
    return output


def author_of_output(caller: Caller) -> str:
    """Return the participant who stores an output, or an empty text for the owner."""
    return caller.name if caller.lead else ""


def session_of_output(caller: Caller, session: str) -> str:
    """Return the stored name of the session in which *caller* stores an output."""
    return caller.session(session or "outputs") if caller.lead else session


def require_output_room(caller: Caller) -> None:
    """Refuse a caller other than the owner that has stored many outputs lately.

    Raises:
        HttpProblem: with status 429.
    """
    newest = islice(outputs(caller.home), _LOOKED_AT) if caller.lead else iter(())
    if sum(output.session.startswith(caller.lead) for output in newest) >= _MOST_OF_OTHERS:
        raise HttpProblem(429, f"{_MOST_OF_OTHERS} outputs of this token are stored already. `memory prune` drops some")
