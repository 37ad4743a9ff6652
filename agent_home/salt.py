"""A random value of this home on this machine, mixed into the digests of what the guard found.

A digest tells the same secret again in the audit. Without a salt a short one, a phone number say, could be guessed
from it. The salt lies in ``.memory`` beside the audit, never in git: whoever is given a clone of the home cannot guess
with it. Where the salt is lost, old digests cannot be compared with new ones; nothing else is.
"""

from __future__ import annotations

import secrets

from . import storage
from .home import Home

__all__ = ["ensure_salt", "read_salt"]

_BYTES = 16


def read_salt(home: Home) -> str:
    """The home's salt, 32 hexadecimal digits; empty before the first write on this machine."""
    try:
        return (home.machine / "salt").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def ensure_salt(home: Home) -> str:
    """The home's salt, made if there is none. Call with the home's lock held, so that two writers agree."""
    known = read_salt(home)
    if known:
        return known
    made = secrets.token_hex(_BYTES)
    staged = home.machine / "salt.tmp"
    storage.stage(staged, made.encode())
    staged.chmod(0o600)
    storage.replace(staged, home.machine / "salt")
    return made
