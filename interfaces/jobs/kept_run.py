"""Keep what a run left: its output, the statements that it marks as memory, and the closing of its session.

Each part is kept by itself, so that one that fails loses none of the others.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from agent_home.errors import HomeError, Locked
from agent_home.home import Home
from agent_home.outputs.entry import StoredOutput
from agent_home.outputs.store import refused_label
from distill.errors import Contended, DistillError
from distill.reading.memory_marks import FoundMarks, find_marks
from guard.policy import GuardError
from recall.errors import RecallError

from ..answers import ingested_answer
from ..api import AgentHome
from ..memory_markers import IngestedMarkers, ingest_found

__all__ = ["EndedRun", "KeptRun", "command_label", "keep_run"]

#: Characters of a command line that its record has, and of one argument in it.
_LONGEST_COMMAND, _LONGEST_ARGUMENT = 2_000, 1_000
_PART = 1 << 16
#: Bytes of a line that are read. No statement is that long.
_LONGEST_LINE = 1 << 16
_EXPECTED = (HomeError, DistillError, GuardError, RecallError, OSError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run whose command has ended.

    *home_option* is the home as the person named it. *mark* is the word of its own marks, and with *own_mark* only
    those count. *errors* are the places of standard error in what the command printed.
    """

    command: Sequence[str]
    exit_code: int
    session: str
    tags: Sequence[str] = ()
    home_option: str = ""
    mark: str = ""
    own_mark: bool = False
    errors: Sequence[tuple[int, int]] = ()

    def later(self, output: str) -> str:
        """Return the command line that takes the marks out of the stored *output*."""
        home = f" --home {shlex.quote(self.home_option)}" if self.home_option else ""
        mark = f" --mark {self.mark}" if self.mark else ""
        own = " --own-mark" if self.own_mark else ""
        ingest = f"memory ingest-output - --session {shlex.quote(self.session)}{mark}{own}{home}"
        return f"memory fetch {output}{home} | {ingest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRun:
    """A run with the id of its stored *output*, or nothing, and its *marks*. *problems* say what is not kept."""

    run: EndedRun
    output: str
    marks: IngestedMarkers
    problems: tuple[str, ...]

    @property
    def told(self) -> str:
        """The same on one line."""
        output = f"output {self.output}" if self.output else "no output"
        return f"session {self.run.session}, {output}, {self.marks.told}"

    @property
    def answer(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "session": self.run.session, "output": self.output or None, "exit_code": self.run.exit_code,
            **ingested_answer(self.marks), "problems": list(self.problems),
        }  # fmt: skip


def keep_run(agent: AgentHome, content: BinaryIO, run: EndedRun, *, now: datetime) -> KeptRun:
    """Keep *content*, which the command of *run* printed, and what it marks, and close the session."""
    keeping = _Keeping(agent, run, now)
    stored = keeping.output(content)
    keeping.turn(stored)
    marks = keeping.marks(content, stored)
    keeping.closing()
    return KeptRun(
        run=run, output=stored.id if stored else "", marks=marks, problems=tuple(keeping.problems)
    )  # fmt: skip


def command_label(home: Home, command: Sequence[str]) -> str:
    """Return the command line for the record of its output. Long arguments and those that the guard refuses are out."""
    shown: list[str] = []
    for argument in command:
        word = shlex.quote(argument) if len(argument) <= _LONGEST_ARGUMENT else f"({len(argument)} characters)"
        if sum(map(len, shown)) + len(shown) + len(word) > _LONGEST_COMMAND:
            shown.append(f"({len(command) - len(shown)} more arguments)")
            break
        shown.append(word)
    line = " ".join(shown)
    rule = refused_label(home, line)
    if not rule:
        return line
    name = _tool(home, command)
    return f"{name or 'a command'} (arguments held back by the guard: {rule})"


def _tool(home: Home, command: Sequence[str]) -> str:
    name = Path(command[0]).name[:_LONGEST_ARGUMENT]
    return "" if refused_label(home, name) else name


def _lines_of(content: BinaryIO, errors: Sequence[tuple[int, int]], *, of_errors: bool) -> Iterator[str]:
    """Yield the beginnings of the lines of *content* that lie in one of the places *errors*, or in none of them."""
    content.seek(0)
    source = io.BufferedReader(cast("io.RawIOBase", content))
    place, offset, fresh = 0, 0, True
    try:
        while line := source.readline(_LONGEST_LINE):
            while place < len(errors) and errors[place][1] <= offset:
                place += 1
            inside = place < len(errors) and errors[place][0] <= offset
            if fresh and inside == of_errors:
                yield line.decode("utf-8", "replace")
            fresh = line.endswith(b"\n")
            offset += len(line)
    finally:
        source.detach()  # the file is the caller's


class _Keeping:
    """The parts of a run that are kept one by one. *problems* names those that are not, and says why."""

    def __init__(self, agent: AgentHome, run: EndedRun, now: datetime) -> None:
        self.problems: list[str] = []
        self._agent, self._run, self._now = agent, run, now
        self._locked = False

    def output(self, content: BinaryIO) -> StoredOutput | None:
        """Store what was printed."""
        stored = None
        with self._part("the output is not stored"):
            content.seek(0)
            stored = self._agent.outputs.store(
                iter(lambda: content.read(_PART), b""), tool=_tool(self._agent.home, self._run.command),
                command=command_label(self._agent.home, self._run.command), exit_code=self._run.exit_code,
                session=self._run.session, tags=self._run.tags, now=self._now,
            )  # fmt: skip
        return stored  # noqa: RET504 - an error of the block is noted, and it goes on here

    def turn(self, stored: StoredOutput | None) -> None:
        """Append a line about the run to its session."""
        said = f" {stored.headline}. Output: {stored.id}" if stored else ""
        told = f"Ran {Path(self._run.command[0]).name}, exit code {self._run.exit_code}.{said}"
        with self._part("the run is not in its session"):
            self._agent.append(self._run.session, [{"role": "tool", "content": told}], now=self._now)

    def marks(self, content: BinaryIO, stored: StoredOutput | None) -> IngestedMarkers:
        """Write the marked statements. What fails can be done later, if the output is stored."""
        later = f"Take them later: `{self._run.later(stored.id)}`" if stored else "They are lost"
        done, failed = IngestedMarkers(), "the marked statements are not taken"
        with self._part(failed, later):
            found = self._found(content)
            done = IngestedMarkers(empty=found.nothing)
            if self._locked and found.statements:
                self.problems.append(f"{failed}: the home is locked. {later}")
            elif found.statements:
                done = ingest_found(self._agent, found, session=self._run.session, now=self._now)
        return done

    def closing(self) -> None:
        """Close the session, unless the lock of the home is not to be had."""
        if not self._locked:
            with self._part("the session is not closed"):
                self._agent.close(self._run.session, now=self._now)

    def _found(self, content: BinaryIO) -> FoundMarks:
        """Return what is marked. A line of one stream between two of the other is in no block of that."""
        statements: dict[str, None] = {}
        nothing = 0
        for of_errors in (False, True) if self._run.errors else (False,):
            lines = _lines_of(content, self._run.errors, of_errors=of_errors)
            found = find_marks(lines, word=self._run.mark, own_only=self._run.own_mark)
            statements |= dict.fromkeys(found.statements)
            nothing += found.nothing
        return FoundMarks(statements=tuple(statements), nothing=nothing)

    @contextmanager
    def _part(self, failed: str, advice: str = "") -> Iterator[None]:
        """Note in one line that a part *failed*, and why."""
        try:
            yield
        except _EXPECTED as error:
            self._locked = self._locked or isinstance(error, Locked | Contended)
            why = " ".join(str(error).split()).rstrip(".")
            self.problems.append(f"{failed}: {why}. {advice}".rstrip())
