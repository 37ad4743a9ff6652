"""``memory init``."""

from __future__ import annotations

from pathlib import Path

import click

from ..frame import FINDINGS, Frame, home_command

__all__ = ["init"]


@home_command("init")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", default="", help="What the agent is called (default: the folder's name).")
@click.option("--seed", "seeds", multiple=True, metavar="TEXT", help="A first standing preference; may be repeated.")
@click.pass_context
def init(context: click.Context, frame: Frame, folder: Path, name: str, seeds: tuple[str, ...]) -> None:
    """Make DIR an agent's home: template files, git repository, first commit.

    A commit hook screens what people commit there by hand; one that is there already is left alone, and what to add
    to it is said. Doing it again adds what is missing and changes nothing that is there. Exit code 1 when the guard
    held a seed back or took something out of one.
    """
    from agent_home.creation import create

    created = create(folder, name=name, seeds=seeds, now=frame.moment)
    data = {
        "home": str(created.home.root),
        "commit": created.commit,
        "files": list(created.files),
        "redacted": created.redacted,
        "quarantined": len(created.quarantined),
        "quarantine": [item.id for item in created.quarantined],
        "hook": created.hook.state,
    }
    if not created.hook.works:
        frame.warn(f"commits by hand are not screened ({created.hook.path}): {created.hook.advice}")
    for item in created.quarantined:
        frame.warn(f"a seed was held back as {item.id} ({item.reason}); say it in other words")
    if created.redacted:
        frame.warn(f"seeds of which the guard took something out: {created.redacted}; MEMORY.md shows what is left")
    done = f"{len(created.files)} files, commit {created.commit[:7]}" if created.commit else "nothing was missing"
    frame.show(data, [f"{created.home.root}: {done}", "Next: memory import chat FILE.jsonl, or edit USER.md"])
    context.exit(FINDINGS if created.quarantined or created.redacted else 0)
