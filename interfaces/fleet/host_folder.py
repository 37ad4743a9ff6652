"""The folder of a host: its homes, each under its name, and in ``.fleet`` what the host knows of itself."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from agent_home import storage
from agent_home.consent.signed_record import read_record, write_record
from agent_home.errors import Locked, NotHeld
from agent_home.home import Home
from agent_home.lease.host_clock import boot
from agent_home.lease.record import Lease, read_lease
from agent_home.lock import hold

from .errors import HostNameTaken, NotJoined, WrongAddress, WrongName

__all__ = ["HostFolder", "HostIdentity", "leases_in", "require_address", "require_name"]

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
#: An address with a scheme, a host, maybe a port, and maybe a path. User, password, query and fragment have no place.
_ADDRESS = re.compile(r"https?://[^\s/?#@\x00-\x20\x7f-\uffff]+(?:/[\x21\x24-\x3e\x40-\x7e]*)?")
_FOLDER, _RECORD = ".fleet", "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostIdentity:
    """A host as it presents itself.

    Attributes:
        name: its name in the registry.
        address: where other hosts reach its service, like ``http://10.0.0.1:8080``, or empty.
        capacity: its share of homes, compared with that of the others.
        lease_s: seconds for which it renews its session.
        incarnation: the name of its present life, new after each start of the machine.
        boot: the start of the machine that *incarnation* belongs to.
    """

    name: str
    address: str = ""
    capacity: float = 1.0
    lease_s: float = 30.0
    incarnation: str = ""
    boot: str = ""


@dataclass(frozen=True, slots=True)
class HostFolder:
    """The folder *root* with the homes of a host."""

    root: Path

    @property
    def own(self) -> Path:
        """The folder of what the host knows of itself."""
        return self.root / _FOLDER

    @property
    def aside(self) -> Path:
        """The folder of copies with writes that were never published."""
        return self.own / "aside"

    @property
    def leaving(self) -> Path:
        """The folder of copies that are being deleted."""
        return self.own / "leaving"

    @property
    def arriving(self) -> Path:
        """The folder of homes that are being built."""
        return self.own / "arriving"

    def work(self, home: str) -> Path:
        """Return the folder in which *home* is built when it arrives.

        Raises:
            WrongName: see :meth:`home`.
        """
        return self.arriving / require_name(home)

    def home(self, name: str) -> Home:
        """Return the home of that name. It may be absent.

        Raises:
            WrongName: no home has that name. A registry may say anything, and a name must not lead out of the folder.
        """
        return Home(self.root / require_name(name))

    def identity(self) -> HostIdentity:
        """Return who the host is.

        Raises:
            NotJoined: nobody made the folder that of a host, or with another machine key.
        """
        record = read_record(self.own, _RECORD)
        if record is None:
            raise NotJoined(self.root)
        return HostIdentity(**record)

    def keep_identity(self, identity: HostIdentity) -> None:
        """Write down who the host is."""
        storage.make_folder(self.own)
        write_record(self.own, _RECORD, asdict(identity))

    def living_identity(self, *, anew: bool = False) -> HostIdentity:
        """Return who the host is in its present life. After a start of the machine, or *anew*, that is a new one.

        Raises:
            NotJoined: see :meth:`identity`.
        """
        known = self.identity()
        if anew or known.boot != boot() or not known.incarnation:
            known = replace(known, incarnation=uuid.uuid4().hex, boot=boot())
            self.keep_identity(known)
        return known

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold the lock of the process that is the host.

        Raises:
            HostNameTaken: another process of this folder is the host.
        """
        identity = self.identity()
        try:
            with hold(self.own / "host.lock", 0):
                yield
        except Locked as error:
            raise HostNameTaken(identity.name, f"in {self.root}") from error


def leases_in(folder: HostFolder) -> dict[str, Lease]:
    """Return the leases of the homes in *folder*, by name. A home of no fleet, or with a foreign lease, is left out."""
    found: dict[str, Lease] = {}
    for path in sorted(folder.root.iterdir()) if folder.root.is_dir() else ():
        if not _NAME.fullmatch(path.name) or not path.is_dir():
            continue
        try:
            lease = read_lease(Home(path))
        except NotHeld:
            continue
        if lease is not None and lease.home == path.name:
            found[path.name] = lease
    return found


def require_address(address: str) -> str:
    """Return *address* if requests can be forwarded to it.

    Raises:
        WrongAddress: they cannot.
    """
    if not _ADDRESS.fullmatch(address):
        raise WrongAddress(address)
    try:
        parts = urlsplit(address)
        if parts.hostname and parts.port != 0:
            return address
    except ValueError:
        pass
    raise WrongAddress(address)


def require_name(name: str) -> str:
    """Return *name* if a home or a host can have it.

    Raises:
        WrongName: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise WrongName(name)
    return name
