"""Own how commands learn which person decides. The name is recorded with the decision."""

from __future__ import annotations

import sys

import click

from .invocation import Invocation

__all__ = ["person_if_known", "person_option", "the_person"]

person_option = click.option(
    "--as", "person", default="", metavar="PERSON", help="Name of the person who decides. Required without a terminal."
)


def the_person(invocation: Invocation, name: str) -> str:
    """Return the name given with ``--as``, or at a terminal the name that git or the system knows.

    Raises:
        UsageError: if no name is given and there is no terminal.
    """
    if name:
        return name
    if invocation.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "only a person can decide this, and there is no terminal. Name the person with --as PERSON"
        )
    from getpass import getuser

    from agent_home.git.history import configured_name

    return configured_name(invocation.home.root) or getuser()


def person_if_known(invocation: Invocation, name: str) -> str:
    """Return what :func:`the_person` returns, or an empty string where it would refuse."""
    try:
        return the_person(invocation, name)
    except click.UsageError:
        return ""
