"""The tables of a fleet in PostgreSQL."""

from __future__ import annotations

from typing import LiteralString

__all__ = ["COMPONENT", "MIGRATIONS"]

#: Name under which the migrations of these tables are recorded.
COMPONENT = "fleet"

#: A host's session ends at ``expires``, by the clock of the database. All leases of the host are valid until then, so a
#: host with ten thousand homes renews one row. ``avoid`` is a host that could not take the home over a moment ago.
#: ``fleet_handovers`` has a row for each epoch of a home: who wrote it, and from which state of the remote it went on.
MIGRATIONS: tuple[LiteralString, ...] = (
    """
    CREATE TABLE fleet_key(one BOOLEAN PRIMARY KEY DEFAULT true CHECK (one), machine_key BYTEA NOT NULL);
    CREATE TABLE fleet_hosts(
        name TEXT PRIMARY KEY, incarnation TEXT NOT NULL, address TEXT NOT NULL, capacity DOUBLE PRECISION NOT NULL,
        draining BOOLEAN NOT NULL DEFAULT false, heartbeat TIMESTAMPTZ NOT NULL, expires TIMESTAMPTZ NOT NULL
    );
    CREATE TABLE fleet_homes(
        id TEXT PRIMARY KEY, remote TEXT NOT NULL, epoch BIGINT NOT NULL DEFAULT 0, wanted TEXT NOT NULL DEFAULT '',
        leaving BOOLEAN NOT NULL DEFAULT false, problem TEXT NOT NULL DEFAULT '', avoid TEXT NOT NULL DEFAULT '',
        avoid_until TIMESTAMPTZ NOT NULL DEFAULT '-infinity', added TIMESTAMPTZ NOT NULL DEFAULT now()
    );
    CREATE TABLE fleet_leases(
        home TEXT PRIMARY KEY REFERENCES fleet_homes(id) ON DELETE CASCADE, host TEXT NOT NULL,
        incarnation TEXT NOT NULL, epoch BIGINT NOT NULL, arrived BOOLEAN NOT NULL DEFAULT false
    );
    CREATE INDEX fleet_leases_host ON fleet_leases(host, incarnation);
    CREATE VIEW fleet_holders AS
        SELECT l.home, l.epoch, l.arrived, h.name AS host, h.incarnation, h.address, h.expires
        FROM fleet_leases l JOIN fleet_hosts h ON h.name = l.host AND h.incarnation = l.incarnation
        WHERE h.expires > clock_timestamp();
    CREATE TABLE fleet_handovers(
        home TEXT NOT NULL REFERENCES fleet_homes(id) ON DELETE CASCADE, epoch BIGINT NOT NULL, host TEXT NOT NULL,
        incarnation TEXT NOT NULL, began TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), ended TIMESTAMPTZ,
        why TEXT NOT NULL DEFAULT '', took TEXT NOT NULL DEFAULT '', PRIMARY KEY (home, epoch)
    );
    """,
)
