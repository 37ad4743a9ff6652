"""Let a person's git and editor work in the home while sessions are closed, and look for what was acknowledged."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agent_home.creation import create
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close_all
from distill.review.entry_losses import settle_losses
from interfaces.doctor.health import examine
from tests.doomed import ForkServer

from .report import Finding, Report
from .scenarios import NOW, prompt_problems, state

__all__ = ["work_beside"]

Progress = Callable[[str, int, int], None]

#: Closes one session after the other, each by a transaction of its own, and prints what was acknowledged.
CLOSER = """
import json, sys
from datetime import datetime
from pathlib import Path
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
root, first, last, now = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), datetime.fromisoformat(sys.argv[4])
for number in range(first, last):
    home, session = Home(root), f"s{number}"
    said = f"Decision: crate {number} goes to quay {number}."
    row = Message(session=session, id="m1", ts="2026-11-20T10:00:00+00:00", role="user", content=said)
    try:
        transcript.append(home, session, [row], actor="trial", now=now)
        done = close(home, session, now=now)
        print(json.dumps({"number": number, "commit": done.commit}), flush=True)
    except HomeError as error:
        print(json.dumps({"number": number, "error": f"{type(error).__name__}: {error}"}), flush=True)
"""
#: What a person does, with the home's folder as the working folder.
_WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
GIT: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "stash": (("stash",), ("stash", "pop")),
    "checkout": (("checkout", "--", "."),),
    "commit": (("commit", "--quiet", "--all", "--message", "Mine"),),
    "rebase": (("rebase", "--quiet", "--force-rebase", "HEAD~2"),),
    "gc": (("gc", "--quiet", "--prune=now"),),
    "worktree": (
        ("worktree", "add", "--quiet", "--detach", "../beside"),
        ("worktree", "remove", "--force", "../beside"),
    ),
    "branch": (
        ("switch", "--quiet", "--create", "other"),
        ("switch", "--quiet", "-"),
        ("branch", "--quiet", "-D", "other"),
    ),
    "reset": (("reset", "--quiet", "--hard"),),
    "sparse": (
        ("sparse-checkout", "set", "--no-cone", "/*", "!/MEMORY.md", "!/DailyActivity/", "!/ledger/"),
        ("sparse-checkout", "disable"),
    ),
    "skip-worktree": (
        ("update-index", "--skip-worktree", "MEMORY.md"),
        ("update-index", "--no-skip-worktree", "MEMORY.md"),
    ),
}


def work_beside(
    folder: Path, *, closings: int, seed: int = 1, only: str = "", progress: Progress = lambda *_: None
) -> Iterator[Report]:
    """Close *closings* sessions for each thing that a person does, at the same time, and yield a report for each.

    A closing that was refused is closed again afterwards. At the end everything that was said is there, and committed.
    """
    for name in (one for one in (*GIT, "editor", "stale") if only in one):
        chance = random.Random(f"{seed} {name}")
        report = Report(f"beside a person: {name}")
        home = create(folder / name / "home", name="Beside", now=NOW).home
        known = [
            Message(session="k", id="m1", ts="2026-11-20T09:00:00", role="user", content="Preference: sort by risk.")
        ]
        transcript.append(home, "k", known, actor="trial", now=NOW)
        close_all(home, now=NOW)
        with ForkServer() as forks:
            acknowledged = set(_closed_beside(forks, home, name, closings, chance, report, progress))
            _close_the_rest(forks, home, name, closings, report)
        report.add(_missing(home, name, acknowledged, closings))
        report.trials += closings - 1
        yield report


def _closed_beside(
    forks: ForkServer, home: Home, name: str, closings: int, chance: random.Random, report: Report, progress: Progress
) -> Iterator[int]:
    """Yield the numbers of the sessions whose closings were acknowledged."""
    child = forks.start(CLOSER, str(home.root), "0", str(closings), NOW.isoformat(), **_environment())
    rounds = 0
    while child.poll() is None:
        time.sleep(chance.random() * 0.05)
        _act(home, name, chance)
        rounds += 1
        if rounds % 10 == 0:
            report.findings += prompt_problems(home, f"{name}, after {rounds} rounds") if rounds > 10 else ()
    output, errors = child.communicate()
    if child.returncode:
        report.findings.append(Finding(name, "stuck", f"the closer ended with {child.returncode}: {errors[-300:]}"))
    for line in output.splitlines():
        row = json.loads(line)
        progress(report.name, row["number"] + 1, closings)
        if "error" not in row:
            yield row["number"]


def _close_the_rest(forks: ForkServer, home: Home, name: str, closings: int, report: Report) -> None:
    """Bring the folder back to the home's branch as a person would, and close what was refused."""
    for arguments in (
        ("rebase", "--abort"), ("switch", "--quiet", "main"), ("stash", "pop"), ("sparse-checkout", "disable"),
        ("update-index", "--no-skip-worktree", "MEMORY.md"),
    ):  # fmt: skip
        _git(home, *arguments)
    settle_losses(home, NOW)
    done = forks.run(CLOSER, str(home.root), "0", str(closings), NOW.isoformat(), **_environment())
    refused = [row["error"] for row in map(json.loads, done.stdout.splitlines()) if "error" in row]
    if refused:
        report.findings.append(Finding(name, "stuck", f"{len(refused)} closings are refused for ever: {refused[0]}"))


def _act(home: Home, name: str, chance: random.Random) -> None:
    if name == "stale":  # a buffer of MEMORY.md that is saved some closings later
        held = (home.root / "MEMORY.md").read_text("utf-8")
        time.sleep(chance.random())
        _save(home.root / "MEMORY.md", held)
        return
    if name != "editor":
        for arguments in GIT[name]:
            _git(home, *arguments)
            time.sleep(chance.random() * 0.02)
        return
    path = home.root / "USER.md"
    _save(path, path.read_text("utf-8") + f"\nNote {chance.random()}.\n")


def _save(path: Path, text: str) -> None:
    """Write a new file and rename it over the old one, as an editor does."""
    beside = path.with_name(f".{path.name}.swp")
    beside.write_text(text, "utf-8")
    beside.replace(path)


def _missing(home: Home, name: str, acknowledged: set[int], closings: int) -> Iterator[Finding]:
    committed = _git(home, "grep", "--only-matching", "-h", "-E", "crate [0-9]+ goes", "HEAD").stdout
    told = {int(line.split()[1]) for line in committed.splitlines()}
    for number in range(closings):
        if number not in told:
            yield Finding(f"{name} {number}", "lost", f"crate {number}" + ", acknowledged" * (number in acknowledged))
    messages = {session for session, _, _ in state(home).messages}
    for number in range(closings):
        if f"s{number}" not in messages:
            yield Finding(f"{name} {number}", "lost", f"the message of s{number}")
    if problem := _git(home, "fsck", "--full").stderr.strip():
        yield Finding(name, "corrupt", f"git fsck: {problem[:300]}")
    for one in examine(home, NOW):
        if one.status == "failed":
            yield Finding(name, "corrupt", f"doctor, {one.name}: {one.detail}")


def _environment() -> dict[str, str]:
    return {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def _git(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(home.root), *_WHO, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **_environment()})
