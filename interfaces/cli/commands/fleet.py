"""Define ``memory fleet``: many homes on several hosts."""

from __future__ import annotations

import logging
import math
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent_home.visible import visible, visible_line

from ...counts import counted
from ..command import Command, Group
from ..exit_codes import FINDINGS
from ..invocation import Invocation, options, options_without_home
from ..surroundings import surroundings

if TYPE_CHECKING:
    from interfaces.fleet.registry import Registry

__all__ = ["LogFormatter", "fleet"]


class _Number(click.FloatRange):
    """A number between two limits. Those that count nothing, such as ``nan``, are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is not a number.", param, ctx)
        return found


#: The longest session: a lost host keeps its homes for so long.
_MOST_LEASE_S = 3600
_FOLDER = click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))


@click.group(
    "fleet",
    cls=Group,
    examples=(
        ("Make this machine a host", "memory fleet join /srv/homes --name one --address http://10.0.0.1:8080"),
        ("Serve what falls to it", "memory fleet host /srv/homes"),
        (
            "Give a home to the fleet",
            "memory fleet add ada --home ~/agent --host /srv/homes --remote git@git.example:homes/ada.git",
        ),
        ("See hosts, homes and the queue", "memory fleet status"),
    ),
)
def fleet() -> None:
    """Serve many homes on several hosts.

    A home lives on one host at a time. A registry in PostgreSQL (AGENT_HOME_DATABASE_URL) says on which one. A write
    counts as stored when the home's git repository has it, so a host that is lost loses no acknowledged write, and a
    host that was taken for lost can write no more. docs/fleet.md shows how to set it up.
    """


@fleet.command(
    "join",
    cls=Command,
    examples=(
        ("Join, and take twice as many homes as others", "memory fleet join /srv/homes --name big --capacity 2"),
    ),
)
@_FOLDER
@click.option("--name", required=True, metavar="NAME", help="The name of the host, which no other host has.")
@click.option("--address", default="", metavar="URL", help="Where other hosts reach `memory serve` on this host.")
@click.option("--capacity", type=_Number(min=0.01, max=1000), default=1.0, show_default=True, help="Share of homes.")
@click.option(
    "--lease-seconds", type=_Number(min=2, max=_MOST_LEASE_S), default=30.0, show_default=True, metavar="N",
    help="Time after which a lost host is replaced.",
)  # fmt: skip
@options_without_home
def join(invocation: Invocation, folder: Path, name: str, address: str, capacity: float, lease_seconds: float) -> None:
    """Make DIR the folder of a host's homes.

    The tables of the registry are made where they are missing. All hosts of a fleet share one machine key, so that
    consents, approvals and tokens count on each of them. The first host gives its own, and the others get it. A user
    with another key sets AGENT_HOME_STATE to a folder for the fleet alone. Doing it again changes address and capacity.
    """
    from interfaces.fleet.host_folder import HostFolder, HostIdentity
    from interfaces.fleet.membership import join as join_fleet

    identity = HostIdentity(name=name, address=address.rstrip("/"), capacity=capacity, lease_s=lease_seconds)
    with _registry() as registry:
        join_fleet(registry, HostFolder(folder.absolute()), identity)
    invocation.show(
        {"host": name, "folder": str(folder.absolute()), "address": identity.address},
        [f"{folder} is the folder of the host {name}. `memory fleet host {folder}` serves what falls to it"],
    )


@fleet.command("host", cls=Command, examples=(("Serve until Ctrl-C", "memory fleet host /srv/homes"),))
@_FOLDER
@click.option("--poll-seconds", type=_Number(min=0.05), default=2.0, show_default=True, metavar="N",
              help="Time between two looks at the registry.")  # fmt: skip
@click.option("--drain-seconds", type=_Number(min=0), default=600.0, show_default=True, metavar="N",
              help="Longest time that a move waits for what runs.")  # fmt: skip
@options_without_home
def host(invocation: Invocation, folder: Path, poll_seconds: float, drain_seconds: float) -> None:
    """Run the host of DIR: keep its session, take homes over and hand them over.

    It runs until Ctrl-C or SIGTERM. Its homes stay its own for some seconds then, so that it can be started again.
    While the registry does not answer, reading goes on, and writing stops before the session ends (exit code 5).
    """
    from interfaces.fleet.host import HostOptions, run_host
    from interfaces.fleet.host_folder import HostFolder

    place = HostFolder(folder.absolute())
    name = place.identity().name
    said = threading.Event()

    def ready() -> None:
        if not said.is_set():
            said.set()
            invocation.show({"host": name, "folder": str(place.root)}, [f"the host {name} serves {place.root}"])

    run_host(place, _address(), _stop(), HostOptions(poll_s=poll_seconds, drain_s=drain_seconds, ready=ready))


@fleet.command(
    "worker",
    cls=Command,
    examples=(
        ("Run what comes", "memory fleet worker /srv/homes"),
        ("Run what waits, and end", "memory fleet worker /srv/homes --once"),
    ),
)
@_FOLDER
@click.option("--once", is_flag=True, help="End when no run waits for a home of this host.")
@click.option("--concurrency", type=click.IntRange(min=1, max=64), default=1, show_default=True, help="Runs at once.")
@options_without_home
def worker(invocation: Invocation, folder: Path, once: bool, concurrency: int) -> None:
    """Run queued nightly maintenance of the homes on this host.

    A run that fails is tried again, up to six times with longer and longer pauses. A run whose worker died begins again
    on the host that has the home then.
    """
    from interfaces.fleet.host_folder import HostFolder
    from interfaces.fleet.worker import WorkerOptions, run_worker

    done: list[str] = []
    place = HostFolder(folder.absolute())
    given = WorkerOptions(
        concurrency=concurrency, once=once, environ=surroundings().environ,
        done=done.append if once else lambda _home: None,
    )  # fmt: skip
    run_worker(place, _address(), _stop(), given)
    if once:
        invocation.show({"done": done}, [f"maintained {counted(len(done), 'home')}"])


@fleet.command("nightly", cls=Command, examples=(("Queue tonight's runs, from cron", "memory fleet nightly"),))
@click.argument("names", nargs=-1, metavar="[HOME]...")
@options_without_home
def nightly(invocation: Invocation, names: tuple[str, ...]) -> None:
    """Queue a nightly run of every home, or of those named.

    A home has at most one run in the queue, so it does no harm to call this twice, or on several machines.
    """
    from interfaces.fleet.errors import NotInFleet
    from interfaces.fleet.queue import defer_nightly

    with _registry() as registry:
        known = [home.id for home in registry.homes() if not home.leaving]
    for name in names:
        if name not in known:
            raise NotInFleet(name)
    queued, waiting = defer_nightly(_address(), names or known)
    lines = [f"queued {counted(len(queued), 'run')}"]
    invocation.show(
        {"queued": queued, "waiting": waiting}, [*lines, f"{len(waiting)} were queued before"] if waiting else lines
    )


@fleet.command(
    "add",
    cls=Command,
    examples=(
        (
            "Give a home to the fleet",
            "memory fleet add ada --home ~/agent --host /srv/homes --remote git@git.example:homes/ada.git",
        ),
        ("Add one that its repository has already", "memory fleet add ada --remote /srv/git/ada.git --adopt"),
    ),
)
@click.argument("name", metavar="HOME")
@click.option("--remote", required=True, metavar="URL", help="An empty git repository of the home alone.")
@click.option("--host", "folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="The folder of the host on this machine. Not needed with --adopt.")  # fmt: skip
@click.option("--adopt", is_flag=True, help="The repository has the home already. --home does not matter.")
@options
def add(invocation: Invocation, name: str, remote: str, folder: Path | None, adopt: bool) -> None:
    """Give a home to the fleet, under the name HOME.

    Everything of it goes to the remote: memory, transcripts, outputs, and the machine state that travels. Nobody else
    may read that repository. The host that it falls to takes the home over, and the folder of --home becomes an old
    copy that refuses writes.
    """
    from interfaces.fleet.host_folder import HostFolder
    from interfaces.fleet.membership import add_home, adopt_home

    if not adopt and folder is None:
        raise click.UsageError("--host is missing. Name the folder of the host on this machine, like --host /srv/homes")
    with _registry() as registry:
        if adopt or folder is None:
            adopt_home(registry, name, remote)
        else:
            add_home(registry, HostFolder(folder.absolute()), name, invocation.home, remote)
    invocation.show({"home": name}, [f"{name} is in the fleet. `memory fleet status` says which host takes it"])


@fleet.command("remove", cls=Command, examples=(("Make it a home of its own again", "memory fleet remove ada"),))
@click.argument("name", metavar="HOME")
@options_without_home
def remove(invocation: Invocation, name: str) -> None:
    """Take a home out of the fleet. It stays where it is, and is a home of its own then.

    A home that no host has at the time is in its git repository alone. No copy of it can be written.
    """
    from interfaces.fleet.membership import remove_home
    from interfaces.fleet.queue import drop_runs

    with _registry() as registry:
        holder = remove_home(registry, name)
    drop_runs(_address(), name)
    alone = (
        f"no host had {name}, so it is in its git repository alone. To make it a home of its own, bring it back with"
    )
    back = f"{alone} `memory fleet add {name} --remote URL --adopt`, and remove it when a host has it"
    said = f"{name} stays on {holder} as a home of its own" if holder else back
    invocation.show({"home": name, "host": holder}, [said])


@fleet.command("move", cls=Command, examples=(("Move a home", "memory fleet move ada --to two"),))
@click.argument("name", metavar="HOME")
@click.option("--to", required=True, metavar="HOST", help="The host that shall have it.")
@click.option("--wait-seconds", type=_Number(min=0), default=120.0, show_default=True, metavar="N",
              help="Time to wait for the end of the move.")  # fmt: skip
@options_without_home
@click.pass_context
def move(context: click.Context, invocation: Invocation, name: str, to: str, wait_seconds: float) -> None:
    """Move a home to another host, without loss.

    What runs in it is finished, everything is published, and then the other host takes it over. The hosts do this by
    themselves: the move goes on if this command, or one of them, is killed. Asking again changes nothing. The exit code
    is 1 while the move is not done.
    """
    from interfaces.fleet.moves import await_move
    from interfaces.fleet.moves import move as move_home

    with _registry() as registry:
        move_home(registry, name, to)
        done = await_move(registry, name, to, wait_seconds, invocation.warn)
    invocation.show(
        {"home": name, "host": to, "done": done},
        [f"{name} is on {to}" if done else f"{name} is still on its way to {to}"],
    )
    context.exit(0 if done else FINDINGS)


@fleet.command("rebalance", cls=Command, examples=(("See what would move", "memory fleet rebalance --dry-run"),))
@click.option("--dry-run", is_flag=True, help="Print the moves, and move nothing.")
@options_without_home
def rebalance(invocation: Invocation, dry_run: bool) -> None:
    """Bring every home to its place among the hosts that live now.

    Homes move by themselves only when their host is lost or drained, so after a host came (back) it has few.
    """
    from interfaces.fleet.moves import move as move_home
    from interfaces.fleet.moves import plan_rebalance

    with _registry() as registry:
        plan = plan_rebalance(registry)
        for item in () if dry_run else plan:
            move_home(registry, item.home, item.to)
    rows = [{"home": item.home, "from": item.start, "to": item.to} for item in plan]
    lines = [f"{item.home}: {item.start} -> {item.to}" for item in plan]
    invocation.show({"moves": rows, "dry_run": dry_run}, lines or ["every home is in its place"])


@fleet.command(
    "drain",
    cls=Command,
    examples=(
        ("Empty a host before its machine is stopped", "memory fleet drain one"),
        ("Let it take homes again", "memory fleet drain one --undo"),
    ),
)
@click.argument("name", metavar="HOST")
@click.option("--undo", is_flag=True, help="Let it take homes again.")
@options_without_home
def drain(invocation: Invocation, name: str, undo: bool) -> None:
    """Let a host hand all its homes over, and take none."""
    from interfaces.fleet.moves import drain_host

    with _registry() as registry:
        drain_host(registry, name, draining=not undo)
    said = f"{name} takes homes again" if undo else f"{name} hands its homes over. `memory fleet status` shows how far"
    invocation.show({"host": name, "draining": not undo}, [said])


@fleet.command("status", cls=Command, examples=(("As JSON, for monitoring", "memory fleet status --json"),))
@options_without_home
@click.pass_context
def status(context: click.Context, invocation: Invocation) -> None:
    """Show hosts, homes, leases and the queue of nightly runs.

    The exit code is 1 when a home has no host or a problem, or a nightly run failed.
    """
    from interfaces.fleet.status import fleet_state, state_data, state_lines

    with _registry() as registry:
        state = fleet_state(registry, _address())
    invocation.show(state_data(state), state_lines(state))
    context.exit(FINDINGS if state.is_troubled else 0)


class LogFormatter(logging.Formatter):
    """Formatter of the log. What a remote or the registry says stays in its line, and no terminal obeys it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of logging
        """Return the line of *record*."""
        return visible_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name of logging
        """Return the traceback."""
        return visible(super().formatException(ei))


def _address() -> str:
    from recall.servers import database_url

    return database_url(surroundings().environ)


@contextmanager
def _registry() -> Iterator[Registry]:
    from interfaces.fleet.registry import Registry

    made = Registry(_address())
    try:
        yield made
    finally:
        made.close()


def _stop() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set, and let warnings go to standard error."""
    event = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: event.set())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogFormatter("%(asctime)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    return event
