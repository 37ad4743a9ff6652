"""Every measurement in one run: ``python -m bench --data FOLDER [--only PART ...]``.

Each part prints its own table with its baselines beside it. A part whose data is absent says so and is left out.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from .measure.page import machine

#: Modules with their arguments besides ``--data``, in the order in which they run, the longest last.
PARTS = {
    "tokens": ("bench.tokens", ["--write-docs"]),
    "embedding": ("bench.embedding", []),
    "timings": ("bench.timings", []),
    "guard": ("bench.guard", []),
    "evidence": ("bench.evidence", []),
    "summary": ("bench.summary", []),
    "promotion": ("bench.promotion", []),
    "memory": ("bench.memory.__main__", []),
    "retrieval": ("bench.retrieval", ["--cached", "--markdown"]),
    "scale": ("bench.scale", []),
    "outputs": ("bench.outputs.__main__", []),
    "hot-state": ("bench.hot_state.__main__", []),
    "durability": ("bench.durability", []),
    "nightly": ("bench.nightly", []),
    "adversarial": ("bench.adversarial", []),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that the options name, all by default. Return 0 when every part ran."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure everything beside its baselines.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of evaluation data")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="run this part; may be repeated")
    options = parser.parse_args(arguments)
    if not options.data.is_dir():
        print(f"no evaluation data in {options.data}; name its folder with --data", file=sys.stderr)
        return 2
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}")
    failed = 0
    for name in options.only or PARTS:
        module, extra = PARTS[name]
        print(f"\n# {name}\n", flush=True)
        failed |= importlib.import_module(module).main(["--data", str(options.data), *extra])
    return failed


if __name__ == "__main__":
    sys.exit(main())
