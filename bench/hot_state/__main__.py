"""Measure hot state in a file and in Redis: ``python -m bench.hot_state [--only PART] [--runs N] [--write-docs]``.

The tables of docs/hot-state.md come from here. The floor is 10 ms for the 95th percentile of each operation on Redis.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..measure import servers
from ..measure.page import DOCS, aligned, markdown, put, stamp
from .operations import HEAD, OUTPUTS_HEAD, operation_rows, output_rows
from .processes import OUTAGE_HEAD, PROCESS_HEAD, outage_rows, process_rows

__all__ = ["FLOOR_MS", "main"]

#: Largest 95th percentile of an operation on Redis, in milliseconds.
FLOOR_MS = 10.0
_PARTS = ("operations", "outage", "outputs", "processes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, and return 0 when every operation on Redis is within the floor."""
    parser = argparse.ArgumentParser(prog="python -m bench.hot_state", description=__doc__)
    parser.add_argument("--data", help="not used: the values are made here")
    parser.add_argument("--only", action="append", choices=_PARTS, help="run this part; may be repeated")
    parser.add_argument("--runs", type=int, default=25, help="runs of each operation in a batch")
    parser.add_argument("--process-runs", type=int, default=2, help="runs of each command in a batch")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/hot-state.md")
    options = parser.parse_args(arguments)
    parts, slow = options.only or _PARTS, False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = servers.redis(folder / "server")
        try:
            if "operations" in parts:
                rows = list(operation_rows(folder, url, runs=options.runs))
                _show("operations", HEAD, rows, write=options.write_docs)
                slow = any(float(row[4].split(" / ")[1]) >= FLOOR_MS for row in rows)
            if "outage" in parts:
                _show("outage", OUTAGE_HEAD, outage_rows(folder, runs=options.runs), write=options.write_docs)
            if "outputs" in parts:
                _show("outputs", OUTPUTS_HEAD, output_rows(folder, url, runs=options.runs), write=options.write_docs)
            if "processes" in parts:
                cells = process_rows(folder, runs=options.process_runs)
                _show("processes", PROCESS_HEAD, cells, write=options.write_docs)
        finally:
            servers.stop(folder / "server")
    return int(slow)


def _show(name: str, head: Sequence[str], found: Iterable[Sequence[str]], *, write: bool) -> None:
    rows = list(found)
    print(f"{name}\n{aligned(head, rows)}\n", flush=True)
    if write:
        table = f"{stamp(f'python -m bench.hot_state --only {name}')}\n\n{markdown(head, rows, align='lll')}"
        put(DOCS / "hot-state.md", {f"hot-state-{name}": table})


if __name__ == "__main__":
    sys.exit(main())
