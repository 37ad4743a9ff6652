"""Homes with commands that change them, and what must hold in such a home whatever happened to a command."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agent_home.creation import create
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.references import entry_places
from agent_home.store.transcript import Message
from assembler.prompt import Request, assemble
from distill.close import close_all
from distill.review.queue import waiting
from interfaces.doctor.health import examine
from recall.index.sync import sync
from recall.settings import RecallSettings

from .report import Finding

__all__ = [
    "NOW",
    "SCENARIOS",
    "Scenario",
    "State",
    "chat_file",
    "check",
    "copied",
    "make",
    "prompt_problems",
    "state",
    "tell",
]

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
LATER = "2027-06-01T09:00:00+00:00"
#: Always told before the command under trial, and never forgotten.
KNOWN = "Preference: sort open points by risk."
FORGOTTEN = "blue heron"
SAID: Mapping[str, Sequence[str]] = {
    "known": (KNOWN, "Decision: the code word is Blue Heron.", "Lesson: warm the cache before a load test."),
    "open": ("Open: send the minutes to Ana.", "Decision: ship the crate on Monday."),
    "waiting": ("Decision: the pump runs at 40 bar.", "Lesson: never close the valve first."),
}
IMPORTED = ("Decision: paint the hull green.", "Lesson: dry the wood for two weeks.")


@dataclass(frozen=True, slots=True)
class State:
    """What a home holds: the texts of its entries, live and archived, and the messages of its transcripts."""

    entries: frozenset[str]
    messages: frozenset[tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A command that changes a home. *forgets* is a text that it erases, *leaves* the pattern of a file of its own."""

    name: str
    arguments: Callable[[Home, Path], Sequence[str]]
    forgets: str = ""
    leaves: str = ""
    #: Exit codes of a command that ran to its end.
    ends: Sequence[int] = (0,)


def make(folder: Path) -> Home:
    """Make the home that every trial begins with: closed and waiting sessions, a proposal, an index."""
    home = create(folder, name="Trial", now=NOW).home
    subprocess.run(["git", "config", "gc.auto", "1"], cwd=home.root, check=True)  # so that a night packs
    for number, session in enumerate(("known", "open")):
        tell(home, session, number, SAID[session])
        close_all(home, now=NOW)
    tell(home, "agent", 5, ("Preference: answer in Dutch.",), role="assistant")
    close_all(home, now=NOW)
    tell(home, "waiting", 7, SAID["waiting"])
    sync(home, RecallSettings(), None)
    return home


def tell(home: Home, session: str, hour: int, said: Sequence[str], role: str = "user") -> None:
    """Append *said* to *session*, one message a minute from *hour* on."""
    rows = [
        Message(session=session, id=f"m{n}", ts=f"2026-11-20T{hour:02d}:{n:02d}:00+00:00", role=role, content=text)
        for n, text in enumerate(said)
    ]
    transcript.append(home, session, rows, actor="trial", now=NOW)


def chat_file(folder: Path) -> Path:
    """Write the chat that one of the scenarios imports."""
    path = folder / "chat.jsonl"
    rows = (
        {"session": "imported", "id": f"m{n}", "ts": f"2026-11-20T18:{n:02d}:00+00:00", "role": "user", "content": text}
        for n, text in enumerate(IMPORTED)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _first(home: Home, prefix: str) -> str:
    document = parse((home.root / "MEMORY.md").read_text("utf-8"))
    return next(entry.id for entry in document.entries() if entry.prefix == prefix)


def _proposal(home: Home) -> str:
    return waiting(home, NOW)[0].id


def _saved_from_a_stale_buffer(home: Home) -> list[str]:
    """Commit five entries, and save the file without them as an editor does. Return no arguments."""
    path = home.root / "MEMORY.md"
    stale = path.read_bytes()
    with transaction(home, actor="trial", message="More", now=NOW) as edits:
        more = [Entry(id=f"LL-000{n}", date="2026-11-20", title=f"Check valve {n} at dawn") for n in range(5)]
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entries([("Lessons Learned", entry) for entry in more]))
    path.write_bytes(stale)
    return []


#: The commands under trial. Each is run again after a fault, and then has done its work once.
SCENARIOS = (
    Scenario(name="import", arguments=lambda _, folder: ["import", "chat", str(chat_file(folder))]),
    Scenario(name="close", arguments=lambda *_: ["close", "--all"]),
    Scenario(name="remember", arguments=lambda *_: ["remember", "Leo is allergic to bee stings"]),
    Scenario(
        name="loss", arguments=lambda home, _: [*_saved_from_a_stale_buffer(home), "remember", "Mia sings in a choir"]
    ),
    Scenario(name="done", arguments=lambda home, _: ["done", _first(home, "OT")]),
    Scenario(name="archive", arguments=lambda *_: ["archive", "--apply", "--now", LATER]),
    Scenario(
        name="forget", forgets=FORGOTTEN, arguments=lambda *_: ["forget", FORGOTTEN, "--apply", "--purge"], ends=(0, 1)
    ),
    Scenario(
        name="review accept", ends=(0, 2),
        arguments=lambda home, _: ["review", "accept", _proposal(home), "--as", "Ada"],
    ),
    Scenario(
        name="review reject", ends=(0, 2),
        arguments=lambda home, _: ["review", "reject", _proposal(home), "--as", "Ada"],
    ),
    Scenario(name="distill", leaves="ledger/nights/*.md", arguments=lambda *_: ["distill"]),
    Scenario(name="reindex", arguments=lambda *_: ["reindex"]),
)  # fmt: skip


def copied(home: Home, to: Path) -> Home:
    """Copy *home* for one trial."""
    shutil.copytree(home.root, to, symlinks=True)
    subprocess.run(["git", "-C", str(to), "update-index", "-q", "--refresh"], check=False, capture_output=True)
    return Home(to)


def state(home: Home) -> State:
    """Read what *home* holds from its files."""
    entries = (entry.text for places in entry_places(home).values() for _, entry in places)
    messages = (
        (file.session, turn.message.id, turn.message.content)
        for file in transcript.sessions(home)
        for turn in transcript.read(file.path)
    )
    return State(entries=frozenset(entries), messages=frozenset(messages))


def prompt_problems(home: Home, trial: str) -> Iterator[Finding]:
    """Yield a finding if no prompt comes, or one without what was known before."""
    try:
        receipt = assemble(Home(home.root), Request(now=NOW, message="What do we sort by?"))
    except Exception as error:
        yield Finding(trial, "prompt", f"{type(error).__name__}: {error}")
        return
    if "by risk" not in receipt.text:
        parts = [f"{line.name}: {line.action} {line.reason}" for line in receipt.sections]
        why = "; ".join((*receipt.degraded, *parts))
        yield Finding(trial, "prompt", f"the prompt lacks what was known before ({why})")


def check(home: Home, wanted: State, trial: str) -> Iterator[Finding]:
    """Yield what is wrong in *home*, which must hold what *wanted* holds."""
    try:
        found = state(home)
    except Exception as error:
        yield Finding(trial, "corrupt", f"{type(error).__name__}: {error}")
        return
    for text in sorted(wanted.entries - found.entries):
        yield Finding(trial, "lost", f"entry: {text}")
    for session, name, _ in sorted(wanted.messages - found.messages):
        yield Finding(trial, "lost", f"message {session}#{name}")
    checked = _git(home, "fsck", "--full", "--strict")
    if checked.returncode:
        yield Finding(trial, "corrupt", f"git fsck: {(checked.stderr or checked.stdout).strip()[:300]}")
    uncommitted = _git(home, "status", "--porcelain").stdout.strip()
    if uncommitted:
        yield Finding(trial, "lost", f"not in the last commit: {uncommitted}")
    for one in examine(home, NOW):
        if one.status == "failed":
            yield Finding(trial, "corrupt", f"doctor, {one.name}: {one.detail}")


def _git(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(home.root), *arguments], check=False, capture_output=True, text=True)
