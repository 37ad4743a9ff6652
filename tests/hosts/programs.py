"""Run the real programs of three chat hosts against a stand-in of their model API, with our hooks in their settings.

The programs come from npm (``make hosts`` installs them into ``.hosts``). Each runs in a home folder of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .model_api import ModelApi

__all__ = ["HOSTS", "HostProgram"]

HOSTS: Mapping[str, str] = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
_SECONDS = 120
_CODEX_CONFIG = """model = "gpt-5"
model_provider = "stand-in"
[model_providers.stand-in]
name = "stand-in"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "STAND_IN_KEY"
"""


@dataclass(frozen=True, kw_only=True)
class HostProgram:
    """One host: its program, the user's folder that it sees, the project that it works in, and the stand-in."""

    name: str
    program: Path
    folder: Path
    project: Path
    api: ModelApi

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead the program to the stand-in, and keep it from the network otherwise."""
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": self.api.address, "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "STAND_IN_KEY": "none",
            "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.api.address, "GEMINI_CLI_TRUST_WORKSPACE": "true",
            **{name: value for name, value in os.environ.items() if name.startswith("AGENT_HOME_")},
        }  # fmt: skip

    def set_up(self) -> None:
        """Write what the program needs besides our hooks to talk to the stand-in."""
        if self.name == "codex":
            path = self.folder / ".codex" / "config.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_CODEX_CONFIG.format(address=self.api.address))
        elif self.name == "gemini":
            path = self.folder / ".gemini" / "settings.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}, indent=2))

    def ask(self, text: str, answer: str) -> str:
        """Let a new session say *text*. The model answers *answer*. Returns what the program printed.

        Raises:
            CalledProcessError: the program failed.
        """
        self.api.answer = answer
        self.api.requests.clear()
        done = subprocess.run(
            [str(self.program), *self._arguments(text)], cwd=self.project, env=self.environment, timeout=_SECONDS,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def _arguments(self, text: str) -> list[str]:
        if self.name == "codex":
            return ["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", text]
        return ["-m", "gemini-2.5-flash", "-p", text] if self.name == "gemini" else ["-p", text]
