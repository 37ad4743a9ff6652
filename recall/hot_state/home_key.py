"""Own the key of a home's values in Redis: 32 random bytes that tell the home from others and sign its values.

The key never goes to the server. Its keys there begin with a digest of it, which nobody can guess, and every value is
signed with it, so that another program's values, changed values and moved values count as absent. It is made at the
first use, and kept in a signed record of this machine for this folder: a copy of the home makes a key of its own.
Several machines that serve one home share hot state after a person gave them the same key (``memory context key``).
The machine key would not do, because each machine has another one.

The record also notes what has to be deleted in Redis, until the server answers.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar
from urllib.parse import quote

from agent_home.consent.signed_record import read_record, write_record
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.lock import hold

__all__ = ["HomeKey", "KeyRefused", "KnownKey", "Owed", "ensure_key", "owe", "paid", "place_of", "read_key", "use_key"]

#: What has to be deleted in Redis: nothing, the references to outputs, or everything of the home.
Owed = Literal["", "outputs", "all"]
_RECORD = "hot-state-key"
_BYTES = 32
#: Hexadecimal digits of a home in its keys.
_DIGITS = 32
_MAC_DIGITS = 64
_ORDER: tuple[Owed, ...] = ("", "outputs", "all")
Key = TypeVar("Key", bound="HomeKey | None")


class KeyRefused(HomeError):
    """A text is no key of a home's values in Redis."""


@dataclass(frozen=True)
class HomeKey:
    """The key of a home, 64 hexadecimal digits, and what has to be deleted before Redis is used."""

    secret: str
    owed: Owed = ""

    @cached_property
    def prefix(self) -> str:
        """The beginning of every key of the home in Redis."""
        return f"agent-home:{self._digest(place_of('prefix'))[:_DIGITS]}"

    def context(self, session: str) -> str:
        """Return the key of the hash of a session's context."""
        return f"{self.prefix}:session:{_quoted(session)}:context"

    def tools(self, session: str) -> str:
        """Return the key of the sorted set of a session's tools, by the time at which their results end."""
        return f"{self.prefix}:session:{_quoted(session)}:tools"

    def tool(self, session: str, name: str) -> str:
        """Return the key of what a tool returned in a session."""
        return f"{self.tools(session)}:{_quoted(name)}"

    def output(self, name: str) -> str:
        """Return the key of the reference to an output."""
        return f"{self.prefix}:output:{_quoted(name)}"

    def sealed(self, place: bytes, body: bytes) -> bytes:
        """Return *body* behind its signature for *place* (:func:`place_of`)."""
        return self._digest(place + body).encode() + body

    def opened(self, place: bytes, data: bytes) -> bytes | None:
        """Return the body in *data*, or ``None`` where this key did not sign it for *place* (:func:`place_of`)."""
        mac, body = data[:_MAC_DIGITS], data[_MAC_DIGITS:]
        return body if hmac.compare_digest(self._digest(place + body).encode(), mac) else None

    def _digest(self, data: bytes) -> str:
        return hmac.digest(self._bytes, data, "sha256").hex()

    @cached_property
    def _bytes(self) -> bytes:
        return bytes.fromhex(self.secret)


class KnownKey:
    """The key of *home*, read again when its record changes. An object may be shared between threads."""

    def __init__(self, home: Home) -> None:
        self._home, self._path = home, str(home.machine / f"{_RECORD}.json")
        self._read: tuple[tuple[int, int, int], HomeKey | None] | None = None

    def get(self) -> HomeKey | None:
        """Return the key, or ``None`` where none was made."""
        try:
            status = os.lstat(self._path)
        except OSError:
            return None
        version = status.st_ino, status.st_size, status.st_ctime_ns
        if self._read is None or self._read[0] != version:
            self._read = version, read_key(self._home)
        return self._read[1]


def place_of(*names: str) -> bytes:
    """Return *names* as bytes that no other names make, whatever follows them.

    >>> place_of("a", "bc") == place_of("ab", "c")
    False
    """
    parts = [name.encode("utf-8", "surrogatepass") for name in names]
    return b"".join([len(parts).to_bytes(2, "big"), *(len(part).to_bytes(8, "big") + part for part in parts)])


def read_key(home: Home) -> HomeKey | None:
    """Return the home's key, or ``None`` where this machine made none for this folder."""
    row = read_record(home.machine, _RECORD) or {}
    secret, owed = row.get("key"), row.get("owed")
    if not isinstance(secret, str) or not _is_secret(secret):
        return None
    return HomeKey(secret, owed if owed in _ORDER else "all")


def ensure_key(home: Home) -> HomeKey:
    """Return the home's key, and make one where there is none.

    Raises:
        MachineKeyUnusable: nothing can be signed on this machine.
        Locked: another process is making it all the time.
    """
    return read_key(home) or _changed(home, lambda known: known or HomeKey(secrets.token_hex(_BYTES)))


def use_key(home: Home, text: str) -> HomeKey:
    """Keep the key in *text*, which another machine printed, in place of this home's own.

    Raises:
        KeyRefused: *text* is no key.
        MachineKeyUnusable, Locked: see :func:`ensure_key`.
    """
    given = text.strip().lower()
    if not _is_secret(given):
        raise KeyRefused("that is no key of hot state. `memory context key` prints one on the other machine")
    return _changed(home, lambda known: known if known and known.secret == given else HomeKey(given))


def owe(home: Home, what: Owed) -> HomeKey | None:
    """Note that *what* has to be deleted in Redis, and return the key, or ``None`` where nothing was ever kept there.

    Raises:
        MachineKeyUnusable, Locked: see :func:`ensure_key`.
    """
    if read_key(home) is None:
        return None
    return _changed(home, lambda known: known and replace(known, owed=max(known.owed, what, key=_ORDER.index)))


def paid(home: Home, key: HomeKey) -> None:
    """Note that what *key* says was deleted. What came up meanwhile stays owed.

    Raises:
        MachineKeyUnusable, Locked: see :func:`ensure_key`.
    """
    _changed(home, lambda known: replace(known, owed="") if known == key else known)


def _changed(home: Home, change: Callable[[HomeKey | None], Key]) -> Key:
    with hold(home.machine / f"{_RECORD}.lock"):
        known = read_key(home)
        wanted = change(known)
        if wanted is not None and wanted != known:
            write_record(home.machine, _RECORD, {"key": wanted.secret, "owed": wanted.owed})
    return wanted


def _is_secret(text: str) -> bool:
    return len(text) == 2 * _BYTES and set(text) <= set("0123456789abcdef")


def _quoted(name: str) -> str:
    """Return *name* in ASCII without a colon, so that two names never make the same key.

    >>> _quoted("a:b"), _quoted("a%3Ab")
    ('a%3Ab', 'a%253Ab')
    """
    return quote(name, safe="", errors="surrogatepass")
