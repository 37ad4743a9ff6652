"""Define ``memory page``, which lets a person see and review memory in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..invocation import Invocation, home_command
from ..person import person_option, the_person

if TYPE_CHECKING:
    from agent_home.home import Home

__all__ = ["page"]

#: Seconds for the answer of a service that runs.
_ANSWER_S = 2.0
#: A file that begins so is an earlier page, and is replaced.
_MARK, _HEAD_BYTES = b'<meta name="generator" content="agent-home">', 1_000


@home_command(
    "page",
    examples=(
        ("See and review memory in a browser", "memory page"),
        ("Open the browser as well", "memory page --open"),
        ("Write the page as one file, to look at or to archive", "memory page --out memory.html"),
    ),
)
@person_option
@click.option("--open", "opens", is_flag=True, help="Open the link in the browser of this machine.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write the page as one file that needs no service, and end.",
)  # fmt: skip
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the file.")
def page(invocation: Invocation, person: str, *, opens: bool, out: Path | None, lang: str) -> None:
    """Show memory in a browser, to see and review it.

    Prints a link that signs you in, once and within 15 minutes. The page shows what waits for you, with its evidence
    and the turns that it comes from, and memory, the prompt, a search, and the state of the home. What you decide there
    is recorded with your name. If the service of this home answers HTTP (`memory serve --http`), the link leads to it.
    Otherwise this command serves the page until Ctrl-C, for browsers on this machine alone.

    --out writes the same views as one HTML file that shows memory as it is now. Whoever has the file can read all of
    it. It lies outside of the home, and replaces only an earlier page.
    """
    try:
        if out is not None:
            _write(invocation, out, lang)
        else:
            _show_link(invocation, the_person(invocation, person), opens=opens)
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"the page needs the package {error.name}. Install it with: pip install 'agent-home[service]'"
        ) from error


def _show_link(invocation: Invocation, person: str, *, opens: bool) -> None:
    from interfaces.page.access import LINK_MINUTES, make_link

    home = invocation.home

    def show(address: str, until: str) -> None:
        link = f"http://{address}/page/sign-in?code={make_link(home, person, invocation.moment)}"
        first = f"{link}\nsigns in {person}, once, within {LINK_MINUTES} minutes{until}"
        invocation.show({"link": link, "person": person, "minutes": LINK_MINUTES}, first.splitlines())
        if opens:
            click.launch(link)

    served = _served_at(home)
    if served:
        show(served, "")
        return
    from interfaces.service.page_server import serve_page

    serve_page(home, ready=lambda address: show(address, ". The page is there until Ctrl-C"))


def _served_at(home: Home) -> str:
    """Return host and port of the service of *home*, or an empty string."""
    from interfaces.service.forwarding.client import exchange
    from interfaces.service.forwarding.socket_place import socket_path

    try:
        status, answer = exchange(socket_path(home.root), "GET", "/address", yes_s=_ANSWER_S)
        return str(json.loads(answer)["http"]) if status == 200 else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _write(invocation: Invocation, out: Path, language: str) -> None:
    from agent_home import storage
    from interfaces.page.static_page import static_page

    if not out.parent.is_dir():
        raise click.UsageError(f"there is no folder {out.parent}. Make it first, or name another file")
    if out.resolve().is_relative_to(invocation.home.root.resolve()):
        raise click.UsageError(f"{out} lies in the home, whose files are memory. Name a file outside of it")
    if out.exists() and not (out.is_file() and _is_page(out)):
        raise click.UsageError(f"{out} is there and is no page of this command. Name another file, or remove it first")
    data = static_page(invocation.home, invocation.moment, language).encode()
    staged = out.with_name(f".{out.name}.new")
    storage.stage(staged, data)
    storage.replace(staged, out)
    invocation.show({"file": str(out), "bytes": len(data)}, [f"wrote {out}, {len(data):,} bytes"])


def _is_page(path: Path) -> bool:
    """Return whether *path* is a file that an earlier ``--out`` wrote. An empty file counts, as one of mktemp's."""
    from agent_home import storage

    begin = storage.read_bytes(path, _HEAD_BYTES)
    return not begin or _MARK in begin
