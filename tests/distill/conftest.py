"""Real git repositories with scripted histories."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping

from pathlib import Path

import pytest


class Repo:
    """A git repository that tests write commits into at chosen times."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, when: str = "2026-01-10T09:00:00+00:00") -> str:
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_COMMITTER_DATE": when,
        }  # fmt: skip
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str, files: Mapping[str, str | None], when: str = "2026-01-10T09:00:00+00:00") -> str:
        """Write *files* (``None`` removes one), commit, and return the short hash."""
        for name, text in files.items():
            path = self.root / name
            if text is None:
                self.git("rm", "--quiet", name)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                self.git("add", name)
        self.git("commit", "--quiet", "--allow-empty", "-m", message, when=when)
        return self.git("rev-parse", "--short=8", "HEAD")


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[[str], Repo]:
    return lambda name: Repo(tmp_path / name)
