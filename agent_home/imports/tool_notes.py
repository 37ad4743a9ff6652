"""Own the short lines that stand for tool calls in a transcript: commands that change something, and new commits."""

from __future__ import annotations

from collections.abc import Iterator

from guard.lazy_regex import lazy_regex

__all__ = ["command_note", "commit_lines", "shortened", "strings_in"]

#: Commands that change a git repository, or remove or rename files. Few options are looked over: a line of nothing but
#: options is read again at each of its commands.
_CHANGING_COMMAND = lazy_regex(
    r"(?:^|[;&|(]\s*)(?:sudo\s+)?(?:git\s+(?:-[cC]\s+\S+\s+){0,8}"
    r"(?:commit|merge|revert|cherry-pick|rebase|reset|tag|push|mv|rm|init|clone)\b|rm\s|mv\s)"
)
#: Line in which git reports a new commit.
_COMMIT_LINE = lazy_regex(r"^\[[^\]\s]+(?: \(root-commit\))? [0-9a-f]{7,40}\] \S.*$")
_MAX_NOTE_CHARS = 200


def command_note(tool: str, command: str) -> str:
    """Return one line for the shell command *command* of *tool*, empty for one that changes nothing."""
    command = " ".join(command.split())
    return shortened(f"{tool} {command}") if command and _CHANGING_COMMAND.search(command) else ""


def commit_lines(output: str) -> Iterator[str]:
    """Yield the lines of *output* in which git reports a commit."""
    for line in output.split("\n"):
        if line.startswith("[") and _COMMIT_LINE.fullmatch(line.rstrip("\r")):
            yield shortened(line.rstrip("\r"))


def shortened(note: str) -> str:
    """Return *note* in at most 200 characters."""
    return note if len(note) <= _MAX_NOTE_CHARS else note[: _MAX_NOTE_CHARS - 1] + "…"


def strings_in(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value, in order."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += reversed(part.values())
        elif isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, str) and part.strip():
            yield part
