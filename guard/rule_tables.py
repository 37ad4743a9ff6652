"""The bundled rule tables in the form that is read fastest.

People edit ``rules/providers.toml`` and ``rules/credential_names.toml``. Parsing them takes 14 ms of processor time,
more than the rest of a first scan, and parsing the same tables as JSON takes one. ``make fix`` writes
``rules/tables.json`` from both files, and ``make lint`` fails while it differs from them.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["SOURCES", "bundled_tables"]

SOURCES = ("credential_names", "providers")
"""Names of the TOML files in ``guard/rules``, and the keys of the tables."""


@cache
def bundled_tables() -> dict[str, Any]:
    """Return the parsed content of each file in ``SOURCES``, by its name. The first call reads ``tables.json``."""
    path = Path(__file__).parent / "rules" / "tables.json"
    tables: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return tables
