"""Proofs about what is left of a home in its remote: nothing acknowledged is lost, and one host wrote at a time.

The remote alone is asked. The log of its refs has every publication in order, and each names its host and its epoch.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_home.lease.state_commit import STATE_REF

__all__ = ["Proof", "prove"]

_LOG = Path("logs") / STATE_REF
_SAID = re.compile(r"^(Epoch|Host|Incarnation): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Result of :func:`prove`. *problems* is empty where everything holds."""

    home: str
    writes: int
    publications: int
    epochs: int
    problems: tuple[str, ...]


def prove(home: str, remote: Path, acknowledged: Iterable[Mapping[str, str]]) -> Proof:
    """Check the remote of *home* against the writes that clients were told are stored.

    A closing counts as stored when a commit of its session is there, and no promise of one is left.
    """
    problems = list(_writers(remote))
    publications, epochs = len((remote / _LOG).read_text().splitlines()), len(_epochs(remote))
    files = _files(remote)
    transcripts = "".join(text for path, text in files.items() if "/sessions/" in path)
    refs = json.loads(files["refs.json"])
    memory = refs["refs"][refs["head"]]
    history = _git(remote, "log", "-p", "--format=%H", memory)
    closed = set(_git(remote, "log", "--format=%(trailers:key=Session,valueonly)", memory).split())
    writes = 0
    for row in acknowledged:
        writes += 1
        where = {"message": transcripts, "note": history}.get(row["kind"])
        if where is not None and row["text"] not in where:
            problems.append(f"the {row['kind']} {row['text']!r} was acknowledged and is lost")
        if row["kind"] == "close" and row["text"] not in closed:
            problems.append(f"the closing of {row['text']} was promised and is lost")
    problems += [f"{path} is a promise that nobody keeps" for path in files if "promised-closings/" in path]
    problems += _history_epochs(remote, memory)
    return Proof(home=home, writes=writes, publications=publications, epochs=epochs, problems=tuple(problems))


def _writers(remote: Path) -> Iterable[str]:
    """Yield publications that came from a host whose time was over, in the order in which the remote took them."""
    last, holders = -1, dict[int, tuple[str, str]]()
    for line in (remote / _LOG).read_text().splitlines():
        said = {
            name: json.loads(value)
            for name, value in _SAID.findall(_git(remote, "cat-file", "commit", line.split()[1]))
        }
        epoch, holder = int(said["Epoch"]), (said["Host"], said["Incarnation"])
        if epoch < last:
            yield f"{holder[0]} published under the epoch {epoch} after the epoch {last}"
        if holders.setdefault(epoch, holder) != holder:
            yield f"{holder[0]} and {holders[epoch][0]} published under the epoch {epoch}"
        last = max(last, epoch)


def _history_epochs(remote: Path, memory: str) -> Iterable[str]:
    """Yield commits of the memory that an earlier holder made on top of those of a later one."""
    told = _git(remote, "log", "--reverse", "--first-parent", "--format=%H %(trailers:key=Epoch,valueonly)", memory)
    last = 0
    for line in filter(None, told.splitlines()):
        commit, _, epoch = line.partition(" ")
        if epoch.strip():
            if int(epoch) < last:
                yield f"the commit {commit} of the epoch {epoch} stands on one of the epoch {last}"
            last = max(last, int(epoch))


def _epochs(remote: Path) -> list[str]:
    return _git(remote, "show", f"{STATE_REF}:epochs.jsonl").splitlines()


def _files(remote: Path) -> dict[str, str]:
    """Return the files of the state by path, the parts of large ones one by one."""
    rows = _git(remote, "ls-tree", "-r", "-z", STATE_REF).split("\0")
    names = {path: meta.split(" ")[2] for meta, _, path in (row.partition("\t") for row in rows if row)}
    return {path: _git(remote, "cat-file", "blob", name) for path, name in names.items()}


def _git(remote: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=remote, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")
