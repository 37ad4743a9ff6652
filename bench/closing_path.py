"""Measure the path of one closing: how much code runs, how often the guard reads each entry, how deep the write is.

    python -m bench.closing_path [--root DIR] [--list] [--json]

Closes a session of two messages with ``memory close`` and watches the process with a profile function. The home is
made, and the session is imported, by processes of their own, so that nothing is cached when the closing begins.
``--root`` measures another checkout with this program, and ``--list`` names the functions by module.
"""

from __future__ import annotations

import argparse
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGES = ("guard", "agent_home", "recall", "assembler", "distill", "interfaces")
MESSAGES = (
    ("user", "Decision: we ship the parser on Friday."),
    ("assistant", "Lesson: never deploy the parser without a backup."),
)
_ENTRY = re.compile(r"^- \*\*\[(?P<id>[A-Z]{2}-\w{4})\]", re.MULTILINE)
#: Texts that only the new ``MEMORY.md`` holds together.
_NEW_MEMORY = (b"we ship the parser", b"## Key Decisions")
_RUN = "import sys; from interfaces.cli import main; main()"
_NOW = "2026-11-21T09:00:00+00:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingPath:
    """Figures of one closing.

    *functions* and *modules* count the project's own code that ran. Comprehensions and lambdas count as part of their
    function. *screenings* counts, by entry id, how often the guard read that entry. *guard_calls* counts all texts that
    the guard read, and *repeated* those that it read again. *depth* counts the project's frames on the stack when the
    new ``MEMORY.md`` reaches ``agent_home.storage``, and *frames* all frames of the command.
    """

    functions: int
    modules: int
    screenings: dict[str, int]
    guard_calls: int
    repeated: int
    depth: int
    frames: int


@dataclass(slots=True)
class _CallRecorder:
    """Profile function that notes the calls of the project's functions."""

    root: Path
    codes: set[CodeType] = field(default_factory=set)
    screened: list[str] = field(default_factory=list)
    depth: int = 0
    frames: int = 0
    _modules: dict[str, str] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note one event of the interpreter."""
        module = self.module_of(frame.f_code) if event == "call" else ""
        if not module:
            return
        self.codes.add(frame.f_code)
        if module == "guard.screener" and frame.f_code.co_name == "screen":
            self.screened.append(frame.f_locals["text"])
        elif module == "agent_home.storage" and not self.depth and _has_new_memory(frame):
            self.depth, self.frames = self._depth_of(frame)

    def module_of(self, code: CodeType) -> str:
        """Return the project's module that defines the function *code*, or an empty text for other code."""
        if code.co_name.startswith("<") or not code.co_flags & inspect.CO_OPTIMIZED:
            return ""
        if code.co_filename not in self._modules:
            path = Path(code.co_filename)
            name = ""
            if path.is_relative_to(self.root):
                name = ".".join(path.relative_to(self.root).with_suffix("").parts).removesuffix(".__init__")
            self._modules[code.co_filename] = name if name.partition(".")[0] in PACKAGES else ""
        return self._modules[code.co_filename]

    def _depth_of(self, frame: FrameType | None) -> tuple[int, int]:
        """Return the project's frames and all frames from *frame* down to the command."""
        ours, frames = 0, 0
        while frame is not None and frame.f_globals.get("__name__") != __name__:
            ours += bool(self.module_of(frame.f_code))
            frames += 1
            frame = frame.f_back
        return ours, frames


def measure(root: Path) -> tuple[ClosingPath, dict[str, list[str]]]:
    """Return the figures of one closing by the checkout *root*, and the names of the functions by module."""
    with tempfile.TemporaryDirectory() as folder:
        home, chat = Path(folder) / "home", Path(folder) / "chat.jsonl"
        rows = [
            {"session": "s1", "id": str(n), "ts": f"2026-11-20T10:{n:02d}:00+00:00", "role": role, "content": text}
            for n, (role, text) in enumerate(MESSAGES)
        ]
        chat.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        _command(root, "init", str(home), "--name", "Ada")
        _command(root, "import", "chat", str(chat), "--home", str(home), "--now", _NOW)
        watcher = _watched(root, ["close", "s1", "--home", str(home), "--now", _NOW])
        entries = [match["id"] for match in _ENTRY.finditer((home / "MEMORY.md").read_text(encoding="utf-8"))]
    if not watcher.depth:
        raise SystemExit(f"the closing by {root} wrote no entry; its output is above")
    functions: dict[str, list[str]] = defaultdict(list)
    for code in watcher.codes:
        functions[watcher.module_of(code)].append(code.co_qualname)
    path = ClosingPath(
        functions=len(watcher.codes),
        modules=len(functions),
        screenings={entry: sum(f"[{entry}]" in text for text in watcher.screened) for entry in entries},
        guard_calls=len(watcher.screened),
        repeated=len(watcher.screened) - len(set(watcher.screened)),
        depth=watcher.depth,
        frames=watcher.frames,
    )
    return path, functions


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.closing_path", description="Measure the path of a closing.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="checkout to measure")
    parser.add_argument("--list", action="store_true", help="name the functions by module")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    path, functions = measure(options.root.resolve())
    if options.json:
        print(json.dumps({**asdict(path), **({"list": functions} if options.list else {})}))
        return 0
    print(f"{path.functions} project functions in {path.modules} modules")
    print(f"the guard read {path.guard_calls} texts, {path.repeated} of them again")
    for entry, count in path.screenings.items():
        print(f"the guard read entry {entry} {count} times")
    print(f"MEMORY.md reaches storage under {path.depth} project frames, {path.frames} frames in all")
    for module, names in sorted(functions.items(), key=lambda item: -len(item[1])) if options.list else ():
        print(f"{len(names):4} {module}: {' '.join(sorted(names))}")
    return 0


def _watched(root: Path, command: Sequence[str]) -> _CallRecorder:
    """Run *command* of the checkout *root* in this process, and return what was seen of it."""
    sys.path.insert(0, str(root))
    from interfaces.cli import cli

    watcher = _CallRecorder(root)
    with redirect_stdout(io.StringIO()):
        sys.setprofile(watcher)
        try:
            cli(list(command), prog_name="memory", standalone_mode=False)
        finally:
            sys.setprofile(None)
    return watcher


def _command(root: Path, *arguments: str) -> None:
    """Run a command of the checkout *root* in a process of its own."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-c", _RUN, *arguments], cwd=root, env=environment, check=True, capture_output=True)


def _has_new_memory(frame: FrameType) -> bool:
    """Return whether a call of storage is given the new text of ``MEMORY.md``."""
    values = frame.f_locals.values()
    return any(isinstance(value, bytes) and all(part in value for part in _NEW_MEMORY) for value in values)


if __name__ == "__main__":
    sys.exit(main())
