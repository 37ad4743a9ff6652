"""Decide who asks: a program of this user over the home's socket, or the holder of a bearer token over a port."""

from __future__ import annotations

import hashlib
import re
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from starlette.requests import Request

from agent_home import storage
from agent_home.audience import Audience
from agent_home.documents.document import parse
from agent_home.documents.entry import normalise_id
from agent_home.errors import NoSuchEntry
from agent_home.home import MEMORY, Home
from agent_home.screening.service import ScreeningService
from agent_home.store.speakers import MOST_LABEL_CHARS, speaker_label
from agent_home.store.transcript import session_name

from ..routing.scope_keys import HOME_IN_SCOPE
from .namespaces.grants import EVERY_NAMESPACE
from .problem import HttpProblem
from .tokens import SCOPES, find_token

__all__ = ["HIDDEN_PROBLEM", "Caller", "Callers"]

#: Stands for problems whose text only the owner may see.
HIDDEN_PROBLEM = "a part of it did not work. The owner can see which"

_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
_MINUTE_S = 60.0
#: Letters of a token's digest that tell its sessions from those of another one.
_KEY_LETTERS = 8
#: Messages of one request of a caller other than the owner: each may wait for a person.
_MOST_MESSAGES = 50
#: A name or an address, and perhaps a port.
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]]+)(?::\d{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The one who asks: a name, the home, and the scopes. *audience* is who sees the answers.

    *key* tells callers apart: another token of the same name has another. *namespaces* are those that it may use.
    """

    name: str
    home: Home
    scopes: tuple[str, ...]
    audience: str
    key: str = ""
    namespaces: tuple[str, ...] = ()

    @property
    def author(self) -> dict[str, Any]:
        """The author of the notes that the caller writes, as arguments of ``AgentHome.remember``.

        For the owner it is the agent. Anybody else is a participant, and speaks for itself.
        """
        return self.speaker if self._is_owner else {**self.speaker, "session": f"{self.lead}notes"}

    @property
    def speaker(self) -> dict[str, Any]:
        """The author alone, as arguments of ``AgentHome.resolve``."""
        return {"origin": "agent"} if self._is_owner else {"origin": "participant", "speaker": self.name}

    @property
    def source(self) -> Literal["agent", "participant"]:
        """The author of what the caller writes, for the guard."""
        return "agent" if self._is_owner else "participant"

    @property
    def _is_owner(self) -> bool:
        return self.audience == Audience.owner

    @property
    def lead(self) -> str:
        """The beginning of the names of the caller's sessions, and of no other caller's. Empty for the owner."""
        if self._is_owner:
            return ""
        return f"{self.name}-{_letters(self.key[:_KEY_LETTERS])}:"

    def session(self, name: str) -> str:
        """Return the stored name of the caller's session *name*.

        Callers other than the owner have sessions of their own. So they append to no other, close no other, and learn
        of no other's name. A name that the guard would replace gets a digest in its place, because its lead says whose
        the session is.
        """
        if not self.lead or not name:
            return name
        own = name if name.startswith(self.lead) else self.lead + name
        if session_name(self.home, own).startswith(self.lead):
            return own
        digest = hashlib.blake2b(own.encode("utf-8", "surrogatepass"), digest_size=10).digest()
        return f"{self.lead}s-{_letters(digest.hex())}"

    def said(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the message *row* as the caller may bring it.

        Callers other than the owner speak for themselves: neither as the owner nor as the agent, under no other name
        than theirs, and about no repository of this machine. What they bring of tools and systems is data.
        """
        if self._is_owner:
            return dict(row)
        told = " ".join(str(row.get("name", "")).split())
        return {
            **{key: value for key, value in row.items() if key not in {"cwd", "account"}},
            "role": "participant" if row["role"] in {"user", "assistant", "participant"} else "tool",
            "name": self._named(told),
        }

    def _named(self, told: str) -> str:
        """Return the name under which the caller says what somebody *told* it: theirs, and always its own."""
        suffix = f" via {self.name}"
        short = speaker_label(told)[: max(0, MOST_LABEL_CHARS - len(suffix))].strip()
        name = f"{short}{suffix}"
        if not short or short == self.name or speaker_label(name) != name:
            return self.name
        return name if ScreeningService(self.home).allows("sessions/x.jsonl", name, "participant") else self.name

    def require(self, scope: str, *, owner: bool = False) -> None:
        """Refuse a caller without *scope*, or with *owner* one whose audience is another.

        Raises:
            HttpProblem: with status 403.
        """
        if scope not in self.scopes:
            raise HttpProblem(
                403, f"this token has no scope {scope!r}. Make one: memory token add NAME --scope {scope}"
            )
        if owner and not self._is_owner:
            raise HttpProblem(403, "only a token for the audience 'owner' may see this")

    def require_live(self, ids: Sequence[str]) -> None:
        """Refuse archived entries to a caller that does not read the archive: citing one would bring it to MEMORY.md.

        Raises:
            NoSuchEntry: one of *ids* is not in MEMORY.md.
        """
        if self.home.may_read("Archive/MEMORY.md", self.audience):
            return
        live = {entry.id for entry in parse(storage.read_text(self.home.root / MEMORY)).entries()}
        for spelled in ids:
            if normalise_id(spelled) not in live:
                raise NoSuchEntry(spelled, ())

    def require_room(self, messages: int = 0) -> None:
        """Refuse a caller other than the owner so many of whose texts wait that a person could not look through more.

        Raises:
            HttpProblem: with status 429, or 413 for a request of too many *messages*.
        """
        if self._is_owner:
            return
        if messages > _MOST_MESSAGES:
            raise HttpProblem(413, f"{messages} messages are too many at once for this token. Send {_MOST_MESSAGES}")
        from distill.participant_notes import MOST_WAITING
        from distill.review.queue import waiting_of_sessions

        waiting = waiting_of_sessions(self.home, self.lead)
        if waiting >= MOST_WAITING:
            raise HttpProblem(429, f"{MOST_WAITING} texts of this token wait already. `memory review` shows them")
        if messages > MOST_WAITING - waiting:
            left = MOST_WAITING - waiting
            raise HttpProblem(429, f"{waiting} texts of this token wait. Send at most {left} messages at once now")

    def shown(self, problems: Iterable[str]) -> tuple[str, ...]:
        """Return *problems* for the owner. Others learn that there are some, because a problem may name a file."""
        found = tuple(dict.fromkeys(problems))
        return found if self._is_owner or not found else (HIDDEN_PROBLEM,)

    def audience_for(self, asked: str) -> str:
        """Return the audience of an answer: the caller's own, or for the owner any that is *asked* for.

        Raises:
            HttpProblem: an unknown audience, or one that the caller is not.
        """
        if not asked or asked == self.audience:
            return self.audience
        if asked not in tuple(Audience):
            raise HttpProblem(422, f"unknown audience {asked!r}. Known audiences: {', '.join(Audience)}")
        if not self._is_owner:
            raise HttpProblem(403, f"this token answers the audience {self.audience!r} alone")
        return asked


class Callers:
    """The homes of a service, and who may ask about them.

    *sockets* maps the address of each socket to its home. On a host of a fleet there are none, and each request names
    its home (:mod:`interfaces.service.routing.home_router`). *hosts* are names under which the port may be reached
    besides those of this machine. A browser's page of another origin is refused.
    """

    def __init__(self, sockets: Mapping[str, Home], *, hosts: Sequence[str] = (), per_minute: int = 600) -> None:
        self._sockets = dict(sockets)
        self._hosts = _LOCAL_HOSTS | {host.casefold() for host in hosts}
        self._per_minute = per_minute
        self._asked: dict[str, deque[float]] = {}

    @property
    def homes(self) -> list[Home]:
        """The homes that are served."""
        return list(self._sockets.values())

    def on_socket(self, request: Request) -> bool:
        """Return whether *request* came over a socket, which only programs of this user can open."""
        return request.scope["server"][1] is None

    def require_own_host(self, request: Request) -> None:
        """Refuse a request that a page of another site made, by its ``Origin`` or by a forged ``Host``.

        Raises:
            HttpProblem: with status 403 or 421.
        """
        if self.on_socket(request):
            return
        self.require_known_host(request)
        if "origin" in request.headers:
            raise HttpProblem(403, "requests of web pages are not answered")

    def require_known_host(self, request: Request) -> None:
        """Refuse a request with a forged ``Host``, as a page of another site makes it after it changed its address.

        Raises:
            HttpProblem: with status 421, or 404 on a home's socket.
        """
        if self.on_socket(request):
            raise HttpProblem(404, "the page is served on a port")
        if _without_port(request.headers.get("host", "")) not in self._hosts:
            raise HttpProblem(421, "unknown host. Start the service with --allow-host to answer under another name")

    def identify(self, request: Request, *, schemes: Sequence[str] = ("bearer",)) -> Caller:
        """Return who asks. *schemes* are the words before a token that this path accepts, in lower case.

        Raises:
            HttpProblem: no valid token (401), too many requests (429), or no home where a fleet needs one (400).
        """
        if self.on_socket(request):
            home = self._sockets[request.scope["server"][0]]
            return Caller(
                name="socket", home=home, scopes=SCOPES, audience=Audience.owner, namespaces=(EVERY_NAMESPACE,)
            )
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        named = request.scope.get(HOME_IN_SCOPE)
        if named is None and not self._sockets:
            raise HttpProblem(400, "name the home: /homes/NAME before the path, or the header X-Agent-Home")
        for home in [named] if named is not None else self.homes:
            token = find_token(home, given.strip()) if kind.casefold() in schemes else None
            if token is not None:
                self._count(f"{home.root}\0{token.name}")
                return Caller(
                    name=token.name, home=home, scopes=token.scopes, audience=token.audience, key=token.digest,
                    namespaces=token.namespaces,
                )  # fmt: skip
        raise HttpProblem(
            401, "no valid bearer token. Make one: memory token add NAME", headers={"WWW-Authenticate": "Bearer"}
        )

    def _count(self, name: str) -> None:
        """Note a request of the token *name*, and refuse one too many in a minute."""
        if not self._per_minute:
            return
        now = time.monotonic()
        asked = self._asked.setdefault(name, deque())
        while asked and now - asked[0] > _MINUTE_S:
            asked.popleft()
        if len(asked) >= self._per_minute:
            wait = max(1, round(_MINUTE_S - (now - asked[0])))
            raise HttpProblem(
                429, f"more than {self._per_minute} requests in a minute", headers={"Retry-After": str(wait)}
            )
        asked.append(now)


def _letters(digits: str) -> str:
    """Return hexadecimal *digits* as letters, because digits may look private."""
    return "".join(chr(ord("a") + int(digit, 16)) for digit in digits)


def _without_port(host: str) -> str:
    found = _HOST.fullmatch(host.strip().casefold())
    return found["name"] if found else ""
