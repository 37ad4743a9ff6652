"""Own who may use the page: one-time links that `memory page` prints, and the browsers that followed one.

A link and a browser's cookie have 256 random bits, and their digests stand in a signed record of the machine state. So
whoever reads the disk of this machine's backups signs in with nothing, and no API token opens the page.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from agent_home.consent.signed_record import read_record, write_record
from agent_home.home import Home
from agent_home.store.machine_state import hold_home

__all__ = ["LINK_MINUTES", "Visitor", "make_link", "sign_all_out", "sign_in", "sign_out", "visitor_of"]

_RECORD = "page-access"
#: How long a link can be followed, and a browser stays signed in.
LINK_MINUTES = 15
_STAY = timedelta(hours=12)
#: Seconds that a page that ends waits for the home.
_PARTING_S = 2.0
#: Links and browsers that are remembered. The oldest go first.
_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A browser that is signed in: the *person* in front of it, and the key that its forms must send back."""

    person: str
    form_key: str

    def owns(self, form_key: str) -> bool:
        """Return whether a form with that key comes from a page that this browser was shown."""
        return hmac.compare_digest(self.form_key.encode(), form_key.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """A link or a signed-in browser, under the digest of its secret."""

    digest: str
    person: str
    until: str
    form_key: str = ""

    def is_valid(self, now: datetime) -> bool:
        return datetime.fromisoformat(self.until) > now


def make_link(home: Home, person: str, now: datetime) -> str:
    """Return the secret of a link that signs *person* in, once, within :data:`LINK_MINUTES`.

    Raises:
        MachineKeyUnusable: nothing can be signed on this machine.
    """
    secret = secrets.token_urlsafe(32)
    until = now + timedelta(minutes=LINK_MINUTES)
    with hold_home(home):
        links, visitors = _passes(home, now)
        _write(home, [*links, _Pass(digest=_digest(secret), person=person, until=until.isoformat())], visitors)
    return secret


def sign_in(home: Home, secret: str, now: datetime) -> str:
    """Use a link up, and return the secret for the cookie of the browser. Empty where no such link is left."""
    if not any(hmac.compare_digest(link.digest, _digest(secret)) for link in _passes(home, now)[0]):
        return ""  # who has no link waits for no lock, and lets nobody wait
    with hold_home(home):
        links, visitors = _passes(home, now)
        used = next((link for link in links if hmac.compare_digest(link.digest, _digest(secret))), None)
        if used is None:
            return ""
        cookie = secrets.token_urlsafe(32)
        made = _Pass(
            digest=_digest(cookie), person=used.person, until=(now + _STAY).isoformat(),
            form_key=secrets.token_urlsafe(32),
        )  # fmt: skip
        _write(home, [link for link in links if link != used], [*visitors, made])
    return cookie


def visitor_of(home: Home, cookie: str, now: datetime) -> Visitor | None:
    """Return who is signed in with that cookie."""
    if not cookie:
        return None
    _, visitors = _passes(home, now)
    found = next((one for one in visitors if hmac.compare_digest(one.digest, _digest(cookie))), None)
    return Visitor(person=found.person, form_key=found.form_key) if found else None


def sign_out(home: Home, cookie: str, now: datetime) -> None:
    """Let that cookie count no more."""
    with hold_home(home):
        links, visitors = _passes(home, now)
        _write(home, links, [one for one in visitors if one.digest != _digest(cookie)])


def sign_all_out(home: Home, now: datetime) -> None:
    """Let no cookie count any more. Links stay.

    Raises:
        Locked: another process held the home for two seconds.
    """
    with hold_home(home, _PARTING_S):
        links, visitors = _passes(home, now)
        if visitors:
            _write(home, links, ())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _passes(home: Home, now: datetime) -> tuple[list[_Pass], list[_Pass]]:
    """Return the links and the browsers that still count."""
    record: dict[str, Any] = read_record(home.machine, _RECORD) or {}
    return _valid(record.get("links", ()), now), _valid(record.get("visitors", ()), now)


def _valid(rows: Iterable[Any], now: datetime) -> list[_Pass]:
    try:
        return [one for one in (_Pass(**row) for row in rows) if one.is_valid(now)]
    except (TypeError, ValueError):  # another version wrote them
        return []


def _write(home: Home, links: Sequence[_Pass], visitors: Sequence[_Pass]) -> None:
    rows = {name: [asdict(one) for one in kept[-_MOST:]] for name, kept in (("links", links), ("visitors", visitors))}
    write_record(home.machine, _RECORD, rows)
