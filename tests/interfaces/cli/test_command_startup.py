"""Test that ``memory --help`` and the packages load no slow library."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SLOW = {
    "onnxruntime",
    "fastembed",
    "numpy",
    "git",
    "apsw",
    "sqlite_vec",
    "onnx",
    "tokenizers",
    "watchdog",
    "markdown_it",
    "httpx",
    "re2",
    "mcp",
    "mcp_types",
    "anthropic",
    "pydantic",
    "slack_bolt",
    "slack_sdk",
    "starlette",
    "uvicorn",
}
HELP = """
import json, sys
from interfaces.cli import main
sys.argv = ["memory", "--help"]
try:
    main()
except SystemExit as stopped:
    code = stopped.code
print(json.dumps({"code": code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)


def test_help_loads_no_slow_library_and_no_command() -> None:
    done = run(HELP)
    report = json.loads(done.stderr.splitlines()[-1])
    assert report["code"] in {0, None}
    assert SLOW & {name.split(".")[0] for name in report["modules"]} == set()
    assert [name for name in report["modules"] if name.startswith("interfaces.cli.commands")] == []
    assert {"init", "import", "close", "prompt", "search", "check", "history"} <= set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "guard",
        "agent_home.store.gateway",
        "agent_home.store.transcript",
        "agent_home.documents.document",
        "interfaces.cli.invocation",
    ],
)
def test_importing_runs_no_git_and_loads_no_model(module: str) -> None:
    done = run(f"import json, sys, {module}\nprint(json.dumps(sorted(name.split('.')[0] for name in sys.modules)))")
    assert SLOW & set(json.loads(done.stdout)) == set()
