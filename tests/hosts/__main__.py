"""``make hosts``: sessions of the real Claude Code, Codex and Gemini CLI become memory and get it back.

For each host: our hooks are installed, a first session decides something, the worker closes it, a second session gets
what the first concluded, and the hooks are taken out without a trace.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from .model_api import model_api
from .programs import HOSTS, HostProgram

_MEMORY = str(Path(sys.executable).with_name("memory"))
_SAID = "Our invoices database is PostgreSQL 16. We decided that, because MySQL lost rows."
_WAIT_S = 60.0


def main() -> int:
    """Try each host and print what held. Return 1 when something did not."""
    parser = argparse.ArgumentParser(prog="python -m tests.hosts", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--programs", type=Path, default=Path(".hosts/node_modules/.bin"), help="folder of the programs"
    )
    parser.add_argument("--only", choices=sorted(HOSTS), action="append", help="only this host")
    options = parser.parse_args()
    failed = 0
    for name in options.only or sorted(HOSTS):
        with tempfile.TemporaryDirectory(prefix="hosts-", ignore_cleanup_errors=True) as folder, model_api() as api:
            program = HostProgram(
                name=name, program=(options.programs / HOSTS[name]).absolute(), folder=Path(folder) / "user",
                project=Path(folder) / "project", api=api,
            )  # fmt: skip
            for claim, holds in _trial(program, Path(folder) / "agent"):
                failed += not holds
                print(f"{'ok' if holds else 'FAILED':7}{name}: {claim}")
    return 1 if failed else 0


def _trial(program: HostProgram, home: Path) -> list[tuple[str, bool]]:
    program.folder.mkdir()
    program.project.mkdir()
    subprocess.run(["git", "init", "--quiet", str(program.project)], check=True)
    _memory(program, "init", str(home), "--name", "Ada")
    _memory(program, "remember", "The staging server is called heron", "--home", str(home))
    program.set_up()
    before = _files(program.folder)
    _memory(program, "install", program.name, "--home", str(home))
    program.ask(_SAID, "Understood: PostgreSQL 16 for invoices.")
    claims = [("the first request has the brief", program.api.seen("heron"))]
    claims.append(("the session was closed by itself", _until(lambda: "MySQL lost rows" in _text(home))))
    program.ask("Which database do we use for invoices?", "PostgreSQL 16.")
    claims.append(("the second session knows what the first decided", program.api.seen("MySQL lost rows")))
    claims.append(("nothing of the brief came back as said", _until(lambda: _turns(home) == 4)))
    claims.append(("it is in memory once", _text(home).count("MySQL lost rows") == 1))
    _memory(program, "uninstall", program.name, "--home", str(home))
    after = _files(program.folder)
    claims.append(("the settings are as before", {name: after.get(name) for name in before} == before))
    claims.append(("no hook is left", not any(b" hook session-start" in text for text in after.values())))
    return claims


def _memory(program: HostProgram, *arguments: str) -> None:
    identity = {f"GIT_{who}_{what}": "sam@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**program.environment, **identity}
    subprocess.run([_MEMORY, *arguments], env=environment, check=True, capture_output=True, cwd=program.project)


def _files(folder: Path) -> dict[str, bytes]:
    """Return the settings files of the hosts, by name."""
    names = (".claude/settings.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json")
    return {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}


def _text(home: Path) -> str:
    return (home / "MEMORY.md").read_text("utf-8")


def _turns(home: Path) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in home.glob("sessions/**/*.jsonl"))


def _until(holds: Callable[[], bool]) -> bool:
    """Wait until *holds* does, at most a minute."""
    until = time.monotonic() + _WAIT_S
    while not holds() and time.monotonic() < until:
        time.sleep(0.2)
    return holds()


if __name__ == "__main__":
    sys.exit(main())
