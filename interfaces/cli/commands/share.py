"""Define ``memory share``, with which a person lets several agents use one project folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from agent_home.visible import revealed

from ..command import Command, Group
from ..invocation import Invocation, options
from ..person import person_option, the_person

if TYPE_CHECKING:
    from agent_home.documents.check import Problem
    from agent_home.sharing.folders import SharedFolder

__all__ = ["share"]


@click.group(
    "share",
    cls=Group,
    invoke_without_command=True,
    examples=(
        ("List the project folders that others write too", "memory share"),
        ("Follow a link to a folder that agents share", "memory share add Projects/orion"),
        ("Follow it no more", "memory share remove Projects/orion"),
    ),
)
@options
@click.pass_context
def share(context: click.Context, invocation: Invocation) -> None:
    """Let several agents share project folders.

    Projects/, or a folder in it, may be a git submodule, a clone, or a link to a folder elsewhere on this machine.
    Closings then write the project's files where they belong. A link is followed when a person on this machine agreed
    to it, and only to the folder that it leads to now. MEMORY.md and everything else of a home is never shared.
    """
    if context.invoked_subcommand is None:
        _list(invocation)
    elif invocation.home_option or invocation.as_json:
        raise click.UsageError(f"write options after `{context.invoked_subcommand}`, not before it")


@share.command(
    "list",
    cls=Command,
    examples=(("List shared folders", "memory share list"), ("Print them as JSON", "memory share list --json")),
)
@options
def list_(invocation: Invocation) -> None:
    """List shared folders, and what keeps them from being used."""
    _list(invocation)


def _list(invocation: Invocation) -> None:
    from agent_home.sharing.folders import shared_folders
    from agent_home.sharing.health import sharing_problems

    found, problems = shared_folders(invocation.home), sharing_problems(invocation.home)
    data = {
        "shared": [_as_dict(one) for one in found],
        "problems": [{"place": one.file, "rule": one.rule, "message": one.message} for one in problems],
    }
    invocation.show(data, list(_lines(found, problems)) or ["nothing is shared"])


@share.command(
    "add",
    cls=Command,
    examples=(
        ("Follow the link Projects/orion from now on", "memory share add Projects/orion"),
        ("Agree in a script", "memory share add Projects/orion --as Grace"),
    ),
)
@click.argument("place", metavar="PLACE")
@person_option
@options
def add(invocation: Invocation, place: str, person: str) -> None:
    """Follow the link PLACE from now on.

    PLACE is Projects, or a link in it. The consent is for this machine and for the folder that the link leads to now.
    """
    from agent_home.pulling import trust

    who = the_person(invocation, person)
    target = trust.share(invocation.home, place.rstrip("/"), person=who, now=invocation.moment)
    invocation.show(
        {"added": place.rstrip("/"), "target": target}, [f"followed: {revealed(place)} to {revealed(target)}"]
    )


@share.command("remove", cls=Command, examples=(("Follow a link no more", "memory share remove Projects/orion"),))
@click.argument("place", metavar="PLACE")
@person_option
@options
def remove(invocation: Invocation, place: str, person: str) -> None:
    """Take the consent to the link PLACE back. The link and the folder stay."""
    from agent_home.pulling import trust

    who = the_person(invocation, person)
    trust.unshare(invocation.home, place.rstrip("/"), person=who, now=invocation.moment)
    invocation.show({"removed": place.rstrip("/")}, [f"followed no more: {revealed(place)}"])


def _as_dict(shared: SharedFolder) -> dict[str, Any]:
    return {
        "place": shared.place,
        "kind": shared.kind,
        "folder": str(shared.folder),
        "repository": str(shared.repository or ""),
    }


def _lines(found: list[SharedFolder], problems: list[Problem]) -> Iterator[str]:
    for shared in found:
        kept = f", committed in {shared.repository}" if shared.repository else ""
        yield revealed(f"{shared.place}: {shared.kind}, {shared.folder}{kept}")
    for problem in problems:
        yield revealed(f"{problem.file}: {problem.message}")
