"""Decide which host serves a home: rendezvous hashing, by which a host that comes or goes moves only its own share.

Every host computes the same answer from the same list of hosts, so nobody has to coordinate it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping

__all__ = ["place_of", "placed"]

_BITS = 53


def placed(home: str, hosts: Mapping[str, float]) -> str:
    """Return the host for *home*, or an empty string without hosts.

    *hosts* maps names to capacities. A host with twice the capacity gets twice as many homes.

    Source: Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998, with logarithmic weights.

    >>> placed("ada", {"one": 1.0, "two": 1.0}) in {"one", "two"}
    True
    """
    return max(((_score(home, name, weight), name) for name, weight in hosts.items()), default=(0.0, ""))[1]


def place_of(home: str, hosts: Mapping[str, float], *, wanted: str = "", avoided: Iterable[str] = ()) -> str:
    """Return the host for *home* among *hosts*: the *wanted* one, else another than the *avoided* ones."""
    left = {name: weight for name, weight in hosts.items() if name not in set(avoided)} or hosts
    return wanted if wanted in left else placed(home, left)


def _score(home: str, host: str, weight: float) -> float:
    digest = hashlib.blake2b(f"{host}\0{home}".encode(), digest_size=8).digest()
    drawn = (int.from_bytes(digest, "big") >> (64 - _BITS)) + 0.5  # never 0
    return -weight / math.log(drawn / (1 << _BITS))
