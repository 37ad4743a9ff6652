"""Define ``memory import`` and its formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...answers import imported_answer, ingested_answer
from ...counts import counted
from ...indexing import index_changes
from ..command import Group
from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command
from ..progress import ProgressMeter

if TYPE_CHECKING:
    from agent_home.imports import ImportReport

__all__ = ["import_"]

#: Broken lines that are named. The rest is counted.
_MAX_LISTED = 5
_REASONS = {
    "not-json": "not JSON",
    "not-utf8": "not UTF-8",
    "not-an-object": "not a JSON object",
    "too-long": "longer than a message can be",
}
#: The command that imports each kind of file.
_COMMANDS = {"chat": "chat", "session": "claude-code"}


@click.group(
    "import",
    cls=Group,
    examples=(
        ("Import chat lines", "memory import chat talk.jsonl"),
        ("Import the sessions of a coding assistant", "memory import claude-code ~/.claude/projects"),
        ("Import those of another one", "memory import codex ~/.codex/sessions"),
    ),
)
def import_() -> None:
    """Import conversations as transcripts.

    Importing the same files again adds nothing. Importing a file that has grown adds its new messages. Text that this
    system had put into a session is left out. Secrets are redacted before anything is stored.
    """


@home_command(
    "chat",
    examples=(
        ("Import two files", "memory import chat monday.jsonl tuesday.jsonl"),
        ("Import into another home", "memory import chat talk.jsonl --home ~/agent"),
    ),
)
@click.argument(
    "files", metavar="FILE.jsonl ...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)
@click.pass_context
def chat(context: click.Context, invocation: Invocation, files: tuple[Path, ...]) -> None:
    """Import chat lines from JSON files.

    Each line is an object with the keys "session", "id", "ts", "role", "name" and "content". An optional key "cwd"
    names the git repository that the session worked in. Hidden folders and homes below a folder are skipped. The exit
    code is 1 when a file cannot be read or holds no message, when a line is broken or its message cannot be read, or
    when the guard quarantined a text. A time is ISO 8601, or seconds or milliseconds since 1970. A message without a
    readable time has none, and the command says so.
    """
    from agent_home.imports import import_chat

    done = import_chat(invocation.home, files, now=invocation.moment, progress=_progress())
    _show(context, invocation, done, other="session")


@home_command(
    "claude-code",
    examples=(
        ("Import all sessions below a folder", "memory import claude-code ~/.claude/projects"),
        ("Import one session", "memory import claude-code session.jsonl"),
    ),
)
@click.argument("paths", metavar="PATH ...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.pass_context
def claude_code(context: click.Context, invocation: Invocation, paths: tuple[Path, ...]) -> None:
    """Import a coding assistant's session files.

    PATH is a file, or a folder with *.jsonl files at any depth. The transcript keeps the words of user and assistant,
    and one short line for each tool call that changed something. The exit code is 1 when a file cannot be read or is a
    chat file, when nothing was recognised, when a line is not JSON, or when the guard quarantined a text. Notes that
    Claude Code keeps by itself (a folder `memory` beside the sessions) are copied below Knowledge/Hosts/.
    """
    from agent_home.imports import import_claude_code
    from agent_home.imports.host_memory import copy_notes, note_folders

    home = invocation.home
    for folder in (folder for path in paths for folder in note_folders(path)):
        copied = copy_notes(home, "claude-code", folder.parent.name, folder, now=invocation.moment)
        if copied:
            invocation.warn(f"notes copied: {', '.join(copied)}")
    done = import_claude_code(home, paths, now=invocation.moment, progress=_progress())
    _show(context, invocation, done, other="chat")


@home_command(
    "configmap",
    examples=(
        ("Import what pods left, as kubectl get -o yaml prints it", "memory import configmap - < watchdog.yaml"),
        ("Import it from a file", "memory import configmap watchdog-memory.yaml"),
    ),
)
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
def configmap(invocation: Invocation, file: Path) -> None:
    """Import the MEMORY.md of a Kubernetes ConfigMap.

    Its list items become entries of the agent's own, each once. The guard screens them first. Entries that hold no
    longer are left out. FILE is YAML or JSON, or - for standard input.
    """
    from agent_home.imports.configmap import read_configmap
    from agent_home.imports.yaml_documents import MOST_BYTES
    from interfaces.api import AgentHome
    from interfaces.memory_markers import ingest_statements

    with click.open_file(str(file), "rb") as content:
        text = content.read(MOST_BYTES + 1).decode("utf-8", "replace")
    found = read_configmap(text, file=str(file))
    agent = AgentHome(invocation.home, warn=invocation.warn)
    done = ingest_statements(agent, found.statements, session=f"configmap {found.name}", now=invocation.moment)
    invocation.show({"configmap": found.name, **ingested_answer(done)}, [done.told])


def _host_command(host: str, product: str, files: str, folder: str) -> click.Command:
    """Return the command that imports the *files* of *host*, which keeps them below *folder*."""

    @home_command(host, examples=((f"Import all sessions of {product}", f"memory import {host} {folder}"),))
    @click.argument("paths", metavar="PATH ...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
    @click.pass_context
    def command(context: click.Context, invocation: Invocation, paths: tuple[Path, ...]) -> None:
        import agent_home.imports

        read = {"codex": agent_home.imports.import_codex, "gemini": agent_home.imports.import_gemini}[host]
        done = read(invocation.home, paths, now=invocation.moment, progress=_progress())
        _show(context, invocation, done, other="chat")

    command.help = (
        f"Import session files of {product}.\n\nPATH is a file, or a folder with {files} files at any depth. The exit "
        "code is that of `claude-code`."
    )
    return command


codex = _host_command("codex", "Codex", "rollout-*.jsonl", "~/.codex/sessions")
gemini = _host_command("gemini", "Gemini CLI", "session-*.jsonl and session-*.json", "~/.gemini/tmp")

for _command in (chat, claude_code, codex, gemini, configmap):
    import_.add_command(_command)


def _progress() -> Callable[[int, int, int], None]:
    """Return what says on a terminal how many messages were read, and of how many files."""
    meter = ProgressMeter()
    return lambda done, files, messages: meter("messages", messages, note=f"{done} of {counted(files, 'file')}")


def _show(context: click.Context, invocation: Invocation, done: ImportReport, *, other: str) -> None:
    if not done.files:
        invocation.warn("found no file of sessions (*.jsonl). Name a file, or a folder with such files")
    for file in done.unread:
        invocation.warn(f"{file.path} could not be read: {file.reason}")
    for line in done.broken[:_MAX_LISTED]:
        invocation.warn(
            f"{line.path}:{line.line}: {_REASONS.get(line.reason, line.reason)}. Correct the line and import again."
        )
    for path in done.unusable:
        if path in done.other_format:
            invocation.warn(f"{path}: This looks like a {other} file. Run `memory import {_COMMANDS[other]} {path}`.")
        else:
            invocation.warn(f"{path} holds no message in this format. See `{context.command_path} --help`")
    if done.undated:
        invocation.warn(
            f"messages whose time could not be read, stored without one: {done.undated}. Write ISO 8601, or seconds "
            "since 1970, before you import"
        )
    if done.future:
        invocation.warn(
            f"messages dated after tomorrow: {len(done.future)}, first {done.future[0]}. What is remembered of them "
            "stands before everything of today. Correct the time if it is wrong"
        )
    if done.quarantined:
        count = len(done.quarantined)
        invocation.warn(f"texts that the guard quarantined: {count}. `memory review list` lists them")
    degraded = index_changes(invocation.home, invocation.warn, ProgressMeter()) if done.messages else []
    for problem in degraded:
        invocation.warn(problem)
    invocation.show({**imported_answer(done), "degraded": degraded}, _lines(done))
    context.exit(FINDINGS if not done.files or done.unread or done.unusable or done.lost or done.quarantined else 0)


def _lines(done: ImportReport) -> Iterator[str]:
    yield f"messages added: {done.messages} (sessions: {len(done.sessions)}, already present: {done.duplicates})"
    if done.revised:
        yield f"of these, other words under an id that was there: {done.revised} (the earlier words stay)"
    if done.skipped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(done.skipped.items()))
        yield f"lines skipped: {done.skipped.total()} ({reasons})"
    if done.waiting:
        yield f"incomplete last lines, left for the next import: {done.waiting}"
    if done.redacted or done.quarantined:
        yield f"guard: {done.redacted} redacted, {len(done.quarantined)} quarantined"
    if done.redacted:
        yield "Redacted secrets are stored nowhere. Keep passwords and codes in a password manager"
        yield "Messages that lost only personal data are kept for a time: memory review originals"
    if done.dropped:
        yield f"guard: {done.dropped} dropped, because a person rejected the same text before"
    if done.sessions:
        yield "Next: memory close --all"
