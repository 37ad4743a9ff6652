"""Put a project that others write as well into a home, in each form that such a project can have."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from agent_home.home import Home
from agent_home.pulling import trust

__all__ = ["FORMS", "IMPROVEMENT", "ORION", "agree", "put", "run_git"]

ORION = "Projects/orion"
IMPROVEMENT = f"{ORION}/IMPROVEMENT.md"
#: The forms of a shared project: three of a folder in git, and one without.
FORMS = ("submodule", "clone", "link to a clone", "link")
_OPTIONS = ("-c", "user.name=p", "-c", "user.email=p@example.org", "-c", "protocol.file.allow=always")


def run_git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *_OPTIONS, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def agree(home: Home, place: str = ORION) -> None:
    trust.share(home, place, person="Ada", now=datetime(2026, 11, 21, tzinfo=UTC))


def put(home: Home, form: str, elsewhere: Path, *, agreed: bool = True) -> Path:
    """Make ``Projects/orion`` of *home* a shared project of that form. Return the folder with its files.

    What the home does not hold itself is made in the folder *elsewhere*, unless it is there.
    """
    source = elsewhere / "orion"
    if not source.exists():
        source.mkdir(parents=True)
        (source / "PRODUCT.md").write_text("# orion\n\nWhat it is for.\n")
        if form != "link":
            run_git(source, "init", "-q", "-b", "main")
            run_git(source, "add", ".")
            run_git(source, "commit", "-q", "-m", "Start")
    place = home.root / ORION
    if form == "submodule":
        run_git(home.root, "submodule", "add", "-q", str(source), ORION)
        run_git(home.root, "commit", "-q", "--no-verify", "-m", "Share orion")
    elif form == "clone":
        run_git(home.root, "clone", "-q", str(source), ORION)
    else:
        place.symlink_to(source)
        if agreed:
            agree(home)
    return source if form.startswith("link") else place
