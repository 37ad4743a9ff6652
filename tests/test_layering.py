"""The architecture as data: who imports whom, what each module exports, and who writes to the disk."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from agent_home.git.client import home_client

#: In one worker, so that each file is parsed and walked through once.
pytestmark = pytest.mark.xdist_group("test_layering.py")

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
#: Inside a package: its sub-packages and root modules in rows, lowest first. Each imports only from lower rows.
ORDER: dict[str, list[list[str]]] = {
    "guard": [
        ["match", "verdict"], ["redaction"], ["policy", "text"], ["injection", "pii", "secrets", "structure"],
        ["settings"], ["screen"],
    ],
    "agent_home": [
        ["audience", "clock", "errors", "suggestions", "template", "token_weights", "waiting"],
        ["lock", "settings", "storage", "tokens"],
        ["home", "window_tiers"], ["salt"], ["documents"], ["git"], ["forgetting"], ["screening"], ["store"],
        ["creation", "imports"],
    ],
    "recall": [
        ["errors", "settings", "text"], ["embedding"], ["index"], ["search"], ["evaluation"],
    ],
    "assembler": [
        ["errors", "onboarding", "receipt", "section", "settings"],
        ["budget", "file_screening", "prefix_stability", "recall_section"], ["progressive"], ["pool"],
        ["layers", "resume_hint", "sources"], ["context", "past_memory", "searcher"], ["prompt"],
        ["prompt_bisect"],
    ],
    "distill": [
        ["errors"], ["language_model"], ["settings", "statements"], ["grounding"], ["evidence"], ["reading"],
        ["summary"], ["learning"], ["entries"], ["review"], ["projects"], ["close"], ["report"],
        ["forget", "nightly", "resume"],
    ],
}  # fmt: skip
#: Modules side by side in one folder, besides its ``__init__``.
MOST_MODULES = 20
#: Libraries that one package owns; elsewhere they would be a second way to do its work.
OWNED = {
    "apsw": {"recall"},
    "sqlite_vec": {"recall"},
    "fastembed": {"recall"},
    "onnxruntime": {"recall"},
    "httpx": {"distill"},
    "sqlite3": set[str](),
}
FILES = sorted(path for package in ALLOWED for path in (ROOT / package).rglob("*.py"))
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in FILES]

#: Modules that open files for writing, rename or remove them: why each may, and by which calls. Memory itself is
#: written by storage alone.
WRITERS: dict[str, tuple[str, set[str]]] = {
    "agent_home.storage": (
        "the one place that writes bytes of a home",
        {"?.replace", "?.unlink", "os.fdopen", "os.open", "path.open", "staged.replace", "target.unlink",
         "tempfile.mkstemp"},
    ),
    "agent_home.git.hook": ("an older hook of ours, which the new one replaces", {"path.unlink"}),
    "agent_home.git.history": ("the orphaned lock of a git command of ours", {"lock.unlink"}),
    "agent_home.store.recovery": (
        "the gateway's own records in .memory, never memory",
        {"mark.unlink", "staged.unlink", "?.unlink"},
    ),
    "recall.embedding.model": (
        "the embedding model's cache, which is no part of a home",
        {"folder.rename", "shutil.rmtree", "temporary.rename"},
    ),
    "recall.index.erasure": ("copies of the index that a person wants a text taken out of", {"path.unlink"}),
    "recall.index.rebuild": ("the index is a cache that can be deleted", {"?.unlink"}),
    "recall.index.schema": ("the index is a cache that can be deleted", {"path.rename", "side.rename"}),
    "interfaces.cli.command": ("the null device", {"os.open"}),
}  # fmt: skip
#: Modules that change git repositories: the home's alone.
GIT_WRITERS = {
    "agent_home.git.history": "commits of the gateway",
    "agent_home.git.pack": "objects of a history made anew, for agent_home.forgetting.purge",
    "agent_home.forgetting.purge": "a history made anew without what a person wants forgotten",
}
#: Modules that start processes or load GitPython, and what for.
PROCESSES = {
    "agent_home.git.client": "every git process",
    "distill.language_model.command": "the command that a person configured as language model on this machine",
    "distill.language_model.endpoint": "an event loop for one HTTP request, which starts no process",
    "recall.embedding.model": "builds the model in a process of its own",
}
#: Attributes by which git is changed: the client's one method, and what GitPython's objects have.
GIT_CHANGES = {
    "change", "clone_from", "create_head", "create_remote", "create_submodule", "create_tag", "delete_head",
}  # fmt: skip
#: Modules that use agent_home.storage to write, and why each may.
STORERS = {
    "agent_home.store.closings": "what this machine closed, machine state in .memory that a git revert must not reach",
    "agent_home.forgetting.erasure": "removes a text from transcripts, outputs and .memory, under the lock",
    "agent_home.store.gateway": "appends to transcripts: under the lock, screened",
    "agent_home.store.recovery": "the renames of the gateway: under the lock, screened, validated",
    "agent_home.git.hook": "git's commit hook, which is in git's folder and never memory; a foreign one is left alone",
    "agent_home.documents.document_merge": "git's temporary file in a merge, which the merge then puts in place",
    "agent_home.forgetting.purge": "git state beside objects, and commit ids in .memory, when history is rewritten",
    "agent_home.salt": "the home's salt, machine state in .memory, made under the lock by the gateway",
    "agent_home.screening.clean_texts": "digests of texts that the guard found clean, machine state in .memory",
    "agent_home.screening.quarantine": "what the guard held back, called under the lock by the gateway",
    "distill.evidence.verification_cache": "commits at which evidence was last checked, in .memory, under the lock",
    "distill.language_model.unread_sessions": "session parts for the model to read again, in .memory, under the lock",
    "distill.language_model.token_budget": "tokens spent by day, machine state in .memory, under the lock",
    "assembler.prefix_stability": "digests of the last prompts, machine state in .memory",
    "recall.embedding.model": "the embedding model's cache, which is no part of a home",
}
_STORING = {"append", "write_cache", "remove", "replace", "stage"}
_WRITING_METHODS = {
    "write_text", "write_bytes", "rename", "touch", "symlink_to", "hardlink_to", "unlink", "rmdir", "tofile",
}  # fmt: skip
_OS = {
    "copy_file_range", "fdopen", "ftruncate", "link", "mkfifo", "mknod", "open", "popen", "posix_spawn", "pwrite",
    "remove", "removedirs", "rename", "renames", "replace", "rmdir", "sendfile", "splice", "startfile", "symlink",
    "system", "truncate", "unlink", "write", "writev",
}  # fmt: skip
_SHUTIL_READS = {"disk_usage", "get_terminal_size", "which"}
_WRITING_CALLS = {
    "tempfile.mkstemp", "tempfile.NamedTemporaryFile", "onnx.save", "onnx.save_model", "io.FileIO", "mmap.mmap",
    "zipfile.ZipFile", "logging.FileHandler", "eval", "exec", "__import__", "np.save", "np.savez", "np.savetxt",
    "np.memmap", "numpy.save", "numpy.savez", "numpy.savetxt", "numpy.memmap",
}  # fmt: skip


def installed() -> list[tuple[Path, str]]:
    """The files and module names of everything but ``bench``, which is not installed."""
    return [(path, module) for path, module in zip(FILES, MODULES, strict=True) if not module.startswith("bench")]


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


def test_the_table_names_every_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(ALLOWED)


def test_a_module_imports_only_what_its_package_may() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in FILES
        for line, name in imports(path)
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
    folders = Counter(path.parent for path in FILES if path.name != "__init__.py")
    crowded = {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > MOST_MODULES}
    assert set(crowded) <= {"interfaces/cli/commands"}  # one file for each command


def test_every_folder_says_what_it_owns() -> None:
    assert [str(path) for path in FILES if path.name == "__init__.py" and not ast.get_docstring(parsed(path))] == []


def test_every_test_file_mirrors_a_module() -> None:
    orphans = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = path.relative_to(ROOT / "tests").parent
        names = {file.stem.strip("_") for file in (ROOT / folder).glob("*.py") if file.name != "__init__.py"}
        names |= {inner.name for inner in (ROOT / folder).iterdir() if (inner / "__init__.py").exists()}
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


def dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    """The dotted name of an expression, as far as it is plain names; imported names by where they come from."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, names)}.{node.attr}"
    return "?"


@cache
def imported_names(path: Path) -> Mapping[str, str]:
    """What each imported name stands for: ``storage`` for ours however it is imported, ``os.replace`` for another's."""
    names: dict[str, str] = {}
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        else:
            module = (node.module or "").removeprefix("agent_home").strip(".")
            names |= {alias.asname or alias.name: f"{module}.{alias.name}".strip(".") for alias in node.names}
    return names


def called(node: ast.Call) -> str:
    """The dotted name of what is called, as it is written."""
    return dotted(node.func, {})


def mode_of(node: ast.Call, position: int) -> str:
    """The mode of an ``open``; ``?`` when it is not written out."""
    given = [keyword.value for keyword in node.keywords if keyword.arg in {"mode", None}]
    given += node.args[position : position + 1] + [arg for arg in node.args if isinstance(arg, ast.Starred)]
    if not given:
        return "r"
    return str(given[0].value) if isinstance(given[0], ast.Constant) else "?"


@cache
def writes(path: Path) -> Sequence[tuple[int, str]]:
    """``(line, name)`` of everything in the file that could change a file, whether it is called or handed on."""
    names = imported_names(path)
    functions = {id(node.func) for node in nodes(path) if isinstance(node, ast.Call)}
    return sorted({item for node in nodes(path) for item in _write(node, names, functions)})


def _write(node: ast.AST, names: Mapping[str, str], functions: set[int]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call):
        yield from _writing_call(node, names)
    elif isinstance(node, ast.Attribute | ast.Name):
        name = dotted(node, names)
        owner, _, method = name.rpartition(".")
        if (
            name in _WRITING_CALLS
            or (owner == "os" and (method in _OS or method.startswith(("exec", "spawn"))))
            or (owner == "shutil" and method not in _SHUTIL_READS)
            or (isinstance(node, ast.Attribute) and method in _WRITING_METHODS)
        ):
            yield node.lineno, name
        elif (
            isinstance(node, ast.Attribute)
            and method in {"open", "replace"}
            and id(node) not in functions
            and owner not in {"storage", "str", "dataclasses", "datetime"}
        ):
            yield node.lineno, name  # handed on instead of called: nobody sees with which mode


def _writing_call(node: ast.Call, names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    name = dotted(node.func, names)
    method = name.rsplit(".", 1)[-1]
    if method == "open" and name not in {"os.open", "webbrowser.open"}:
        first = {
            "open",
            "io.open",
            "codecs.open",
            "gzip.open",
            "bz2.open",
            "lzma.open",
            "tarfile.open",
            "builtins.open",
        }
        if set(mode_of(node, 1 if name in first else 0)) & set("wax+?"):
            yield node.lineno, name
    elif method == "replace" and not name.startswith("storage."):
        # Path.replace has one argument, str.replace two
        if (len(node.args) == 1 and not node.keywords) or any(word.arg == "target" for word in node.keywords):
            yield node.lineno, name
    elif method == "getattr" and len(node.args) > 1:
        asked = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
        if asked in _WRITING_METHODS | _OS | _STORING - {"write_cache", "append", "stage"}:
            yield node.lineno, f"getattr {asked}"


def test_nothing_but_storage_and_named_caches_changes_files() -> None:
    found = [
        f"{module}:{line} {call}"
        for path, module in installed()
        for line, call in writes(path)
        if call not in WRITERS.get(module, ("", set[str]()))[1]
    ]
    assert found == []


def stores(path: Path) -> set[str]:
    """What of agent_home.storage the file uses to write, called or handed on, under whatever name."""
    names = imported_names(path)
    used = {dotted(node, names) for node in nodes(path) if isinstance(node, ast.Attribute | ast.Name)}
    used |= {names[alias] for alias in names}  # imported is used
    return {name.rsplit(".", 1)[-1] for name in used if re.search(rf"\bstorage\.({'|'.join(_STORING)})$", name)}


def test_storage_is_used_for_writing_only_by_the_gateway_and_named_machine_state() -> None:
    users = {module: stores(path) for path, module in zip(FILES, MODULES, strict=True)}
    assert {module for module, used in users.items() if used} == set(STORERS)
    assert users["agent_home.store.gateway"] == {"append"}
    assert users["agent_home.store.recovery"] == _STORING - {"write_cache"}


def test_processes_are_started_by_named_modules_alone() -> None:
    starting = {"git", "subprocess", "multiprocessing", "pty", "asyncio", "ctypes"}
    users = {module for path, module in installed() if {name.split(".")[0] for _, name in imports(path)} & starting}
    assert users <= set(PROCESSES)


def changes_git(path: Path) -> set[str]:
    """Return the names by which a file that can reach git changes a repository: ``GitClient.change``, or GitPython."""
    loaded = {name for _, name in imports(path)}
    whole = {
        alias for alias, name in imported_names(path).items() if name == "git.client" and "agent_home.git" in loaded
    }
    if not whole and "agent_home.git.client" not in loaded and "git" not in {name.split(".")[0] for name in loaded}:
        return set()
    attributes = [node for node in nodes(path) if isinstance(node, ast.Attribute)]
    names = {node.attr for node in attributes}
    names |= {str(node.args[1].value) for node in nodes(path) if isinstance(node, ast.Call)
              and called(node) == "getattr" and isinstance(node.args[1], ast.Constant)}  # fmt: skip
    inner = {node.value.attr for node in attributes if isinstance(node.value, ast.Attribute)}
    return names & GIT_CHANGES | inner & {"git", "index"}


def test_git_is_changed_only_by_named_modules() -> None:
    found = {module for path, module in installed() if changes_git(path)}
    assert found == set(GIT_WRITERS)


@pytest.mark.parametrize(
    "arguments",
    [["commit", "-m", "x"], ["config", "user.name", "x"], ["remote", "add", "a", "b"], ["branch", "-D", "x"],
     ["worktree", "add", "x"], ["-c", "alias.log=!sh", "log"]],
)  # fmt: skip
def test_a_query_refuses_a_command_that_could_change_a_repository(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(ValueError, match="could change the repository"):
        home_client(tmp_path).query(*arguments)


def test_every_way_to_write_that_is_named_is_still_there() -> None:
    assert set(STORERS) | set(PROCESSES) <= set(MODULES)
    for module, (_, permitted) in WRITERS.items():
        assert {call for _, call in writes(FILES[MODULES.index(module)])} == permitted, module


WAYS_TO_WRITE = """\
open("x", "w")
open("x", mode="a")
open("x", **how)
open(*what)
path.open("ab+")
path.open("a")
path.open(mode)
path.write_text("x")
a.replace(b)
a.replace(target=b)
os.replace(a, b)
os.open("x", 1)
path.unlink()
io.open("x", "r+")
codecs.open("x", "w")
gzip.open("x", "wb")
shutil.move(a, b)
shutil.make_archive("x", "zip")
keep = path.write_text
map(os.remove, paths)
partial(path.open, "w")
put = path.replace
getattr(path, "write_text")("x")
os.system("echo > x")
os.execvp("sh", [])
logging.FileHandler("x")
array.tofile("x")
exec("open('x', 'w')")
moved(a, b)
gone(a)
z.ZipFile("x", "w")
""".splitlines()
HARMLESS = """\
open("x")
path.open()
path.open("rb")
text.replace("a", "b")
path.read_text()
print("w")
shutil.which("git")
os.path.join("a", "b")
re.compile("x")
replace(value, field=1)
getattr(error, "stderr", "")
""".splitlines()


def test_the_scan_sees_every_kind_of_write(tmp_path: Path) -> None:
    imported = [
        "from shutil import move as moved", "from os import unlink as gone", "import zipfile as z",
        "from dataclasses import replace",
    ]  # fmt: skip
    file = tmp_path / "x.py"
    file.write_text("\n".join([*WAYS_TO_WRITE, *HARMLESS, *imported]))
    seen = {line for line, _ in writes(file)}
    assert [way for number, way in enumerate(WAYS_TO_WRITE, 1) if number not in seen] == []
    assert [way for number, way in enumerate(HARMLESS, len(WAYS_TO_WRITE) + 1) if number in seen] == []


@pytest.mark.parametrize(
    "code",
    [
        "from . import storage\nstorage.replace(a, b)",
        "from agent_home import storage as disk\ndisk.append(a, b)",
        "from .storage import stage as put\nput(a, b)",
        "from agent_home.storage import write_cache",
        "import agent_home.storage\nagent_home.storage.remove(a)",
        "from . import gateway\ngateway.storage.replace(a, b)",
        "from . import storage\nmap(storage.remove, paths)",
    ],
)
def test_the_scan_sees_storage_under_any_name(tmp_path: Path, code: str) -> None:
    (tmp_path / "x.py").write_text(code)
    assert stores(tmp_path / "x.py")


@pytest.mark.parametrize(
    "code",
    [
        "from agent_home.git.client import home_client\nhome_client(a).change('commit')",
        "from agent_home.git import client\nclient.home_client(a).change('commit')",
        "from .client import GitClient\nmap(GitClient.change, clients)",
        "from .client import home_client\ngetattr(home_client(a), 'change')('commit')",
        "from git import Repo\nRepo(a).index.commit('x')",
        "import git\ngit.Repo(a).git.commit('-m', 'x')",
        "from .client import open_repository\nopen_repository(a).create_head('x')",
    ],
)
def test_the_scan_sees_git_being_changed(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    file = ROOT / "agent_home" / "git" / f"x{abs(hash(code))}.py"
    monkeypatch.setattr(Path, "read_text", lambda _self, **_: code)
    assert changes_git(file)
