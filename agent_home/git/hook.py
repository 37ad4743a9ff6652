"""Install the commit hook that screens a person's commits in a home.

The gateway screens its own commits before it writes them, and they run no hooks. A foreign hook is never touched, and
neither is a folder of hooks that several repositories share. The state then holds the line to add by hand.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .. import storage
from ..errors import HistoryError
from ..home import Home
from .client import home_client

__all__ = ["LINE", "HookState", "hook_state", "install_hook"]

#: The line that a person adds to their own hook.
LINE = 'memory guard staged --home "$(git rev-parse --show-toplevel)" || exit 1'
_MARK = "# agent-home: screens what is about to be committed"
_SCRIPT = """#!/bin/sh
{mark}
# Written by `memory guard install`, which writes it again. To commit without it: git commit --no-verify
home="$(git rev-parse --show-toplevel)" || exit 1
[ -f "$home/agent.toml" ] || exit 0
if [ -x {program} ]; then
    exec {program} guard staged --home "$home"
elif command -v memory >/dev/null 2>&1; then
    exec memory guard staged --home "$home"
fi
echo "memory: the command was not found, so nothing was screened and nothing is committed;" \\
    "put \\`memory\\` on PATH, or go around with: git commit --no-verify" >&2
exit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookState:
    """State of the hook, the *path* where it is or would be, and *advice* on what to do, if anything.

    ``outdated`` is our hook from another installation. ``foreign`` is another program's hook, and ``calls-us`` is a
    foreign hook that runs ours. ``shared`` is a folder of hooks that serves other repositories too, or lies outside of
    the home.
    """

    state: Literal["installed", "outdated", "absent", "foreign", "calls-us", "shared", "no-git"]
    path: str
    advice: str = ""

    @property
    def works(self) -> bool:
        """Return whether a commit by hand is screened."""
        return self.state in {"installed", "outdated", "calls-us"}


def hook_state(home: Home) -> HookState:
    """Return the state of the hook without changing anything."""
    path, shared = _place(home)
    if path is None:
        return HookState(state="no-git", path="", advice=f"git finds no repository in {home.root}. Run `memory init`")
    if path.exists():
        text = storage.read_bytes(path).decode("utf-8", "replace")
        if _MARK in text:
            same = text == _script()
            advice = "" if same else "written by another installation. `memory guard install` renews it"
            return HookState(state="installed" if same else "outdated", path=str(path), advice=advice)
        if "guard staged" in text:
            return HookState(state="calls-us", path=str(path))
        return HookState(
            state="foreign", path=str(path), advice=f"the hook is not from this program. Add this line to it: {LINE}"
        )
    if shared:
        advice = f"the hooks of this home lie there, outside of it. Write a pre-commit there yourself with: {LINE}"
        return HookState(state="shared", path=str(path), advice=advice)
    return HookState(state="absent", path=str(path), advice="run `memory guard install`")


def install_hook(home: Home) -> HookState:
    """Write the hook where git looks for it, unless a foreign hook is there or the folder is shared.

    Raises:
        OSError: the hook cannot be written.
    """
    state = hook_state(home)
    if state.state not in {"absent", "outdated"} or _place(home)[1]:
        return state
    path = Path(state.path)
    staged = path.with_name(f".{path.name}.tmp")
    storage.stage(staged, _script().encode())
    path.unlink(missing_ok=True)  # the new hook must not inherit the mode, which may not be executable
    staged.chmod(0o755)
    storage.replace(staged, path)
    return hook_state(home)


def _place(home: Home) -> tuple[Path | None, bool]:
    """Return the path where git looks for the hook, and whether its folder is not the home's own.

    The configuration of a home that came as an archive may name the hooks of another repository.
    """
    git = home_client(home.root)
    try:
        folder = git.hooks_folder()
        configured, own = git.setting("core.hooksPath"), git.setting("core.hooksPath", local=True)
    except HistoryError:
        return None, False
    shared = bool(configured) and not own
    return folder / "pre-commit", shared or not _is_own(folder.resolve(), home, git.folders().shared.resolve())


def _is_own(folder: Path, home: Home, shared: Path) -> bool:
    """Return whether *folder* is in git's folder of *home*, or in the home and in no other repository there."""
    if folder.is_relative_to(shared):
        return True
    root = home.root.resolve()
    return folder.is_relative_to(root) and ".git" not in folder.relative_to(root).parts


def _script() -> str:
    """Return the hook of this installation. It calls the program beside this interpreter, else the one on PATH."""
    program = Path(sys.executable).with_name("memory")
    return _SCRIPT.format(mark=_MARK, program=shlex.quote(str(program)))
