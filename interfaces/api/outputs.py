"""Own the outputs of tools in the Python API: stored by reference, listed, fetched."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from agent_home.events.recording import record_event
from agent_home.outputs.reading import (
    NoSuchOutput,
    OutputFilter,
    find_output,
    output_chunk,
    output_content,
    outputs,
)
from agent_home.outputs.store import OutputLabels, store_output
from recall.servers import redis_url

if TYPE_CHECKING:
    from agent_home.home import Home
    from agent_home.outputs.entry import StoredOutput
    from recall.hot_state.output_pointers import OutputPointer

__all__ = ["OutputElsewhere", "Outputs"]


class OutputElsewhere(NoSuchOutput):
    """Another machine that serves the home has the output. *pointer* says what it holds."""

    def __init__(self, pointer: OutputPointer) -> None:
        super().__init__(pointer.id)
        headline = pointer.summary.partition("\n")[0]
        self.args = (f"{pointer.id} lies on another machine that serves this home: {headline}. Fetch it there",)
        self.pointer = pointer


class Outputs:
    """The outputs of a home. Every call reads the home as it is then."""

    def __init__(self, home: Callable[[], Home]) -> None:
        self._home = home

    def store(
        self,
        content: str | bytes | Iterable[bytes],
        *,
        progress: Callable[[int], None] = lambda _bytes: None,
        now: datetime | None = None,
        **labels: Unpack[OutputLabels],
    ) -> StoredOutput:
        """Store what a tool printed, without secrets and personal data, and return its record with a summary.

        Args:
            content: the text, or its bytes. An iterable is read once and never held as a whole.
            progress: gets the number of bytes so far.
            now: the time at which it is stored.
            labels: what is known of it (:class:`agent_home.outputs.store.OutputLabels`).

        Raises:
            GuardRefused: the guard refuses a label, or cannot run. Nothing was stored.
        """
        if not isinstance(content, str | bytes | Iterable):
            raise TypeError(f"content is {builtins.type(content).__name__}. Give a text, bytes or an iterable of bytes")
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        home = self._home()
        stored = store_output(home, (data,) if isinstance(data, bytes) else data, now=now, progress=progress, **labels)
        record_event(
            home, "output", session=stored.session, now=now, output=stored.id, tokens=stored.tokens,
            exit_code=stored.exit_code, redacted=stored.redacted,
        )  # fmt: skip
        _point_to(home, stored)
        return stored

    def list(self, *, limit: int = 20, wanted: OutputFilter | None = None, **choice: str) -> list[StoredOutput]:
        """Return the records of the newest outputs, newest first.

        Args:
            limit: most outputs.
            wanted: which ones. Without it, *choice* says so.
            choice: ``type``, ``tag``, ``tool``, ``session``, ``directory`` or ``checkpoint`` that they have.
        """
        return list(outputs(self._home(), wanted or OutputFilter(**choice), limit=limit))

    def get(self, name: str) -> StoredOutput:
        """Return the record of the output *name*, which may be the beginning or the last digits of one id.

        Raises:
            NoSuchOutput: there is none, or there are several. :class:`OutputElsewhere` if another machine has it.
            OutputDamaged: its record is damaged.
        """
        home = self._home()
        try:
            return find_output(home, name)
        except NoSuchOutput as error:
            pointer = _pointer(home, name)
            if pointer is None:
                raise
            raise OutputElsewhere(pointer) from error

    def fetch(self, name: str, *, chunk: int | None = None) -> Iterator[bytes]:
        """Return the content of the output *name* part by part, or one *chunk* of it. The first is 0.

        Raises:
            NoSuchOutput, OutputDamaged: see :meth:`get`. A damaged part is found when it is read.
            ValueError: there is no such chunk.
        """
        home = self._home()
        found = find_output(home, name)
        parts = output_content(home, found) if chunk is None else iter([output_chunk(home, found, chunk)])
        record_event(home, "fetch", session=found.session, output=found.id, chunk=chunk)
        _point_to(home, found)
        return parts


def _point_to(home: Home, output: StoredOutput) -> None:
    """Let other machines that serve the home know of *output*."""
    if redis_url():
        from recall.hot_state.output_pointers import point_to

        point_to(home, output)


def _pointer(home: Home, name: str) -> OutputPointer | None:
    """Return what another machine says of its output *name*."""
    if not redis_url():
        return None
    from recall.hot_state.output_pointers import output_pointer

    return output_pointer(home, name)
