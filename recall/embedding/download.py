"""Let fastembed fetch a model: ``python -m recall.embedding.download MODEL FOLDER`` prints its vectors' length.

A process of its own, so that :mod:`recall.embedding.model` can stop it after a time, and nothing that the libraries
print, set or leave running reaches the program. Errors are one line on standard error and exit code 1.
"""

from __future__ import annotations

import sys

from .library import text_embedding

__all__ = ["main"]


def main(model: str, folder: str) -> int:
    """Fetch *model* into *folder*, run it once, print its dimension. Returns the exit code."""
    from loguru import logger

    logger.remove()
    try:
        encoder = text_embedding()(model, cache_dir=folder, threads=1)
        (vector,) = encoder.embed(["ready"])
    except Exception as error:  # noqa: BLE001 - the boundary of this process: whatever fails becomes its one line
        sys.stderr.write(f"\n{' '.join(str(error).split())}\n")
        return 1
    sys.stdout.write(f"{len(vector)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
