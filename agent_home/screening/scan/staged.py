"""Screen what a person is about to commit in a home.

Git is asked in the environment of the caller: inside a hook that environment names the staging area (``git commit
FILE`` has one of its own). Nothing is changed. Few calls read everything, because a person waits at every commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import HistoryError
from ...git.client import GitClient, hook_client
from ...home import Home
from ..personal_text import LocatedFinding
from ..service import ScreeningService
from .binary import is_binary, readable

__all__ = ["StagedFile", "staged_files", "staged_findings"]

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_REPOSITORY = "160000"
#: Stands for a file whose name is a secret.
_NAMELESS = "(a file's name)"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A file whose staged text differs from the last commit's. *before* is empty for a new file.

    For a binary file both texts are its readable parts. For a link they are its targets.
    """

    path: str
    before: str
    after: str
    is_new: bool = False
    is_text: bool = True


def staged_findings(home: Home) -> list[LocatedFinding]:
    """Return the findings in what the staging area adds, by file and line, names of new files included.

    In names and in binary files only secrets count.

    Raises:
        HistoryError: git is absent or refused.
    """
    screening = ScreeningService(home)
    return [finding for file in staged_files(home.root) for finding in _findings(screening, file)]


def staged_files(root: Path) -> list[StagedFile]:
    """Return the files that the next commit would add or change, ordered by path.

    Raises:
        HistoryError: git is absent or refused.
    """
    git = hook_client(root)
    base = "HEAD" if git.query("rev-parse", "--verify", "--quiet", "HEAD", empty_on=(1,)) else _EMPTY_TREE
    options = ("--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--diff-filter=AMT", "--ignore-submodules")
    fields = git.text("diff-index", *options, base).split("\0")
    changed = [
        (path, row.split(" "))
        for row, path in zip(fields[0::2], fields[1::2], strict=False)
        if row.split(" ")[1] != _REPOSITORY
    ]
    bodies = _bodies(git, [name for _, row in changed for name in row[2:4]])
    return [_file(path, row[4], next(bodies), next(bodies)) for path, row in changed]


def _file(path: str, status: str, before: bytes, after: bytes) -> StagedFile:
    is_text = b"\0" not in after and not is_binary(after)

    def text(body: bytes) -> str:
        return body.decode("utf-8", "replace") if is_text else readable(body)

    return StagedFile(path=path, before=text(before), after=text(after), is_new=status == "A", is_text=is_text)


def _findings(screening: ScreeningService, file: StagedFile) -> Iterator[LocatedFinding]:
    in_name = screening.findings_in_name(file.path) if file.is_new else ()
    secrets = [finding for finding in in_name if finding.layer == "secret"]
    path = _NAMELESS if secrets else file.path
    yield from (replace(finding, path=path) for finding in secrets)
    if file.is_text:
        added = screening.findings_in_edit(file.path, file.before, file.after)
        yield from (replace(finding, path=path) for finding in added)
        return
    added = screening.findings_in_edit("binary", file.before, file.after)
    found = (replace(finding, path=path, line=1) for finding in added)
    yield from dict.fromkeys(finding for finding in found if finding.layer == "secret")


def _bodies(git: GitClient, names: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of each object. The null name has none."""
    found = git.objects(name for name in names if name.strip("0"))
    for name in names:
        if not name.strip("0"):
            yield b""
            continue
        item = next(found, None)
        if item is None:
            raise HistoryError(f"the staged object {name} is missing in {git.root}. `git fsck` there says more")
        yield item.data
