"""Measure the views of the page: ``python -m bench.page_views [--entries N] [--closings N] [--write-docs]``.

Each view is asked for in process, over the same application that ``memory page`` serves, beside a home of three
entries. The first answer of each is left out: it reads what the process then keeps.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from agent_home.creation import create
from agent_home.home import Home
from interfaces.indexing import index_changes
from interfaces.page.access import make_link
from interfaces.page.rendering import STATIC
from interfaces.service.http.activity import Activity
from interfaces.service.http.app import page_application
from interfaces.service.http.callers import Callers

from ..measure.full_memory import fill_memory
from ..measure.page import DOCS, aligned, markdown, put, stamp

__all__ = ["main"]

_HEAD = ("view", "p50 ms", "p95 ms", "page kB", "p50 ms of 3 entries")
_VIEWS = (
    ("review", "review"),
    ("memory, first page", "memory"),
    ("memory, words", "memory?words=queue"),
    ("memory at an earlier commit", "memory?at={commit}"),
    ("entry", "memory/{entry}"),
    ("prompt", "prompt"),
    ("prompt for a message", "prompt?message=which+release+broke+the+invoice+export"),
    ("prompt, two windows", "prompt?other_window=8000"),
    ("over time", "over-time"),
    ("search", "search?words=budget+release"),
    ("guard and health", "health"),
)
_BASE = "http://127.0.0.1:8377"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and with ``--write-docs`` put it into docs/page.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.page_views", description=__doc__)
    parser.add_argument("--data", help="not used: the homes are made here")
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--closings", type=int, default=300)
    parser.add_argument("--requests", type=int, default=30)
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/page.md")
    options = parser.parse_args(arguments)
    # The checks of the last view may still run.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        heavy = _filled(Path(name) / "heavy", options.entries, options.closings)
        light = _filled(Path(name) / "light", 3, 3)
        rows = asyncio.run(_measured(heavy, options.requests))
        beside = asyncio.run(_measured(light, options.requests))
    table = [(*row, other[1]) for row, other in zip(rows, beside, strict=True)]
    table.append(("files of the page, once", "", "", f"{_weight() / 1000:.0f}", ""))
    print(aligned(_HEAD, table))
    if options.write_docs:
        text = f"{stamp('python -m bench.page_views')}\n\n{markdown(_HEAD, table, align='lrrrr')}"
        put(DOCS / "page.md", {"page-views": text})
    return 0


def _filled(folder: Path, entries: int, closings: int) -> Home:
    home = create(folder, now=datetime.now(UTC)).home
    fill_memory(home, entries=entries, closings=closings, end=datetime.now(UTC) - timedelta(minutes=5))
    index_changes(home, lambda _: None)
    return home


async def _measured(home: Home, requests: int) -> list[tuple[str, str, str, str]]:
    """Return a row for each view: its name, the median and the 95th percentile, and the size of the page."""
    app = page_application(Callers({"socket": home}), Activity(0))
    rows = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=_BASE, follow_redirects=True) as client:
        await client.get("/page/sign-in", params={"code": make_link(home, "Kim", datetime.now(UTC))})
        first = (await client.get("/page/memory")).text
        entry = re.findall(r'"/page/memory/([A-Z]{2}-[0-9A-Z]+)"', first)[0]
        commit = re.findall(r"at=([0-9a-f]{40})", (await client.get(f"/page/memory/{entry}")).text)[0]
        for name, path in _VIEWS:
            address = f"/page/{path.format(entry=entry, commit=commit)}"
            times = []
            for _ in range(requests + 1):
                begun = time.perf_counter()
                answer = await client.get(address)
                times.append((time.perf_counter() - begun) * 1000)
                answer.raise_for_status()
            middle, late = statistics.median(times[1:]), statistics.quantiles(times[1:], n=20)[-1]
            rows.append((name, f"{middle:.0f}", f"{late:.0f}", f"{len(answer.content) / 1000:.0f}"))
    return rows


def _weight() -> int:
    """Return the bytes of the files that a browser loads once."""
    folder = Path(__file__).parents[2] / "interfaces" / "page" / "static"
    return sum((folder / name).stat().st_size for name in STATIC)


if __name__ == "__main__":
    sys.exit(main())
