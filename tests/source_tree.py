"""The program's files as syntax trees, for the tests of its structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("guard", "agent_home", "recall", "assembler", "distill", "interfaces", "bench")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in FILES]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Walk through the file once for all tests."""
    return tuple(ast.walk(parsed(path)))


@cache
def import_nodes(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return tuple(node for node in nodes(path) if isinstance(node, ast.Import | ast.ImportFrom))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """``(line, full module name)`` of every import in the file, relative ones resolved."""
    package = path.relative_to(ROOT).parent.parts
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        else:
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield node.lineno, ".".join([*base, *([node.module] if node.module else [])])


def installed() -> list[tuple[Path, str]]:
    """The files and module names of everything but ``bench``, which is not installed."""
    return [(path, module) for path, module in zip(FILES, MODULES, strict=True) if not module.startswith("bench")]
