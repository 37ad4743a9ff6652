"""The key of this machine: 32 random bytes that prove that a record was made here, by this user.

A record that arrives with a pull, an archive or a shared folder can have any content. A signature under a key that
never leaves the user's state folder tells it from a record of this machine. Losing the key loses no memory: records
signed with it are believed no more, and each user of :func:`verify` says what a person can do then.

This is one of few places that read the environment outside the interfaces (``docs/architecture.md``): every program
of a user must find the same key.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from . import storage
from .errors import MachineKeyUnusable

__all__ = ["KEY_BYTES", "adopt_key", "key_path", "machine_key", "sign", "state_folder", "verify"]

#: Size of the key and of the digest.
KEY_BYTES = 32
_NAME = "machine.key"


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return ``$AGENT_HOME_STATE``, or else the platform's state folder of this user for this program."""
    if named := environ.get("AGENT_HOME_STATE"):
        return Path(named).expanduser().absolute()
    from platformdirs import user_state_path

    return user_state_path("agent-home")


def key_path(folder: Path | None = None) -> Path:
    """Return the place of the key in *folder*, by default the user's state folder. The file may be absent."""
    return (folder or state_folder()) / _NAME


def machine_key(folder: Path | None = None) -> bytes:
    """Return the key of this machine and user. Create it, readable by the owner alone, where there is none.

    Raises:
        MachineKeyUnusable: the key cannot be made, or what lies in its place cannot be trusted.
    """
    path = key_path(folder)
    try:
        known = _read(path)
        if known is None:
            from .lock import hold  # loading it takes a twentieth of a prompt, which makes no key

            storage.make_folder(path.parent)
            with hold(path.with_name(f"{_NAME}.lock")):
                known = _read(path) or _made(path)
    except OSError as error:
        raise MachineKeyUnusable(
            path, f"cannot be made ({error.strerror or error}). Make its folder writable"
        ) from error
    return known


def adopt_key(key: bytes, folder: Path | None = None) -> bool:
    """Make *key* the key of this machine and user where there is none. Return whether it is theirs now.

    The hosts of a fleet share one key, so that what one of them signed counts for the others.

    Raises:
        MachineKeyUnusable: see :func:`machine_key`, or *key* has another size.
    """
    path = key_path(folder)
    if len(key) != KEY_BYTES:
        raise MachineKeyUnusable(path, f"would get {len(key)} bytes and a key has {KEY_BYTES}. Name another one")
    from .lock import hold

    try:
        storage.make_folder(path.parent)
        with hold(path.with_name(f"{_NAME}.lock")):
            return (_read(path) or _written(path, key)) == key
    except OSError as error:
        raise MachineKeyUnusable(
            path, f"cannot be made ({error.strerror or error}). Make its folder writable"
        ) from error


def sign(purpose: str, data: bytes, *, folder: Path | None = None) -> str:
    """Return the signature of *data* for *purpose* under this machine's key: 64 hexadecimal digits.

    *purpose* names the kind of record, such as ``redo``, so that one kind cannot stand in for another.

    Raises:
        MachineKeyUnusable: see :func:`machine_key`.
    """
    return _digest(machine_key(folder), purpose, data)


def verify(purpose: str, data: bytes, mac: object, *, digits: int = 2 * KEY_BYTES, folder: Path | None = None) -> bool:
    """Return whether *mac* is the signature of *data* for *purpose* under this machine's key. Create no key.

    *digits* are those of the signature that are kept. Without a usable key nothing is verified.
    """
    if not isinstance(mac, str) or not mac.isascii():
        return False
    try:
        key = _read(key_path(folder))
    except (OSError, MachineKeyUnusable):
        return False
    return key is not None and hmac.compare_digest(_digest(key, purpose, data)[:digits], mac)


def _digest(key: bytes, purpose: str, data: bytes) -> str:
    name = purpose.encode()
    return hmac.new(key, len(name).to_bytes(4, "big") + name + data, hashlib.sha256).hexdigest()


def _read(path: Path) -> bytes | None:
    """Return the key, or ``None`` where there is none. A key that others could read is closed to them first.

    Raises:
        MachineKeyUnusable: the file is a link, has two names, belongs to somebody else, or has another size.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MachineKeyUnusable(path, f"cannot be read ({error.strerror}). Remove it") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
            raise MachineKeyUnusable(path, "is no file of your own with one name. Remove it")
        if stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(descriptor, 0o600)
        key = file.read(KEY_BYTES + 1)
    if len(key) != KEY_BYTES:
        raise MachineKeyUnusable(path, f"has {len(key)} bytes and a key has {KEY_BYTES}. Remove it")
    return key


def _made(path: Path) -> bytes:
    """Write a new key. The caller holds the lock beside it."""
    return _written(path, secrets.token_bytes(KEY_BYTES))


def _written(path: Path, key: bytes) -> bytes:
    staged = path.with_name(f"{_NAME}.tmp")
    storage.stage(staged, key)
    storage.replace(staged, path)
    return key
