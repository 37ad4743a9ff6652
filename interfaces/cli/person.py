"""Who is at the other end: decisions about memory are taken by people, and recorded with their names."""

from __future__ import annotations

import sys

import click

from .frame import Frame

__all__ = ["person_option", "the_person"]

person_option = click.option(
    "--as", "person", default="", metavar="PERSON", help="Who decides; needed where no terminal is."
)


def the_person(frame: Frame, named: str) -> str:
    """The name given with ``--as``, or at a terminal the name that git or the system knows.

    Raises:
        UsageError: nobody is named, and no person can be asked.
    """
    if named:
        return named
    if frame.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("a person decides this, and there is no terminal; name the person with --as PERSON")
    from getpass import getuser

    from agent_home.git.history import configured_name

    return configured_name(frame.home.root) or getuser()
