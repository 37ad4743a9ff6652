"""Choice of the store of a home's index on this machine: the file beside it, or a namespace in PostgreSQL.

The choice belongs to the machine, as the index does. It is a signed record of machine state, so a home that was pulled,
unpacked or copied has its index in a file again, and reads nobody else's rows.
"""

from __future__ import annotations

from agent_home import storage
from agent_home.consent.signed_record import read_record, write_record
from agent_home.home import Home

__all__ = ["choose_namespace", "chosen_namespace", "end_moving", "moving_namespace", "set_moving"]

_RECORD, _MOVE = "index-store", "index-move"


def chosen_namespace(home: Home) -> str:
    """Return the namespace in PostgreSQL that holds the index of *home*, or an empty string for the file."""
    record = read_record(home.machine, _RECORD)
    namespace = record.get("namespace") if record else ""
    return namespace if isinstance(namespace, str) else ""


def moving_namespace(home: Home) -> str:
    """Return the namespace that a move of the index fills or empties, or an empty string."""
    record = read_record(home.machine, _MOVE)
    namespace = record.get("namespace") if record else ""
    return namespace if isinstance(namespace, str) else ""


def set_moving(home: Home, namespace: str) -> None:
    """Record that a move fills or empties *namespace*, so that the next one goes on there, and forgetting finds it.

    Raises:
        MachineKeyUnusable: nothing can be signed on this machine.
    """
    write_record(home.machine, _MOVE, {"namespace": namespace})


def end_moving(home: Home) -> None:
    """Record that no move has rows in a database that the home does not use."""
    storage.remove(home.machine / f"{_MOVE}.json")


def choose_namespace(home: Home, namespace: str) -> None:
    """Let this machine keep the index of *home* in *namespace*, or in the file if that is empty.

    A record of a move stays. See :func:`end_moving`.

    Raises:
        MachineKeyUnusable: nothing can be signed on this machine.
    """
    if namespace:
        write_record(home.machine, _RECORD, {"namespace": namespace})
    else:
        storage.remove(home.machine / f"{_RECORD}.json")
