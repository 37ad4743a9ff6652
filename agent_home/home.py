"""Locate an agent's home, and own the layout of its folder.

``agent_home.creation`` makes a home, and ``agent_home.store.gateway`` changes one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from .audience import Audience, may_read
from .consent.agreed_links import SHARED, absent_links, agreed_links
from .consent.settings_in_effect import settings_in_effect
from .errors import DocumentInvalid, NoHome
from .git_folder import STATE, WORKTREE_STATE, state_folder, tracks
from .home_location import MANIFEST, home_root
from .settings import Manifest, load_manifest

__all__ = ["ALIASES", "ARCHIVED_DAILY", "MEMORY", "STATE_SHOWN", "Home", "find_home", "is_text"]

MEMORY = "MEMORY.md"
#: Folder of archived daily logs.
ARCHIVED_DAILY = "Archive/DailyActivity/"
#: How a file of the machine state is named, wherever git's folder lies.
STATE_SHOWN = f".git/{STATE}/"
#: Folders whose files are no memory, whatever link leads there.
_NO_MEMORY = frozenset({".git", WORKTREE_STATE})
#: Another name under which a context file is accepted.
ALIASES: Mapping[str, str] = {"AGENT.md": "AGENTS.md"}


@dataclass(frozen=True)
class Home:
    """A home and its manifest. *root* is absolute. Paths inside a home are relative, with ``/``."""

    root: Path
    #: The manifest of a home whose file is not there yet, or is broken (``agent_home.last_manifest``).
    given: Manifest | None = None

    @cached_property
    def manifest(self) -> Manifest:
        """The content of ``agent.toml``, read once, with the settings that are in effect on this machine.

        Raises:
            SettingsInvalid: see :func:`agent_home.settings.load_manifest`.
        """
        return settings_in_effect(self.given or load_manifest(self.root / MANIFEST), self.machine)

    @property
    def machine(self) -> Path:
        """The folder of this machine's state, which no pull can reach: lock, redo record, audit, quarantine."""
        return state_folder(self.root)

    @property
    def index(self) -> Path:
        """The index: ``.memory/index.db``, or a file beside the machine state where git may track ``.memory``."""
        folder = self.root / WORKTREE_STATE
        return (folder if _is_own(folder) and tracks(self.root, WORKTREE_STATE) is False else self.machine) / "index.db"

    @property
    def lock(self) -> Path:
        return self.machine / "write.lock"

    @property
    def audit(self) -> Path:
        return self.machine / "audit.jsonl"

    @property
    def quarantine(self) -> Path:
        return self.machine / "quarantine"

    @property
    def sessions(self) -> Path:
        return self.root / "sessions"

    @property
    def daily(self) -> Path:
        return self.root / "DailyActivity"

    @property
    def links(self) -> Mapping[str, Path]:
        """The links that are followed, because a person here agreed to them: the real folder of each place."""
        return agreed_links(self.root, self.machine)

    @property
    def absent_links(self) -> Mapping[str, Path]:
        """The links that a person here agreed to, and whose folder is not there now: the folder of each place."""
        return absent_links(self.root, self.machine)

    def path(self, relative: str) -> Path:
        """Return the absolute path of a file of this home, or of a folder that it shares by an agreed link.

        Raises:
            DocumentInvalid: *relative* leads out of the home, by itself or through a link.
        """
        if _is_plain_below(self.root, relative) or self._is_shared(relative):
            return self.root / relative
        try:
            path = (self.root / relative).resolve()
        except RuntimeError as error:
            problem = "is a link that leads back to itself. Put the file itself there"
            raise DocumentInvalid(relative, 0, "unreadable", problem) from error
        top = Path(os.path.realpath(self.root))
        if path != top and (top not in path.parents or _first_part(path, top).casefold() in _NO_MEMORY):
            problem = f"leads out of the memory in {self.root}. Put the file itself there in place of the link"
            raise DocumentInvalid(relative, 0, "outside-home", problem)
        return self.root / relative

    def files(self, folder: str, pattern: str) -> list[Path]:
        """Return what is below *folder* and matches *pattern*, ordered by path. Links are left out, unless agreed.

        A link that a pull brought would show a file of this machine, or a private one under a public name.
        """
        links = {self.root / place for place in self.links}
        plain = {self.root: True, **dict.fromkeys(links, True)}

        def is_plain(path: Path) -> bool:
            if path not in plain:
                plain[path] = is_plain(path.parent) and not path.is_symlink()
            return plain[path]

        top = self.root / folder
        if "/" in pattern or "**" in pattern:
            # A pattern does not enter links by itself.
            tops = (top, *(link for link in links if link.is_relative_to(top) and link != top))
            return sorted({path for place in tops for path in place.glob(pattern) if is_plain(path)})
        agreed = [link.name for link in links if link.parent == top and fnmatchcase(link.name, pattern)]
        return [top / name for name in sorted({*_plain_names(top, pattern), *agreed})] if is_plain(top) else []

    def relative(self, path: Path) -> str:
        """Return *path*, which is inside the home or its machine state, as sources and receipts write it."""
        if path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        return f"{STATE_SHOWN}{path.relative_to(self.machine).as_posix()}"

    def absolute(self, relative: str) -> Path:
        """Return the path that :meth:`relative` named. It is not checked."""
        if relative.startswith(STATE_SHOWN):
            return self.machine / relative.removeprefix(STATE_SHOWN)
        return self.root / relative

    def context_path(self, file: str) -> str:
        """Return the file name of context file *file* in this home: its own, or its alias where only that exists."""
        alias = ALIASES.get(file, file)
        return alias if alias != file and not (self.root / file).exists() and (self.root / alias).exists() else file

    def other_case(self, file: str) -> str:
        """Return the name of a file in the home's folder that differs from *file* only by the case of its letters."""
        names = self._names()
        return min((name for name in names if name != file and name.casefold() == file.casefold()), default="")

    def renamed_by_case(self) -> list[tuple[str, str]]:
        """Return the context files that are not there under their own names, with the names that they have."""
        files = dict.fromkeys((MEMORY, *(self.context_path(item.file) for item in self.manifest.context)))
        names = self._names()  # a file system that ignores the case finds a file by either name
        pairs = [(file, self.other_case(file)) for file in files if file not in names]
        return [(file, other) for file, other in pairs if other]

    def _names(self) -> set[str]:
        try:
            return {path.name for path in self.root.iterdir()}
        except OSError:
            return set()

    def may_read(self, relative: str, audience: str) -> bool:
        """Return whether *audience* may see that file. Prompt and recall use the same answer."""
        rules = self.manifest.audiences
        if audience == Audience.owner:  # reads every file, whatever a link leads to
            return True
        target = self._target(relative)
        if target and not may_read(rules, target, audience):  # a public name must not show a private file
            return False
        if relative not in rules:
            relative = next((file for file, alias in ALIASES.items() if alias == relative), relative)
        return may_read(rules, relative, audience)

    def _is_shared(self, relative: str) -> bool:
        """Return whether *relative* surely leads into a folder that is shared by an agreed link."""
        for place, target in {**self.links, **self.absent_links}.items() if relative.startswith(SHARED) else ():
            rest = relative.removeprefix(place)
            if not rest or (rest[0] == "/" and _is_plain_below(target, rest[1:])):
                return not any(part.casefold() in _NO_MEMORY for part in rest.split("/"))
        return False

    def _target(self, relative: str) -> str:
        """Return the file of this home that the link *relative* names. A link in a circle names none."""
        if not (self.root / relative).is_symlink():
            return ""
        try:
            target, top = (self.root / relative).resolve(), self.root.resolve()
        except (OSError, RuntimeError):  # of a circle, by the version of Python
            return ""
        return target.relative_to(top).as_posix() if target.is_relative_to(top) else ""


def _first_part(path: Path, top: Path) -> str:
    return path.relative_to(top).parts[0]


def _is_plain_below(root: Path, relative: str) -> bool:
    """Return whether *relative* surely leads to memory below *root*: no part of it is a link or leads up."""
    place, parts = str(root), relative.split("/")
    if os.name != "posix" or parts[0].casefold() in _NO_MEMORY:
        return False
    for part in parts:
        if part in {"", ".", ".."}:
            return False
        place = f"{place}/{part}"
        try:
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return False
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return False
    return True


def _plain_names(folder: Path, pattern: str) -> list[str]:
    """Return the names in *folder* that match *pattern* and are no links, in order. The list says which are links."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry in entries if not entry.is_symlink()]
    except OSError:
        return []
    return sorted(name for name in found if fnmatchcase(name, pattern))


def _is_own(folder: Path) -> bool:
    """Return whether *folder* is absent, or a folder itself and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def is_text(name: str) -> bool:
    """Return whether a file's name is UTF-8. Another name cannot stand in an address, an index or a commit message."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_home(named: str | None, environment: Mapping[str, str], start: Path) -> Home:
    """Find the home: *named*, else ``$AGENT_HOME``, else the nearest folder from *start* upwards.

    Raises:
        NoHome: the folder has no ``agent.toml``.
    """
    root = home_root(named, environment, start)
    if root is not None and (root / MANIFEST).is_file():
        return Home(root)
    raise NoHome(root or start.absolute(), by_environment=bool(root and not named and environment.get("AGENT_HOME")))
