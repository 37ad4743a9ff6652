"""``memory import chat`` and ``memory import claude-code``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..frame import FINDINGS, Frame, home_command
from .sync import follow

if TYPE_CHECKING:
    from agent_home.imports import Imported

__all__ = ["import_"]


@click.group("import")
def import_() -> None:
    """Bring conversations into the home's transcripts.

    Importing the same files again adds nothing; importing a file that has grown adds what is new. Text that this
    system had put into a session is left out, secrets are replaced before anything is stored.
    """


@home_command("chat")
@click.argument(
    "files", metavar="FILE.jsonl ...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)
@click.pass_context
def chat(context: click.Context, frame: Frame, files: tuple[Path, ...]) -> None:
    """Import neutral chat lines.

        Each line is an object: {"session", "id", "ts", "role", "name", "content"} and, if there is one, "cwd", the git
    repository that the session worked in. Exit code 1 when a file could not be read or holds no message at all, or
        when the guard held a text back.
    """
    from agent_home.imports import import_chat

    _show(context, frame, import_chat(frame.home, files, now=frame.moment))


@home_command("claude-code")
@click.argument("paths", metavar="PATH ...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.pass_context
def claude_code(context: click.Context, frame: Frame, paths: tuple[Path, ...]) -> None:
    """Import a coding assistant's session files.

    PATH is a file, or a folder: all *.jsonl files below it. Kept are the words of user and assistant, and one short
    line for each tool that changed something. Exit code 1 when a file could not be read, or when the guard held a text
    back.
    """
    from agent_home.imports import import_claude_code

    _show(context, frame, import_claude_code(frame.home, paths, now=frame.moment))


import_.add_command(chat)
import_.add_command(claude_code)


def _show(context: click.Context, frame: Frame, done: Imported) -> None:
    if not done.files:
        frame.warn("no *.jsonl file there; name a file, or a folder that holds some")
    for file in done.unread:
        frame.warn(f"{file.path} could not be read: {file.reason}")
    for path in done.unusable:
        frame.warn(f"{path} holds no message at all; wanted lines of this format, see `memory import chat --help`")
    if done.quarantined:
        frame.warn(f"texts that the guard held back: {len(done.quarantined)}; `memory review list` names them")
    degraded = follow(frame.home, frame) if done.messages else []
    for problem in degraded:
        frame.warn(problem)
    frame.show({**_data(done), "degraded": degraded}, _lines(done))
    context.exit(FINDINGS if done.unread or done.unusable or done.quarantined else 0)


def _data(done: Imported) -> dict[str, Any]:
    return {
        "files": done.files,
        "sessions": len(done.sessions),
        "session_ids": list(done.sessions),
        "messages": done.messages,
        "duplicates": done.duplicates,
        "skipped": done.skipped.total(),
        "reasons": dict(sorted(done.skipped.items())),
        "waiting": done.waiting,
        "redacted": done.redacted,
        "quarantined": len(done.quarantined),
        "quarantine": [item.id for item in done.quarantined],
        "dropped": done.dropped,
        "unusable": [str(path) for path in done.unusable],
        "unread": [{"path": str(file.path), "reason": file.reason} for file in done.unread],
    }


def _lines(done: Imported) -> Iterator[str]:
    yield f"messages added: {done.messages} (sessions: {len(done.sessions)}, there already: {done.duplicates})"
    if done.skipped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(done.skipped.items()))
        yield f"lines left out: {done.skipped.total()} ({reasons})"
    if done.waiting:
        yield f"half-written last lines, left for the next import: {done.waiting}"
    if done.redacted or done.quarantined:
        yield f"guard: {done.redacted} redacted, {len(done.quarantined)} quarantined"
    if done.dropped:
        yield f"guard: {done.dropped} left out, a person had rejected the same text"
    if done.sessions:
        yield "Next: memory close --all"
