"""Own the console script ``memory``: ask the warm service of the home first, else run the command here."""

from __future__ import annotations

import os
import sys

from interfaces.service.client import forwarded, write

__all__ = ["main"]


def main() -> None:
    """Run ``memory``, as the console script does."""
    answer = forwarded(sys.argv[1:], os.environ)
    if answer is not None:
        sys.exit(write(answer))
    from interfaces.cli import main as run_here

    run_here()
