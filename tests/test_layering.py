"""The architecture as data: who imports whom, what each module exports, and who writes to the disk."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: A package imports only these, besides itself, the standard library and third parties.
ALLOWED: dict[str, set[str]] = {
    "guard": set(),
    "agent_home": {"guard"},
    "recall": {"agent_home", "guard"},
    "assembler": {"agent_home", "recall"},
    "distill": {"agent_home", "guard", "recall"},
    "interfaces": {"guard", "agent_home", "recall", "assembler", "distill"},
    "bench": {"guard", "agent_home", "recall", "assembler", "distill", "interfaces"},
}
#: Libraries that one package owns; elsewhere they would be a second way to do its work.
OWNED = {
    "apsw": {"recall"},
    "sqlite_vec": {"recall"},
    "fastembed": {"recall"},
    "onnxruntime": {"recall"},
    "sqlite3": set[str](),
}
FILES = sorted(path for package in ALLOWED for path in (ROOT / package).rglob("*.py"))
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in FILES]

#: Modules that open files for writing or rename them, and why each may. Memory itself is written by storage alone.
WRITERS = {
    "agent_home.storage": "the one place that writes bytes of a home",
    "recall.model": "the embedding model's cache, which is no part of a home",
    "recall.bert": "the model file in that cache",
    "recall.download": "the embedding model's cache",
    "recall.erasure": "the index is a cache that can be deleted",
    "recall.index": "the index is a cache that can be deleted",
    "recall.schema": "the index is a cache that can be deleted",
    "recall.rebuild": "the index is a cache that can be deleted",
    "recall.sync": "the index is a cache that can be deleted",
}
#: Modules that use agent_home.storage to write, and why each may.
STORERS = {
    "agent_home.closings": "what this machine closed, machine state in .memory that a git revert must not reach",
    "agent_home.erasure": "takes what is to be forgotten out of transcripts, outputs and .memory, under the lock",
    "agent_home.gateway": "the gateway: under the lock, screened, validated",
    "agent_home.hook": "git's commit hook, which is in git's folder and never memory; a foreign one is left alone",
    "agent_home.purge": "what git keeps beside its objects, and ids of commits in .memory, when history is made anew",
    "agent_home.salt": "the home's salt, machine state in .memory, made under the lock by the gateway",
    "agent_home.quarantine": "what the guard held back, called under the lock by the gateway",
    "distill.seen": "at which commits evidence was last checked, machine state in .memory, called under the lock",
    "assembler.blocked": "digests of texts that the guard found clean, machine state in .memory",
    "assembler.unchanged": "digests of the last prompts, machine state in .memory",
    "recall.model": "the embedding model's cache, which is no part of a home",
}
_STORING = {"append", "keep", "remove", "replace", "stage"}
#: Makes folders but no files.
_WRITING_METHODS = {"write_text", "write_bytes", "rename", "touch", "symlink_to", "hardlink_to", "unlink", "rmdir"}
_WRITING_CALLS = {
    "os.replace", "os.rename", "os.remove", "os.unlink", "os.truncate", "os.link", "os.symlink", "os.open", "os.fdopen",
    "shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.copytree", "shutil.move", "shutil.rmtree",
    "tempfile.mkstemp", "tempfile.NamedTemporaryFile", "onnx.save", "onnx.save_model",
}  # fmt: skip


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """``(line, full module name)`` of every import in the file, relative ones resolved."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield node.lineno, ".".join([*base, *([node.module] if node.module else [])])


def test_the_table_names_every_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(ALLOWED)


@pytest.mark.parametrize("path", FILES, ids=MODULES)
def test_a_module_imports_only_what_its_package_may(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    offenders = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for line, name in imports(path)
        if name.split(".")[0] in set(ALLOWED) | {"tests"} and name.split(".")[0] not in ALLOWED[own] | {own}
    ]
    assert offenders == []


@pytest.mark.parametrize("path", FILES, ids=MODULES)
def test_a_library_with_one_owner_is_imported_by_it_alone(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    offenders = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for line, name in imports(path)
        if own not in OWNED.get(name.split(".")[0], {own}) | {"bench"}
    ]
    assert offenders == []


@pytest.mark.parametrize("path", FILES, ids=MODULES)
def test_no_module_imports_another_ones_private_name(path: Path) -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {alias.name}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
        and node.module != "__future__"
    ]  # fmt: skip
    assert offenders == []


@pytest.mark.parametrize(
    "module", [m for m in MODULES if not m.startswith(("bench", "interfaces.cli.")) and "__main__" not in m]
)
def test_all_is_there_and_names_what_exists(module: str) -> None:
    path = FILES[MODULES.index(module)]
    loaded = importlib.import_module(module)
    exported = getattr(loaded, "__all__", None)
    defined = [
        node.name
        for node in parsed(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]
    if exported is None:
        assert module.startswith("guard.") or not defined, f"{module} has no __all__"  # guard exports from its package
        return
    assert [name for name in exported if not hasattr(loaded, name)] == []
    assert sorted(exported, key=str) == sorted(set(exported), key=str)
    if module.startswith("agent_home"):
        assert [name for name in defined if name not in exported] == []


def called(node: ast.Call) -> str:
    """The dotted name of what is called, as far as it is plain names."""
    parts, at = [], node.func
    while isinstance(at, ast.Attribute):
        parts.append(at.attr)
        at = at.value
    return ".".join(reversed([*parts, at.id if isinstance(at, ast.Name) else "?"]))


def mode_of(node: ast.Call, position: int) -> str:
    """The mode of an ``open``; ``?`` when it is not written out."""
    given = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
    given += node.args[position : position + 1]
    if not given:
        return "r"
    return str(given[0].value) if isinstance(given[0], ast.Constant) else "?"


def writes(path: Path) -> Iterator[tuple[int, str]]:
    """``(line, call)`` of everything in the file that could change a file."""
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        method = name.rsplit(".", 1)[-1]
        if method == "open" and name not in {"os.open", "webbrowser.open"}:
            if set(mode_of(node, 1 if name in {"open", "io.open"} else 0)) & set("wax+?"):
                yield node.lineno, name
        elif name in _WRITING_CALLS or ("." in name and method in _WRITING_METHODS):
            yield node.lineno, name
        elif method == "replace" and len(node.args) == 1 and not node.keywords and not name.startswith("storage."):
            yield node.lineno, name  # Path.replace has one argument, str.replace two


@pytest.mark.parametrize("path", [f for f in FILES if f.relative_to(ROOT).parts[0] != "bench"])
def test_nothing_but_storage_and_named_caches_changes_files(path: Path) -> None:
    module = MODULES[FILES.index(path)]
    if module in WRITERS:
        return
    permitted = PERMITTED.get(module, set())
    assert [f"{module}:{line} {call}" for line, call in writes(path) if call not in permitted] == []


#: Single calls that change files outside :data:`WRITERS`, and why.
PERMITTED = {
    "agent_home.hook": {"path.unlink"},  # an older hook of ours, which the new one replaces
    "agent_home.history": {"lock.unlink"},  # the orphaned lock of a git command of ours
    "agent_home.gateway": {  # its own records in .memory, never memory
        "mark.unlink", "record_path.unlink", "staged.unlink", "?.unlink", "_redo_path.unlink",
    },
    "interfaces.cli.frame": {"os.open"},  # the null device
}  # fmt: skip


def test_storage_is_used_for_writing_only_by_the_gateway_and_named_machine_state() -> None:
    users: dict[str, set[str]] = {}
    for path, module in zip(FILES, MODULES, strict=True):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module in {"storage", "agent_home.storage"}:
                users.setdefault(module, set()).update(_STORING & {alias.name for alias in node.names})
            elif isinstance(node, ast.Call) and called(node).startswith("storage."):
                users.setdefault(module, set()).update(_STORING & {called(node).split(".")[1]})
    assert {module for module, used in users.items() if used} <= set(STORERS)
    assert users["agent_home.gateway"] == _STORING


def test_git_is_changed_only_by_history() -> None:
    changing = {"add", "commit", "init", "reset", "checkout", "rm", "mv", "stash", "push", "update-ref"}
    found = set()
    for path, module in zip(FILES, MODULES, strict=True):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and called(node).rsplit(".", 1)[-1] in {
                "execute",
                "_run",
                "_with_git_lock",
                "run",
            }:
                words = {
                    inner.value
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
                }
                if words & changing:
                    found.add(module)
    assert {module for module in found if not module.startswith("bench.")} == {"agent_home.history", "agent_home.purge"}


def test_every_way_to_write_that_is_named_is_still_there() -> None:
    for module in WRITERS:
        assert module in MODULES
    assert set(STORERS) <= set(MODULES)


def test_the_scan_sees_every_kind_of_write(tmp_path: Path) -> None:
    lines = [
        'open("x", "w")', 'open("x", mode="a")',
        'path.open("ab+")', "path.open(mode)", 'path.write_text("x")', "a.replace(b)",
        "os.replace(a, b)", "path.unlink()", 'io.open("x", "r+")', "shutil.move(a, b)",
    ]  # fmt: skip
    harmless = [
        'open("x")',
        "path.open()",
        'path.open("rb")',
        'text.replace("a", "b")',
        "path.read_text()",
        'print("w")',
    ]
    file = tmp_path / "x.py"
    file.write_text("\n".join(lines + harmless))
    assert [line for line, _ in writes(file)] == list(range(1, len(lines) + 1))
