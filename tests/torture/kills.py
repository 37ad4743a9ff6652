"""Kill each command at every change that it or its git makes to a file, and let the disk be full from there on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from agent_home.home import Home

from .faults import Fault, Faults
from .report import Finding, Report
from .scenarios import SCENARIOS, Scenario, State, check, copied, make, prompt_problems, state

__all__ = ["kill_everywhere"]

Progress = Callable[[str, int, int], None]


def kill_everywhere(
    faults: Faults,
    folder: Path,
    *,
    fault: Fault,
    every: int = 1,
    first: int = 1,
    only: str = "",
    progress: Progress = lambda *_: None,
) -> Iterator[Report]:
    """Run each scenario with *fault* at every *every*-th change from *first* on, and yield a report for each.

    *only* chooses the scenarios whose names contain it. After a fault the prompt must come at once. The command is then
    run again, must get through, and must leave what an undisturbed run leaves.
    """
    base = make(folder / "base")
    for scenario in (one for one in SCENARIOS if only in one.name):
        report = Report(f"{scenario.name}: {'killed' if fault == 'kill' else 'disk full'}")
        wanted, changes = _undisturbed(faults, folder, base, scenario)
        for at in range(first, changes + 1, every):
            report.add(_trial(faults, folder, base, scenario, fault, at, wanted))
            progress(report.name, at, changes)
        yield report


def _undisturbed(faults: Faults, folder: Path, base: Home, scenario: Scenario) -> tuple[State, int]:
    """Return the state that the command leaves, and the number of changes that it makes."""
    home = copied(base, folder / "undisturbed")
    code, changes, _, errors = faults.run(*_command(scenario, home, folder))
    assert code in scenario.ends, f"{scenario.name} ends with {code}: {errors}"
    after = state(home)
    shutil.rmtree(home.root)
    return after, changes


def _command(scenario: Scenario, home: Home, folder: Path) -> list[str]:
    arguments = list(scenario.arguments(home, folder))
    now = [] if "--now" in arguments else ["--now", "2026-11-21T09:00:00+00:00"]
    return [*arguments, *now, "--home", str(home.root)]


def _trial(
    faults: Faults, folder: Path, base: Home, scenario: Scenario, fault: Fault, at: int, wanted: State
) -> list[Finding]:
    """Run the command with a fault, ask for a prompt, run the command again, and return what is wrong."""
    trial = f"{scenario.name}, {fault} at {at}"
    home = copied(base, folder / "trial")
    try:
        command = _command(scenario, home, folder)
        code, _, _, errors = faults.run(*command, fault=fault, at=at)
        found = list(prompt_problems(home, trial))
        if fault == "full" and code < 0:
            found.append(Finding(trial, "stuck", f"ended by signal {-code} on a full disk"))
        if fault == "full" and "Traceback" in errors:
            found.append(Finding(trial, "stuck", f"no clear error on a full disk: {errors.strip()[-300:]}"))
        code, _, _, errors = faults.run(*command)
        if code not in scenario.ends:
            found.append(Finding(trial, "stuck", f"run again, it ends with {code}: {errors.strip()[-300:]}"))
        found += check(home, wanted, trial)
        if scenario.leaves and not list(home.root.glob(scenario.leaves)):
            found.append(Finding(trial, "lost", f"no {scenario.leaves}"))
        if scenario.forgets:
            found += _kept(home, scenario.forgets, trial)
        return found
    finally:
        shutil.rmtree(home.root)


def _kept(home: Home, text: str, trial: str) -> Iterator[Finding]:
    """Yield the entries and messages that still say what was forgotten."""
    left = state(home)
    for said in (*left.entries, *(content for _, _, content in left.messages)):
        if text in said.casefold():
            yield Finding(trial, "corrupt", f"not forgotten: {said}")
