"""Trust of a person on this machine in parts of a home: settings that widen something, approvals, keys and links.

The records are machine state, signed with the machine's key, and no pull reaches them. Each decision is a line of the
audit with the name of the person.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .. import storage
from ..consent.agreed_links import agreed_targets, is_place, keep_links
from ..consent.settings_in_effect import accept_settings, refuse_settings, settings_digest
from ..consent.trusted_keys import keep_keys, trusted_keys
from ..errors import DocumentInvalid, NotShareable, NotTrustable
from ..git.signatures import key_name
from ..home import Home
from ..screening.review_ledger import Decision, decisions
from ..settings import MANIFEST, WaitingSetting, load_manifest
from ..sharing.health import link_problem
from ..store import recovery
from ..store.machine_state import hold_home
from .signed_approvals import consent_to_rows, find_signed_rows

__all__ = ["Trust", "accept", "accept_approvals", "add_key", "reject", "remove_key", "share", "trust_of", "unshare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Settings and approvals that wait for a person, with digests that name exactly that, and the trusted *keys*.

    *refused* says that a person refused these very settings.
    """

    settings: tuple[WaitingSetting, ...]
    settings_digest: str
    refused: bool
    approvals: tuple[Decision, ...]
    approvals_digest: str
    keys: tuple[str, ...]


def trust_of(home: Home) -> Trust:
    """Return what waits, and what is trusted.

    Raises:
        SettingsInvalid: ``agent.toml`` cannot be read.
    """
    manifest, foreign = home.manifest, decisions(home).foreign
    rows = "\n".join(sorted(row.digest for row in foreign))
    return Trust(
        settings=manifest.waiting,
        settings_digest=settings_digest(manifest.waiting),
        refused=manifest.refused,
        approvals=foreign,
        approvals_digest=hashlib.sha256(rows.encode()).hexdigest()[:32] if foreign else "",
        keys=trusted_keys(home.machine),
    )


def accept(home: Home, keys: Sequence[str], *, person: str, now: datetime) -> None:
    """Let the waiting settings *keys*, or all of them, take effect on this machine.

    Raises:
        MachineKeyUnusable: the consent cannot be signed.
    """
    with _noted(home, f"agree to settings {', '.join(keys) or 'that wait'}", person, now):
        accept_settings(load_manifest(home.root / MANIFEST), home.machine, keys)


def reject(home: Home, *, person: str, now: datetime) -> None:
    """Refuse the settings that wait, so that prompts do not name them again."""
    with _noted(home, "refuse settings", person, now):
        refuse_settings(home.manifest, home.machine)


def accept_approvals(home: Home, *, person: str, now: datetime) -> None:
    """Let the approvals of others that stand in the ledger now count on this machine."""
    with _noted(home, "agree to approvals of others", person, now):
        consent_to_rows(home, [row.digest for row in decisions(home).foreign])


def add_key(home: Home, text: str, *, person: str, now: datetime) -> str:
    """Add the public key *text* to the trusted ones, or the one in the file of that name. Return its canonical form.

    Raises:
        NotTrustable: it is no public SSH key and no GPG fingerprint.
    """
    key = key_name(text) or key_name(_content(Path(text).expanduser()))
    if not key:
        raise NotTrustable(text)
    with _noted(home, "trust a key", person, now):
        keep_keys(home.machine, {*trusted_keys(home.machine), key})
        find_signed_rows(home)
    return key


def remove_key(home: Home, text: str, *, person: str, now: datetime) -> str:
    """Remove the trusted key whose canonical form has *text* in it, and return that form.

    Raises:
        NotTrustable: none or several have it.
    """
    found = [key for key in trusted_keys(home.machine) if text and text in key]
    if len(found) != 1:
        raise NotTrustable(text, len(found))
    with _noted(home, "trust a key no more", person, now):
        keep_keys(home.machine, set(trusted_keys(home.machine)) - set(found))
        find_signed_rows(home)
    return found[0]


def share(home: Home, place: str, *, person: str, now: datetime) -> str:
    """Let the link at *place* be followed to the folder that it leads to now. Return that folder.

    Raises:
        NotShareable: it is no link of a project folder, or the folder is never shared.
    """
    if not is_place(place):
        raise NotShareable(place, "is never shared. Only Projects/ and the folders in it can be. Name one of them")
    if not (home.root / place).is_symlink():
        problem = "is no link, so it needs no consent" if (home.root / place).exists() else "does not exist"
        raise NotShareable(
            place, f"{problem}. `memory share` lists what is shared, and `ln -s FOLDER {place}` links one"
        )
    if (home.root / place).parent.is_symlink():
        raise NotShareable(place, "is a link inside a shared folder, which others write. Put the folder itself there")
    if problem := link_problem(home, place):
        raise NotShareable(place, problem)
    target = os.path.realpath(home.root / place)
    with _noted(home, f"share {place}", person, now):
        keep_links(home.machine, {**agreed_targets(home.machine), place: target})
    return target


def unshare(home: Home, place: str, *, person: str, now: datetime) -> None:
    """Follow the link at *place* no more.

    Raises:
        NotShareable: nobody agreed to it.
    """
    links = dict(agreed_targets(home.machine))
    if links.pop(place, None) is None:
        raise NotShareable(place, "is no link that a person agreed to. `memory share` lists what is shared")
    with _noted(home, f"share {place} no more", person, now):
        keep_links(home.machine, links)


@contextmanager
def _noted(home: Home, message: str, person: str, now: datetime) -> Iterator[None]:
    """Hold the home's lock, and append a line to the audit when the block ends without an error."""
    with hold_home(home):
        yield
        recovery.audit(home, {"ts": now.isoformat(), "actor": person, "message": message, "files": []})


def _content(path: Path) -> str:
    try:
        return storage.read_text(path) if path.is_file() else ""
    except (DocumentInvalid, OSError):
        return ""
