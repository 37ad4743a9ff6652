"""Run all trials, or the kinds that are named."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import power_cut
from .beside import work_beside
from .damaged_pages import damage_pages
from .faults import faults, missing
from .hosts import work_on_hosts
from .kills import kill_everywhere
from .machines import work_on_two_machines
from .report import Report, table

if TYPE_CHECKING:
    from .faults import Fault

KINDS = ("kills", "full", "power", "beside", "pages", "machines", "hosts")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the trials found. Return 1 when anything was lost, damaged or stuck."""
    given = _options(arguments)
    reports = []
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="torture-") as temporary:
        for kind in given.kinds:
            place = Path(temporary) / kind
            place.mkdir()
            for report in _reports(kind, place, given):
                reports.append(report)
                for finding in report.findings[:20]:
                    print(f"{finding.trial}: {finding.kind}: {finding.what}", flush=True)
    print(f"\n{table(reports)}")
    return int(any(report.findings for report in reports))


def _reports(kind: str, place: Path, given: argparse.Namespace) -> Iterator[Report]:
    if kind in {"kills", "full"}:
        fault: Fault = "kill" if kind == "kills" else "full"
        if reason := missing():
            yield Report(kind, skipped=reason)
            return
        with faults(place) as ready:
            yield from kill_everywhere(
                ready, place, fault=fault, every=given.every, first=given.first, only=given.only, progress=_meter
            )
    elif kind == "power":
        if reason := power_cut.missing():
            yield Report("power cut", skipped=reason)
            return
        yield from power_cut.cut_power(place, trials=given.cuts, only=given.only)
    elif kind == "beside":
        yield from work_beside(place, closings=given.closings, only=given.only, progress=_meter)
    elif kind == "machines":
        if reason := missing():
            yield Report("two machines", skipped=reason)
            return
        yield work_on_two_machines(place, examples=given.examples, seed=given.seed, progress=_meter)
    elif kind == "hosts":
        yield work_on_hosts(place, homes=given.homes, rounds=given.rounds, seed=given.seed or 7, progress=_meter)
    else:
        yield damage_pages(place, every=given.every, first=given.first, progress=_meter)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.torture", description="Try to lose memory.")
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help=f"kinds of trials: {', '.join(KINDS)}")
    parser.add_argument("--only", default="", help="only the trials whose names contain this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th change of a file, or page")
    parser.add_argument("--first", type=int, default=1, metavar="K", help="begin with the K-th change or page")
    parser.add_argument("--cuts", type=int, default=3, help="power cuts for each command")
    parser.add_argument("--closings", type=int, default=60, help="closings beside each thing that a person does")
    parser.add_argument("--examples", type=int, default=60, help="ways in which two machines work")
    parser.add_argument("--homes", type=int, default=6, help="homes of the three hosts")
    parser.add_argument("--rounds", type=int, default=16, help="things that happen to the three hosts")
    parser.add_argument("--seed", type=int, help="other ways: they are the same in every run without it")
    parser.add_argument("--folder", type=Path, help="folder for the homes (default: the system's temporary folder)")
    return parser.parse_args(arguments)


def _meter(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{what}: {done} of {total}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
