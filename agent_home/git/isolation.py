"""Give git a stand-in for the shared folder of a repository, so that nothing that the repository configures applies.

Git reads configuration, attributes, hooks, grafts and submodules from the shared folder (``GIT_COMMON_DIR``, which is
``.git`` itself except in a linked work tree). The stand-in has links to the objects and refs, and files of its own for
everything else: a configuration with the few inert settings of ``_KEPT``, and no hooks. HEAD and the staging area stay
where they are. Attributes may still name a driver, but only the user's own configuration says which program that is.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from guard.lazy_regex import lazy_regex

from ..errors import GitFailed, NoRepository
from .process.scratch_folder import scratch_folder
from .process.special_files import known_special_file

__all__ = ["MEND_SPECIAL", "GitFolders", "StandIn", "git_folders", "stand_in", "without_credentials"]

#: Settings that commands need, and that name no program, no file and no other repository.
_KEPT = lazy_regex(
    r"core\.(?:filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol|safecrlf|sharedrepository|compression"
    r"|logallrefupdates)|extensions\.(?:objectformat|refstorage|preciousobjects)"
    r"|(?:user|author|committer)\.(?:name|email)|remote\..*\.(?:url|pushurl|fetch)"
    r"|branch\..*\.(?:remote|merge)",
    re.DOTALL,
)
#: A clone that leaves objects out names where they can be fetched.
_PARTIAL = lazy_regex(r"remote\..*\.promisor|extensions\.partialclone", re.DOTALL)
#: Settings by which a repository names the program of a filter.
_FILTER = lazy_regex(r"filter\.(?P<name>.*)\.(?:clean|smudge|process)", re.DOTALL)
#: The parts of the shared folder that queries read in place ...
_READ = ("refs", "packed-refs", "shallow", "reftable")
#: ... and those that commands of a home need as well.
_WRITTEN = ("HEAD", "logs", "worktrees", "info/attributes", "info/exclude")
#: What to do about a pipe in the place of a file.
MEND_SPECIAL = "Remove it, and put git's own file there"
_MAX_CONFIGURATION_BYTES = 1 << 20
_MAX_POINTER_BYTES = 1 << 12


@dataclass(frozen=True, slots=True)
class GitFolders:
    """The folder of one work tree (*own*: HEAD, the staging area), and the one that all work trees share."""

    own: Path
    shared: Path


@dataclass(frozen=True, slots=True)
class StandIn:
    """The *folder* in place of the shared one, and an *empty* folder.

    *partial* is a clone that lacks objects. *filters* are the filters that the repository itself configures.
    """

    folder: Path
    empty: Path
    partial: bool
    filters: frozenset[str]


def git_folders(root: Path, *, look: bool = True) -> GitFolders:
    """Return the folders of the repository whose top is *root*. Git itself is not asked.

    Unless told not to *look*, it looks for files that would stop git for ever.

    Raises:
        NoRepository: *root* is no top of a repository.
        GitFailed: a file is not what git makes of it, such as a pipe in the place of HEAD.
    """
    own = root / ".git"
    if not own.is_dir():
        pointer = _small_text(own, _MAX_POINTER_BYTES)
        if not pointer.startswith("gitdir:"):
            raise NoRepository(root)
        own = root / pointer.removeprefix("gitdir:").lstrip(" ").rstrip("\r\n")
    own = own.absolute()
    common = _small_text(own / "commondir", _MAX_POINTER_BYTES).rstrip("\r\n")
    shared = Path(os.path.normpath(own / common)) if common else own
    # Every command comes here: names as text are several times as fast as paths.
    if not all(map(os.path.lexists, (f"{own}/HEAD", f"{shared}/objects/.", f"{shared}/refs/."))):
        raise NoRepository(root)
    if look and (special := known_special_file(root, own, shared)):
        raise GitFailed("open", -1, f"{special} is not a regular file, and git would wait for it. {MEND_SPECIAL}")
    return GitFolders(own, shared)


def stand_in(folders: GitFolders, listed: Callable[[bytes], bytes], *, writable: bool) -> StandIn:
    """Return the stand-in for *folders*, which this process makes once for each configuration.

    A *writable* one serves commands that change a repository, too. *listed* returns what
    ``git config --file - --list --null`` prints of the text of a configuration.

    Raises:
        GitFailed: the configuration cannot be read, or the disk is full.
    """
    return _STAND_INS.of(folders.shared, listed, writable=writable)


class _StandIns:
    """The stand-ins of this process, in its temporary folder. A forked process makes its own."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._made: dict[tuple[Path, bool], tuple[tuple[int, ...], StandIn]] = {}

    def of(self, shared: Path, listed: Callable[[bytes], bytes], *, writable: bool) -> StandIn:
        if self._process != os.getpid():
            self._process, self._made = os.getpid(), {}
        state = _state(shared)
        known = self._made.get((shared, writable))
        if known is not None and known[0] == state and known[1].empty.is_dir():
            return known[1]
        settings = dict(_settings(shared / "config", listed))
        try:
            folder = self._make(shared, settings, writable=writable)
        except OSError as error:
            raise GitFailed("config", -1, f"no stand-in for {shared} can be made: {error}") from error
        partial = any(_PARTIAL.fullmatch(key) for key in settings)
        filters = frozenset(found["name"] for key in settings if (found := _FILTER.fullmatch(key)))
        made = StandIn(folder, folder / "empty", partial, filters)
        self._made[shared, writable] = (_state(shared), made)
        return made

    def _make(self, shared: Path, settings: Mapping[str, str], *, writable: bool) -> Path:
        folder = Path(tempfile.mkdtemp(dir=scratch_folder()))
        for name in ("info", "objects", "empty"):
            (folder / name).mkdir()
        if writable:
            with suppress(OSError):  # nobody may write there
                (shared / "logs").mkdir(exist_ok=True)
        for name in (*_READ, *(_WRITTEN if writable else ())):
            # Git makes these two behind a link. It makes no folder there.
            if name in {"packed-refs", "shallow"} or (shared / name).exists():
                (folder / name).symlink_to(shared / name)
        (folder / "config").write_text(_configuration(settings), encoding="utf-8", errors="surrogateescape")
        return folder


_STAND_INS = _StandIns()


def _settings(file: Path, listed: Callable[[bytes], bytes]) -> Iterator[tuple[str, str]]:
    """Yield the settings that the configuration *file* itself names, without the files that it includes."""
    text = _small_text(file, _MAX_CONFIGURATION_BYTES)
    if not text.strip():
        return
    for item in listed(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape").split("\0"):
        key, written, value = item.partition("\n")
        yield key, value if written else "true"


def _configuration(settings: Mapping[str, str]) -> str:
    """Return the text of a configuration file with the inert ones of *settings*."""
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = false"]
    for key, value in settings.items():
        if _KEPT.fullmatch(key):
            section, _, rest = key.partition(".")
            subsection, _, name = rest.rpartition(".")
            lines.append(f"[{section} {_quoted(subsection)}]" if subsection else f"[{section}]")
            shown = without_credentials(value) if name in {"url", "pushurl", "remote"} else value
            lines.append(f"\t{name} = {_quoted(shown)}")
    return "\n".join(lines) + "\n"


def without_credentials(address: str) -> str:
    """Return the *address* of a remote without a user, a password or a token. No command here fetches from it."""
    if "://" not in address:
        helper, marked, _ = address.partition("::")
        return helper + marked  # a name, a folder, or ssh's ``user@host:path``, which has no place for a password
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{re.split('[?#]', path, maxsplit=1)[0]}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _state(shared: Path) -> tuple[int, ...]:
    """Return what changes when the configuration does, or when a part of the folder comes or goes."""
    try:
        found = (shared / "config").stat()
        state = [found.st_mtime_ns, found.st_size, found.st_ino]
    except OSError:
        state = []
    return (
        *state,
        *((shared / name).exists() for name in ("logs", "worktrees", "reftable", "info/attributes", "info/exclude")),
    )


def _small_text(path: Path, most_bytes: int) -> str:
    """Return the text of a regular file of at most *most_bytes*, empty when there is none.

    Raises:
        GitFailed: it is a pipe, a device, or larger.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not block
    except OSError:
        return ""
    with open(descriptor, "rb") as file:  # noqa: PTH123 - an open descriptor
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            return ""
        if not stat.S_ISREG(found.st_mode) or found.st_size > most_bytes:
            raise GitFailed("open", -1, f"{path} is not a regular file of at most {most_bytes} bytes. Mend it by hand")
        return file.read(most_bytes).decode("utf-8", "surrogateescape")
