"""Fetch a branch of another clone without any configuration of this repository.

Git runs in an empty repository of its own that shares the objects of the home. So no hook, helper, driver, address
rewriting or other program that the home's configuration names can run, and nothing but objects arrives. The user's own
configuration, with proxies and credentials, applies.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .. import storage
from ..errors import HistoryError
from .client import fetching_client, home_client
from .isolation import without_credentials
from .own_folder import own_folders, refuse_links_out
from .process.scratch_folder import scratch_folder

__all__ = ["fetch_branch", "keep_remote_branch", "remote_addresses", "remote_url", "submodule_address"]

#: Ways to reach another clone. Others are not encrypted, or start programs.
_SCHEMES = ("https://", "ssh://", "file://")
#: ``user@host:path``, as ssh knows it.
_SCP = lazy_regex(r"[\w.-]+(?:@[\w.-]+)?:(?!:)[^\x00-\x20]+")
_REMOTE_NAME = lazy_regex(r"[\w][\w.-]*")


def remote_url(root: Path, remote: str) -> str:
    """Return the address of *remote*: a configured name, an address or the path of a folder.

    Raises:
        HistoryError: there is none, or it is one that this program does not fetch from.
    """
    git = home_client(root)
    address = git.setting(f"remote.{remote}.url", local=True) if _REMOTE_NAME.fullmatch(remote) else remote
    if not address:
        problem = f"{root} has no remote {remote!r}. Add one with `git remote add {remote} ADDRESS`, or give a path"
        raise HistoryError(problem)
    if address.startswith(_SCHEMES):
        return address
    folder = (root / Path(address).expanduser()).resolve() if not address.startswith("-") else root / "."
    if "::" not in address and "://" not in address and not address.startswith("-"):
        if folder.is_dir():
            return str(folder)
        if _SCP.fullmatch(address):
            return address
    allowed = "https, ssh, or the path of a folder"
    raise HistoryError(f"memory is not fetched from {without_credentials(address)!r}. Use an address with {allowed}")


def remote_addresses(root: Path) -> dict[str, str]:
    """Return the addresses of the configured remotes by name, without passwords.

    Raises:
        HistoryError: git refused.
    """
    rows = (line.split("\t", 1) for line in home_client(root).text("remote", "-v").split("\n") if "\t" in line)
    # The user's own rewriting of addresses (``url.*.insteadOf``) may bring a password.
    return {name: without_credentials(address.rpartition(" ")[0]) for name, address in rows}


def submodule_address(root: Path, name: str) -> str:
    """Return the address that the repository *root* configures for its submodule *name*, without a password."""
    return without_credentials(home_client(root).setting(f"submodule.{name}.url", local=True))


def fetch_branch(root: Path, address: str, branch: str, have: Sequence[str]) -> str:
    """Fetch the newest commit of *branch* at *address* with all objects that it needs, and return its hash.

    *have* are commits that are here already. No branch and no file of the home changes. Objects are checked as they
    arrive.

    Raises:
        HistoryError: git refused, or there is no such branch.
    """
    home = home_client(root)
    refuse_links_out(root)  # the fetch writes objects
    objects = (own_folders(root).shared / "objects").absolute()
    form = home.text("rev-parse", "--show-object-format").strip()
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
        git = fetching_client(Path(folder))
        git.change("init", "--quiet", "--bare", "--template=", f"--object-format={form}", ".")
        known = "".join(f"{commit} refs/have/{number}\n" for number, commit in enumerate(dict.fromkeys(have)) if commit)
        (Path(folder) / "packed-refs").write_text(known, encoding="ascii")
        git = replace(git, environment={**git.environment, "GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": str(objects)})
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
        git.change(
            "fetch", *options, "--upload-pack=git-upload-pack", "--", address, f"+refs/heads/{branch}:refs/pulled"
        )
        return storage.read_bytes(Path(folder) / "refs" / "pulled").decode("ascii").strip()


def keep_remote_branch(root: Path, remote: str, branch: str, commit: str) -> None:
    """Let ``remote/branch`` name the fetched *commit*, as ``git fetch`` does. Call with the home's lock held."""
    if _REMOTE_NAME.fullmatch(remote):
        home_client(root).change("update-ref", f"refs/remotes/{remote}/{branch}", commit)
