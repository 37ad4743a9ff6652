"""Measure both stores of an index: ``python -m bench.stores --data DIR [--only agreement|growth|peer] [--write-docs]``.

A PostgreSQL server of its own is started in a temporary folder, or in ``--keep``. *agreement* asks the questions of
three sets in both stores. *peer* puts LoCoMo into LangGraph's PostgreSQL store as well. *growth* makes homes of
``--sizes`` passages, a third of them Chinese, and measures both stores.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.servers import DATABASE_VARIABLE

from ..measure import servers
from ..measure.page import DOCS, aligned, markdown, put, stamp
from ..measure.vector_cache import CachedEmbedder
from . import agreement, growth, peer

__all__ = ["main"]

_PARTS = ("agreement", "peer", "growth")
#: A server as an administrator would set it up for these sizes on a machine of 16 GB and more.
SETTINGS = {
    "shared_buffers": "4GB", "effective_cache_size": "12GB", "work_mem": "64MB", "max_wal_size": "8GB",
    "checkpoint_timeout": "30min", "synchronous_commit": "on", "random_page_cost": "1.1",
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and print their tables. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.stores", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the evaluation sets")
    parser.add_argument("--only", action="append", choices=_PARTS, help="run this part; may be repeated")
    parser.add_argument("--questions", type=int, default=400, help="questions of each set and home")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="passages of the homes of growth")
    parser.add_argument("--keep", type=Path, help="folder of the server and the homes, used again by the next run")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    opened = open_embedder(EmbeddingSettings(), build_missing=True)
    if isinstance(opened, NoEmbedder):
        print(f"no embedding model: {opened.reason}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        try:
            os.environ[DATABASE_VARIABLE] = servers.postgresql(folder / "server", SETTINGS)
            for part in options.only or _PARTS:
                head: Sequence[str]
                if part == "agreement":
                    embedder = CachedEmbedder(opened)
                    head, rows = agreement.HEAD, agreement.agreement_rows(options.data, embedder, options.questions)
                    embedder.save()
                elif part == "peer":
                    embedder = CachedEmbedder(opened)
                    url = servers.database(os.environ[DATABASE_VARIABLE], "peer")
                    head, rows = peer.HEAD, peer.peer_rows(options.data, embedder, url, options.questions)
                    embedder.save()
                else:
                    sizes = [int(size) for size in options.sizes.split(",")]
                    head, rows = growth.growth_rows(folder, options.data, sizes, options.questions)
                print(aligned(head, rows), flush=True)
                if options.write_docs:
                    shown = markdown(head, rows, align="l" + "r" * (len(head) - 1))
                    command = f"python -m bench.stores --data DIR --only {part}"
                    put(DOCS / "benchmarks.md", {f"stores-{part}": f"{stamp(command)}\n\n{shown}"})
        finally:
            servers.stop(folder / "server", keep=options.keep is not None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
