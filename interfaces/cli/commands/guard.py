"""``memory guard``: scanning texts here; what concerns commits by hand is in ``hook``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

import click

from guard import Action, Destination, GuardSettings, Source, Verdict, screen

from ..frame import FINDINGS, Frame, options
from .hook import install, staged
from .survey import show_history, show_paths

__all__ = ["guard"]


@click.group("guard")
def guard() -> None:
    """Look at text the way the guard does before anything is stored."""


guard.add_command(staged)
guard.add_command(install)


@guard.command("scan")
@click.argument("files", nargs=-1, type=click.Path(exists=True, allow_dash=True), metavar="[FILE|FOLDER|-]...")
@click.option("--history", is_flag=True, help="Look at all that the home holds already, git history included.")
@click.option("--jsonl", is_flag=True, help='Read {"text": ...} lines and print one result line for each.')
@click.option("--source", type=click.Choice([str(name) for name in Source]), default="user", help="Who wrote the text.")
@click.option(
    "--destination", type=click.Choice([str(name) for name in Destination]), default="memory", show_default=True,
    help="What the text is to become part of.",
)  # fmt: skip
@options
@click.pass_context
def scan(
    context: click.Context, frame: Frame, files: tuple[str, ...], history: bool, jsonl: bool, source: str,
    destination: str,
) -> None:  # fmt: skip
    """Print what the guard would do with FILE (or standard input), and why. Nothing is stored.

    Exit code 1 when something is found. The home's own guard settings count where there is a home. With --jsonl, a
    line that is no {"text": ...} object is answered by {"error": ...}, and counts as something found.

    Of several files, of a folder, and with --history, the places of findings are printed with their kind and a salted
    digest, and never the text. --history looks at every file of the home, transcripts, outputs and quarantine
    included, and at every object of its git repository, reachable or not: each finding where it stands first.
    """
    if history:
        if files or jsonl:
            raise click.UsageError("--history looks at the whole home; leave files and --jsonl out")
        context.exit(FINDINGS if show_history(frame) else 0)
    settings = _settings(frame)
    if len(files) > 1 or any(Path(name).is_dir() for name in files):
        if jsonl:
            raise click.UsageError("--jsonl reads one file or standard input; give one")
        context.exit(FINDINGS if show_paths(frame, map(Path, files), settings) else 0)
    with click.open_file(files[0] if files else "-", encoding="utf-8", errors="surrogateescape") as file:
        _scan_text(context, frame, file, settings, jsonl=jsonl, source=source, destination=destination)


def _scan_text(
    context: click.Context, frame: Frame, file: IO[str], settings: GuardSettings, *, jsonl: bool, source: str,
    destination: str,
) -> None:  # fmt: skip
    """Print what the guard would do with one text, or with each line."""
    if jsonl:
        found = [
            _scan_line(line, number, source, destination, settings)
            for number, line in enumerate(file, 1)
            if line.strip()
        ]
        context.exit(FINDINGS if any(found) else 0)
    verdict = screen(file.read(), source, destination, settings=settings)
    lines = [f"{verdict.action}"] + [f"  {f.layer} {f.rule} ({f.kind}) at {f.start}-{f.end}" for f in verdict.findings]
    frame.show(_row(verdict), lines)
    context.exit(FINDINGS if verdict.findings else 0)


def _settings(frame: Frame) -> GuardSettings:
    """The settings of the home, if there is one: a scan works without."""
    from agent_home.errors import NoHome
    from agent_home.screening.write_screening import guard_settings

    try:
        return guard_settings(frame.home)
    except NoHome:
        if frame.home_option or os.environ.get("AGENT_HOME"):
            raise
        return GuardSettings()


def _scan_line(line: str, number: int, source: str, destination: str, settings: GuardSettings) -> bool:
    """Print what the guard makes of one line; whether it is anything but an allowed text."""
    asked = _asked(line, source)
    if asked is None:
        wanted = f'wanted {{"text": ...}} and, if given, a "source" of {", ".join(map(str, Source))}'
        click.echo(json.dumps({"error": f"line {number} is no object to scan: {wanted}"}))
        return True
    verdict = screen(*asked, destination, settings=settings)
    click.echo(json.dumps(_row(verdict)))
    return verdict.action != Action.ALLOW


def _asked(line: str, source: str) -> tuple[str, Source] | None:
    """The text in *line* and who wrote it; ``None`` when the line does not say."""
    try:
        row = json.loads(line)
        text, said_by = row["text"], Source(row.get("source", source))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return (text, said_by) if isinstance(text, str) else None


def _row(verdict: Verdict) -> dict[str, Any]:
    findings = [
        {"layer": str(f.layer), "rule": f.rule, "kind": f.kind, "start": f.start, "end": f.end}
        for f in verdict.findings
    ]
    return {"action": str(verdict.action), "text": verdict.text, "findings": findings}
