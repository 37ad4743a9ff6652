"""Own the bearer tokens of a home: a record of their digests in the machine state, with scopes and an audience.

A token is shown once, when it is made. It has 256 random bits, so a plain digest of it is enough: nobody can guess it,
and a slow digest would only slow down requests.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from agent_home.audience import Audience
from agent_home.consent.signed_record import read_record, write_record
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.store.machine_state import hold_home
from agent_home.store.speakers import speaker_label
from recall.namespaces.errors import NamespaceRefused

from .namespaces.grants import checked_grants

__all__ = ["SCOPES", "AccessToken", "NoSuchToken", "TokenInvalid", "add_token", "find_token", "remove_token", "tokens"]

#: What a token may do: read (prompt, search), write (store, append, close, cite, resolve), review (see what waits),
#: metrics (see the figures of the home, among them the size of its memory, and nothing else).
SCOPES = ("read", "write", "review", "metrics")
_RECORD = "tokens"
_PREFIX = "ah_"
_LEAST_CHARS = 32
#: Of the name of a token for others, so that the name of who told it something fits beside it in an entry.
_MOST_NAME_CHARS = 24
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """A token without its secret. *digest* is the SHA-256 of the token, in hexadecimal.

    *namespaces* are those that it may use (``interfaces.service.http.namespaces.grants``). Without names it uses none.
    """

    name: str
    digest: str
    scopes: tuple[str, ...]
    audience: str
    made: str
    namespaces: tuple[str, ...] = ()


class TokenInvalid(HomeError, ValueError):
    """A token cannot be made as it was asked for."""


class NoSuchToken(HomeError):
    """No token of the home has that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no token {name!r}. Known tokens: {', '.join(known) or 'none'}")
        self.name = name


def add_token(
    home: Home,
    name: str,
    *,
    scopes: Sequence[str],
    audience: str,
    now: datetime,
    given: str = "",
    namespaces: Sequence[str] = (),
) -> str:
    """Make a token called *name* and return it. Only its digest is stored.

    *given* is used in place of a new one, such as a secret that a cluster hands out. Adding it again changes nothing.

    Raises:
        TokenInvalid: the name is taken or unusable, a scope is unknown, the audience is, or *given* is too short.
    """
    if not _NAME.fullmatch(name):
        raise TokenInvalid(f"the name {name!r} has other characters than letters, digits, '.', '_' and '-'")
    if audience != Audience.owner and speaker_label(name) != name:
        raise TokenInvalid(
            f"entries would show the name {name!r} as {speaker_label(name)!r}. Choose one with letters, at most "
            f"{_MOST_NAME_CHARS} characters, fewer than four digits in a row, and no sign at its ends"
        )
    if audience != Audience.owner and len(name) > _MOST_NAME_CHARS:
        raise TokenInvalid(f"the name has {len(name)} characters. Choose one of at most {_MOST_NAME_CHARS}")
    if not scopes or set(scopes) - set(SCOPES):
        raise TokenInvalid(f"scopes are {', '.join(scopes) or 'missing'}. Known scopes: {', '.join(SCOPES)}")
    if audience not in tuple(Audience):
        raise TokenInvalid(f"unknown audience {audience!r}. Known audiences: {', '.join(Audience)}")
    if audience != Audience.owner and set(scopes) == {"review"}:
        raise TokenInvalid("only the owner sees what waits. Add --audience owner, or another scope")
    if given and len(given) < _LEAST_CHARS:
        raise TokenInvalid(f"the token has {len(given)} characters. Give it {_LEAST_CHARS} random ones or more")
    try:
        granted = checked_grants(namespaces)
    except NamespaceRefused as error:
        raise TokenInvalid(str(error)) from error
    token = given or _PREFIX + secrets.token_urlsafe(32)
    made = AccessToken(
        name=name,
        digest=_digest(token),
        scopes=tuple(scope for scope in SCOPES if scope in scopes),
        audience=audience,
        made=now.isoformat(timespec="seconds"),
        namespaces=granted,
    )
    with hold_home(home):
        known = tokens(home)
        if given and _same(made) in map(_same, known):
            return token
        if name.casefold() in {item.name.casefold() for item in known}:
            raise TokenInvalid(f"there is a token {name!r}. Remove it first, or choose another name")
        _write(home, [*known, made])
    return token


def remove_token(home: Home, name: str) -> None:
    """Take the token *name* away. It is refused from now on.

    Raises:
        NoSuchToken: there is none.
    """
    with hold_home(home):
        known = tokens(home)
        if name not in {item.name for item in known}:
            raise NoSuchToken(name, [item.name for item in known])
        _write(home, [item for item in known if item.name != name])


def tokens(home: Home) -> list[AccessToken]:
    """Return the tokens of *home*, in the order in which they were made. A record of another machine has none."""
    record = read_record(home.machine, _RECORD) or {}
    return [
        AccessToken(**{**row, "scopes": tuple(row["scopes"]), "namespaces": tuple(row.get("namespaces", ()))})
        for row in record.get("tokens", [])
    ]


def find_token(home: Home, given: str) -> AccessToken | None:
    """Return the token of *home* that is *given*, or ``None``. Takes the same time whichever it is."""
    digest, found = _digest(given), None
    for token in tokens(home):
        if hmac.compare_digest(token.digest, digest):
            found = token
    return found


def _same(token: AccessToken) -> tuple[str, str, tuple[str, ...], str, tuple[str, ...]]:
    """Return everything of *token* but its time."""
    return token.name, token.digest, token.scopes, token.audience, token.namespaces


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _write(home: Home, known: Sequence[AccessToken]) -> None:
    write_record(home.machine, _RECORD, {"tokens": [asdict(token) for token in known]})
