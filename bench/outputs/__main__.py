"""Measure external memory: ``python -m bench.outputs [--only context|costs|round-trips] [--write-docs]``.

``--outputs N`` random outputs go in and come back. ``--stream-mb N`` go through a pipe.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from agent_home.creation import create

from ..measure.page import DOCS, aligned, markdown, put, stamp
from . import context, costs
from .failure_logs import failure_logs
from .round_trips import round_trips

__all__ = ["main"]

_PARTS = ("context", "costs", "round-trips")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, and return 0 when every output came back."""
    parser = argparse.ArgumentParser(prog="python -m bench.outputs", description=__doc__)
    parser.add_argument("--data", help="not used: the logs are made here")
    parser.add_argument("--only", action="append", choices=_PARTS, help="run this part; may be repeated")
    parser.add_argument("--outputs", type=int, default=10_000, help="random outputs")
    parser.add_argument("--stream-mb", type=int, default=1024, help="size of the stream")
    parser.add_argument("--records", type=int, default=100_000, help="outputs of which some are pruned")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    parts, failed = options.only or _PARTS, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "context" in parts:
            home = create(folder / "context", now=datetime.now(UTC)).home
            _show(
                "context",
                context.HEAD,
                list(context.context_rows(home, failure_logs(folder))),
                write=options.write_docs,
            )
        if "costs" in parts:
            rows = list(costs.cost_rows(folder, stream_mb=options.stream_mb, records=options.records))
            _show("costs", costs.HEAD, rows, write=options.write_docs)
        if "round-trips" in parts:
            counts = round_trips(options.outputs)
            kinds = sorted(kind for kind in counts if not kind.endswith((" redacted", " different")))
            rows = [(kind, *(str(counts[f"{kind}{end}"]) for end in ("", " redacted", " different"))) for kind in kinds]
            _show("round-trips", ("kind", "outputs", "redacted", "different"), rows, write=options.write_docs)
            failed = any(counts[f"{kind} different"] for kind in kinds)
    return int(failed)


def _show(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, write: bool) -> None:
    print(f"{name}\n{aligned(head, rows)}\n", flush=True)
    if write:
        table = f"{stamp(f'python -m bench.outputs --only {name}')}\n\n{markdown(head, rows, align='l')}"
        put(DOCS / "benchmarks.md", {f"outputs-{name}": table})


if __name__ == "__main__":
    sys.exit(main())
