"""Define ``memory guard`` and ``memory guard scan``. The commands for commits by hand are in ``hook``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

import click

from agent_home.screening.verdicts import verdicts_under
from guard import Action, Destination, GuardSettings, Source, Verdict

from ..command import Command, Group
from ..exit_codes import FINDINGS
from ..invocation import Invocation, options
from ..render import write_json
from .hook import install, staged
from .survey import show_history, show_paths

__all__ = ["guard"]

_OPENED_ALREADY = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


@click.group(
    "guard",
    cls=Group,
    examples=(
        ("Scan a file", "memory guard scan notes.md"),
        ("Screen every commit made by hand", "memory guard install"),
    ),
)
def guard() -> None:
    """Scan texts and commits for secrets and attacks."""


guard.add_command(staged)
guard.add_command(install)


@guard.command(
    "scan",
    cls=Command,
    examples=(
        ("Scan a text from standard input", "memory guard scan - < notes.md"),
        ("Scan a folder, and print places instead of texts", "memory guard scan Knowledge"),
        ("Scan everything in the home, git history included", "memory guard scan --history"),
        ("Scan one text per line", "memory guard scan --jsonl texts.jsonl --source web"),
    ),
)
@click.argument("files", nargs=-1, type=click.Path(exists=True, allow_dash=True), metavar="[FILE|FOLDER|-]...")
@click.option("--history", is_flag=True, help="Scan everything in the home, git history included.")
@click.option("--jsonl", is_flag=True, help='Read {"text": ...} lines and print one result line for each.')
@click.option(
    "--source",
    type=click.Choice([str(name) for name in Source]),
    default="user",
    show_default=True,
    help="Who wrote the text.",
)
@click.option(
    "--destination", type=click.Choice([str(name) for name in Destination]), default="memory", show_default=True,
    help="Where the text is to be stored.",
)  # fmt: skip
@options
@click.pass_context
def scan(
    context: click.Context, invocation: Invocation, files: tuple[str, ...], history: bool, jsonl: bool, source: str,
    destination: str,
) -> None:  # fmt: skip
    """Scan texts with the guard and print its findings.

    The command prints what the guard would do with FILE or standard input, and why. It stores nothing. The guard
    settings of the home apply if there is a home. The exit code is 1 when there is a finding. With --jsonl, a line that
    is not a {"text": ...} object gets the answer {"error": ...} and counts as a finding.

    For several files, for a folder and with --history, the command prints places of findings with their kind and a
    salted digest, never the text. --history scans every file of the home, with transcripts, outputs and quarantine,
    and every object of its git repository, reachable or not. It prints the first place of each finding.
    """
    if history:
        if files or jsonl:
            raise click.UsageError("--history scans the whole home. Omit files and --jsonl")
        context.exit(FINDINGS if show_history(invocation) else 0)
    for name in files:
        _require_readable(name)
    settings = _settings(invocation)
    if len(files) > 1 or any(Path(name).is_dir() for name in files):
        if jsonl:
            raise click.UsageError("--jsonl reads one file or standard input. Name one file")
        context.exit(FINDINGS if show_paths(invocation, map(Path, files), settings) else 0)
    with click.open_file(files[0] if files else "-", encoding="utf-8", errors="surrogateescape") as file:
        _scan_text(context, invocation, file, settings, jsonl=jsonl, source=source, destination=destination)


def _require_readable(name: str) -> None:
    """Refuse what is neither a file nor a folder. Opening a named pipe would wait for somebody who writes into it.

    Standard input and descriptors that the shell opened, as in ``memory guard scan <(git diff)``, may be pipes.
    """
    if name.startswith(_OPENED_ALREADY) or name == "-":
        return
    path = Path(name)
    if not path.is_file() and not path.is_dir():
        raise click.UsageError(
            f"{name} is a pipe, a socket or a device. Name a regular file, or send the text to standard input with -"
        )


def _scan_text(
    context: click.Context, invocation: Invocation, file: IO[str], settings: GuardSettings, *, jsonl: bool, source: str,
    destination: str,
) -> None:  # fmt: skip
    """Print the guard's verdict on one text, or on each line."""
    if jsonl:
        found = [
            _scan_line(line, number, source, destination, settings)
            for number, line in enumerate(file, 1)
            if line.strip()
        ]
        context.exit(FINDINGS if any(found) else 0)
    verdict = verdicts_under(settings).to_store(file.read(), source, destination)
    lines = [f"{verdict.action}"] + [f"  {f.layer} {f.rule} ({f.kind}) at {f.start}-{f.end}" for f in verdict.findings]
    invocation.show(_row(verdict), lines)
    context.exit(FINDINGS if verdict.findings else 0)


def _settings(invocation: Invocation) -> GuardSettings:
    """Return the settings of the home, or the defaults if there is no home."""
    from agent_home.errors import NoHome
    from agent_home.screening.service import ScreeningService

    try:
        return ScreeningService(invocation.home).settings
    except NoHome:
        if invocation.home_option or os.environ.get("AGENT_HOME"):
            raise
        return GuardSettings()


def _scan_line(line: str, number: int, source: str, destination: str, settings: GuardSettings) -> bool:
    """Print the guard's verdict on one line. Return whether it is anything but an allowed text."""
    scanned = _text_and_source(line, source)
    if scanned is None:
        expected = f'write {{"text": ...}} and optionally a "source" of {", ".join(map(str, Source))}'
        write_json({"error": f"line {number} is not an object to scan: {expected}"})
        return True
    verdict = verdicts_under(settings).to_store(*scanned, destination)
    write_json(_row(verdict))
    return verdict.action != Action.ALLOW


def _text_and_source(line: str, source: str) -> tuple[str, Source] | None:
    """Return the text in *line* and its source, or ``None`` if the line is malformed."""
    try:
        row = json.loads(line)
        text, author = row["text"], Source(row.get("source", source))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return (text, author) if isinstance(text, str) else None


def _row(verdict: Verdict) -> dict[str, Any]:
    findings = [
        {"layer": str(f.layer), "rule": f.rule, "kind": f.kind, "start": f.start, "end": f.end}
        for f in verdict.findings
    ]
    return {"action": str(verdict.action), "text": verdict.text, "findings": findings}
