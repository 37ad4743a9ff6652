"""Measure how readable the source is: ``python -m bench.style [--beside NAME=DIR ...] [--check [PATH ...]]``.

``--check`` is part of ``make lint``. It names docstrings that break the rules for English. A function's docstring
starts with a verb. No docstring opens with a question word or holds a semicolon outside code.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import closing_path
from .measure.page import markdown

__all__ = ["Codebase", "Docstring", "docstrings", "main", "measure", "offences"]

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("guard", "agent_home", "recall", "assembler", "distill", "interfaces", "bench")
#: Words that turn a sentence into a noun clause when they open it.
_QUESTIONS = {"what", "whether", "how", "who", "whom", "whose", "where", "which", "when", "why"}
_FIRST_WORD = re.compile(r"[A-Za-z]+")
_CODE = re.compile(r"``[^`]*``|`[^`]*`|^( {4,}|>>> |\.\.\. ).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring with its owner: *kind* is ``module``, ``class``, ``property`` or ``function``."""

    path: Path
    line: int
    kind: str
    name: str
    text: str

    @property
    def opening(self) -> str:
        """The first word in lower case, empty where the text opens with markup."""
        match = _FIRST_WORD.match(self.text)
        return match[0].lower() if match else ""

    @property
    def prose(self) -> str:
        """The text without code."""
        return _CODE.sub(" ", self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Codebase:
    """Figures of one codebase. Lengths are lines of a function with its docstring. Shares are between 0 and 1."""

    modules: int
    lines: int
    function_median: float
    function_p90: float
    verb_first: float
    question_first: float
    semicolons: float
    most_modules: int
    mirrored: str
    settings: int


def docstrings(paths: Sequence[Path]) -> Iterator[Docstring]:
    """Yield every docstring of the files, in their order."""
    for path in paths:
        for node in ast.walk(_parsed(path)):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            text = ast.get_docstring(node)
            if text:
                name = getattr(node, "name", path.stem)
                yield Docstring(path, getattr(node, "lineno", 1), _kind(node), name, text)


def offences(found: Docstring) -> list[str]:
    """Return the rules that a docstring breaks, as phrases for its author. Overriding *click* callbacks count too."""
    broken = []
    if found.opening in _QUESTIONS:
        broken.append(f"opens with {found.opening!r}, start with a verb or a noun")
    elif found.kind == "function" and found.opening not in _verbs():
        broken.append(f"opens with {found.text.split()[0]!r}, start with a verb such as Return, Read or Write")
    if ";" in found.prose:
        broken.append("holds a semicolon, write two sentences")
    return broken


def measure(root: Path, packages: Sequence[str] | None = None) -> Codebase:
    """Return the figures of the code under *root*. *packages* names its top folders, all of *root* by default."""
    tops = [root / name for name in packages] if packages else [root]
    paths = [
        path for top in tops for path in sorted(top.rglob("*.py")) if "test" not in path.relative_to(root).parts[0]
    ]
    sizes = sorted(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in paths
        for node in ast.walk(_parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    texts = list(docstrings(paths))
    functions = [one for one in texts if one.kind == "function"]
    folders = Counter(path.parent for path in paths if path.name != "__init__.py" and path.parent.name != "commands")
    return Codebase(
        modules=len(paths),
        lines=sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths),
        function_median=statistics.median(sizes),
        function_p90=sizes[int(len(sizes) * 0.9)],
        verb_first=sum(_is_verb(one.opening) for one in functions) / max(1, len(functions)),
        question_first=sum(one.opening in _QUESTIONS for one in texts) / max(1, len(texts)),
        semicolons=1000
        * sum(one.prose.count(";") for one in texts)
        / max(1, sum(len(one.prose.split()) for one in texts)),
        most_modules=max(folders.values()),
        mirrored=_mirrored(root, paths),
        settings=sum(map(_settings, paths)),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or with ``--check`` the offences. Return 1 when there are any."""
    parser = argparse.ArgumentParser(prog="python -m bench.style", description="Measure how readable the source is.")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=DIR", help="another codebase's sources")
    parser.add_argument("--check", action="store_true", help="name docstrings that break the rules, and do no more")
    parser.add_argument("paths", nargs="*", type=Path, help="with --check: only these files and folders")
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.check:
        return _check(options.paths or [ROOT / name for name in PACKAGES])
    named = [one.partition("=") for one in options.beside]
    rows = [("agent-home", measure(ROOT, PACKAGES)), *((name, measure(Path(folder))) for name, _, folder in named)]
    print(_table(rows))
    path, _ = closing_path.measure(ROOT)
    print(f"\nClosing two messages runs {path.functions} functions of agent-home in {path.modules} modules.")
    print(f"The guard reads each new entry {max(path.screenings.values())} times.")
    print(f"MEMORY.md reaches storage {path.depth} calls below `memory close`.")
    return 0


def _table(rows: Sequence[tuple[str, Codebase]]) -> str:
    head = [
        "codebase", "modules / lines", "function lines median / p90", "functions' docstrings that start with a verb",
        "docstrings that open with a question word", "semicolons per 1 000 words", "most modules side by side",
        "test files that mirror a module", "public settings",
    ]  # fmt: skip
    return markdown(
        head,
        [
            [
                name, f"{one.modules} / {one.lines}", f"{one.function_median:.0f} / {one.function_p90:.0f}",
                f"{one.verb_first:.0%}", f"{one.question_first:.0%}", f"{one.semicolons:.1f}", str(one.most_modules),
                one.mirrored, str(one.settings),
            ]
            for name, one in rows
        ],
    )  # fmt: skip


def _check(places: Sequence[Path]) -> int:
    paths = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    found = [(one, rule) for one in docstrings(paths) for rule in offences(one)]
    for one, rule in found:
        print(f"{_shown(one.path)}:{one.line} {one.name}: {rule}")
    if found:
        print(f"{len(found)} docstrings to mend", file=sys.stderr)
    return 1 if found else 0


def _shown(path: Path) -> str:
    resolved = path.resolve()
    return str(resolved.relative_to(ROOT)) if resolved.is_relative_to(ROOT) else str(path)


def _kind(node: ast.AST) -> str:
    if isinstance(node, ast.Module):
        return "module"
    if isinstance(node, ast.ClassDef):
        return "class"
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
    return "property" if decorators & {"property", "cached_property", "fixture"} else "function"


def _is_verb(word: str) -> bool:
    """Return whether *word* is a verb in its base form or, as other codebases write it, in the third person."""
    return any(form in _verbs() for form in (word, word.removesuffix("s"), word.removesuffix("es")))


@cache
def _verbs() -> frozenset[str]:
    return frozenset((Path(__file__).parent / "measure" / "verbs.txt").read_text(encoding="utf-8").split())


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _settings(path: Path) -> int:
    """Return the number of fields of the classes in the file whose names end with ``Settings``."""
    classes = [node for node in ast.walk(_parsed(path)) if isinstance(node, ast.ClassDef)]
    fields = (one for node in classes if node.name.endswith("Settings") for one in node.body)
    return sum(isinstance(one, ast.AnnAssign) for one in fields)


def _mirrored(root: Path, paths: Sequence[Path]) -> str:
    """Return ``mirrored/all`` test files: those named after a module in the same folder of the tree."""
    places = (place / "tests" for place in (root, root.parent, root.parent.parent))
    tests = next((found for place in places if (found := sorted(place.rglob("test_*.py")))), [])
    modules = {path.stem.strip("_") for path in paths} | {path.parent.name for path in paths}
    nouns = [path.stem.removeprefix("test_") for path in tests]
    mirrored = sum(any(noun == name or noun.startswith(f"{name}_") for name in modules) for noun in nouns)
    return f"{mirrored}/{len(tests)}"


if __name__ == "__main__":
    sys.exit(main())
