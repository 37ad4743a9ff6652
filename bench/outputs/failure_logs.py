"""Make failure logs with the real programs: pytest over this checkout with a defect, and cargo over a small crate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FailureLog", "failure_logs"]

_ROOT = Path(__file__).parents[2]
_CRATE_TESTS = 60
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLog:
    """Output of a program, and the names of the tests that failed."""

    name: str
    content: bytes
    failed: frozenset[str]


def failure_logs(folder: Path) -> Iterator[FailureLog]:
    """Yield the logs that can be made here. *folder* is for copies."""
    yield from _pytest_logs(folder)
    if shutil.which("cargo"):
        yield _cargo_log(folder)


def _pytest_logs(folder: Path) -> Iterator[FailureLog]:
    copy = folder / "checkout"
    shutil.copytree(_ROOT, copy, ignore=shutil.ignore_patterns(".*", "*.egg-info", "demo-home"))
    stems = copy / "recall" / "text" / "stems.py"
    stems.write_text(stems.read_text() + "\n\ndef stem(word):\n    return word[:3]\n")
    for name, options in (("pytest -v", ("-v",)), ("pytest -q --tb=short", ("-q", "--tb=short"))):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "tests/recall/text"]
        content = _output(command, copy)
        yield FailureLog(name=name, content=content, failed=_named(content, r"^FAILED \S+::(\w+)"))


def _cargo_log(folder: Path) -> FailureLog:
    crate = folder / "crane"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text('[package]\nname = "crane"\nversion = "0.1.0"\nedition = "2021"\n')
    tests = "\n".join(
        f"#[test]\nfn load_{number}() {{ assert_eq!(super::load({number}), {number * 3 + (number % 9 == 0)}); }}"
        for number in range(_CRATE_TESTS)
    )
    (crate / "src" / "lib.rs").write_text(
        f"pub fn load(number: i64) -> i64 {{ number * 3 }}\n#[cfg(test)]\nmod tests {{\n{tests}\n}}\n"
    )
    content = _output(["cargo", "test", "--offline"], crate)
    return FailureLog(name="cargo test", content=content, failed=_named(content, r"^test tests::(\w+) \.\.\. FAILED"))


def _output(command: list[str], folder: Path) -> bytes:
    environment = {**os.environ, "NO_COLOR": "1", "CARGO_TERM_COLOR": "never", "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    ).stdout


def _named(content: bytes, pattern: str) -> frozenset[str]:
    return frozenset(re.findall(pattern, _ANSI.sub("", content.decode("utf-8", "replace")), re.MULTILINE))
