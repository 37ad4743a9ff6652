"""A small invoice parser with a history of five commits: what the demo's coding session talks about.

The session claims a commit that is really there, and the deletion of a file that was never deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

__all__ = ["KEPT_FILE", "make_repository"]

#: The file that the session says it deleted.
KEPT_FILE = "legacy_rounding.py"

_README = """\
# Invoice parser

Reads invoice lines and adds them up.
"""
_README_FORMAT = """
## Input

One line for each item: `description; quantity; CURRENCY amount`. Without a currency the amount is in CNY.
"""
_ROUNDING = '''\
"""Rounding as the first version did it."""

from decimal import ROUND_HALF_UP, Decimal


def round_half_up(amount: Decimal) -> Decimal:
    """*amount* to the cent; half a cent goes up."""
    return amount.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
'''
_PARSE = '''

def parse_line(line: str) -> Decimal:
    """Quantity times amount of ``description; quantity; CURRENCY amount``."""
    _, quantity, price = (part.strip() for part in line.split(";"))
    return Decimal(quantity) * Decimal(price.removeprefix("CNY").strip())
'''
_PARSE_STRICT = '''

def parse_line(line: str) -> Decimal:
    """Quantity times amount of ``description; quantity; CURRENCY amount``.

    Raises:
        ValueError: the line has no quantity.
    """
    _, quantity, price = (part.strip() for part in line.split(";"))
    if not quantity:
        raise ValueError(f"no quantity in {line!r}")
    return Decimal(quantity) * Decimal(price.removeprefix("CNY").strip())
'''
_HEAD_HALF_UP = '''\
"""Read invoice lines and add them up."""

from decimal import Decimal

from legacy_rounding import round_half_up


def parse_total(lines: list[str]) -> Decimal:
    """The sum of all lines, to the cent."""
    total = sum((round_half_up(parse_line(line)) for line in lines), Decimal(0))
    return round_half_up(total)
'''
_HEAD_HALF_EVEN = '''\
"""Read invoice lines and add them up."""

from decimal import ROUND_HALF_EVEN, Decimal

CENT = Decimal("0.01")


def parse_total(lines: list[str]) -> Decimal:
    """The sum of all lines, rounded once, half to even."""
    total = sum((parse_line(line) for line in lines), Decimal(0))
    return total.quantize(CENT, rounding=ROUND_HALF_EVEN)
'''
_TESTS = """\
from decimal import Decimal

from invoice import parse_line, parse_total


def test_a_currency_prefix_is_no_part_of_the_amount() -> None:
    assert parse_line("paper; 2; CNY 3.50") == Decimal("7.00")


def test_the_total_adds_all_lines() -> None:
    assert parse_total(["paper; 2; CNY 3.50", "ink; 1; 8.25"]) == Decimal("15.25")
"""
_TEST_HALF_EVEN = """

def test_half_a_cent_goes_to_the_even_neighbour() -> None:
    assert parse_total(["nails; 1; 2.665"]) == Decimal("2.66")
    assert parse_total(["nails; 1; 2.675"]) == Decimal("2.68")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScriptedCommit:
    """A commit: when it is made, in minutes of yesterday, its message, and the files as they are from then on."""

    minute: int
    message: str
    files: dict[str, str]


_TRUE_STEP = 3
_STEPS: Sequence[_ScriptedCommit] = (
    _ScriptedCommit(
        minute=555,
        message="Parse invoice lines into amounts",
        files={"README.md": _README, "invoice.py": _HEAD_HALF_UP + _PARSE, KEPT_FILE: _ROUNDING},
    ),
    _ScriptedCommit(minute=610, message="Test currency prefixes", files={"test_invoice.py": _TESTS}),
    _ScriptedCommit(
        minute=680, message="Reject lines without a quantity", files={"invoice.py": _HEAD_HALF_UP + _PARSE_STRICT}
    ),
    _ScriptedCommit(
        minute=968,
        message="Round half to even in invoice totals",
        files={"invoice.py": _HEAD_HALF_EVEN + _PARSE_STRICT, "test_invoice.py": _TESTS + _TEST_HALF_EVEN},
    ),
    _ScriptedCommit(minute=1065, message="Describe the input format", files={"README.md": _README + _README_FORMAT}),
)


def make_repository(folder: Path, now: datetime) -> dict[str, str]:
    """Make the repository in *folder*, which must not be one yet, with commits made during the day before *now*.

    Returns:
        ``repo``: the folder; ``true_commit``: the abbreviated hash of the commit that the session rightly claims;
        ``true_commit_full``: the whole of it. The same *now* gives the same hashes; it has a zone.
    """
    from git import Actor, Repo

    folder.mkdir(parents=True, exist_ok=True)
    author = Actor("Developer", "developer@example.invalid")
    day = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    hashes = []
    with Repo.init(folder, initial_branch="main") as repo:
        for step in _STEPS:
            for name, text in step.files.items():
                (folder / name).write_text(text, encoding="utf-8", newline="\n")
            repo.index.add(list(step.files))
            at = day + timedelta(minutes=step.minute)
            date = f"{int(at.timestamp())} {at:%z}"
            commit = repo.index.commit(
                step.message, author=author, committer=author, author_date=date, commit_date=date, skip_hooks=True
            )
            hashes.append(commit.hexsha)
    true_commit = hashes[_TRUE_STEP]
    return {"repo": str(folder), "true_commit": _short(true_commit), "true_commit_full": true_commit}


def _short(digest: str) -> str:
    """Return the first ten characters of a hash, or more until they hold a letter and a digit.

    Without both, the hash would read as a word or a number.
    """
    heads = (digest[:length] for length in range(10, len(digest)))
    return next((head for head in heads if not head.isalpha() and not head.isdigit()), digest)
