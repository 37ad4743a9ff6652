"""Start git: every git process of the program, in one clean environment, with a timeout and an output limit.

A repository's configuration can name programs (hooks, filters, diff drivers, pagers, merge drivers, file system
monitors, remote helpers), and a process's environment can lead git to another repository. The client hides both:
commands see a stand-in for the configuration (``agent_home.git.isolation``) and no variables. Settings and options
switch the same programs off once more, also those of the user's own configuration. Commands that change a repository
have a method of their own, :meth:`GitClient.change`. ``agent_home.git.commands`` lists every command.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from guard.lazy_regex import lazy_regex

from ..errors import GitFailed, GitMissing, NoRepository
from .commands import GitCommand, listed
from .isolation import MEND_SPECIAL, GitFolders, StandIn, git_folders, stand_in
from .own_folder import own_folders, refuse_links_out
from .process.command_output import CommandOutput, as_input
from .process.process_limits import limit
from .process.special_files import all_special_files

__all__ = [
    "MAX_OBJECT_BYTES",
    "MAX_OUTPUT_BYTES",
    "TIMEOUT_S",
    "GitClient",
    "GitObject",
    "fetching_client",
    "home_client",
    "hook_client",
    "untrusted_client",
]

#: Seconds for one command. Packing and checking a large home takes minutes, anything longer hangs.
TIMEOUT_S = 900.0
#: Most bytes that one command may print.
MAX_OUTPUT_BYTES = 512 << 20
#: The same for a repository that the home does not own.
UNTRUSTED_OUTPUT_BYTES = 128 << 20
#: Largest object that is read. Git itself takes files of this size for too big to compare (``core.bigFileThreshold``).
MAX_OBJECT_BYTES = 512 << 20

#: ``-c`` settings of every command. They override every configuration file.
_SETTINGS = (
    # Programs that a repository can name.
    "core.fsmonitor=false", f"core.hooksPath={os.devnull}", "protocol.allow=never", "credential.helper=",
    "log.showSignature=false", "commit.gpgSign=false", "tag.gpgSign=false", "gc.auto=0", "maintenance.auto=false",
    # `-m` with "remerge" would run the merge drivers of the repository.
    "log.diffMerges=separate",
    # "diff" and "log" would run git in a submodule, under the submodule's own configuration.
    "diff.submodule=short", "diff.ignoreSubmodules=dirty", "submodule.recurse=false",
    # A folder of tracked files must not pass for a bare repository.
    "safe.bareRepository=explicit",
    # What git reports as done must outlast a power cut. By default git leaves new objects to the operating system.
    "core.fsync=committed,reference,index", "core.fsyncMethod=fsync",
    # Git must not make up a committer from the machine's name.
    "user.useConfigOnly=true",
    # The form of the output.
    "core.abbrev=auto", "log.showRoot=true", "core.quotePath=false",
    "color.ui=false", "grep.patternType=default", "i18n.logOutputEncoding=UTF-8",
)  # fmt: skip
#: The same for a repository of this program alone, which talks to a remote. Its own configuration names nothing, and
#: the user's has credentials.
_FETCHING = (
    *(setting for setting in _SETTINGS if not setting.startswith(("protocol.", "credential."))),
    "fetch.fsckObjects=true", "fetch.recurseSubmodules=false", "push.gpgSign=false", "push.followTags=false",
    "push.recurseSubmodules=no",
)  # fmt: skip
#: Further settings of a command that verifies signatures: the repository names neither programs nor keys.
_VERIFIERS = (
    "gpg.program=gpg", "gpg.openpgp.program=gpg", "gpg.x509.program=false", "gpg.ssh.program=ssh-keygen",
    f"gpg.ssh.revocationFile={os.devnull}", "gpg.ssh.defaultKeyCommand=", "gpg.minTrustLevel=undefined",
)  # fmt: skip
#: And of commands under limits: they start no thread, and map packs in parts.
_LIMITED_SETTINGS = (
    "grep.threads=1", "pack.threads=1", "index.threads=1", "core.preloadIndex=false", "core.packedGitWindowSize=32m",
    "core.packedGitLimit=256m", f"core.attributesFile={os.devnull}",
)  # fmt: skip
_DIFF_FLAGS = ("--no-ext-diff", "--no-textconv", "--submodule=short")
_LIST_SETTINGS = ("config", "--file", "-", "--no-includes", "--null", "--list")
#: Options added to a command, for what a setting cannot switch off.
_FLAGS: Mapping[str, tuple[str, ...]] = {
    "diff": (*_DIFF_FLAGS, "--no-color", "--ignore-submodules=dirty"),
    "diff-index": (*_DIFF_FLAGS, "--ignore-submodules=dirty"),
    "diff-tree": (*_DIFF_FLAGS, "--ignore-submodules=dirty"),
    "grep": ("--no-textconv", "--no-recurse-submodules", "--no-color"),
    "log": (*_DIFF_FLAGS, "--no-color", "--ignore-submodules=dirty"),
    "show": (*_DIFF_FLAGS, "--no-color", "--ignore-submodules=dirty"),
    "status": ("--ignore-submodules=dirty",),
}
#: The variables of git that the client passes on: who commits, where the user's own configuration is, and how git was
#: installed. Git is not told of any other ``GIT_*`` variable.
_KEPT = frozenset(
    {
        "GIT_AUTHOR_DATE", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_DATE", "GIT_COMMITTER_EMAIL",
        "GIT_COMMITTER_NAME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_DEFAULT_HASH",
        "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
    }
)  # fmt: skip
#: The variables that say which staging area a hook runs for.
_HOOK_CONTEXT = frozenset({"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"})
#: Settings that ``GIT_CONFIG_COUNT`` may pass on: they start no program and lead to no other repository.
_PASSED_SETTINGS = frozenset(
    {"safe.directory", "user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email"}
)
_MAX_PASSED = 1000
#: Without a configured address, git would look up this machine's name to make one up for the reflog.
_DEFAULTS = {"EMAIL": "agent-home@localhost"}
_FIXED = {
    "GIT_ALLOW_PROTOCOL": "none",  # no transport, whatever protocol.* a repository sets
    "GIT_EDITOR": ":",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LANGUAGE": "C",
    "LC_ALL": "C.UTF-8",
}
#: What git says where its folder cannot be written.
_NOT_WRITABLE = lazy_regex(r"Permission denied|insufficient permission|Read-only file system")
#: What git says where its memory ends. Nothing was looked for then, so nothing is absent.
_STARVED = lazy_regex(r"out of memory|mmap failed|malloc failed|Cannot allocate memory", re.IGNORECASE)
_KINDS = frozenset({b"blob", b"commit", b"tag", b"tree"})
#: Of the error output, enough for a message.
_MAX_ERROR_BYTES = 1 << 14


#: The folder in which a command runs, and its environment.
_Place = tuple[Path, dict[str, str]]


@dataclass(frozen=True, slots=True)
class GitObject:
    """One object: its id in hexadecimal digits, its *kind* (blob, tree, commit or tag) and its bytes."""

    id: str
    kind: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GitClient:
    """Git at work in the repository whose top is *root*.

    Every method raises ``NoRepository`` when *root* is no repository, ``GitMissing`` when git is not installed,
    ``GitFailed`` when git refuses or prints more than *max_bytes*, and ``GitTimeout`` after *timeout_s* seconds.
    """

    root: Path
    environment: Mapping[str, str]
    timeout_s: float = TIMEOUT_S
    max_bytes: int = MAX_OUTPUT_BYTES
    #: ``-c`` settings of every command that reads or changes.
    settings: Sequence[str] = _SETTINGS
    #: Run git in a session of its own, so that a timeout ends the programs that git started, too. Not for commands that
    #: change a repository: they must die with the process group of a writer that is killed.
    own_session: bool = False
    #: Limit the memory and the processor time of git, and let it start no process (``process.process_limits``).
    limited: bool = False
    #: Let git see the files and the staging area of the work tree.
    with_files: bool = True

    def query(
        self,
        *arguments: str,
        stdin: bytes = b"",
        empty_on: Sequence[int] = (),
        timeout_s: float | None = None,
        truncate_at: int | None = None,
    ) -> bytes:
        """Return the output of a command that only reads.

        Args:
            arguments: the command and its options.
            stdin: what git reads.
            empty_on: exit codes that mean "nothing found"; the output is empty then.
            timeout_s: another timeout than the client's.
            truncate_at: return this many bytes of longer output, instead of failing.

        Raises:
            ValueError: the command could change the repository.
        """
        _refuse_changing(arguments)
        return self._output(arguments, stdin, empty_on, timeout_s, truncate_at)

    def text(self, *arguments: str, stdin: bytes = b"", empty_on: Sequence[int] = ()) -> str:
        """Return the output of :meth:`query` as text. Bytes that are no UTF-8 become surrogates."""
        return self.query(*arguments, stdin=stdin, empty_on=empty_on).decode("utf-8", "surrogateescape")

    def signatures(self, commits: Sequence[str], fields: str, *, ssh_signers: Path) -> str:
        """Return *fields*, in the form of ``git log --format``, of each of *commits*, with their signatures verified.

        Git starts ``gpg`` or ``ssh-keygen`` from PATH. *ssh_signers* names the SSH keys that count.
        """
        settings = (*_VERIFIERS, f"gpg.ssh.allowedSignersFile={ssh_signers}")
        arguments = ("show", "--no-patch", "--no-notes", f"--format={fields}", *commits)
        with self._started(arguments, b"", None, settings) as output:
            return b"".join(iter(output.read, b"")).decode("utf-8", "replace")

    def change(self, *arguments: str, stdin: bytes | IO[bytes] = b"") -> bytes:
        """Run a command that may change the repository and return its output.

        Raises:
            ValueError: ``agent_home.git.commands`` does not name the command.
            HistoryError: a link in git's folder leads out of it.
        """
        form = listed(arguments[_command_at(arguments) :])
        if form is None or (form.words in {"fetch", "push"} and self.settings is not _FETCHING):
            raise ValueError(f"git {' '.join(arguments[:3])} is not among the commands of agent_home.git.commands")
        if form.sees != "nothing" and "GIT_DIR" not in self.environment:
            refuse_links_out(self.root)
        return self._output(arguments, stdin, (), None, None)

    def setting(self, key: str, *, local: bool = False) -> str:
        """Return the configured value of *key*, or an empty string. *local* looks at this repository alone."""
        scope = ["--local"] if local else []
        return self._as_configured("config", *scope, "--get", key)

    def hooks_folder(self) -> Path:
        """Return the folder in which git looks for the hooks of a person's commits."""
        folder = self._as_configured("rev-parse", "--git-path", "hooks", required=True)
        return (self.root / folder).absolute()

    def git_folder(self) -> Path:
        """Return git's own folder for this work tree."""
        return self.folders().own

    def folders(self) -> GitFolders:
        """Return git's folders. Those of a home must lead back to it."""
        return git_folders(self.root) if self.limited else own_folders(self.root)

    def is_partial(self) -> bool:
        """Return whether the repository is a clone that leaves objects out and would fetch them when needed."""
        return self._stand_in(self.folders(), "config", self.timeout_s).partial

    def own_filters(self) -> frozenset[str]:
        """Return the names of the filters that the repository itself configures. They are never run."""
        return self._stand_in(self.folders(), "config", self.timeout_s).filters

    def merged_lines(self, base: Path, ours: Path, theirs: Path, *, labels: tuple[str, str, str]) -> bytes:
        """Return git's merge of three files by lines, with conflict markers that name *labels*: ours, base, theirs."""
        named = [word for label in labels for word in ("-L", label)]
        files = [str(file) for file in (ours, base, theirs)]
        data = bytearray()
        try:
            with self._started(["merge-file", "-p", "-q", *named, "--", *files], b"", None) as output:
                while chunk := output.read():
                    data += chunk
        except GitFailed as error:
            if not 0 < error.exit_code < 128:  # the number of conflicts, 127 at most
                raise
        return bytes(data)

    def objects(self, names: Iterable[str] | None = None) -> Iterator[GitObject | None]:
        """Yield the objects *names* in their order, with ``None`` for a missing one. Without names, yield every object.

        One process reads them all, packed or loose. A name is anything that ``git rev-parse`` understands.

        Raises:
            GitFailed: an object is larger than ``MAX_OBJECT_BYTES``, or git cannot read it.
        """
        if names is None:
            yield from self._batch(["--batch-all-objects", "--unordered"], b"")
            return
        listed = list(names)
        # A line break would split a name in two: no name with one is asked for.
        lines = [name.encode("utf-8", "surrogateescape") + b"\n" for name in listed if "\n" not in name]
        found = self._batch([], b"".join(lines)) if lines else iter(())
        for name in listed:
            if "\n" in name:
                yield None
                continue
            try:
                yield next(found)
            except StopIteration:
                raise GitFailed("cat-file", 0, f"it did not answer for {name!r}. Check `git --version`") from None
        next(found, None)  # reads the end of the output, and so the exit code

    def sizes(self, names: Iterable[str]) -> Iterator[int | None]:
        """Yield the number of bytes of the objects with the ids *names*, with ``None`` for a missing one.

        Their content stays in git.
        """
        lines = "".join(f"{name}\n" for name in names)
        if not lines:
            return
        listing = self.text("cat-file", "--batch-check=%(objectsize)", "--buffer", stdin=lines.encode())
        for line in listing.splitlines():
            yield int(line) if line.isdecimal() else None

    def chunks(self, *arguments: str, stdin: bytes = b"") -> Iterator[bytes]:
        """Yield the output of a reading command in parts, as they come and without a size limit."""
        _refuse_changing(arguments)
        with self._started(arguments, stdin, None) as output:
            while chunk := output.read():
                yield chunk

    def fields(self, *arguments: str) -> Iterator[bytes]:
        """Yield the NUL-separated fields that a reading command prints, as they come and without a size limit."""
        rest = b""
        for chunk in self.chunks(*arguments):
            *fields, rest = (rest + chunk).split(b"\0")
            yield from fields
        if rest:
            yield rest

    def _batch(self, options: Sequence[str], stdin: bytes) -> Iterator[GitObject | None]:
        with self._started(["cat-file", "--batch", "--buffer", *options], stdin, None) as output:
            while header := output.line():
                parts = header.rsplit(b" ", 2)
                if len(parts) < 3 or parts[1] not in _KINDS:
                    yield None
                    continue
                oid, kind, size = parts[0].decode(), parts[1].decode(), int(parts[2])
                if size > MAX_OBJECT_BYTES:
                    reason = f"{kind} {oid} in {self.root} has {size} bytes, more than the {MAX_OBJECT_BYTES} allowed"
                    raise GitFailed("cat-file", 0, reason)
                data = output.exactly(size)
                output.exactly(1)  # the line feed behind it
                yield GitObject(oid, kind, data)

    def _output(
        self,
        arguments: Sequence[str],
        stdin: bytes | IO[bytes],
        empty_on: Sequence[int],
        timeout_s: float | None,
        truncate_at: int | None,
    ) -> bytes:
        most = self.max_bytes if truncate_at is None else truncate_at
        data = bytearray()
        try:
            with self._started(arguments, stdin, timeout_s) as output:
                while len(data) <= most and (chunk := output.read()):
                    data += chunk
        except GitFailed as error:
            if error.exit_code in empty_on and not _STARVED.search(error.reason):
                return b""
            raise
        if len(data) > most and truncate_at is None:
            raise GitFailed(_command(arguments), 0, f"it printed more than {most} bytes")
        return bytes(data[:most])

    def _as_configured(self, *arguments: str, required: bool = False) -> str:
        """Return what the repository itself configures. It is empty when the command fails, unless it is *required*."""
        try:
            with self._started(arguments, b"", None) as output:
                data = b"".join(iter(output.read, b""))
        except GitFailed:
            if required:
                raise
            return ""
        return data.decode("utf-8", "surrogateescape").removesuffix("\n")

    @contextmanager
    def _started(
        self,
        arguments: Sequence[str],
        stdin: bytes | IO[bytes],
        timeout_s: float | None,
        more_settings: Sequence[str] = (),
    ) -> Iterator[CommandOutput]:
        """Start git and yield its output.

        A caller that leaves before the end of the output ends git. At the end, git must have succeeded.
        """
        command = _command(arguments)
        form = listed(arguments[_command_at(arguments) :])
        configured = form is not None and form.sees == "configuration"
        settings = () if configured else (*self.settings, *(_LIMITED_SETTINGS if self.limited else ()), *more_settings)
        options = [word for setting in settings for word in ("-c", setting)]
        most_s = self.timeout_s if timeout_s is None else timeout_s
        with as_input(stdin) as source, tempfile.TemporaryFile() as errors:
            place = self._place(form, command, most_s)
            process = self._popen(["--no-pager", *options, *_flagged(arguments)], source, errors, place)
            if self.limited:
                limit(process.pid, most_s)
            output = CommandOutput(
                process, command, most_s, leads_group=self.own_session, on_silence=lambda: self._refuse_special(command)
            )
            try:
                yield output
                code = output.exit_code()
            except EOFError:  # git died in the middle of an object
                code = output.exit_code() or -1
            finally:
                output.end()
            if code:
                errors.seek(0)
                raise self._failure(command, code, errors.read(_MAX_ERROR_BYTES).decode("utf-8", "replace"))

    def _refuse_special(self, command: str) -> None:
        """Give up on a command that says nothing, if something lies in its way that git would wait for."""
        objects = self.environment.get("GIT_OBJECT_DIRECTORY")
        folders = [Path(objects)] if objects else []
        with suppress(NoRepository):
            found = git_folders(self.root, look=False)
            folders += [found.own, found.shared]
        if special := all_special_files(self.root, *folders):
            reason = f"{special[0]} is not a regular file, and git waited for it. {MEND_SPECIAL}"
            raise GitFailed(command, -1, reason)

    def _popen(
        self, arguments: Sequence[str], stdin: IO[bytes] | int, errors: IO[bytes], place: _Place
    ) -> subprocess.Popen[bytes]:
        program = shutil.which("git", path=self.environment.get("PATH", ""))
        if program is None:
            raise GitMissing
        folder, environment = place
        try:
            return subprocess.Popen(
                [program, *arguments], cwd=folder, env=environment, stdin=stdin, stdout=subprocess.PIPE,
                stderr=errors, bufsize=0, start_new_session=self.own_session,
            )  # fmt: skip
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NoRepository(self.root) from error
        except OSError as error:
            raise GitFailed(_command(arguments), -1, f"{program} cannot be started in {self.root}: {error}") from error

    def _place(self, form: GitCommand | None, command: str, timeout_s: float) -> _Place:
        """Return the folder in which a command runs, and its environment. *timeout_s* is that of *command*."""
        if form is not None and form.sees == "nothing":
            return self.root, dict(self.environment)
        folders = self.folders()
        places = {"GIT_DIR": folders.own, "GIT_WORK_TREE": self.root.absolute()}
        if form is not None and form.sees == "configuration":
            return self.root, _with_places(self.environment, places)
        apart = self._stand_in(folders, command, timeout_s)
        places |= {"GIT_COMMON_DIR": apart.folder, "GIT_OBJECT_DIRECTORY": folders.shared / "objects"}
        if self.with_files:
            return self.root, _with_places(self.environment, places)
        places |= {"GIT_WORK_TREE": apart.empty, "GIT_INDEX_FILE": apart.folder / "no-index"}
        return apart.empty, _with_places(self.environment, places)

    def _stand_in(self, folders: GitFolders, command: str, timeout_s: float) -> StandIn:
        """Return the stand-in. *command* is to run in it, and its time counts."""

        def settings_in(configuration: bytes) -> bytes:
            environment = {**self.environment, "GIT_DIR": os.devnull}
            with as_input(configuration) as source, tempfile.TemporaryFile() as errors:
                process = self._popen(_LIST_SETTINGS, source, errors, (folders.shared, environment))
                output = CommandOutput(process, command, timeout_s, leads_group=self.own_session)
                try:
                    data = b"".join(iter(output.read, b""))
                    code = output.exit_code()
                finally:
                    output.end()
                if code:
                    errors.seek(0)
                    reason = errors.read(_MAX_ERROR_BYTES).decode("utf-8", "replace")
                    raise self._failure(command, code, reason.replace("standard input", str(folders.shared / "config")))
            return data

        return stand_in(folders, settings_in, writable=not self.limited)

    def explained(self, reason: str) -> str:
        """Return what git or the system said, with what a person can do about it."""
        if "bad object HEAD" in reason:
            reason += f". The newest commit is gone: run `git reset --soft HEAD@{{1}}` in {self.root}. The files stay"
        if _NOT_WRITABLE.search(reason):
            git_folder = self.root / ".git"
            reason += (
                f". You have no permission to write in {git_folder}. Run `chmod -R u+w {git_folder}` if it is yours. "
                "Otherwise ask its owner for access"
            )
        return reason

    def _failure(self, command: str, code: int, stderr: str) -> GitFailed | NoRepository:
        if "not a git repository" in stderr:
            return NoRepository(self.root)
        lines = [" ".join(line.split()) for line in stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
        return GitFailed(command, code, self.explained(reason))


def home_client(root: Path) -> GitClient:
    """Return git for the home *root*, whatever repository the environment names. Paths are names, never patterns."""
    return GitClient(root=root, environment=_environment(root, _KEPT) | {"GIT_LITERAL_PATHSPECS": "1"})


def fetching_client(root: Path) -> GitClient:
    """Return git for the repository *root* of this program alone, which may talk to other machines.

    It uses the credentials of the user's configuration.
    """
    environment = _environment(root, _KEPT) | {"GIT_ALLOW_PROTOCOL": "https:ssh:file"}
    return GitClient(root=root, environment=environment, settings=_FETCHING)


def untrusted_client(root: Path, *, with_files: bool = False) -> GitClient:
    """Return git for a repository that others configured. It sees objects and refs, and *with_files* the files too.

    The configuration of the user does not apply either. Memory and processor time of each command are limited.
    """
    nobody = dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull)
    environment = _environment(root, frozenset({"GIT_EXEC_PATH"})) | nobody | {"GIT_ATTR_NOSYSTEM": "1"}
    return GitClient(
        root=root, environment=environment, max_bytes=UNTRUSTED_OUTPUT_BYTES, own_session=True, limited=True,
        with_files=with_files,
    )  # fmt: skip


def hook_client(root: Path) -> GitClient:
    """Return git for the commit under way in *root*.

    Inside a hook the environment names the staging area: ``git commit FILE`` has one of its own.
    """
    return GitClient(root=root, environment=_environment(root, _KEPT | _HOOK_CONTEXT))


def _environment(root: Path, kept: frozenset[str]) -> dict[str, str]:
    """Return the process's environment with only the *kept* variables of git, and with ours."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in kept}
    # A relative entry of PATH would be looked up inside the repository.
    folders = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if Path(folder).is_absolute()]
    # Git must not climb to a repository that merely contains this folder.
    ceiling = str(Path(os.path.realpath(root)).parent)
    set_here = {"PATH": os.pathsep.join(folders), "GIT_CEILING_DIRECTORIES": ceiling}
    return _DEFAULTS | environment | _identity_settings() | _FIXED | set_here


def _identity_settings() -> dict[str, str]:
    """Return the settings of ``GIT_CONFIG_COUNT`` that say who commits and which folders are trusted, renumbered."""
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    pairs = [
        (os.environ.get(f"GIT_CONFIG_KEY_{number}", ""), os.environ.get(f"GIT_CONFIG_VALUE_{number}", ""))
        for number in range(min(int(count), _MAX_PASSED) if count.isdecimal() else 0)
    ]
    passed = [(key, value) for key, value in pairs if key.lower() in _PASSED_SETTINGS]
    variables = {"GIT_CONFIG_COUNT": str(len(passed))} if passed else {}
    for number, (key, value) in enumerate(passed):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _with_places(environment: Mapping[str, str], places: Mapping[str, Path]) -> dict[str, str]:
    """Return *environment* with the variables *places*. A staging area of its own, as a hook has, wins."""
    return {name: str(path) for name, path in places.items()} | dict(environment)


def _refuse_changing(arguments: Sequence[str]) -> None:
    command = listed(arguments)
    if command is None or command.changes:
        raise ValueError(f"git {' '.join(arguments[:2])} could change the repository. Call GitClient.change")


def _flagged(arguments: Sequence[str]) -> list[str]:
    """Return *arguments* with the options that switch programs off, right behind the command's name."""
    at = _command_at(arguments)
    return [*arguments[: at + 1], *_FLAGS.get(arguments[at], ()), *arguments[at + 1 :]]


def _command(arguments: Sequence[str]) -> str:
    return arguments[_command_at(arguments)]


def _command_at(arguments: Sequence[str]) -> int:
    """Return the position of the command's name, which follows pairs of ``-c`` and a setting."""
    at = 0
    while arguments[at] == "-c":
        at += 2
    return at
