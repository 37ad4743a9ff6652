"""Durable files: a reader sees the old version of a file or the new one, never a part.

A write is durable after return on a filesystem that honours fsync. The gateway decides who may write, and when.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from io import BufferedReader
from pathlib import Path

from .errors import DocumentInvalid

__all__ = [
    "PRIVATE_FILE",
    "PRIVATE_FOLDER",
    "NotAFile",
    "append",
    "create",
    "make_folder",
    "open_file",
    "open_plain",
    "open_to_append",
    "read_bytes",
    "read_state",
    "read_text",
    "remove",
    "replace",
    "stage",
    "sync_folder",
    "write_cache",
]

#: Modes of machine state, which is its owner's alone. The process's umask decides about memory.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700

#: Largest Markdown file that is read: a million tokens, more than any window holds, parsed in seconds.
MAX_MARKDOWN_BYTES = 4 << 20
#: Largest other text that is read whole. Ledgers grow by a line for each decision.
MAX_TEXT_BYTES = 64 << 20
_NOT_A_FILE = "is no regular file. Put a file in its place"


def read_text(path: Path) -> str:
    """Return the file as text with its own line endings. An absent file is empty.

    Raises:
        DocumentInvalid: the file is not UTF-8, in which case the error names the line. Or it is no regular file, or
            larger than ``MAX_MARKDOWN_BYTES`` or ``MAX_TEXT_BYTES``.
    """
    try:
        data = _read_text_bytes(path)
    except FileNotFoundError:
        return ""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentInvalid(
            path, line, "not-utf8", "is not UTF-8. Save it as UTF-8, or restore it from git"
        ) from error


def _read_text_bytes(path: Path) -> bytes:
    try:
        file = open_file(path)
    except NotAFile as error:
        raise DocumentInvalid(path, 0, "not-a-file", _NOT_A_FILE) from error
    with file:
        most = MAX_MARKDOWN_BYTES if path.suffix == ".md" else MAX_TEXT_BYTES
        size = os.fstat(file.fileno()).st_size
        if size > most:
            said = f"has {size >> 20} MB, and at most {most >> 20} MB are read"
            raise DocumentInvalid(path, 0, "too-large", f"{said}. Restore it from git, or move a part elsewhere")
        return file.read()


class NotAFile(OSError):
    """A pipe, a socket or a device lies where a file should be."""


def open_file(path: Path) -> BufferedReader:
    """Open a regular file to read it. Opening a pipe would wait for somebody who writes into it.

    Raises:
        OSError: there is no such file. ``NotAFile`` for what is neither a file nor a folder.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise NotAFile(errno.EINVAL, _NOT_A_FILE, str(path))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def open_plain(path: Path) -> BufferedReader:
    """Open a regular file to read it, and never what a link leads to. It may have several names.

    Raises:
        OSError: there is no such file. ``ELOOP`` is the error of a link and of what is no file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _require_regular(descriptor, path, one_name=False)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, most: int = -1) -> bytes:
    """Return the bytes of a regular file, at most *most* of them. Errors are those of :func:`open_file`."""
    with open_file(path) as file:
        return file.read(most)


def read_state(path: Path) -> bytes:
    """Return the bytes of a file of machine state: a regular file with one name, and never what a link leads to.

    Raises:
        OSError: there is no such file. ``ELOOP`` is the error of a link, and of a file with other names.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        _require_regular(descriptor, path)
        return file.read()


def _require_regular(descriptor: int, path: Path, *, one_name: bool = True) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or (one_name and status.st_nlink > 1):
        raise OSError(errno.ELOOP, "is no regular file with one name. Remove it", str(path))


def stage(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Write *data* to the new file *path* and wait until it is on the disk. What had that name is replaced.

    A link that lies there, or another name of the same file, leads nowhere: the file is made anew.
    """
    make_folder(path.parent)
    with os.fdopen(_made_anew(path, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _made_anew(path: Path, mode: int) -> int:
    """Return the descriptor of a new, empty file *path*."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, mode)
    except FileExistsError:
        path.unlink()
        return os.open(path, flags, mode)


def create(path: Path, *, mode: int = PRIVATE_FILE) -> bool:
    """Create an empty file, and return whether it was not there: a lock that one process gets."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode))
    except FileExistsError:
        return False
    return True


def replace(staged: Path, target: Path) -> None:
    """Replace *target* by the staged file, and keep the mode of *target*. A new folder is as private as the file."""
    make_folder(target.parent, _folder_mode(staged.stat().st_mode))
    if target.exists():
        staged.chmod(target.stat().st_mode & 0o7777)
    staged.replace(target)
    sync_folder(target.parent)


def write_cache(path: Path, data: bytes) -> bool:
    """Replace *path* by *data* without waiting for the disk. Use it for data that can be computed again.

    A home that is not writable caches nothing, and this is no error. Neither does one whose folder is a link. Return
    whether it was written.
    """
    with contextlib.suppress(OSError):
        if path.parent.is_symlink():
            return False
        if not path.parent.is_dir() and path.parent.parent.is_dir():
            path.parent.mkdir(PRIVATE_FOLDER, exist_ok=True)
        descriptor, staged = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(staged).replace(path)
        except OSError:
            Path(staged).unlink(missing_ok=True)
            raise
        return True
    return False


def remove(target: Path) -> None:
    """Delete the file. An absent file is no error."""
    if target.exists():
        target.unlink()
        sync_folder(target.parent)


def append(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> int:
    """Append *data* and return the offset where it begins. An incomplete last line is truncated first.

    A killed writer leaves such a line, which it never reported as stored. If the write fails, the file is restored.
    A new file has *mode*, and a new folder is as private. Nothing is appended through a link.
    """
    make_folder(path.parent, _folder_mode(mode))
    fresh = not path.exists()
    with os.fdopen(open_to_append(path, mode), "ab+", buffering=0) as file:
        start = _whole_lines_end(file.seek(0, os.SEEK_END), path)
        file.truncate(start)
        try:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(start)
            raise
    if fresh:
        sync_folder(path.parent)
    return start


def open_to_append(path: Path, mode: int = PRIVATE_FILE) -> int:
    """Open *path* to append, which is made if it is not there, and return the descriptor. No link is followed."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode)
    try:
        _require_regular(descriptor, path, one_name=mode == PRIVATE_FILE)  # a backup may share transcripts
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def sync_folder(folder: Path) -> None:
    """Make a rename or a new name in *folder* durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path, mode: int = PRIVATE_FOLDER) -> None:
    """Create *folder* and its parents durably. A new folder has *mode*, and its new parents what the umask leaves."""
    if not folder.is_dir():
        make_folder(folder.parent, 0o777)
        folder.mkdir(mode, exist_ok=True)
        sync_folder(folder.parent)


def _folder_mode(file_mode: int) -> int:
    return 0o777 if file_mode & 0o077 else PRIVATE_FOLDER


def _whole_lines_end(size: int, path: Path) -> int:
    """Return the offset after the last newline among the first *size* bytes."""
    with open_file(path) as file:
        end = size
        while end > 0:
            start = max(0, end - 65_536)
            file.seek(start)
            at = file.read(end - start).rfind(b"\n")
            if at >= 0:
                return start + at + 1
            end = start
    return 0
