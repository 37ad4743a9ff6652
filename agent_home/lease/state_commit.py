"""The commit that holds the state of a fleet's home on its remote: what it says, and the proof that a host made it.

The commit is the whole truth about a home in one ref, ``refs/agent-home/state``. Its tree has the transcripts, outputs
and machine state. Its parents are the tips of all branches, so the memory itself is reachable from it. Its message says
which host published it under which epoch, and is signed with the machine key that all hosts of a fleet share.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from ..errors import HistoryError
from ..machine_key import sign, verify

__all__ = [
    "EPOCHS",
    "REFS",
    "REMOVED",
    "STATE_REF",
    "EpochRow",
    "StateRefs",
    "StateSaid",
    "epoch_line",
    "epoch_rows",
    "read_message",
    "tree_digest",
]

#: The ref of the remote that names the newest state.
STATE_REF = "refs/agent-home/state"
#: Files of the tree beside those of the home: its refs, the holders so far, and files that a person removed.
REFS, EPOCHS, REMOVED = "refs.json", "epochs.jsonl", "removed.json"
_PURPOSE = "fleet state"
_SUBJECT = "State of the home"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSaid:
    """Content of the message of a state.

    Attributes:
        home: the name of the home in the registry.
        host, incarnation: who published it.
        epoch: the fencing token of that host.
        machine: the folder of machine state for which records in the tree are signed.
        tree: the digest of everything in the tree (:func:`tree_digest`).
    """

    home: str
    host: str
    incarnation: str
    epoch: int
    machine: str
    tree: str

    def message(self) -> str:
        """Return the signed message.

        Raises:
            MachineKeyUnusable: nothing can be signed on this machine.
        """
        body = "".join(
            f"{name}: {json.dumps(value)}\n"
            for name, value in (
                ("Home", self.home), ("Epoch", self.epoch), ("Host", self.host), ("Incarnation", self.incarnation),
                ("Machine", self.machine), ("Tree", self.tree),
            )
        )  # fmt: skip
        return f"{_SUBJECT} {' '.join(self.home.split())}\n\n{body}Signature: {sign(_PURPOSE, body.encode())}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRefs:
    """The refs of a home: what HEAD names, each ref with its object, and the format of objects."""

    head: str
    refs: Mapping[str, str] = field(default_factory=dict)
    form: str = "sha1"

    @property
    def memory(self) -> str:
        """The newest commit of the branch that HEAD names, or an empty string before the first one."""
        return self.refs.get(self.head, "")

    def data(self) -> bytes:
        """Return the file of the tree."""
        return json.dumps({"head": self.head, "form": self.form, "refs": self.refs}, sort_keys=True, indent=1).encode()

    @classmethod
    def of(cls, data: bytes) -> StateRefs:
        """Return the refs in a file of the tree.

        Raises:
            ValueError, KeyError: it has another form.
        """
        read = json.loads(data)
        return cls(head=str(read["head"]), form=str(read["form"]), refs=dict(read["refs"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRow:
    """One holder of a home: its *epoch*, host and incarnation, when it began, and the state that it *took* over."""

    epoch: int
    host: str
    incarnation: str
    at: str
    took: str = ""


def read_message(text: str) -> StateSaid:
    """Return what the message of a state says.

    Raises:
        HistoryError: it is no state, or no host of this fleet signed it.
    """
    subject, _, rest = text.partition("\n\n")
    body, found, signature = rest.rpartition("Signature: ")
    if not subject.startswith(_SUBJECT) or not found:
        raise HistoryError(f"the remote has something else than the state of a home in {STATE_REF}")
    if not verify(_PURPOSE, body.encode(), signature.strip()):
        problem = "was not signed with the machine key of this host. All hosts of a fleet share one key"
        raise HistoryError(f"the state of the home in {STATE_REF} {problem}. See `memory fleet join --help`")
    try:
        rows = dict(line.split(": ", 1) for line in body.splitlines())
        return StateSaid(**{name.lower(): json.loads(value) for name, value in rows.items()})
    except (ValueError, TypeError) as error:
        raise HistoryError(f"the state in {STATE_REF} is of another version. Update agent-home on this host") from error


def epoch_line(row: EpochRow) -> bytes:
    """Return the line of the file of holders that says who began."""
    return json.dumps(asdict(row)).encode() + b"\n"


def epoch_rows(data: bytes) -> list[EpochRow]:
    """Return the holders in the file of holders, in order.

    Raises:
        ValueError, TypeError: it has another form.
    """
    return [EpochRow(**json.loads(line)) for line in data.splitlines()]


def tree_digest(entries: Iterable[tuple[str, str, str]]) -> str:
    """Return the digest of the files ``(path, mode, object)`` of a tree, in any order."""
    digest = hashlib.sha256()
    for path, mode, name in sorted(entries):
        digest.update(f"{mode} {name} {path}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
