"""Own claims about work in real repositories, labelled by hand, and build the repositories.

Three repositories have scripted histories and are built anew. The fourth is this project's own history up to a fixed
commit. It is left out where the checkout does not hold that commit (a shallow clone, a packed copy). Half of the claims
is for development. The other half was written before anything was measured and is for reporting only.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .atlas import ATLAS
from .history import Built, SessionWindow, build, git
from .orders import ORDERS
from .parcel import PARCEL

__all__ = ["HALVES", "OWN", "Half", "Label", "LabelledClaim", "LabelledRepository", "claims", "repositories"]

Half = Literal["development", "heldback"]
#: *undone*: true in the session and not any more. *vague*: says too little to be true or false.
Label = Literal["true", "false", "undone", "vague"]
HALVES: tuple[Half, ...] = ("development", "heldback")
#: Name of this project's own history, and the commit at which the claims about it were written.
OWN = "self"
_OWN_HEAD = "3ce4428"
_OWN_SESSIONS = {
    "early": SessionWindow(since="2026-11-21T02:50:00+00:00", until="2026-11-21T03:40:00+00:00"),
    "late": SessionWindow(since="2026-11-21T04:50:00+00:00", until="2026-11-21T05:20:00+00:00"),
}
_SHORT = 8
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledClaim:
    """One sentence that an assistant said in *session* of *repo*. A ``{key}`` in *text* is a commit's hash.

    *checkable* is true when git's messages, paths, code and tags are enough to decide.
    """

    id: str
    repo: str
    session: str
    lang: str
    kind: str
    label: Label
    checkable: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRepository:
    """A repository on disk with its sessions."""

    built: Built
    sessions: dict[str, SessionWindow]

    def filled(self, text: str) -> str:
        """Return *text* with the short hashes of the commits that it names.

        Raises:
            KeyError: *text* names a step that the history does not have.
        """
        return _PLACEHOLDER.sub(lambda match: self.built.commits[match[1]][:_SHORT], text)


def claims(half: Half) -> list[LabelledClaim]:
    """Return the claims of one half, in file order."""
    text = (Path(__file__).parent / f"{half}.jsonl").read_text(encoding="utf-8")
    return [LabelledClaim(**json.loads(line)) for line in text.splitlines()]


def repositories(folder: Path, checkout: Path) -> dict[str, LabelledRepository]:
    """Build every repository in *folder* and return them by name.

    *checkout* is the folder where this project's own history may be.
    """
    found = {
        history.name: LabelledRepository(built=build(history, folder / history.name), sessions=dict(history.sessions))
        for history in (PARCEL, ORDERS, ATLAS)
    }
    own = _own(folder / OWN, checkout)
    return found | ({OWN: LabelledRepository(built=own, sessions=dict(_OWN_SESSIONS))} if own else {})


def _own(root: Path, checkout: Path) -> Built | None:
    """Build a repository that ends at the fixed commit and borrows *checkout*'s objects.

    Return ``None`` when some of these objects are missing.
    """
    try:
        if git(checkout, "rev-parse", "--is-shallow-repository") != "false":
            return None
        head = git(checkout, "rev-parse", "--verify", f"{_OWN_HEAD}^{{commit}}")
        git(checkout, "rev-list", "--objects", "--quiet", head)
        objects = checkout / git(checkout, "rev-parse", "--git-path", "objects")
    except (subprocess.CalledProcessError, OSError):
        return None
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{objects.resolve()}\n", encoding="utf-8")
    git(root, "update-ref", "refs/heads/main", head)
    git(root, "reset", "--quiet", "--hard")
    return Built(root=root, commits={})
