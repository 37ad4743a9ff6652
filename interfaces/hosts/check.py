"""Check whether sessions of chat hosts become memory, for ``memory doctor``."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Literal

from agent_home import storage
from agent_home.home import Home

from ..counts import counted
from .captured import capture_problem, read_open
from .event import HOSTS
from .install import Scope, SettingsElsewhere, SettingsUnreadable, absent_homes, has_hooks, settings_path
from .queue import ERRORS, folder

__all__ = ["hosts_check"]

#: How long a failed hook is named.
_ERROR_DAYS = timedelta(days=7)


def hosts_check(home: Home, user: Path, project: Path | None = None) -> tuple[Literal["ok", "warning"], str]:
    """Return whether hooks work, and which sessions wait. A home without hooks is in order.

    *user* is the folder of the user and *project* that of a project, whose settings of hosts may name a home that was
    moved or deleted.
    """
    waiting = read_open(home.root)
    failing = [item for item in waiting.values() if item.failures]
    if capture_problem(home):
        names = ", ".join(sorted({item.host for item in failing}))
        lost = f"{counted(len(failing), 'session')} of {names} could not be saved: {failing[-1].problem}"
        return "warning", f"{lost}. The next hook tries again"
    places: dict[Scope, Path | None] = {"user": user, "project": project}
    for host, (scope, place) in product(HOSTS, places.items()):
        if place is not None and (problem := _settings_problem(host, scope, place)):
            return "warning", problem
    last = _last_error(home)
    if last:
        log = folder(home.root) / ERRORS
        return "warning", f"a hook failed: {last}. It is named for a week, or until {log} is removed"
    hooked = [
        host if scope == "user" else f"{host} (project)"
        for host, (scope, place) in product(HOSTS, places.items())
        if place is not None and has_hooks(settings_path(host, scope, place), home)
    ]
    return "ok", f"hooks in {', '.join(hooked) or 'no host'}, {counted(len(waiting), 'session')} not closed yet"


def _settings_problem(host: str, scope: Scope, place: Path) -> str:
    """Return what is wrong with the hooks in the settings of *host* for the user or the project in *place*."""
    try:
        path = settings_path(host, scope, place)
    except SettingsElsewhere as error:
        return f"{error}. {host} runs no hooks of ours there"
    except SettingsUnreadable as error:
        return f"{error}. {host} has no memory"
    root = next(absent_homes(path), None)
    if root is None:
        return ""
    option = " --scope project" if scope == "project" else ""
    told = f"the hooks in {path} name {root}, and no home is there, so {host} has no memory"
    advice = f"`memory install {host}{option}` names this home, `memory uninstall {host}{option}` removes them"
    return f"{told}. {advice}"


def _last_error(home: Home) -> str:
    try:
        lines = storage.read_state(folder(home.root) / ERRORS).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    last = lines[-1] if lines else ""
    with suppress(ValueError):
        if datetime.now() - datetime.fromisoformat(last.partition(" ")[0]) > _ERROR_DAYS:  # noqa: DTZ005 - as it was written
            return ""
    return last
