"""What an installed copy needs is named in pyproject.toml: every package, and every file that is not Python."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOT_INSTALLED = {"bench", "tests", "docs"}


def _setuptools() -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "setuptools"
    ]
    return table


def _packages() -> list[str]:
    tops = [path for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists()]
    found = [init.parent for top in tops if top.name not in NOT_INSTALLED for init in top.rglob("__init__.py")]
    return sorted(".".join(path.relative_to(ROOT).parts) for path in found)


def test_every_package_is_listed() -> None:
    assert sorted(map(str, _setuptools()["packages"])) == _packages()  # type: ignore[call-overload]


def test_every_data_file_is_covered_by_a_pattern_of_its_package() -> None:
    patterns = _setuptools()["package-data"]
    assert isinstance(patterns, dict)
    forgotten = []
    for package in _packages():
        folder = ROOT / package.replace(".", "/")
        covered = {
            path for owner in (package, "*") for pattern in patterns.get(owner, ()) for path in folder.glob(pattern)
        }
        for path in folder.rglob("*"):
            inner = any((parent / "__init__.py").exists() for parent in path.parents if folder in parent.parents)
            is_data = path.is_file() and path.suffix not in {".py", ".pyc"} and not inner
            if is_data and path not in covered:
                forgotten.append(str(path.relative_to(ROOT)))
    assert forgotten == []
