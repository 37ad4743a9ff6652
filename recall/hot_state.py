"""Own the hot state: the working context of sessions, and what their tools returned a moment ago.

It is a small SQLite file in the machine's state. A value ends with its time to live, and nothing is lost with the file.
Values pass the guard when they are set, so a prompt may show them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

import apsw

from agent_home.errors import GuardRefused, HomeError
from agent_home.home import Home
from agent_home.screening.scan.json_values import is_plain_name, json_text, json_without_values
from agent_home.screening.service import ScreeningService
from agent_home.storage import PRIVATE_FOLDER

from .index.sqlite.schema import CORRUPTION_ERRORS

__all__ = [
    "CONTEXT_S",
    "TOOL_S",
    "HotItem",
    "HotState",
    "HotStateRefused",
    "drop_hot_state",
    "hot_state",
    "settle_hot_state",
]

#: Seconds for which a value lives: context, and results of tools.
CONTEXT_S, TOOL_S = 3600.0, 1800.0
_LEAST_S, _MOST_S = 1.0, 30 * 86_400.0
#: Characters of a value as JSON and of a name, and values of a session.
_MOST_VALUE, _MOST_NAME, _MOST_ITEMS = 65_536, 200, 256
_BUSY_MS = 2_000
#: Names that an object knows to be clean.
_MOST_KNOWN = 4096
_SCHEMA = """
CREATE TABLE IF NOT EXISTS items(
    session TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, audience TEXT NOT NULL,
    expires REAL NOT NULL, PRIMARY KEY (session, kind, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_by_end ON items(expires);
"""
_SET = (
    "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(session, kind, name) DO UPDATE SET "
    "value = excluded.value, audience = excluded.audience, expires = excluded.expires"
)
Kind = Literal["context", "tool"]
T = TypeVar("T")


class HotStateRefused(HomeError):
    """A value cannot be set as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HotItem:
    """A value of the hot state. *left_s* are the seconds for which it lives on. *audience* is who set it."""

    session: str
    kind: Kind
    name: str
    value: Any
    audience: str
    left_s: float


class HotState:
    """The hot state of one home. Use :func:`hot_state`. An object may be shared between threads.

    A damaged file is made anew, because all of it is over within the hour.
    """

    def __init__(self, home: Home, *, clock: Callable[[], float] = time.time) -> None:
        self._home, self._clock = home, clock
        self._path = home.machine / "hot-state.db"
        self._lock = Lock()
        self._conn: apsw.Connection | None = None
        self._inode = 0
        self._clean_names: set[str] = set()

    def set_context(
        self, session_id: str, context: Mapping[str, Any], *, ttl_s: float = CONTEXT_S, audience: str = "owner"
    ) -> None:
        """Set values of the working context of a session, and let all of its context live for *ttl_s* seconds more.

        Raises:
            HotStateRefused: a value is no JSON, too large, or one too many; or *ttl_s* is out of range.
            GuardRefused: the guard holds a value back.
        """
        self._set(session_id, "context", context, ttl_s, audience)
        now = self._clock()
        extend = "UPDATE items SET expires = max(expires, ?) WHERE session = ? AND kind = 'context' AND expires > ?"
        self._run(lambda conn: conn.execute(extend, (now + ttl_s, session_id, now)))

    def set_value(
        self, session_id: str, name: str, value: Any, *, ttl_s: float = CONTEXT_S, audience: str = "owner"
    ) -> None:
        """Set one value of the working context, which lives for *ttl_s* seconds.

        Raises:
            HotStateRefused, GuardRefused: see :meth:`set_context`.
        """
        self._set(session_id, "context", {name: value}, ttl_s, audience)

    def get_context(self, session_id: str) -> dict[str, Any]:
        """Return the working context of a session, by name."""
        return {item.name: item.value for item in self.items(session_id) if item.kind == "context"}

    def set_tool_results(
        self, session_id: str, tool_name: str, result: Any, *, ttl_s: float = TOOL_S, audience: str = "owner"
    ) -> None:
        """Keep what a tool returned, for *ttl_s* seconds.

        Raises:
            HotStateRefused, GuardRefused: see :meth:`set_context`.
        """
        self._set(session_id, "tool", {tool_name: result}, ttl_s, audience)

    def get_tool_results(self, session_id: str, tool_name: str) -> Any:
        """Return what a tool returned last, or ``None``."""
        found = self._rows("session = ? AND kind = 'tool' AND name = ?", (session_id, tool_name))
        return found[0].value if found else None

    def delete(self, session_id: str, name: str = "") -> int:
        """Delete a value of the working context, or without *name* everything of a session, and return their number."""

        def deleted(conn: apsw.Connection) -> int:
            if name:
                one = "DELETE FROM items WHERE session = ? AND kind = 'context' AND name = ?"
                conn.execute(one, (session_id, name))
            else:
                conn.execute("DELETE FROM items WHERE session = ?", (session_id,))
            return conn.changes()

        return self._run(deleted) if self._path.exists() else 0

    def settle(self) -> None:
        """Write everything into the file itself.

        Raises:
            apsw.Error: another process is using it, or it cannot be written.
        """
        if self._path.exists():
            self._run(lambda conn: conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    def items(self, session_id: str | None = None) -> list[HotItem]:
        """Return the living values of a session, or without one of all sessions, by session, kind and name."""
        return self._rows("1") if session_id is None else self._rows("session = ?", (session_id,))

    def _set(self, session: str, kind: Kind, values: Mapping[str, Any], ttl_s: float, audience: str) -> None:
        if not _LEAST_S <= ttl_s <= _MOST_S:
            raise HotStateRefused(f"a value lives for {_LEAST_S:g} s to 30 days, not {ttl_s:g} s")
        self._require_clean(session, *map(_name, values))
        texts = {name: _screened(self._home, name, value) for name, value in values.items()}
        now = self._clock()

        def written(conn: apsw.Connection) -> None:
            with conn:
                conn.execute("DELETE FROM items WHERE expires <= ?", (now,))
                conn.executemany(
                    _SET, ((session, kind, name, text, audience, now + ttl_s) for name, text in texts.items())
                )
                count = next(iter(conn.execute("SELECT count(*) FROM items WHERE session = ?", (session,))))[0]
                if count > _MOST_ITEMS:
                    raise HotStateRefused(f"a session keeps at most {_MOST_ITEMS} values. See `memory context delete`")

        self._run(written)

    def _require_clean(self, *names: str) -> None:
        for name in names:
            if name not in self._clean_names:
                _require_clean_name(self._home, name)
                self._clean_names.add(name)
        if len(self._clean_names) > _MOST_KNOWN:
            self._clean_names.clear()

    def _rows(self, where: str, values: tuple[str, ...] = ()) -> list[HotItem]:
        if not self._path.exists():
            return []
        now = self._clock()
        select = f"SELECT session, kind, name, value, audience, expires FROM items WHERE {where} AND expires > ?"  # noqa: S608 - constants

        def read(conn: apsw.Connection) -> list[Any]:
            return conn.execute(f"{select} ORDER BY session, kind, name", (*values, now)).fetchall()

        found = []
        for session, kind, name, value, audience, expires in self._run(read):
            with suppress(ValueError, RecursionError):  # a bit of the file flipped, and the other values are whole
                found.append(
                    HotItem(
                        session=session,
                        kind=kind,
                        name=name,
                        value=json.loads(value),
                        audience=audience,
                        left_s=round(expires - now, 1),
                    )
                )
        return found

    def _run(self, work: Callable[[apsw.Connection], T]) -> T:
        with self._lock:
            try:
                return work(self._connection())
            except (*CORRUPTION_ERRORS, UnicodeDecodeError):
                self._begin_anew()
                return work(self._connection())

    def _connection(self) -> apsw.Connection:
        if self._conn is None or _inode(self._path) != self._inode:  # another process may have made it anew
            self._path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._conn = _connected(self._path)
            self._inode = _inode(self._path)
        return self._conn

    def _begin_anew(self) -> None:
        if self._conn is not None:
            with suppress(apsw.Error):
                self._conn.close()
        self._conn = None
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)


@lru_cache(maxsize=64)
def _of(root: Path) -> HotState:
    return HotState(Home(root))


def hot_state(home: Home) -> HotState:
    """Return the hot state of *home*. A process has one object for each home."""
    return _of(home.root)


def settle_hot_state(home: Home) -> None:
    """Write everything into the file itself, so that a copy of the file has it. A busy file stays as it is."""
    with suppress(apsw.Error):
        hot_state(home).settle()


def drop_hot_state(home: Home) -> None:
    """Delete the hot state of *home*, with what deleted rows left in its file."""
    for path in home.machine.glob("hot-state.db*"):
        path.unlink(missing_ok=True)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _connected(path: Path) -> apsw.Connection:
    if path.is_symlink():  # a chmod and the writes would reach what it points to
        path.unlink()
    conn = apsw.Connection(str(path))
    path.chmod(0o600)
    conn.set_busy_timeout(_BUSY_MS)
    conn.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + _SCHEMA).fetchall()
    return conn


def _name(name: str) -> str:
    if not name.strip() or len(name) > _MOST_NAME or not name.isprintable() or not _is_text(name):
        raise HotStateRefused(f"{name[:40]!r} is no name of a value. Write 1 to {_MOST_NAME} characters on one line")
    return name


def _screened(home: Home, name: str, value: Any) -> str:
    """Return *value* as JSON, without secrets and personal data.

    Raises:
        HotStateRefused: it is no JSON, or too large.
        GuardRefused: the guard holds it back.
    """
    try:
        text, plain = json.dumps(value, ensure_ascii=False, allow_nan=False), json_text(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise HotStateRefused(f"the value {name!r} is no JSON: {error}") from error
    if not _is_text(text):
        raise HotStateRefused(f"the value {name!r} is no valid Unicode. Give text in UTF-8")
    if len(text) > _MOST_VALUE:
        raise HotStateRefused(f"the value {name!r} has {len(text)} characters. Store it: memory log")
    screening = ScreeningService(home)
    verdict = screening.verdict("outputs/x.txt", f"{name}: {plain}", "agent")
    if not verdict.stored:
        raise GuardRefused("the hot state", f"{name!r} holds {verdict.findings[0].rule}")
    if verdict.action == "allow" and "\x1b" not in plain:  # read as a whole, beside all names, and nothing was found
        return text
    clean, whole = json_without_values(screening, value, "agent", name=name)
    if not whole:
        raise GuardRefused("the hot state", f"{name!r} holds a secret in several parts. Leave it out")
    return json.dumps(clean, ensure_ascii=False)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _require_clean_name(home: Home, name: str) -> None:
    """Check the name of a value or of a session.

    Raises:
        GuardRefused: it is a secret, personal data or an instruction.
    """
    if is_plain_name(name):
        return
    screening = ScreeningService(home)
    verdict = screening.verdict("outputs/x.txt", name, "agent")
    if verdict.action != "allow" or screening.without_values("outputs/x.txt", name, "agent")[1]:
        found = verdict.findings[0].rule if verdict.findings else "a secret"
        raise GuardRefused("the hot state", f"no value and no session may be called that ({found})")
