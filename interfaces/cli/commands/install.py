"""Define ``memory install`` and ``memory uninstall``, which set up chat hosts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from agent_home.errors import NoHome

from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from interfaces.hosts.install import SettingsChange

__all__ = ["install", "uninstall"]

#: Copied from ``interfaces.hosts.event``, so that ``--help`` stays quick. A test compares them.
HOSTS = ("claude-code", "codex", "gemini")
_NEXT = {
    "claude-code": "Next: start claude. `/hooks` there lists the hooks.",
    "codex": "Next: start codex and approve the hooks, which it asks for (`/hooks`).",
    "gemini": "Next: start gemini. `/hooks` there lists the hooks.",
}

_scope = click.option(
    "--scope", default="user", show_default=True, type=click.Choice(["user", "project"]),
    help="All sessions of this user, or those in the project here.",
)  # fmt: skip
_dry_run = click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")


@home_command(
    "install",
    examples=(
        ("Let Claude Code use the home here", "memory install claude-code"),
        ("Show what would change in the settings of Codex", "memory install codex --dry-run"),
        ("Make a plugin of Claude Code", "memory install claude-code --plugin ./agent-home-plugin"),
        ("Only for the project here, with another home", "memory install gemini --scope project --home ~/agent"),
    ),
)
@click.argument("host", type=click.Choice(HOSTS))
@_scope
@click.option(
    "--plugin",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a plugin of Claude Code there instead.",
)
@_dry_run
def install(
    invocation: Invocation, host: str, scope: Literal["user", "project"], plugin: Path | None, dry_run: bool
) -> None:
    """Let a chat host use this home.

    The command adds hooks to the host's settings and leaves all others alone. From then on, a session begins with a
    brief of memory, its first prompt adds what is known about it, and its turns become memory when it ends. Running it
    again replaces our hooks. `memory uninstall HOST` takes them out. AGENT_HOME_HOOKS=0 switches them off.

    With --scope project, a link in the project that leads out of it is refused.
    """
    from interfaces.hosts.install import install as add

    if plugin is not None:
        _write_plugin(invocation, host, plugin, dry_run=dry_run)
        return
    change = add(invocation.home, host, _path(host, scope), apply=not dry_run)
    for root in change.absent:
        invocation.warn(
            f"the hooks in {change.path} name {root}, and no home is there. They will name this one instead"
        )
    invocation.show(_data(change, host, dry_run=dry_run), _lines(change, dry_run=dry_run, then=_NEXT[host]))


@home_command(
    "uninstall",
    examples=(
        ("Take the hooks out of Claude Code's settings", "memory uninstall claude-code"),
        ("Show what would change", "memory uninstall codex --dry-run"),
    ),
)
@click.argument("host", type=click.Choice(HOSTS))
@_scope
@_dry_run
def uninstall(invocation: Invocation, host: str, scope: Literal["user", "project"], dry_run: bool) -> None:
    """Take our hooks out of a chat host's settings.

    A settings file that nobody changed meanwhile is again what it was, to the byte. The home may be gone.
    """
    from interfaces.hosts.install import uninstall as remove

    try:
        home = invocation.home
    except NoHome:  # it was deleted, and its hooks are left
        home = None
    change = remove(home, _path(host, scope), apply=not dry_run)
    invocation.show(_data(change, host, dry_run=dry_run), _lines(change, dry_run=dry_run, then=""))


def _write_plugin(invocation: Invocation, host: str, folder: Path, *, dry_run: bool) -> None:
    from interfaces.hosts.plugin import write_plugin

    if host != "claude-code":
        raise click.UsageError("--plugin makes a plugin of Claude Code. Leave it out for another host")
    if dry_run:
        raise click.UsageError("--plugin writes into a folder of its own. Leave --dry-run out")
    files = write_plugin(invocation.home, folder)
    lines = [f"written: {path}" for path in files]
    invocation.show(
        {"host": host, "files": [str(path) for path in files]}, [*lines, f"Next: claude --plugin-dir {folder}"]
    )


def _path(host: str, scope: Literal["user", "project"]) -> Path:
    from interfaces.hosts.install import settings_path

    from ..surroundings import surroundings

    folder = Path.home() if scope == "user" else surroundings().folder
    return settings_path(host, scope, folder)


def _data(change: SettingsChange, host: str, *, dry_run: bool) -> dict[str, Any]:
    return {"host": host, "file": str(change.path), "changed": change.changed, "dry_run": dry_run}


def _lines(change: SettingsChange, *, dry_run: bool, then: str) -> Iterator[str]:
    if not change.changed:
        yield f"{change.path}: nothing to change"
        return
    if dry_run:
        before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
        yield from difflib.unified_diff(before, after, str(change.path), str(change.path), lineterm="", n=2)
        yield "dry run, nothing is written"
        return
    done = "hooks written" if then else "hooks taken out"
    yield f"{change.path}: {'removed' if change.after is None else done}"
    if then:
        yield then
