"""Texts that recovery set aside because a person had changed their file: ``recovered/`` beside the machine state.

A name holds the time of the write, a number, and the quoted path of the file: ``1763715600-0-Archive%2F2026-11.md``.
Records of large losses in the same folder belong to ``agent_home.store.losses``. A caller that changes something holds
the home's lock.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

from guard.lazy_regex import lazy_regex

from .. import storage
from ..errors import DocumentInvalid
from ..home import ARCHIVED_DAILY, Home, is_text

__all__ = ["SetAside", "discard", "keep", "waiting"]

_NAME = lazy_regex(r"(?P<at>\d{1,11})-\d+(?P<unsigned>u?)-(?P<path>.+)")
#: Folders of files that an earlier version named without their folder.
_FOLDERS = ("", "DailyActivity/", "Archive/", ARCHIVED_DAILY)
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A text that was set aside at *ts*. *path* is its file in the home, empty where the name does not tell.

    *name* is the file in ``recovered/``. *text* is empty where it cannot be read. *unsigned* says that it comes from a
    redo record that this machine did not sign.
    """

    id: str
    name: str
    path: str
    ts: str
    text: str
    unsigned: bool = False

    @property
    def reason(self) -> str:
        """Say in a few words why the text was set aside."""
        if self.unsigned:
            return "because it comes from an interrupted write that this machine did not sign"
        return "because a person had changed the file"


def keep(home: Home, path: str, text: str, *, at: float, number: int, unsigned: bool = False) -> None:
    """Set *text* aside durably, which was to be written to *path* at the time *at*."""
    staged = home.machine / "staging" / "kept.tmp"
    storage.stage(staged, text.encode())
    storage.replace(staged, _folder(home) / f"{at:.0f}-{number}{'u' * unsigned}-{quote(path, safe=' ')}")


def waiting(home: Home) -> list[SetAside]:
    """Return what was set aside, oldest first."""
    paths = (path for path in _folder(home).glob("*") if path.is_file() and is_text(path.name))
    found = [_read(home, path) for path in paths if not path.name.startswith(("loss-", "."))]
    return sorted(found, key=lambda item: (item.ts, item.name))


def discard(home: Home, item: SetAside) -> None:
    """Remove the text from the disk. An absent one is no error."""
    storage.remove(_folder(home) / item.name)


def _read(home: Home, file: Path) -> SetAside:
    try:
        text = storage.read_state(file).decode("utf-8")
    except (OSError, ValueError):
        text = ""
    match = _NAME.fullmatch(file.name)
    at = float(match["at"]) if match else file.stat().st_mtime
    named = unquote(match["path"]) if match else ""
    named = "" if named.startswith(("/", ".")) or ".." in named else named
    path = named if "/" in named else next((f + named for f in _FOLDERS if named and _is_file(home, f + named)), named)
    key = f"{file.name}\0{text}".encode("utf-8", "surrogatepass")
    name = hashlib.blake2b(key, digest_size=4).hexdigest().translate(_LETTERS)
    return SetAside(
        id=f"r-{name}",
        name=file.name,
        path=path,
        ts=datetime.fromtimestamp(at, UTC).isoformat(),
        text=text,
        unsigned=bool(match and match["unsigned"]),
    )


def _is_file(home: Home, path: str) -> bool:
    try:
        return home.path(path).is_file()
    except DocumentInvalid:
        return False


def _folder(home: Home) -> Path:
    return home.machine / "recovered"
