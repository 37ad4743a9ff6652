"""Define ``memory init``."""

from __future__ import annotations

from pathlib import Path

import click

from agent_home import storage

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
        ("Take name and seeds from a persona file", "memory init ~/watchdog --persona pack.yaml#sre-watchdog"),
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", default="", help="Name of the agent (default: the folder's name).")
@click.option("--seed", "seeds", multiple=True, metavar="TEXT", help="A first standing preference. May be repeated.")
@click.option("--owner", "owners", multiple=True, metavar="NAME", help="A name of the owner in chats. May be repeated.")
@click.option("--account", "accounts", multiple=True, metavar="ID", help="An account of the owner. May be repeated.")
@click.option(
    "--persona", default="", metavar="FILE[#NAME]", help="Persona file (YAML) with memory.enabled and memory.seeds."
)
@click.pass_context
def init(  # one parameter for each option
    context: click.Context,
    invocation: Invocation,
    folder: Path,
    name: str,
    seeds: tuple[str, ...],
    owners: tuple[str, ...],
    accounts: tuple[str, ...],
    persona: str,
) -> None:
    """Create an agent's home in DIR.

    The command writes template files, a git repository and a first commit. It installs a commit hook that screens
    commits by hand. If another hook is there, the command prints what to add to that hook. Running it again adds
    missing files, and names and accounts of the owner, and changes nothing else. The exit code is 1 when the guard
    quarantined or redacted a seed.

    A persona file gives the name and the seeds of an agent. One whose memory.enabled is false gets no home.
    """
    from agent_home.creation import create
    from agent_home.settings import OwnerSettings

    if persona:
        name, seeds = _of_persona(persona, name, seeds)
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


def _of_persona(persona: str, name: str, seeds: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the name and the seeds of a home, from ``FILE#NAME`` and what else was given."""
    from agent_home.imports.persona import read_persona

    file, _, wanted = persona.rpartition("#") if "#" in persona and not Path(persona).is_file() else (persona, "", "")
    try:
        text = storage.read_bytes(Path(file)).decode("utf-8", "replace")
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from error
    found = read_persona(text, file=file, name=wanted)
    if not found.enabled:
        raise click.UsageError(f"{file}: the memory of {found.name} is off (memory.enabled), so it gets no home")
    return name or found.name, (*found.seeds, *seeds)
