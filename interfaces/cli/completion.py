"""Complete ids in a shell: of entries, waiting texts, decisions, sessions and outputs of the command's home.

A person waits for each answer, so the ids are read from the files as they stand, without git and without the libraries
that parse them. A shell puts the answer into its command line. An id with any other character than those of
:data:`_SAFE` is therefore never offered: anybody who can push a branch can choose its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

import click
from click.shell_completion import CompletionItem

from agent_home.git_folder import git_folder, state_folder
from agent_home.home_location import home_root
from agent_home.storage import read_bytes
from agent_home.visible import revealed
from guard.lazy_regex import lazy_regex

from .columns import fitted
from .surroundings import surroundings

__all__ = ["archived_entries", "decided_texts", "entries", "outputs", "sessions", "waiting_texts"]

#: The id of a named thing, and what it says.
_Named = tuple[str, str]
_Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_SAFE = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: The first line of an entry, in both forms that are read.
_ENTRY = lazy_regex(r"(?m)^[-*+][ \t]+\*\*\[(?P<id>[A-Z]{2}-[0-9A-Z]{4})\](?:\*\*)?[ \t]*(?P<text>.*)$")
_LIVE = ("MEMORY.md", "EVOLUTION.md")
_HELP_COLUMNS = 60
#: Most that is read of a file, because a person waits. Most names that are looked at, and that are offered.
_MOST_BYTES, _MOST_READ, _MOST = 4_000_000, 20_000, 500
_PROPOSALS = "refs/heads/proposals/"


def _completing(named: Callable[[Path], Iterable[_Named]]) -> _Completion:
    """Return what completes a parameter of a command by the things that *named* finds in the home."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        given = context.params.get(parameter.name or "") or ()
        used = {given} if isinstance(given, str) else set(given)
        found: dict[str, str] = {}
        try:
            root = _root(context)
            for name, told in islice(named(root), _MOST_READ) if root is not None else ():
                if name.casefold().startswith(incomplete.casefold()) and _SAFE.fullmatch(name) and name not in used:
                    found.setdefault(name, told)
        except (OSError, ValueError, LookupError, TypeError):
            pass  # a file is gone or damaged, which the command itself says
        return [
            CompletionItem(name, help=fitted(revealed(" ".join(told.split())), _HELP_COLUMNS) or None)
            for name, told in list(found.items())[:_MOST]
        ]

    return complete


def _root(context: click.Context) -> Path | None:
    given = surroundings()
    homes = context.params.get("homes") or ()
    return home_root(context.params.get("home_option") or next(iter(homes), None), given.environ, given.folder)


def _live_entries(root: Path) -> Iterator[_Named]:
    for name in _LIVE:
        yield from _entries_of(root / name)


def _archived_entries(root: Path) -> Iterator[_Named]:
    for path in sorted((root / "Archive").glob("*.md"), reverse=True):
        yield from _entries_of(path)


def _entries_of(path: Path) -> Iterator[_Named]:
    for match in _ENTRY.finditer(_text(path)):
        yield match["id"], match["text"].replace("**", "")


def _waiting_texts(root: Path) -> Iterator[_Named]:
    state, git = state_folder(root), git_folder(root)
    for path in sorted((state / "quarantine").glob("q-*.json")):
        yield path.stem, "quarantine"
    if git is not None:
        yield from ((name, "proposal") for name in sorted(set(_proposals(git))))
    recovered = [path.name for path in (state / "recovered").glob("[!.]*")]
    for name in sorted(recovered):
        if name.startswith("loss-") and name.endswith(".json"):
            yield f"l-{name.removeprefix('loss-').removesuffix('.json')}", "loss"
    if not all(name.startswith("loss-") for name in recovered):
        from agent_home.home import Home
        from agent_home.store import set_aside  # loads more, and there is seldom such a text

        yield from ((item.id, f"recovered, {item.path}") for item in set_aside.waiting(Home(root)))


def _proposals(git: Path) -> Iterator[str]:
    """Yield the names of the branches below ``proposals/``."""
    yield from (path.name for path in (git / _PROPOSALS).glob("*"))
    for line in _text(git / "packed-refs").splitlines():
        _, _, name = line.partition(" ")
        if name.startswith(_PROPOSALS):
            yield name.removeprefix(_PROPOSALS)


def _decided_texts(root: Path) -> Iterator[_Named]:
    """Yield the decisions that can be undone, newest first. Nobody checks the signature of the record here."""
    text = _text(state_folder(root) / "decided.json")
    for row in reversed(json.loads(text)["record"]["decisions"] if text else ()):
        yield str(row["id"]), f"{row['action']} by {row['person']}"


def _sessions(root: Path) -> Iterator[_Named]:
    """Yield the sessions, those of the last months first."""
    for month in sorted((root / "sessions").glob("*/*"), reverse=True):
        for path in sorted(month.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True):
            yield unquote(path.stem), ""


def _outputs(root: Path) -> Iterator[_Named]:
    """Yield stored outputs, newest first."""
    for day in sorted((root / "outputs").glob("*/*/*"), reverse=True):
        for path in sorted(day.glob("mem-*.json"), reverse=True):
            yield path.stem, ""


def _text(path: Path) -> str:
    """Return the beginning of a file, and nothing of one that is absent or no regular file."""
    try:
        return read_bytes(path, _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


#: Complete live entries, those of the archive, texts that wait, decisions that can be undone, sessions and outputs.
entries = _completing(_live_entries)
archived_entries = _completing(_archived_entries)
waiting_texts = _completing(_waiting_texts)
decided_texts = _completing(_decided_texts)
sessions = _completing(_sessions)
outputs = _completing(_outputs)
