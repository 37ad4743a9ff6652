"""``memory init``."""

from __future__ import annotations

from pathlib import Path

import click

from .frame import Frame, home_command

__all__ = ["init"]


@home_command("init")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", default="", help="What the agent is called (default: the folder's name).")
@click.option("--seed", "seeds", multiple=True, metavar="TEXT", help="A first standing preference; may be repeated.")
def init(frame: Frame, folder: Path, name: str, seeds: tuple[str, ...]) -> None:
    """Make DIR an agent's home: template files, git repository, first commit.

    Doing it again adds what is missing and changes nothing that is there.
    """
    from agent_home.creation import create

    created = create(folder, name=name, seeds=seeds, now=frame.moment)
    data = {"home": str(created.home.root), "commit": created.commit, "files": list(created.files)}
    done = f"{len(created.files)} files, commit {created.commit[:7]}" if created.commit else "nothing was missing"
    frame.show(data, [f"{created.home.root}: {done}", "Next: memory import chat FILE.jsonl, or edit USER.md"])
