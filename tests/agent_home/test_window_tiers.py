"""The limit of MEMORY.md follows the tier of the model's window."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.settings import parse_manifest
from agent_home.window_tiers import memory_limit

CONTEXT = '[[context]]\nfile = "MEMORY.md"\nowner = "agent"\naudiences = ["owner"]\ncut = "oldest-first"\nfloor = 10\n'


@pytest.mark.parametrize(
    ("table", "limit"),
    [
        ("", 46_000),
        ("window = 1_000_000", 80_000),
        ("window = 128_000", 26_000),
        ("window = 8_000", 24_000),
        ("window = 100\ntiers = [[100, 40]]", 24_000),
        ("tiers = [[200_000, 60_000]]", 56_000),
        ('window = "many"', 46_000),
    ],
)
def test_limit_of_memory_leaves_room_for_the_other_files(table: str, limit: int) -> None:
    manifest = parse_manifest(f"version = 1\n{CONTEXT}[assembler]\n{table}\n", Path("agent.toml"))
    assert memory_limit(manifest) == limit
