"""Locate an agent's home, and own the layout of its folder.

``agent_home.creation`` makes a home, and ``agent_home.store.gateway`` changes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .audience import may_read
from .consent.settings_in_effect import settings_in_effect
from .errors import DocumentInvalid, NoHome
from .settings import MANIFEST, Manifest, load_manifest

__all__ = ["ALIASES", "ARCHIVED_DAILY", "MEMORY", "Home", "find_home", "is_text"]

MEMORY = "MEMORY.md"
#: Folder of archived daily logs.
ARCHIVED_DAILY = "Archive/DailyActivity/"
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
        """The folder of this machine's state, never in git: index, lock, audit, quarantine."""
        return self.root / ".memory"

    @property
    def index(self) -> Path:
        return self.machine / "index.db"

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

    def path(self, relative: str) -> Path:
        """Return the absolute path of a file of this home.

        Raises:
            DocumentInvalid: *relative* leads out of the home, by itself or through a link.
        """
        try:
            path = (self.root / relative).resolve()
        except RuntimeError as error:
            problem = "is a link that leads back to itself. Put the file itself there"
            raise DocumentInvalid(relative, 0, "unreadable", problem) from error
        if path != self.root.resolve() and self.root.resolve() not in path.parents:
            problem = f"leads out of the home {self.root}. Put the file itself there in place of the link"
            raise DocumentInvalid(relative, 0, "outside-home", problem)
        return self.root / relative

    def relative(self, path: Path) -> str:
        """Return *path*, which is inside the home, as sources and receipts write it."""
        return path.relative_to(self.root).as_posix()

    def context_path(self, file: str) -> str:
        """Return the file name of context file *file* in this home: its own, or its alias where only that exists."""
        alias = ALIASES.get(file, file)
        return alias if alias != file and not (self.root / file).exists() and (self.root / alias).exists() else file

    def may_read(self, relative: str, audience: str) -> bool:
        """Return whether *audience* may see that file. Prompt and recall use the same answer."""
        rules = self.manifest.audiences
        if relative not in rules:
            relative = next((file for file, alias in ALIASES.items() if alias == relative), relative)
        return may_read(rules, relative, audience)


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
    given = named or environment.get("AGENT_HOME")
    if given:
        root = Path(given).expanduser().absolute()
        if not (root / MANIFEST).is_file():
            raise NoHome(root, by_environment=not named)
        return Home(root)
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / MANIFEST).is_file():
            return Home(folder)
    raise NoHome(start)
