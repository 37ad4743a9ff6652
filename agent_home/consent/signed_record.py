"""Small records of this machine about a home, each signed with the machine's key.

A record of another machine, of another home or of nobody counts as absent, so what it would allow is not allowed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import storage
from ..errors import DocumentInvalid, MachineKeyUnusable
from ..machine_key import sign, verify

__all__ = ["moved_record", "read_record", "try_write_record", "write_record"]


def read_record(machine: Path, name: str) -> dict[str, Any] | None:
    """Return the record *name* in *machine*, a home's folder of machine state, or ``None`` without a valid one."""
    try:
        data, place = storage.read_state(_path(machine, name)), _place(machine)
    except (OSError, ValueError, DocumentInvalid):
        return None
    return _verified(data, name, place)


def write_record(machine: Path, name: str, record: Mapping[str, Any]) -> None:
    """Write the record *name* durably. The same record is not written again.

    Raises:
        MachineKeyUnusable: nothing can be signed on this machine.
    """
    if read_record(machine, name) == record:
        return
    data = _signed(machine, name, record)
    path = _path(machine, name)
    staged = path.with_name(f"{path.name}.tmp")
    storage.stage(staged, data)
    storage.replace(staged, path)


def try_write_record(machine: Path, name: str, record: Mapping[str, Any], *, durable: bool = True) -> bool:
    """Write the record *name* where that is possible, and return whether it was.

    Without it, what it would allow waits for a person again. A record that is not *durable* may be lost with the
    machine's power.
    """
    try:
        if not durable:
            return storage.write_cache(_path(machine, name), _signed(machine, name, record))
        write_record(machine, name, record)
    except (MachineKeyUnusable, OSError):
        return False
    return True


def moved_record(data: bytes, name: str, *, start: str, machine: Path) -> bytes | None:
    """Return the bytes of the record *name*, signed for the folder *machine*.

    *data* is the record that lay in the folder *start*. Return ``None`` where it did not count there.

    Raises:
        MachineKeyUnusable: nothing can be signed on this machine.
    """
    record = _verified(data, name, start)
    return None if record is None else _signed(machine, name, record)


def _verified(data: bytes, name: str, place: str) -> dict[str, Any] | None:
    """Return the record in *data* if this machine signed it for the folder *place*, else ``None``."""
    try:
        row = json.loads(data)
        body = row["record"]
        valid = isinstance(body, dict) and verify(f"record {name}", _bytes(place, body), row["mac"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return body if valid else None


def _signed(machine: Path, name: str, record: Mapping[str, Any]) -> bytes:
    row = {"record": record, "mac": sign(f"record {name}", _bytes(_place(machine), record))}
    return json.dumps(row, ensure_ascii=True, indent=1).encode()


def _path(machine: Path, name: str) -> Path:
    return machine / f"{name}.json"


def _place(machine: Path) -> str:
    return str(machine.resolve())


def _bytes(place: str, record: Mapping[str, Any]) -> bytes:
    """Return what is signed: the record and the folder it is in, so that it does not count for another home."""
    return json.dumps([place, record], sort_keys=True, ensure_ascii=True).encode()
