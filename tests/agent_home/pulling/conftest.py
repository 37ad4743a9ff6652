"""Two clones of one home: the test's home, and one that somebody else pushes from."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.home import Home

IDENTITY = ("-c", "user.name=p", "-c", "user.email=p@example.org")
#: Commits every file of the other clone, links and modes included.
Push = Callable[..., None]


def run_git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def other(home: Home, tmp_path: Path) -> Path:
    """A clone of the home, which the home has as its remote ``origin``."""
    root = tmp_path / "other"
    subprocess.run(["git", "clone", "-q", str(home.root), str(root)], check=True)
    run_git(home.root, "remote", "add", "origin", str(root))
    return root


@pytest.fixture
def push(other: Path) -> Push:
    def committed(files: dict[str, str | bytes]) -> None:
        for name, text in files.items():
            path = other / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        run_git(other, "add", "--all", "--force")
        run_git(other, "commit", "-q", "--no-verify", "-m", "from elsewhere")

    return committed
