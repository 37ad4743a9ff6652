"""Fixtures that every package's tests share: a home on disk and a fixed present."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings

from agent_home.creation import create
from agent_home.home import Home
from agent_home.screening import verdicts
from bench.measure import servers
from recall.servers import DATABASE_VARIABLE, REDIS_VARIABLE
from tests.doomed import ForkServer
from tests.own_redis import OwnRedis

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
#: Memory file system that temporary folders go to when it has this much room: most of a test's time is ``fsync``.
MEMORY_FILES = Path("/dev/shm")
MEMORY_FILES_BYTES = 2 << 30
#: Homes are many small files, so a file system runs out of these first.
MEMORY_FILES_NUMBER = 300_000
#: Folder of the servers that all workers of a run share, in its temporary folder.
SERVERS = "servers"
_OURS = pytest.StashKey[Path]()
# Examples are the same in every run, and a busy machine fails nothing.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Put temporary folders into memory, unless ``--basetemp`` names a place. The controller tells its workers."""
    asked = config.option.basetemp or hasattr(config, "workerinput")
    if not asked and _has_room(MEMORY_FILES):
        config.option.basetemp = tempfile.mkdtemp(prefix="agent-home-tests-", dir=MEMORY_FILES)
        config.stash[_OURS] = Path(config.option.basetemp)


def _has_room(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    free = os.statvfs(folder)
    return free.f_bavail * free.f_frsize >= MEMORY_FILES_BYTES and free.f_favail >= MEMORY_FILES_NUMBER


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, and tests that share a module's fixture in one worker, so that it is made once."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        if isinstance(item, pytest.Function) and any(
            definition.scope == "module"
            for definitions in item._fixtureinfo.name2fixturedefs.values()
            for definition in definitions
        ):
            item.add_marker(pytest.mark.xdist_group(item.path.name))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End the servers of this run. Keep the temporary folders of a failed run only."""
    if not hasattr(session.config, "workerinput") and session.config.option.basetemp:
        servers.stop(Path(session.config.option.basetemp) / SERVERS)
    folder = session.config.stash.get(_OURS, None)
    if folder and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the machine key of the tests, and of the processes that they start, apart from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENT_HOME_STATE", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set up git without any user configuration, and remove the home and its servers from the environment."""
    _configure_git(monkeypatch)


def _configure_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("AGENT_HOME", DATABASE_VARIABLE, REDIS_VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _no_known_verdicts() -> None:
    """Forget the guard's verdicts, as a new process: a home's copies share their rules and salt."""
    verdicts._shared.cache_clear()


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def _pattern_home(tmp_path_factory: pytest.TempPathFactory) -> FolderCopy:
    """Make one new home that every test copies, because making a home runs git several times."""
    with pytest.MonkeyPatch.context() as patch:
        _configure_git(patch)
        root = create(tmp_path_factory.mktemp("pattern") / "home", name="Test", now=NOW).home.root
    for sample in (root / ".git" / "hooks").glob("*.sample"):
        sample.unlink()
    return FolderCopy(root)


class FolderCopy:
    """The files of a folder, held in memory. Writing them takes a fifth of ``shutil.copytree``'s time."""

    def __init__(self, root: Path) -> None:
        paths = sorted(root.rglob("*"))
        self._folders = [path.relative_to(root) for path in paths if path.is_dir()]
        self._files = [(path.relative_to(root), path.read_bytes(), path.stat()) for path in paths if path.is_file()]

    def write(self, root: Path) -> None:
        """Write the files, with their modes and times, into the new folder *root*."""
        root.mkdir()
        for folder in self._folders:
            (root / folder).mkdir()
        for name, content, was in self._files:
            descriptor = os.open(root / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, was.st_mode)
            os.write(descriptor, content)
            os.utime(descriptor, ns=(was.st_atime_ns, was.st_mtime_ns))
            os.close(descriptor)


@pytest.fixture
def home(_pattern_home: FolderCopy, tmp_path: Path) -> Home:
    """A new home with the template's files and one commit."""
    root = tmp_path / "home"
    _pattern_home.write(root)
    return Home(root)


@pytest.fixture(scope="session")
def forks() -> Iterator[ForkServer]:
    """Processes that a test may kill. Each starts with the product loaded."""
    with ForkServer() as server:
        yield server


@pytest.fixture(scope="session")
def servers_folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The folder of the servers that all workers of this run share."""
    own = tmp_path_factory.getbasetemp()
    base = own.parent if hasattr(request.config, "workerinput") else own
    request.config.option.basetemp = request.config.option.basetemp or str(own)  # whose servers end with the run
    return base / SERVERS


@pytest.fixture(scope="session")
def postgresql_url(servers_folder: Path) -> str:
    """Address of the run's PostgreSQL server, in whose databases nothing may be left."""
    return servers.postgresql(servers_folder)


@pytest.fixture(scope="session")
def database_url(postgresql_url: str) -> str:
    """Address of a database that the tests of this worker share. Each test uses a namespace of its own."""
    return servers.database(postgresql_url, f"shared_{uuid.uuid4().hex}")


@pytest.fixture
def new_database_url(postgresql_url: str) -> str:
    """Address of an empty database for one test."""
    return servers.database(postgresql_url, f"own_{uuid.uuid4().hex}")


@pytest.fixture(scope="session")
def redis_url(servers_folder: Path) -> str:
    """Address of the run's Redis server. Each test uses keys of its own."""
    return servers.redis(servers_folder)


@pytest.fixture
def own_redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnRedis]:
    """A Redis server that this test may end, and that every home uses."""
    server = OwnRedis(tmp_path / "r", servers.redis(tmp_path / "r"))
    monkeypatch.setenv(REDIS_VARIABLE, server.url)
    yield server
    if (server.folder / "redis.pid").exists():
        server.end()
