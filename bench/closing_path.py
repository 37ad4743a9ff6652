"""Measure the path of one closing: what runs, what the guard reads, and how deep the write lies.

    python -m bench.closing_path [--root DIR] [--json]

Closes a session of two messages with ``memory close`` and watches the process. *functions* and *modules* count the
project's own code that ran, *screenings* counts the calls of the guard by entry, and *depth* counts the project's
frames on the stack when the new ``MEMORY.md`` reaches ``agent_home.storage``. The home is made, and the session
imported, by processes of their own, so that nothing is cached when the closing begins. ``--root`` measures another
checkout with the same program.
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
_ENTRY = re.compile(r"^- \*\*\[(?P<id>[A-Z]{2}-\w{4})\](?P<text>.*)$", re.MULTILINE)
_RUN = "import sys; from interfaces.cli import main; sys.argv[0] = 'memory'; main()"
_NOW = "2026-11-21T09:00:00+00:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingPath:
    """Figures of one closing.

    *screenings* counts, by entry id, the texts with this entry's statement that the guard read; *repeated* counts the
    calls of the guard with a text that it had already read in this closing. *depth* is 0 when nothing was written.
    """

    functions: int
    modules: int
    screenings: dict[str, int]
    guard_calls: int
    repeated: int
    depth: int


@dataclass(slots=True)
class _Watch:
    """Profile function that notes the project's calls."""

    root: Path
    codes: set[CodeType] = field(default_factory=set)
    screened: list[str] = field(default_factory=list)
    depth: int = 0
    _modules: dict[str, str] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not self._module(frame.f_code):
            return
        self.codes.add(frame.f_code)
        module = self._module(frame.f_code)
        if module == "guard.screen" and frame.f_code.co_name == "screen":
            self.screened.append(frame.f_locals["text"])
        elif module == "agent_home.storage" and not self.depth and _writes_memory(frame):
            self.depth = self._frames(frame)
            f: FrameType | None = frame
            while f and os.environ.get("CP_DEBUG"):
                print(self._module(f.f_code), f.f_code.co_qualname, file=sys.stderr)
                f = f.f_back

    def modules(self) -> set[str]:
        """Return the names of the modules whose functions ran."""
        return {self._module(code) for code in self.codes}

    def _module(self, code: CodeType) -> str:
        """Return the project module of a function's *code*, and an empty text for any other code."""
        if code.co_name.startswith("<") or not code.co_flags & inspect.CO_OPTIMIZED:
            return ""
        if code.co_filename not in self._modules:
            path = Path(code.co_filename)
            name = ""
            if path.is_relative_to(self.root):
                name = ".".join(path.relative_to(self.root).with_suffix("").parts).removesuffix(".__init__")
            self._modules[code.co_filename] = name if name.partition(".")[0] in PACKAGES else ""
        return self._modules[code.co_filename]

    def _frames(self, frame: FrameType | None) -> int:
        count = 0
        while frame is not None:
            count += bool(self._module(frame.f_code))
            frame = frame.f_back
        return count


def measure(root: Path) -> ClosingPath:
    """Return the figures of one closing by the checkout *root*."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        chat = Path(folder) / "chat.jsonl"
        rows = [
            {"session": "s1", "id": str(n), "ts": f"2026-11-20T10:{n:02d}:00+00:00", "role": role, "content": text}
            for n, (role, text) in enumerate(MESSAGES)
        ]
        chat.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        _command(root, "init", str(home), "--name", "Ada")
        _command(root, "import", "chat", str(chat), "--home", str(home), "--now", _NOW)
        watch = _watched(root, ["close", "s1", "--home", str(home), "--now", _NOW])
        entries = [match["id"] for match in _ENTRY.finditer((home / "MEMORY.md").read_text(encoding="utf-8"))]
        return ClosingPath(
            functions=len(watch.codes),
            modules=len(watch.modules()),
            screenings={entry: sum(f"[{entry}]" in text for text in watch.screened) for entry in entries},
            guard_calls=len(watch.screened),
            repeated=len(watch.screened) - len(set(watch.screened)),
            depth=watch.depth,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.closing_path", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="checkout to measure")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    path = measure(options.root.resolve())
    if options.json:
        print(json.dumps(asdict(path)))
        return 0
    print(f"{path.functions} project functions in {path.modules} modules")
    print(f"the guard read {path.guard_calls} texts, {path.repeated} of them again")
    for entry, count in path.screenings.items():
        print(f"entry {entry} was screened {count} times")
    print(f"MEMORY.md reaches storage {path.depth} project functions below the interpreter")
    return 0


def _watched(root: Path, command: Sequence[str]) -> _Watch:
    sys.path.insert(0, str(root))
    from interfaces.cli import cli

    watch = _Watch(root)
    with redirect_stdout(io.StringIO()) as printed:
        sys.setprofile(watch)
        try:
            cli(list(command), prog_name="memory", standalone_mode=False)
        finally:
            sys.setprofile(None)
    if os.environ.get("CP_DEBUG"):
        print(printed.getvalue(), file=sys.stderr)
        for t in watch.screened:
            print(repr(t), file=sys.stderr)
    return watch


def _command(root: Path, *arguments: str) -> None:
    """Run a command of the checkout *root* in a process of its own."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-c", _RUN, *arguments], cwd=root, env=environment, check=True, capture_output=True)


def _writes_memory(frame: FrameType) -> bool:
    """Return whether a call of storage is given the new text of ``MEMORY.md``."""
    values = frame.f_locals.values()
    return any(
        isinstance(value, bytes) and b"we ship the parser" in value and b"## Key Decisions" in value for value in values
    )


if __name__ == "__main__":
    sys.exit(main())
