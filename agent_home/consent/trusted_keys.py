"""The public keys whose signed commits a person on this machine trusts, in a record outside git."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .signed_record import read_record, write_record

__all__ = ["keep_keys", "trusted_keys"]

_RECORD = "trusted-keys"


def trusted_keys(machine: Path) -> tuple[str, ...]:
    """Return the trusted keys of a home, ordered. *machine* is its folder of machine state."""
    record = read_record(machine, _RECORD)
    return tuple(record["keys"]) if record else ()


def keep_keys(machine: Path, keys: Iterable[str]) -> None:
    """Replace the trusted keys.

    Raises:
        MachineKeyUnusable: the list cannot be signed.
    """
    write_record(machine, _RECORD, {"keys": sorted(set(keys))})
