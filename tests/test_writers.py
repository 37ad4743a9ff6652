"""Who writes to the disk, starts processes or changes git: named modules alone, each with its reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from agent_home.git.client import home_client
from tests.source_tree import FILES, MODULES, ROOT, import_nodes, imports, installed, nodes

#: In one worker, so that each file is parsed and walked through once.
pytestmark = pytest.mark.xdist_group("test_layering.py")

#: Modules that open files for writing, rename or remove them: why each may, and by which calls. Memory itself is
#: written by storage alone.
WRITERS: dict[str, tuple[str, set[str]]] = {
    "agent_home.storage": (
        "the one place that writes bytes of a home",
        {"?.replace", "?.unlink", "os.fdopen", "os.open", "path.unlink", "staged.replace",
         "target.unlink", "tempfile.mkstemp"},
    ),
    "agent_home.machine_key": ("opens this user's key to read it", {"os.fdopen", "os.open"}),
    "agent_home.git.hook": ("an older hook of ours, which the new one replaces", {"path.unlink"}),
    "agent_home.git.commits": (
        "the orphaned lock of a git command of ours, a damaged ref, and git's staging area under git's own lock",
        {"?.unlink", "area.replace", "copy.unlink", "lock.unlink"},
    ),
    "agent_home.git_folder": ("reads the path in a file of git's without a wait", {"os.fdopen", "os.open"}),
    "agent_home.git.isolation": (
        "the stand-in for git's shared folder, in a temporary folder, and git's folder of reflogs",
        {"?.symlink_to", "?.write_text", "os.open"},
    ),
    "agent_home.git.process.scratch_folder": (
        "the temporary folder of this process, and those of processes that are gone",
        {"os.open", "shutil.rmtree"},
    ),
    "agent_home.git.packing": (
        "temporary packs of a killed packing, and its mark",
        {"?.unlink", "path.unlink", "mark.unlink"},
    ),
    "agent_home.git.fetching": ("a repository of its own for one fetch", {"?.write_text"}),
    "agent_home.git.signatures": ("the list of trusted keys for one git command", {"tempfile.NamedTemporaryFile"}),
    "agent_home.git.leftovers": (
        "what a killed git command of ours left, and the mark that such commands run",
        {"path.unlink", "mark.unlink"},
    ),
    "agent_home.lease.publication": ("a damaged repository that states are published from", {"shutil.rmtree"}),
    "agent_home.lease.published": ("the note that something is not published, machine state", {"path.unlink"}),
    "agent_home.moving.arrival": (
        "a home that arrives, in a folder of its own, which gets its name when it is whole",
        {"os.open", "os.fdopen", "pack.unlink", "target.unlink", "self._state.folder.rename", "?.symlink_to",
         "shutil.rmtree"},
    ),
    "agent_home.moving.departure": (
        "the copy of a home that another host has, which is removed, or kept aside for a person",
        {"home.root.rename", "shutil.rmtree"},
    ),
    "agent_home.store.recovery": (
        "the gateway's own records, machine state, never memory",
        {"staged.unlink", "?.unlink"},
    ),
    "agent_home.forgetting.erasure": ("empty folders whose names a person wants forgotten", {"?.rmdir"}),
    "agent_home.store.machine_state": (
        "moves the state that an earlier version kept, machine state, under the lock",
        {"old.rename", "old.rmdir"},
    ),
    "agent_home.outputs.blobs": (
        "contents of outputs, which git does not track, each under a name of its own",
        {"os.open", "os.fdopen", "self._staged.unlink", "path.unlink", "?.unlink"},
    ),
    "agent_home.events.recording": (
        "the event log, machine state: lines of ids and counts, and full files of it",
        {"os.write", "?.rename", "path.unlink"},
    ),
    "agent_home.checkpoints.checkpoint": ("the name of a checkpoint that is being made", {"lock.unlink"}),
    "agent_home.backup.content_store": (
        "contents of a backup in a folder that a person names, each under a name of its own",
        {"os.open", "os.fdopen", "staged.replace", "staged.unlink", "path.unlink", "folder.rmdir"},
    ),
    "agent_home.backup.restoring": (
        "a new home in a folder of its own, which gets its name when it is whole",
        {"os.open", "os.fdopen", "place.rename", "?.symlink_to", "shutil.rmtree"},
    ),
    "agent_home.backup.restored_repositories": (
        "git's folders of repositories in a home that is being made",
        {"made.rename", "made.unlink", "shutil.rmtree"},
    ),
    "interfaces.fleet.host": ("copies of homes that a killed process was deleting or building", {"shutil.rmtree"}),
    "interfaces.fleet.hand_over": ("what a host has published of a home that leaves the fleet", {"shutil.rmtree"}),
    "interfaces.fleet.take_over": (
        "a home that arrived gets its place, and the folder in which it was built goes",
        {"built.rename", "shutil.rmtree"},
    ),
    "interfaces.promised_closings": (
        "promises that are a month old, and staged ones",
        {"path.unlink", "staged.unlink"},
    ),
    "interfaces.jobs.child_process": (
        "what a command prints, passed on to our own streams, and the null device",
        {"os.open", "os.write"},
    ),
    "interfaces.folder_status": ("the staged STATUS.md of a folder that a person names", {"staged.unlink"}),
    "agent_home.outputs.store": ("the staged record of an output that could not be written", {"staged.unlink"}),
    "agent_home.outputs.erasure": ("outputs with a text that a person wants forgotten", {"?.unlink"}),
    "agent_home.outputs.pruning": ("outputs that are old, when a person asks for it", {"path.unlink"}),
    "recall.embedding.model": (
        "the embedding model's cache, which is no part of a home",
        {"folder.rename", "shutil.rmtree", "temporary.rename"},
    ),
    "recall.hot_state.shared_store": (
        "a forgotten hot state, and the mark of an outage",
        {"path.unlink", "self._outage.unlink"},
    ),
    "recall.hot_state.sqlite_store": ("a damaged hot state, over within the hour", {"?.unlink", "path.unlink"}),
    "recall.index.erasure": ("copies of the index that a person wants a text taken out of", {"path.unlink"}),
    "recall.index.sqlite.rebuild": ("the index is a cache that can be deleted", {"?.unlink"}),
    "recall.index.sqlite.schema": (
        "the index is a cache that can be deleted",
        {"copy.unlink", "path.rename", "side.rename"},
    ),
    "interfaces.cli.command": ("the null device", {"os.open"}),
    "interfaces.hosts.queue": (
        "events of chat hosts, machine state: hooks have a second and import nothing, so they append by themselves",
        {"os.open", "os.write", "os.ftruncate", "?.unlink", "path.unlink"},
    ),
    "interfaces.hosts.transcript_tail": ("reads the file of a host without a wait", {"os.open"}),
    "interfaces.hosts.install": (
        "the settings of a chat host that a person names",
        {"target.unlink", "staged.unlink", "folder.rmdir"},
    ),
    "interfaces.service.forwarding.client": ("the null device", {"os.open"}),
    "interfaces.service.server": ("the socket of the service, machine state, under its lock", {"place.unlink"}),
    "interfaces.service.forwarding.socket_place": ("a folder, for a short name of a socket in it", {"os.open"}),
    "agent_home.screening.scan.archives": ("reads an archive that is in memory", {"zipfile.ZipFile", "archive.open"}),
}  # fmt: skip
#: Modules that change git repositories: the home's alone.
GIT_WRITERS = {
    "agent_home.backup.history": "the repository of a home that is made from a backup",
    "agent_home.backup.restored_repositories": "repositories inside a home that is made from a backup",
    "agent_home.git.commits": "commits of the gateway",
    "agent_home.git.fetching": "a repository of its own for one fetch, and the name of the fetched commit",
    "agent_home.git.packing": "one pack instead of many objects",
    "agent_home.git.pack": "objects of a history made anew, for agent_home.forgetting.purge",
    "agent_home.lease.publication": "packs of the repository that a fleet's home is published from",
    "agent_home.lease.remote": "a repository of its own that talks to the remote of a fleet's home",
    "agent_home.lease.state_tree": "objects of that repository",
    "agent_home.forgetting.purge": "a history made anew without what a person wants forgotten",
}
#: Modules that start processes or load GitPython, and what for.
PROCESSES = {
    "agent_home.git.client": "every git process",
    "agent_home.git.process.command_output": "waits for git, which the client started",
    "distill.language_model.command": "the command that a person configured as language model on this machine",
    "distill.language_model.endpoint": "an event loop for one HTTP request, which starts no process",
    "recall.embedding.model": "builds the model in a process of its own",
    "interfaces.jobs.child_process": "the command that a person asks to run",
    "interfaces.hosts.hook": "the worker that outlives a hook, which its host may kill",
    "interfaces.frameworks.google_adk": "an event loop, which starts no process",
    "interfaces.frameworks.langgraph": "an event loop, which starts no process",
    "interfaces.frameworks.openai_agents": "an event loop, which starts no process",
    "interfaces.fleet.worker": "an event loop, which starts no process",
    "interfaces.service.http.activity": "an event loop, which starts no process",
    "interfaces.service.forwarding.autostart": "the service, where [serve] allows it",
    "interfaces.service.http.session_endpoints": "an event loop, which starts no process",
    "interfaces.service.http.request_limits": "a timer of the event loop, which starts no process",
    "interfaces.service.server": "an event loop, which starts no process",
}
#: Attributes by which git is changed: the client's one method, and what GitPython's objects have.
GIT_CHANGES = {
    "change", "clone_from", "create_head", "create_remote", "create_submodule", "create_tag", "delete_head",
}  # fmt: skip
#: Modules that use agent_home.storage to write, and why each may.
STORERS = {
    "agent_home.backup.backup_folder": "the mark of a backup, in a folder that a person names",
    "agent_home.backup.history": "the ends of a shallow history, in git's folder of a home that is being made",
    "agent_home.backup.known_backups": "where the backups of this home are, machine state",
    "agent_home.backup.making": "the manifest of a backup, in a folder that a person names",
    "agent_home.backup.restoring": "records of this machine, signed for a home that is being made",
    "agent_home.backup.restored_repositories": "pointers to git's folders, in a home that is being made",
    "agent_home.store.branch": "the name of the branch that memory is kept on, machine state, under the lock",
    "agent_home.store.closings": "what this machine closed, machine state that a git revert must not reach",
    "agent_home.forgetting.erasure": "removes a text from transcripts, outputs and machine state, under the lock",
    "agent_home.store.appended": "how far transcripts were written, machine state, under the lock",
    "agent_home.store.gateway": "appends to transcripts: under the lock, screened",
    "agent_home.store.recovery": "the renames of the gateway: under the lock, screened, validated",
    "agent_home.store.machine_state": "moves the state that an earlier version kept, machine state, under the lock",
    "agent_home.store.unverified": "puts redo records aside that this machine did not sign, under the lock",
    "agent_home.store.losses": "entries that an edit by hand lost, from HEAD: under the lock, screened when they came",
    "agent_home.store.set_aside": "texts of the gateway that a person's change stands in the way of, under the lock",
    "agent_home.git.commits": "git's lock of the staging area, and the copy that becomes the new one",
    "agent_home.git.packing": "the mark of a packing that runs, and the date of the last one, machine state",
    "agent_home.git.leftovers": "the mark that git commands of ours run, also in git folders of shared projects",
    "agent_home.sharing.placing": "files of shared projects: under their lock, screened, merged with what others wrote",
    "agent_home.sharing.waiting_texts": "texts for shared projects that are written, machine state, under the lock",
    "agent_home.lease.published": "what this host has published of a fleet's home, machine state",
    "agent_home.lease.record": "removes the lease of a home that was not entrusted, machine state",
    "agent_home.lease.remote": "where git finds the objects of the home, in a repository of its own",
    "agent_home.moving.arrival": "the lease of a home that arrives, machine state",
    "agent_home.git.hook": "git's commit hook, which is in git's folder and never memory; a foreign one is left alone",
    "agent_home.git.line_merge": "the same file, when it cannot be merged by entries",
    "agent_home.documents.document_merge": "git's temporary file in a merge, which the merge then puts in place",
    "agent_home.forgetting.purge": "git state beside objects, and commit ids, machine state, when history is rewritten",
    "agent_home.machine_key": "this user's key, which is no part of a home",
    "agent_home.consent.settings_in_effect": "a copy of a rule file that a person agreed to, machine state",
    "recall.index.store_choice": "forgets where this machine keeps the index of a home, machine state",
    "agent_home.consent.signed_record": "what a person here agreed to, machine state that no pull reaches",
    "recall.hot_state.shared_store": "since when Redis does not answer, machine state",
    "agent_home.salt": "the home's salt, machine state, made under the lock by the gateway",
    "agent_home.screening.private_folders": "git's own list of ignored files, once, with the lock held",
    "agent_home.screening.clean_texts": "digests of texts that the guard found clean, machine state",
    "agent_home.git.entries.entry_events": "events of entries that git has, machine state, made by any reader",
    "agent_home.screening.originals": "messages that lost personal data, called under the lock by the gateway",
    "agent_home.screening.quarantine": "what the guard held back, called under the lock by the gateway",
    "agent_home.outputs.blobs": "contents of outputs: screened, never in git, each under a name of its own",
    "agent_home.outputs.status_references": "which status files name outputs, machine state, under a lock of its own",
    "agent_home.outputs.store": "records of outputs: screened, never in git, each under a name of its own",
    "agent_home.checkpoints.checkpoint": "records of checkpoints: screened, never in git, each under a name of its own",
    "interfaces.folder_status": "the STATUS.md of a folder that a person names, screened, never memory",
    "interfaces.cli.commands.page": "the page as a file that a person names, never memory",
    "interfaces.jobs.prompt_file": "the prompt of a running command, machine state, gone after it",
    "interfaces.promised_closings": "closings that a service has promised, machine state",
    "interfaces.slack.record": "events, threads and switches of the bot in Slack, machine state",
    "interfaces.hosts.captured": "sessions of chat hosts that are not closed yet, machine state",
    "interfaces.hosts.install": "the settings file of a chat host that a person names, never memory",
    "interfaces.hosts.plugin": "the folder of a plugin that a person names, never memory",
    "distill.entries.archived_statements": "digests of what the archive states, machine state, under the lock",
    "distill.interrupted_night": "the mark of a nightly run, machine state, under the nightly lock",
    "distill.review.decided_items": "decisions of the last day, machine state, under the lock",
    "distill.review.undo": "texts that wait again after an undone decision, machine state, under the lock",
    "distill.evidence.verification_cache": "commits at which evidence was last checked, machine state, under the lock",
    "distill.language_model.unread_sessions": "session parts to read again, machine state, under the lock",
    "distill.language_model.token_budget": "tokens spent by day, machine state, under the lock",
    "assembler.prefix_stability": "digests of the last prompts, machine state",
    "recall.embedding.model": "the embedding model's cache, which is no part of a home",
    "recall.index.sqlite.own_index": "the token of this machine's index, machine state, under the sync lock",
    "recall.index.sqlite.schema": "the index, which is a cache, with modes for its owner alone",
    "recall.index.sqlite.damage": "the mark beside a damaged index, which is a cache",
}
_STORING = {"append", "create", "write_cache", "remove", "replace", "stage"}
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
    assert users["agent_home.store.recovery"] == _STORING - {"create", "write_cache"}


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


#: Modules that open files by other means than storage, which never waits for a pipe.
READERS = {
    "agent_home.consent.settings_in_effect": "a template of the package",
    "agent_home.creation": "templates of the package",
    "agent_home.git_folder": "the staging area, when it is known to be a file",
    "agent_home.git.leftovers": "the system's list of processes",
    "agent_home.screening.ruleset": "the program's own rule files",
    "agent_home.screening.scan.archives": "an archive that is in memory",
    "interfaces.fleet.queue": "the queue in PostgreSQL, which is no file",
    "recall.embedding.embedder": "the embedding model's cache, which is no part of a home",
    "recall.embedding.model": "the embedding model's cache, which is no part of a home",
    "recall.evaluation.comparison": "a file of results that a person names",
    "recall.evaluation.metrics": "a file of judgements that a person names",
}


def test_a_pipe_in_the_place_of_a_file_of_a_home_stops_no_reader() -> None:
    """``Path.open`` would wait for somebody who writes into the pipe."""
    found = {
        module
        for path, module in installed()
        if not module.startswith("guard")
        for node in nodes(path)
        if isinstance(node, ast.Call) and _opens(node, imported_names(path))
    }
    assert found == READERS.keys()


def _opens(call: ast.Call, names: Mapping[str, str]) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in {"read_bytes", "read_text", "open"}:
        return False
    of = call.func.value
    packaged = any(isinstance(node, ast.Name) and node.id in {"files", "resources"} for node in ast.walk(of))
    return not packaged and dotted(of, names) not in {"storage", "os", "tarfile"}
