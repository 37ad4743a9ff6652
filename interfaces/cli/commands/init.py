"""Define ``memory init``."""

from __future__ import annotations

from pathlib import Path

import click

from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command

__all__ = ["init"]


@home_command(
    "init",
    examples=(
        ("Create a home", "memory init ~/agent"),
        (
            "Name the agent and give it a first preference",
            'memory init ~/agent --name Ada --seed "Answer in British English."',
        ),
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", default="", help="Name of the agent (default: the folder's name).")
@click.option("--seed", "seeds", multiple=True, metavar="TEXT", help="A first standing preference. May be repeated.")
@click.pass_context
def init(context: click.Context, invocation: Invocation, folder: Path, name: str, seeds: tuple[str, ...]) -> None:
    """Create an agent's home in DIR.

    The command writes template files, a git repository and a first commit. It installs a commit hook that screens
    commits by hand. If another hook is there, the command prints what to add to that hook. Running it again adds
    missing files and changes no existing one. The exit code is 1 when the guard quarantined or redacted a seed.
    """
    from agent_home.creation import create

    created = create(folder, name=name, seeds=seeds, now=invocation.moment)
    data = {
        "home": str(created.home.root),
        "commit": created.commit,
        "files": list(created.files),
        "redacted": created.redacted,
        "quarantined": len(created.quarantined),
        "quarantine": [item.id for item in created.quarantined],
        "hook": created.hook.state,
    }
    kept = created.home.manifest.name
    if name and " ".join(name.split()) != kept:
        invocation.warn(f"The home is already named {kept}. Change `name` in agent.toml.")
    if created.outer is not None:
        invocation.warn(
            f"{created.home.root} is inside the home {created.outer}. The two share nothing, and commands in this "
            "folder use the inner one. Make it elsewhere if you did not mean that"
        )
    if not created.hook.works:
        invocation.warn(f"commits by hand are not screened ({created.hook.path}): {created.hook.advice}")
    for item in created.quarantined:
        invocation.warn(f"a seed was quarantined as {item.id} ({item.reason}). Reword it")
    if created.redacted:
        invocation.warn(f"seeds that the guard redacted: {created.redacted}. See MEMORY.md")
    done = f"{len(created.files)} files, commit {created.commit[:7]}" if created.commit else "nothing was missing"
    invocation.show(data, [f"{created.home.root}: {done}", "Next: memory import chat FILE.jsonl, or edit USER.md"])
    context.exit(FINDINGS if created.quarantined or created.redacted else 0)
