from __future__ import annotations

import tomllib
from pathlib import Path

from guard.rule_tables import SOURCES, bundled_tables

RULES = Path(__file__).parents[2] / "guard" / "rules"


def test_the_bundled_tables_are_those_of_the_files_that_people_edit_in_their_order() -> None:
    for name in SOURCES:
        edited = tomllib.loads((RULES / f"{name}.toml").read_text("utf-8"))
        assert repr(bundled_tables()[name]) == repr(edited)
