"""Write ``guard/rules/tables.json`` from the rule files that people edit.

``python -m bench.measure.rule_tables`` writes the file, and ``--check`` only compares it.
"""

import json
import sys
import tomllib
from pathlib import Path

from guard.rule_tables import SOURCES

FOLDER = Path(__file__).parents[2] / "guard" / "rules"


def rendered() -> str:
    """Return the text of ``tables.json`` for the present rule files."""
    tables = {name: tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")) for name in SOURCES}
    return json.dumps(tables, ensure_ascii=False, indent=1) + "\n"


def main() -> int:
    """Write or check the file, and return 1 if it is not current."""
    target = FOLDER / "tables.json"
    if "--check" not in sys.argv:
        target.write_text(rendered(), "utf-8")
    elif not target.exists() or target.read_text("utf-8") != rendered():
        print("guard/rules/tables.json differs from the TOML files beside it. Run `make fix`.")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
