"""One of two machines: a clone of a home, what a person and the program do in it, and what must not vanish from it.

Every statement has a word of its own, so that it is found wherever it stands and however it was reworded.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from agent_home.documents import daily_log
from agent_home.documents.check import entry_files
from agent_home.documents.document import parse
from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from agent_home.store import transcript
from assembler.prompt import Request, assemble

from .faults import Fault, Faults

__all__ = ["Acted", "Clone", "Promise", "word"]

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
#: Words that :func:`word` makes, with the words of other texts that look like them.
_WORD = re.compile(r"\b(?:[bdfgklmnprstvz][aeiou]){3}x\b")
_MARKERS = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7}).*\n", re.MULTILINE)
_WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "core.editor=true")
#: A code block that a person opens before a section and forgets to close.
OPENED = "\n```\n## "
#: Files of a person that hold no entries.
_PROSE = ("USER.md", "TOOLS.md")


def word(number: int) -> str:
    """Return a word that no other number has.

    >>> word(0), word(1)
    ('bababax', 'dupobex')
    """
    rest, letters = number * 7919 % 70**3, ""  # neighbours do not look alike
    for _ in range(3):
        rest, vowel = divmod(rest, 5)
        rest, consonant = divmod(rest, 14)
        letters += _CONSONANTS[consonant] + _VOWELS[vowel]
    return f"{letters}x"


@dataclass(slots=True)
class Promise:
    """What was acknowledged: words of statements, words and sections of the daily log, and messages."""

    words: set[str] = field(default_factory=set)
    logged: set[str] = field(default_factory=set)
    sections: set[tuple[str, str]] = field(default_factory=set)
    messages: set[tuple[str, str]] = field(default_factory=set)

    def take(self, other: Promise) -> None:
        """Add what came with a push or a pull. Messages stay on their machine."""
        self.words |= other.words
        self.logged |= other.logged
        self.sections |= other.sections


@dataclass(frozen=True, slots=True)
class Acted:
    """How a command ended. *code* is negative when it was killed."""

    code: int
    output: str
    errors: str

    @property
    def acknowledged(self) -> bool:
        return self.code in {0, 1}

    def json(self) -> Any:
        return json.loads(self.output)


def _united_sections(text: str) -> str:
    """Remove a heading that repeats the one above it."""
    kept: list[str] = []
    section = ""
    for line in text.splitlines(keepends=True):
        if line.startswith("## "):
            if line == section:
                continue
            section = line
        kept.append(line)
    return "".join(kept)


class Clone:
    """A machine with its clone. *released* are words that may vanish, because they were forgotten, for example."""

    def __init__(self, root: Path, faults: Faults, released: set[str]) -> None:
        self.home, self.promise, self.released = Home(root), Promise(), released
        self._faults = faults
        #: A person removed much by hand, and no write has brought it back yet.
        self.lossy = False

    def memory(self, *arguments: str, now: datetime, kill_at: int = 0) -> Acted:
        """Run ``memory``, and kill it at a change of a file. Below 0, the disk is full from that one on."""
        command = [*arguments, "--home", str(self.home.root), "--now", now.isoformat()]
        fault: Fault = "kill" if kill_at > 0 else "full" if kill_at else "count"
        code, _, output, errors = self._faults.run(*command, fault=fault, at=abs(kill_at))
        return Acted(code, output, errors)

    def git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run git as a person does."""
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-C", str(self.home.root), *_WHO, *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)

    def text(self, name: str) -> str:
        """Return the text of a file, or nothing."""
        with suppress(OSError):
            return (self.home.root / name).read_text("utf-8")
        return ""

    def write(self, name: str, text: str) -> None:
        """Save a file as an editor does."""
        beside = self.home.root / f".{name}.swp"
        beside.write_text(text, "utf-8")
        beside.replace(self.home.root / name)

    @property
    def is_merging(self) -> bool:
        """Whether a merge or a rebase waits for a person."""
        git = self.home.root / ".git"
        return any((git / name).exists() for name in ("MERGE_HEAD", "rebase-merge", "rebase-apply"))

    def resolve(self) -> None:
        """Finish a merge or a rebase as documented: keep the lines of both sides, and remove what `memory check` names.

        That is the markers, the code block that this person opened in a commit that is replayed, and the second heading
        of a section that both sides have.
        """
        for _ in range(30):
            if not self.is_merging:
                return
            for name in self.git("diff", "--name-only", "--diff-filter=U").stdout.splitlines():
                path = self.home.root / name
                if path.exists():
                    text = _MARKERS.sub("", path.read_text("utf-8"))
                    path.write_text(_united_sections(text.replace(OPENED, "\n## ")), "utf-8")
            self.git("add", "--all")
            if (self.home.root / ".git" / "MERGE_HEAD").exists():
                done = self.git("commit", "--quiet", "--no-edit")
            else:
                # A commit that the other side has already is empty now. Any other one must not be skipped.
                is_empty = self.git("diff", "--cached", "--quiet", "HEAD").returncode == 0
                done = self.git("rebase", "--skip" if is_empty else "--continue")
        assert not self.is_merging, f"the merge cannot be finished: {done.stdout}{done.stderr}"

    def words(self, *, committed: bool = False) -> set[str]:
        """Return the words of statements in entries, archived ones too, and in files of a person.

        With *committed* the branch of memory counts, which a rebase moves at its end only.
        """
        return {found for text in self._texts(committed=committed) for found in _WORD.findall(text)}

    def _texts(self, *, committed: bool) -> Iterator[str]:
        for name in dict.fromkeys([*entry_files(self.home), "MEMORY.md", *_PROSE]):
            yield self.git("show", f"main:{name}").stdout if committed else self.text(name)

    def entries(self) -> dict[str, str]:
        """Return the texts of the entries of MEMORY.md by their ids. A file in conflict has none."""
        try:
            return {entry.id: entry.text for entry in parse(self.text("MEMORY.md")).entries()}
        except DocumentInvalid:
            return {}

    def copies(self, name: str) -> list[str]:
        """Return the texts of the entries that a merge kept beside *name*, and that go with it when it is forgotten."""
        entries = parse(self.text("MEMORY.md")).entries()
        return [entry.text for entry in entries if f"conflict with {name}" in entry.fields.get("State", "")]

    def messages(self) -> set[tuple[str, str]]:
        """Return session and words of each message."""
        return {
            (file.session, turn.message.content)
            for file in transcript.sessions(self.home)
            for turn in transcript.read(file.path)
        }

    def acknowledge(self) -> None:
        """Hold the clone to what it has now."""
        self.promise.take(Promise(self.words(), self._logged(), self._sections()))

    def committed(self) -> Promise:
        """Return what was acknowledged and is committed."""
        mine = self.promise
        return Promise(
            words=mine.words & self.words(committed=True),
            logged=mine.logged & self._logged(committed=True),
            sections=mine.sections & self._sections(committed=True),
        )

    def missing(self) -> list[str]:
        """Return what was acknowledged, was not released, and is not there."""
        gone = self.promise.words - self.released
        gone -= self.words()
        if gone and (self.lossy or self.is_merging):
            gone -= self.words(committed=True)
        lines = [f"the statement with {found}" for found in sorted(gone)]
        if not self.is_merging:
            lines += [f"section {day} {anchor}" for day, anchor in sorted(self.promise.sections - self._sections())]
            unlogged = self.promise.logged - self.released - self._logged()
            lines += [f"the line of the daily log with {found}" for found in sorted(unlogged)]
        there = self.messages()
        lines += [
            f"message of {session}: {said}"
            for session, said in sorted(self.promise.messages - there)
            if not self._is_released(said)
        ]
        return lines

    def uncommitted(self) -> str:
        """Return what differs from HEAD in files that the program writes."""
        places = ("MEMORY.md", "Archive", "DailyActivity", "ledger", "EVOLUTION.md", *_PROSE)
        return self.git("status", "--porcelain", "--", *places).stdout.strip()

    def prompt(self, now: datetime) -> str:
        """Return the prompt of a new process."""
        return assemble(Home(self.home.root), Request(now=now, message="What do we sort by?")).text

    def doctor(self, now: datetime, *options: str) -> dict[str, list[tuple[str, str]]]:
        """Return what the doctor says: names and details of its checks by their status."""
        done = self.memory("doctor", "--json", *options, now=now)
        found: dict[str, list[tuple[str, str]]] = {}
        for row in done.json()["checks"]:
            found.setdefault(row["status"], []).append((row["name"], row["detail"]))
        return found

    def _sections(self, *, committed: bool = False) -> set[tuple[str, str]]:
        return {
            (closing.date, closing.anchor)
            for day, text in self._logs(committed=committed)
            for closing in daily_log.parse_closings(text, day)
        }

    def _logged(self, *, committed: bool = False) -> set[str]:
        return {found for _, text in self._logs(committed=committed) for found in _WORD.findall(text)}

    def _logs(self, *, committed: bool) -> Iterator[tuple[str, str]]:
        """Yield day and text of each daily file, archived ones too."""
        if not committed:
            yield from ((path.stem, path.read_text("utf-8")) for path in daily_log.daily_files(self.home))
            return
        folders = ("DailyActivity", "Archive/DailyActivity")
        for name in self.git("ls-tree", "-r", "--name-only", "main", "--", *folders).stdout.splitlines():
            yield Path(name).stem, self.git("show", f"main:{name}").stdout

    def _is_released(self, said: str) -> bool:
        return not self.released.isdisjoint(_WORD.findall(said))


def words_of(texts: Iterable[str]) -> Collection[str]:
    """Return the words of statements in *texts*."""
    return {found for text in texts for found in _WORD.findall(text)}
