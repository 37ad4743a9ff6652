"""A random value of this home on this machine, the salt in the digests of the guard's findings.

A digest shows in the audit that a secret occurred before. Without a salt a short secret, such as a phone number, could
be guessed from its digest. The salt is machine state beside the audit, never in git, so a clone of the home does not
have it. If the salt is lost, old digests cannot be compared with new ones. Nothing else is affected.
"""

from __future__ import annotations

import secrets

from . import storage
from .home import Home

__all__ = ["ensure_salt", "read_salt"]

_BYTES = 16


def read_salt(home: Home) -> str:
    """Return the home's salt, 32 hexadecimal digits. It is empty before the first write on this machine."""
    try:
        return storage.read_state(home.machine / "salt").decode("ascii", "replace").strip()
    except OSError:
        return ""


def ensure_salt(home: Home) -> str:
    """Return the home's salt, and create one if there is none. The caller holds the home's lock."""
    known = read_salt(home)
    if known:
        return known
    made = secrets.token_hex(_BYTES)
    staged = home.machine / "salt.tmp"
    storage.stage(staged, made.encode())
    storage.replace(staged, home.machine / "salt")
    return made
