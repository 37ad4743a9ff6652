"""The registry of a fleet: which hosts live, which homes there are, and which host writes which home.

Every change is one statement or one transaction, and compares what it changes with what the caller knows. Times are
those of the database. An object belongs to one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from recall.postgres.connections import Connection, OwnConnection
from recall.postgres.migrations import migrate

from .errors import HostNameTaken, NotInFleet
from .tables import COMPONENT, MIGRATIONS

__all__ = ["HeldHome", "Holder", "OpenHome", "Registry", "RegistryHome", "RegistryHost"]

T = TypeVar("T")
#: Seconds after which a silent registry counts as unreachable.
SILENCE_S = 5.0
#: Homes without a host that one look returns.
_MOST_OPEN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryHost:
    """A host. *seconds* are left of its session, and 0 means that it is not live."""

    name: str
    address: str
    capacity: float
    draining: bool
    seconds: float
    homes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenHome:
    """A home that no live host has."""

    id: str
    wanted: str
    avoided: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldHome:
    """A home that a host has a lease of. *wanted* is where a person wants it. *leaving* homes leave the fleet.

    *problem* is what was noted last.
    """

    id: str
    remote: str
    epoch: int
    arrived: bool
    wanted: str
    leaving: bool
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The host that serves a home, as requests need it. *arrived* is false while the home is on its way."""

    host: str
    address: str
    arrived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryHome:
    """A home as ``memory fleet status`` shows it. *host* is empty while no live host has it."""

    id: str
    remote: str
    epoch: int
    host: str
    seconds: float
    arrived: bool
    wanted: str
    leaving: bool
    problem: str


class Registry:
    """The tables of the fleet in the database at *url*. A lost connection is made again at the next call.

    Every method raises ``NoServer`` without an address, ``ServerUnavailable`` when the database does not answer, and
    ``DatabaseFailed`` when it answers with an error.
    """

    def __init__(self, url: str) -> None:
        self._connection = OwnConnection(url, SILENCE_S)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def machine_key(self, own: bytes) -> bytes:
        """Return the key that all hosts share. The first caller's *own* becomes it."""

        def act(conn: Connection) -> bytes:
            conn.execute("INSERT INTO fleet_key(machine_key) VALUES (%s) ON CONFLICT DO NOTHING", (own,))
            return bytes(_one(conn, "SELECT machine_key FROM fleet_key")[0])

        return self._run(act)

    def begin_session(self, host: str, incarnation: str, *, address: str, capacity: float, seconds: float) -> None:
        """Start or extend the session of *host*, for *seconds*.

        Raises:
            HostNameTaken: another incarnation has a session that did not end.
        """

        def act(conn: Connection) -> None:
            found = conn.execute(
                """INSERT INTO fleet_hosts AS h(name, incarnation, address, capacity, heartbeat, expires)
                    VALUES (%s, %s, %s, %s, clock_timestamp(), clock_timestamp() + make_interval(secs => %s))
                    ON CONFLICT (name) DO UPDATE SET incarnation = EXCLUDED.incarnation, address = EXCLUDED.address,
                        capacity = EXCLUDED.capacity, heartbeat = EXCLUDED.heartbeat, expires = EXCLUDED.expires
                    WHERE h.incarnation = EXCLUDED.incarnation OR h.expires <= clock_timestamp()
                    RETURNING 1""",
                (host, incarnation, address, capacity, seconds),
            ).fetchone()
            if found is None:
                taken = conn.execute("SELECT address FROM fleet_hosts WHERE name = %s", (host,)).fetchone()
                raise HostNameTaken(host, taken[0] if taken else "unknown")

        self._run(act)

    def renew(self, host: str, incarnation: str, seconds: float) -> dict[str, int] | None:
        """Extend the session of *host*. Return the epochs of its leases by home, or ``None`` if it has no session."""

        def act(conn: Connection) -> dict[str, int] | None:
            found = conn.execute(
                """UPDATE fleet_hosts SET heartbeat = clock_timestamp(),
                       expires = clock_timestamp() + make_interval(secs => %s)
                   WHERE name = %s AND incarnation = %s RETURNING 1""",
                (seconds, host, incarnation),
            ).fetchone()
            if found is None:
                return None
            rows = conn.execute(
                "SELECT home, epoch FROM fleet_leases WHERE host = %s AND incarnation = %s", (host, incarnation)
            )
            return dict(rows.fetchall())

        return self._run(act)

    def hosts(self) -> list[RegistryHost]:
        """Return all hosts, ordered by name."""

        def act(conn: Connection) -> list[RegistryHost]:
            rows = conn.execute(
                """SELECT name, address, capacity, draining,
                       greatest(0, extract(epoch FROM expires - clock_timestamp()))::float8,
                       (SELECT count(*) FROM fleet_leases l WHERE l.host = h.name AND l.incarnation = h.incarnation)
                   FROM fleet_hosts h ORDER BY name"""
            )
            names = ("name", "address", "capacity", "draining", "seconds", "homes")
            return [RegistryHost(**dict(zip(names, row, strict=True))) for row in rows]

        return self._run(act)

    def places(self) -> dict[str, float]:
        """Return the hosts that take homes, with their capacities."""
        return {host.name: host.capacity for host in self.hosts() if host.seconds > 0 and not host.draining}

    def open_homes(self) -> list[OpenHome]:
        """Return homes that no live host has, longest without one first."""

        def act(conn: Connection) -> list[OpenHome]:
            rows = conn.execute(
                """SELECT o.id, o.wanted, CASE WHEN o.avoid_until > clock_timestamp() THEN o.avoid ELSE '' END
                   FROM fleet_homes o
                   WHERE NOT o.leaving AND NOT EXISTS (SELECT 1 FROM fleet_holders h WHERE h.home = o.id)
                   ORDER BY o.epoch, o.id LIMIT %s""",
                (_MOST_OPEN,),
            )
            return [OpenHome(id=row[0], wanted=row[1], avoided=(row[2],) if row[2] else ()) for row in rows]

        return self._run(act)

    def leases_of(self, host: str, incarnation: str) -> list[HeldHome]:
        """Return the homes that *host* has a lease of, ordered by name."""

        def act(conn: Connection) -> list[HeldHome]:
            rows = conn.execute(
                """SELECT o.id, o.remote, l.epoch, l.arrived, o.wanted, o.leaving, o.problem
                   FROM fleet_leases l JOIN fleet_homes o ON o.id = l.home
                   WHERE l.host = %s AND l.incarnation = %s ORDER BY o.id""",
                (host, incarnation),
            )
            names = ("id", "remote", "epoch", "arrived", "wanted", "leaving", "problem")
            return [HeldHome(**dict(zip(names, row, strict=True))) for row in rows]

        return self._run(act)

    def claim(self, home: str, host: str, incarnation: str) -> HeldHome | None:
        """Give *host* the lease of *home* with the next epoch, or return ``None`` if a live host has it.

        Doing it again returns the same lease.

        Raises:
            NotInFleet: there is no such home.
        """

        def act(conn: Connection) -> HeldHome | None:
            with conn.transaction():
                row = conn.execute(
                    "SELECT remote, epoch, wanted, leaving FROM fleet_homes WHERE id = %s FOR UPDATE", (home,)
                ).fetchone()
                if row is None:
                    raise NotInFleet(home)
                # The session that keeps a lease valid must not be renewed between this look and the new lease.
                holder = conn.execute(
                    """SELECT h.name = %s AND h.incarnation = %s, h.expires > clock_timestamp(), l.epoch, l.arrived
                        FROM fleet_leases l JOIN fleet_hosts h ON h.name = l.host AND h.incarnation = l.incarnation
                        WHERE l.home = %s FOR UPDATE OF h""",
                    (host, incarnation, home),
                ).fetchone()
                remote, epoch, wanted, leaving = row
                if holder is not None and (holder[0] or holder[1]):
                    mine, _, epoch, arrived = holder
                    found = HeldHome(
                        id=home, remote=remote, epoch=epoch, arrived=arrived, wanted=wanted, leaving=leaving
                    )
                    return found if mine else None
                _grant(conn, home, host, incarnation, epoch + 1)
            return HeldHome(id=home, remote=remote, epoch=epoch + 1, arrived=False, wanted=wanted, leaving=leaving)

        return self._run(act)

    def raise_epoch(self, home: str, host: str, incarnation: str, over: int) -> int | None:
        """Give the lease of *home* an epoch larger than *over*, and return it, or ``None`` if the lease is gone.

        The remote of a home may know a larger epoch than a registry that was set back.
        """

        def act(conn: Connection) -> int | None:
            with conn.transaction():
                conn.execute("SELECT 1 FROM fleet_homes WHERE id = %s FOR UPDATE", (home,))
                found = conn.execute(
                    "SELECT epoch FROM fleet_leases WHERE home = %s AND host = %s AND incarnation = %s",
                    (home, host, incarnation),
                ).fetchone()
                if found is None:
                    return None
                epoch = max(int(found[0]), over) + 1
                _grant(conn, home, host, incarnation, epoch)
            return epoch

        return self._run(act)

    def note_arrived(
        self, home: str, host: str, incarnation: str, epoch: int, took: Mapping[int, str] | None = None
    ) -> bool:
        """Note that the home is there and can be asked. Return whether the lease still is that one.

        *took* has, for epochs of the home, the state that each holder found on the remote.
        """

        def act(conn: Connection) -> bool:
            with conn.transaction():
                found = conn.execute(
                    """UPDATE fleet_leases SET arrived = true
                       WHERE home = %s AND host = %s AND incarnation = %s AND epoch = %s RETURNING 1""",
                    (home, host, incarnation, epoch),
                ).fetchone()
                for number, commit in (took or {}).items():
                    conn.execute(
                        "UPDATE fleet_handovers SET took = %s WHERE home = %s AND epoch = %s", (commit, home, number)
                    )
                if found is not None:
                    conn.execute(
                        """UPDATE fleet_homes SET problem = '', avoid = '',
                               wanted = CASE WHEN wanted = %s THEN '' ELSE wanted END WHERE id = %s""",
                        (host, home),
                    )
            return found is not None

        return self._run(act)

    def release(self, home: str, host: str, incarnation: str, epoch: int, why: str) -> bool:
        """Give the lease back, and return whether it was that one."""

        def act(conn: Connection) -> bool:
            with conn.transaction():
                found = conn.execute(
                    """DELETE FROM fleet_leases WHERE home = %s AND host = %s AND incarnation = %s AND epoch = %s
                       RETURNING 1""",
                    (home, host, incarnation, epoch),
                ).fetchone()
                if found is not None:
                    conn.execute(
                        """UPDATE fleet_handovers SET ended = clock_timestamp(), why = %s
                           WHERE home = %s AND epoch = %s""",
                        (why, home, epoch),
                    )
            return found is not None

        return self._run(act)

    def note_problem(self, home: str, problem: str, *, avoid: str = "", seconds: float = 0.0) -> None:
        """Note what keeps *home* from being served, and a host that shall not try again for *seconds*."""
        statement = """UPDATE fleet_homes SET problem = %s, avoid = %s,
                           avoid_until = clock_timestamp() + make_interval(secs => %s) WHERE id = %s"""
        self._run(lambda conn: conn.execute(statement, (problem, avoid, seconds, home)))

    def add_home(self, home: str, remote: str) -> bool:
        """Add *home*, and return whether it is new with this remote. Adding it again changes nothing."""

        def act(conn: Connection) -> bool:
            conn.execute("INSERT INTO fleet_homes(id, remote) VALUES (%s, %s) ON CONFLICT DO NOTHING", (home, remote))
            return bool(_one(conn, "SELECT remote = %s FROM fleet_homes WHERE id = %s", (remote, home))[0])

        return self._run(act)

    def remote(self, home: str) -> str:
        """Return the remote of *home*, or an empty string where the fleet has no such home."""
        row = self._run(lambda conn: conn.execute("SELECT remote FROM fleet_homes WHERE id = %s", (home,)).fetchone())
        return row[0] if row else ""

    def want(self, home: str, host: str) -> None:
        """Let *home* go to *host*. When it has arrived, it may go elsewhere again.

        Raises:
            NotInFleet: there is no such home.
        """
        self._change(home, "UPDATE fleet_homes SET wanted = %s WHERE id = %s RETURNING 1", (host, home))

    def drop_wish(self, home: str, host: str) -> None:
        """Drop the wish that *home* goes to *host*, because it is there, or cannot come there."""
        statement = "UPDATE fleet_homes SET wanted = '' WHERE id = %s AND wanted = %s"
        self._run(lambda conn: conn.execute(statement, (home, host)))

    def leave(self, home: str) -> None:
        """Let *home* leave the fleet. Its host makes it a home of its own.

        Raises:
            NotInFleet: there is no such home.
        """
        self._change(home, "UPDATE fleet_homes SET leaving = true WHERE id = %s RETURNING 1", (home,))

    def remove_home(self, home: str) -> None:
        """Remove *home* from the registry. What its remote and its host have stays."""
        self._run(lambda conn: conn.execute("DELETE FROM fleet_homes WHERE id = %s", (home,)))

    def drain(self, host: str, *, draining: bool) -> bool:
        """Let *host* give its homes away and take none, or take homes again. Return whether there is such a host."""
        statement = "UPDATE fleet_hosts SET draining = %s WHERE name = %s RETURNING 1"
        return self._run(lambda conn: conn.execute(statement, (draining, host)).fetchone() is not None)

    def holder(self, home: str) -> Holder | None:
        """Return the live host that has *home*, or ``None`` while none has it.

        Raises:
            NotInFleet: there is no such home.
        """

        def act(conn: Connection) -> Holder | None:
            row = conn.execute(
                """SELECT h.host, h.address, h.arrived FROM fleet_homes o
                   LEFT JOIN fleet_holders h ON h.home = o.id WHERE o.id = %s""",
                (home,),
            ).fetchone()
            if row is None:
                raise NotInFleet(home)
            return None if row[1] is None else Holder(host=row[0], address=row[1], arrived=row[2])

        return self._run(act)

    def homes(self) -> list[RegistryHome]:
        """Return all homes, ordered by name."""

        def act(conn: Connection) -> list[RegistryHome]:
            rows = conn.execute(
                """SELECT o.id, o.remote, o.epoch, coalesce(h.host, ''),
                       coalesce(extract(epoch FROM h.expires - clock_timestamp())::float8, 0),
                       coalesce(h.arrived, false), o.wanted, o.leaving, o.problem
                   FROM fleet_homes o LEFT JOIN fleet_holders h ON h.home = o.id ORDER BY o.id"""
            )
            names = ("id", "remote", "epoch", "host", "seconds", "arrived", "wanted", "leaving", "problem")
            return [RegistryHome(**dict(zip(names, row, strict=True))) for row in rows]

        return self._run(act)

    def taken_after(self, home: str, epoch: int) -> str:
        """Return the state of *home* that the first holder after *epoch* found on the remote, if that is known."""
        statement = """SELECT took FROM fleet_handovers WHERE home = %s AND epoch > %s AND took <> ''
                       ORDER BY epoch LIMIT 1"""
        row = self._run(lambda conn: conn.execute(statement, (home, epoch)).fetchone())
        return row[0] if row else ""

    def handovers(self, home: str) -> list[tuple[int, str, datetime, datetime | None]]:
        """Return the epochs of *home* in order: the epoch, the host, and when it began and ended."""
        statement = "SELECT epoch, host, began, ended FROM fleet_handovers WHERE home = %s ORDER BY epoch"
        return self._run(lambda conn: conn.execute(statement, (home,)).fetchall())

    def _change(self, home: str, statement: Any, values: tuple[Any, ...]) -> None:
        if self._run(lambda conn: conn.execute(statement, values).fetchone()) is None:
            raise NotInFleet(home)

    def _run(self, act: Callable[[Connection], T]) -> T:
        def migrated(conn: Connection) -> T:
            migrate(conn, COMPONENT, MIGRATIONS)
            return act(conn)

        return self._connection.run(migrated)


def _grant(conn: Connection, home: str, host: str, incarnation: str, epoch: int) -> None:
    """Write the lease, and end the one before. Call in a transaction that holds the row of the home."""
    conn.execute("UPDATE fleet_homes SET epoch = %s WHERE id = %s", (epoch, home))
    conn.execute(
        """INSERT INTO fleet_leases(home, host, incarnation, epoch) VALUES (%s, %s, %s, %s)
           ON CONFLICT (home) DO UPDATE SET host = EXCLUDED.host, incarnation = EXCLUDED.incarnation,
               epoch = EXCLUDED.epoch, arrived = false""",
        (home, host, incarnation, epoch),
    )
    conn.execute(
        """UPDATE fleet_handovers SET ended = clock_timestamp(), why = 'taken over'
           WHERE home = %s AND ended IS NULL""",
        (home,),
    )
    conn.execute(
        "INSERT INTO fleet_handovers(home, epoch, host, incarnation) VALUES (%s, %s, %s, %s)",
        (home, epoch, host, incarnation),
    )


def _one(conn: Connection, statement: Any, values: Mapping[str, Any] | tuple[Any, ...] = ()) -> tuple[Any, ...]:
    row = conn.execute(statement, values).fetchone()
    assert row is not None  # noqa: S101 - each statement returns one row
    return row
