"""Notice that HEAD moved by something else than this program, such as ``git pull``, and screen what came.

``seen-head.json`` of this machine names the commit that the program last saw. A prompt compares it with the files of
git's folder, without starting git. The next write screens what came since. Texts that fail are shown to no model in
any case: prompts and search judge every text that they show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import storage
from ..consent.agreed_links import is_place
from ..consent.signed_record import read_record, try_write_record
from ..git import history
from ..git.client import home_client
from ..git_folder import git_folder
from ..home import Home
from ..screening.service import ScreeningService

if TYPE_CHECKING:
    from ..screening.personal_text import LocatedFinding

__all__ = ["Arrived", "arrived", "head_moved", "note_head"]

_RECORD = "seen-head"
#: The hash of the tree without files, by the number of digits of a hash.
_EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_MAX_REF_BYTES = 4 << 20
_LINK, _REPOSITORY = "120000", "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """Changes that came into HEAD since the commit *start*, and which of it fails.

    *findings* are texts that the guard refuses. *strange* are links, other repositories and machine state.
    """

    start: str
    head: str
    files: int
    findings: tuple[LocatedFinding, ...] = ()
    strange: tuple[str, ...] = ()


def head_moved(home: Home) -> str:
    """Return the commit that this program last saw, if HEAD is at another one, else an empty string.

    Only files are read. Where they do not tell, for example in a home that this machine has not written yet, nothing
    has moved.
    """
    seen = (read_record(home.machine, _RECORD) or {}).get("head", "")
    present = _head_in_files(home) if seen else ""
    return seen if present and present != seen else ""


def note_head(home: Home) -> None:
    """Record HEAD as seen. Call with the home's lock held, when the program has made or screened its commits."""
    present = _head_in_files(home)
    if present:
        try_write_record(home.machine, _RECORD, {"head": present}, durable=False)


def arrived(home: Home, start: str) -> Arrived:
    """Return what came into HEAD since the commit *start*, screened as what a person put into the files.

    Raises:
        HistoryError: git is absent or refused.
    """
    git = home_client(home.root)
    head = history.head(home.root)
    base = start if history.found(home.root, start) else _EMPTY_TREES[len(head)]
    options = ("-r", "--raw", "-z", "--no-renames", "--no-abbrev")
    fields = git.text("diff-tree", *options, base, head).split("\0")
    rows = [(path, row.lstrip(":").split(" ")) for row, path in zip(fields[0::2], fields[1::2], strict=False)]
    plain = [path for path, row in rows if row[1] not in {_LINK, _REPOSITORY} and row[4][:1] != "D"]
    texts = history.texts_at(home.root, [(commit, path) for path in plain for commit in (base, head)])
    screening = ScreeningService(home)
    return Arrived(
        start=start, head=head, files=len(rows), strange=tuple(_strange(home, rows)),
        findings=tuple(
            finding
            for path, before, after in zip(plain, texts[0::2], texts[1::2], strict=True)
            for finding in screening.findings_in_edit(path, before, after)
            if finding.fails
        ),
    )  # fmt: skip


def _strange(home: Home, rows: list[tuple[str, list[str]]]) -> Iterator[str]:
    """Yield what came and is no memory, with the reason."""
    for path, row in rows:
        if row[4][:1] == "D":
            continue
        if row[1] == _REPOSITORY and is_place(path):  # nothing of it is here until a person checks it out
            continue
        if row[1] == _LINK and path in home.links:
            continue
        if row[1] in {_LINK, _REPOSITORY}:
            yield f"{path}, {'a link' if row[1] == _LINK else 'another repository'}"
        elif path.split("/", 1)[0].casefold() == ".memory":
            yield f"{path}, machine state"


def _head_in_files(home: Home) -> str:
    """Return the commit that HEAD names, read from the files of git's folder, or an empty string."""
    try:
        folder = git_folder(home.root)
        if folder is None:
            return ""
        said = storage.read_bytes(folder / "HEAD").decode("utf-8", "surrogateescape").strip()
        if not said.startswith("ref: "):
            return said if len(said) in _EMPTY_TREES else ""
        name = said.removeprefix("ref: ")
        common = folder / "commondir"
        shared = (folder / storage.read_bytes(common).decode().strip()).resolve() if common.is_file() else folder
        loose = shared / name
        if loose.is_file():
            return storage.read_bytes(loose).decode().strip()
        packed = storage.read_bytes(shared / "packed-refs", _MAX_REF_BYTES).decode("utf-8", "surrogateescape")
        rows = (line.partition(" ") for line in packed.splitlines())
        return next((commit for commit, _, ref in rows if ref == name), "")
    except (OSError, ValueError):
        return ""
