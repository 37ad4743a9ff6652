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
        (
            "Say who the owner is in group chats",
            'memory init ~/agent --owner "Sam Ortiz" --owner sam --account U012AB3CD',
        ),
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", default="", help="Name of the agent (default: the folder's name).")
@click.option("--seed", "seeds", multiple=True, metavar="TEXT", help="A first standing preference. May be repeated.")
@click.option("--owner", "owners", multiple=True, metavar="NAME", help="A name of the owner in chats. May be repeated.")
@click.option("--account", "accounts", multiple=True, metavar="ID", help="An account of the owner. May be repeated.")
@click.pass_context
def init(  # one parameter for each option
    context: click.Context,
    invocation: Invocation,
    folder: Path,
    name: str,
    seeds: tuple[str, ...],
    owners: tuple[str, ...],
    accounts: tuple[str, ...],
) -> None:
    """Create an agent's home in DIR.

    The command writes template files, a git repository and a first commit. It installs a commit hook that screens
    commits by hand. If another hook is there, the command prints what to add to that hook. Running it again adds
    missing files, and names and accounts of the owner, and changes nothing else. The exit code is 1 when the guard
    quarantined or redacted a seed.
    """
    from agent_home.creation import create
    from agent_home.settings import OwnerSettings

    owner = OwnerSettings(names=owners, accounts=accounts)
    created = create(folder, name=name, seeds=seeds, owner=owner, now=invocation.moment)
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
