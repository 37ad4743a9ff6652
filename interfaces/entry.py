"""Own the console script ``memory``: ask the warm service of the home first, else run the command here."""

from __future__ import annotations

import os
import sys

__all__ = ["checkpoint", "main"]


def main() -> None:
    """Run ``memory``, as the console script does."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        from interfaces.hosts.hook import run

        run(arguments[1:])
        return
    from interfaces.service.forwarding.client import forwarded, home_of, write

    answer = forwarded(arguments, os.environ)
    if answer is not None:
        sys.exit(write(answer))
    from interfaces.cli import main as run_here

    root = home_of(arguments, os.environ)
    if root is not None:
        from interfaces.service.forwarding.autostart import start_if_allowed

        start_if_allowed(root)
    run_here()


def checkpoint() -> None:
    """Run ``memory checkpoint``, as the console script ``checkpoint`` does."""
    sys.argv[1:1] = ["checkpoint"]
    main()
