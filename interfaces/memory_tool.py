"""Own Anthropic's memory tool (``memory_20250818``) over a home, for the SDK's tool runner.

The results are those of the SDK's own tool over a folder. Every write goes through the gateway as the agent's. Edits of
MEMORY.md become entries (``interfaces.memory_edit``), and ``interfaces.memory_folder`` says which path is which file::

    client.beta.messages.run_tools(..., tools=[HomeMemoryTool("~/agent")])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_home.documents.document import parse
from agent_home.home import Home
from agent_home.screening.service import ScreeningService
from agent_home.screening.write_policy import reason_of
from agent_home.store.gateway import Transaction, transaction

from .api import AgentHome, open_home
from .cli.exit_codes import exit_code
from .indexing import index_changes
from .memory_edit import EditRefused, MemoryEdit, inserted, replaced
from .memory_folder import ROOT, MemoryFolder, MemoryPlace, PathRefused

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
except ModuleNotFoundError as error:
    raise ImportError(f"the memory tool needs {error.name}. Install it: pip install 'agent-home[anthropic]'") from error

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

__all__ = ["HomeMemoryTool"]

#: Name of the writer in commits. No person has it.
_ACTOR = "agent"
_LEVELS = 2
_MOST_LINES = 999_999
_NUMBER_WIDTH = 6
_CONTEXT_LINES = 2


class HomeMemoryTool(BetaAbstractMemoryTool):
    """The memory tool over the home in *folder* (see :func:`interfaces.api.open_home`).

    *audience* is who the agent talks to. Files that it may not read are not there. *clock* gives the time of writes.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        audience: str = "owner",
        cache_control: BetaCacheControlEphemeralParam | None = None,
        clock: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._agent = open_home(Path(folder).expanduser() if folder is not None else None)
        self._audience, self._clock = audience, clock

    # ------------------------------------------------------------------------------------------------- reading

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a folder's listing, two levels deep, or a file with line numbers."""
        with _as_tool_errors():
            folder = self._folder()
            place = folder.place(command.path)
            if folder.is_file(place):
                return _numbered(command.path, folder.shown_text(place), command.view_range)
            if place.shown and not folder.below(place):
                raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
            lines = [(folder.size(place), command.path)]
            lines += [(item.size, f"{command.path}/{item.path}") for item in folder.listing(place, _LEVELS)]
            header = f"Here're the files and directories up to 2 levels deep in {command.path}, excluding hidden items:"
            return "\n".join([header, *(f"{_size(size)}\t{path}" for size, path in lines)])

    # ------------------------------------------------------------------------------------------------- writing

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        with _as_tool_errors():
            folder = self._folder()
            place = folder.place(command.path)
            if not place.shown or folder.below(place) or os.path.lexists(folder.home.root / place.stored):
                raise ToolError(f"File {command.path} already exists")
            _require_writable(command.path, place, new=True)
            folder.require_room(command.path, place)
            text = command.file_text or "\n"
            note = self._write(folder.home, "Create", {place.stored: ("", text)})
        return f"File created successfully at: {command.path}{note}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands in a file once."""
        with _as_tool_errors():
            folder, place = self._existing_file(command.path)
            before = folder.text(place)
            _require_once(command.path, before, command.old_str)
            _require_writable(command.path, place)
            after = before.replace(command.old_str, command.new_str)
            changed = before[: before.find(command.old_str)].count("\n")
            if place.writing == "entries":
                stored, changed = self._edit_memory(folder, place, replaced(before, after), changed)
                note = ""
            else:
                note = self._write(folder.home, "Edit", {place.stored: (before, after or "\n")})
                stored = folder.shown_text(place)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            f"{_snippet(stored, changed)}{note}"
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text behind a line of a file."""
        with _as_tool_errors():
            folder, place = self._existing_file(command.path)
            before = folder.text(place)
            lines = before.split("\n")
            lines = lines[:-1] if lines[-1] == "" else lines
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            _require_writable(command.path, place)
            if place.writing == "entries":
                self._edit_memory(folder, place, inserted(before, command.insert_line, command.insert_text), 0)
                return f"The file {command.path} has been edited."
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            note = self._write(folder.home, "Edit", {place.stored: (before, "\n".join(lines) + "\n")})
        return f"The file {command.path} has been edited.{note}"

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with all of its files. Git keeps them."""
        with _as_tool_errors():
            folder = self._folder()
            place = folder.place(command.path)
            if not place.shown:
                raise ToolError("Cannot delete the /memories directory itself")
            found = self._files(folder, place)
            if not found:
                raise ToolError(f"The path {command.path} does not exist")
            self._require_free(folder, command.path, place, found)
            self._write(folder.home, "Delete", {stored: (folder_text(folder, stored), "") for stored in found.values()})
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a folder with all of its files."""
        with _as_tool_errors():
            folder = self._folder()
            old, new = folder.place(command.old_path), folder.place(command.new_path)
            if not old.shown:
                raise ToolError("Cannot rename the /memories directory itself")
            if not new.shown or folder.below(new) or os.path.lexists(folder.home.root / new.stored):
                raise ToolError(f"The destination {command.new_path} already exists")
            found = self._files(folder, old)
            if not found:
                raise ToolError(f"The path {command.old_path} does not exist")
            self._require_free(folder, command.old_path, old, found)
            if f"{new.shown}/".startswith(f"{old.shown}/"):
                raise ToolError(f"The destination {command.new_path} is inside {command.old_path}")
            edits: dict[str, tuple[str, str]] = {}
            for shown, stored in found.items():
                target = folder.place(f"{ROOT}/{new.shown}{shown.removeprefix(old.shown)}")
                _require_writable(f"{ROOT}/{target.shown}", target, new=True)
                folder.require_room(f"{ROOT}/{target.shown}", target)
                text = folder_text(folder, stored)
                edits |= {target.stored: ("", text), stored: (text, "")}
            note = self._write(folder.home, "Rename", edits)
        return f"Successfully renamed {command.old_path} to {command.new_path}{note}"

    # ------------------------------------------------------------------------------------------------- private

    def _folder(self) -> MemoryFolder:
        return MemoryFolder(AgentHome(Home(self._agent.home.root)).home, self._audience)

    def _existing_file(self, path: str) -> tuple[MemoryFolder, MemoryPlace]:
        folder = self._folder()
        place = folder.place(path)
        if folder.is_file(place):
            return folder, place
        if not place.shown or folder.below(place):
            raise ToolError(f"The path {path} is not a file.")
        raise ToolError(f"The path {path} does not exist. Please provide a valid path.")

    @staticmethod
    def _files(folder: MemoryFolder, place: MemoryPlace) -> dict[str, str]:
        """Return the files that a path names: the file itself, or those below the folder."""
        return {place.shown: place.stored} if folder.is_file(place) else folder.below(place)

    @staticmethod
    def _require_free(folder: MemoryFolder, path: str, place: MemoryPlace, found: dict[str, str]) -> None:
        """Refuse to take away a context file, one of the home's own folders, or a file that the agent may not write."""
        if "/" not in place.shown and place.shown == place.stored:
            raise ToolError(f"{path} belongs to the home and stays. {_advice()}")
        for shown in found:
            _require_writable(f"{ROOT}/{shown}", folder.place(f"{ROOT}/{shown}"))

    def _edit_memory(self, folder: MemoryFolder, place: MemoryPlace, edit: MemoryEdit, line: int) -> tuple[str, int]:
        """Write an edit of MEMORY.md as entries. Return its text then, and the number of the line that changed."""
        for text in edit.texts():
            _require_clean(folder.home, place.stored, text)
        ids = edit.apply(AgentHome(folder.home), self._clock())
        after = MemoryFolder(Home(folder.home.root), self._audience).shown_text(place)
        where = after.find(f"[{ids[-1]}]") if ids else -1
        return after, after[:where].count("\n") if where >= 0 else line

    def _write(self, home: Home, verb: str, edits: dict[str, tuple[str, str]]) -> str:
        """Write texts in one commit, if each file still has the text that the edit begins with. Return a remark.

        Raises:
            ToolError: the guard refuses a text, or another program changed a file.
        """
        screening = ScreeningService(home)
        left = {before for before, after in edits.values() if not after}
        arrived = {after for _, after in edits.values() if after in left}
        for path, (before, after) in edits.items():
            if screening.findings_in_name(path):
                raise ToolError("The guard refused the name of the file. Nothing was written.")
            if after not in arrived and before not in arrived:
                _require_clean(home, path, after, before)
                _require_entries(path, before, after)
        message = f"{verb} {', '.join(path for path, (_, after) in edits.items() if after or len(edits) == 1)}"
        with transaction(home, actor=_ACTOR, message=message[:200], source="agent", now=self._clock()) as writing:
            for path, (before, after) in edits.items():
                _apply(writing, path, before, after)
        outcome = writing.outcome
        if outcome.commit:
            index_changes(home, lambda _line: None)
        if outcome.quarantined:
            held = len(outcome.quarantined)
            raise ToolError(f"The guard held {held} passages back. `memory review` shows them. The rest is written.")
        return f"\nThe guard redacted {outcome.redacted} passages." if outcome.redacted else ""


def folder_text(folder: MemoryFolder, stored: str) -> str:
    """Return the text of a file of the home."""
    from agent_home import storage

    return storage.read_text(folder.home.path(stored))


def _apply(writing: Transaction, path: str, before: str, after: str) -> None:
    if writing.text(path) != before:
        raise ToolError("Another program changed the file meanwhile. Nothing was written. View it again.")
    writing.write(path, after)


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    """Tell the model what the project refused, in the project's words."""
    try:
        yield
    except (PathRefused, EditRefused) as error:
        raise ToolError(str(error)) from error
    except Exception as error:
        if exit_code(error) is None and type(error) is not ValueError:
            raise
        raise ToolError(" ".join(str(error).split())) from error


def _require_writable(path: str, place: MemoryPlace, *, new: bool = False) -> None:
    if place.writing == "never":
        raise ToolError(f"{path} is read-only: {place.why}. {_advice()}")
    if new and not place.stored.endswith(".md"):
        raise ToolError(f"{path} is not Markdown, which alone is searched. Name it {path.rstrip('/')}.md")


def _advice() -> str:
    return f"Write notes to a file of your own, such as {ROOT}/notes.md"


def _require_clean(home: Home, path: str, text: str, before: str = "") -> None:
    """Refuse a text of which the guard would hold a block back.

    Raises:
        ToolError: with the rule and nothing of the text.
    """
    known = {block.raw for block in parse(before).blocks}
    screening = ScreeningService(home)
    for block in parse(text).blocks:
        words = block.title if block.kind == "heading" else block.raw
        if block.kind == "blank" or block.raw in known or not words.strip():
            continue
        verdict = screening.verdict(path, words, "agent")
        if not verdict.stored:
            raise ToolError(f"The guard refused the text ({reason_of(verdict)}). Nothing was written.")


def _require_entries(path: str, before: str, after: str) -> None:
    """Refuse an edit that changes an entry of another author, or makes one up in a file of entries.

    Raises:
        ToolError: with the id.
    """
    old = {entry.id: entry for entry in parse(before).entries()}
    new = {entry.id: entry.raw for entry in parse(after).entries()}
    for name, entry in old.items():
        others = entry.fields.get("Origin") != "agent"
        if others and new.get(name, "").strip() != entry.raw.strip():
            raise ToolError(f"The edit would change {name}, which is the user's entry. Nothing was written.")
    if "/" not in path and set(new) - set(old):
        raise ToolError(f"Entries of {path} come from closed sessions. Nothing was written. {_advice()}")


def _require_once(path: str, text: str, old: str) -> None:
    count = text.count(old)
    if count == 0:
        raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        lines, start = [], text.find(old)
        while start != -1:
            lines.append(str(text[:start].count("\n") + 1))
            start = text.find(old, start + 1)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {', '.join(lines)}. "
            "Please ensure it is unique"
        )


def _numbered(path: str, text: str, view_range: list[int] | None) -> str:
    """Return the lines of a file with their numbers, all of them or those from the first to the last of a range."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else view_range[1]
    shown = lines[first - 1 : last]
    return f"Here's the content of {path} with line numbers:\n{_with_numbers(shown, first)}"


def _snippet(text: str, changed: int) -> str:
    """Return the line with the index *changed*, and two lines on each side."""
    lines = text.split("\n")
    first = max(0, changed - _CONTEXT_LINES)
    return _with_numbers(lines[first : changed + _CONTEXT_LINES + 1], first + 1)


def _with_numbers(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _size(count: int) -> str:
    """Return a number of bytes as the tool writes it: 0B, 517B, 1.5K."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    value = count / 1024**power
    return f"{int(value) if value.is_integer() else f'{value:.1f}'}{'BKMG'[power]}"
