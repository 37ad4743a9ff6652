"""Define ``memory trust``, with which a person agrees to what pulled files may do on this machine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from agent_home.visible import revealed

from ..command import Command, Group
from ..invocation import Invocation, options
from ..person import person_option, the_person

if TYPE_CHECKING:
    from agent_home.pulling.trust import Trust

__all__ = ["trust"]

_MAX_VALUE_CHARS = 200


@click.group(
    "trust",
    cls=Group,
    invoke_without_command=True,
    examples=(
        ("List what waits for your consent", "memory trust"),
        ("Agree to it", "memory trust accept"),
        ("Let approvals count that your other machine signed", "memory trust key add ~/.ssh/id_ed25519.pub"),
    ),
)
@options
@click.pass_context
def trust(context: click.Context, invocation: Invocation) -> None:
    """Decide what pulled files may do here.

    A setting of agent.toml that widens something, such as the address of a language model, an audience or a rule file,
    takes effect when a person on this machine agrees to its value. An approval of `memory review` lets a text pass on
    the machine where it was made. Elsewhere it counts when a person agrees to it, or trusts the key that signed its
    commit. `list`, which is the default, shows what waits.
    """
    if context.invoked_subcommand is None:
        _list(invocation)
    elif invocation.home_option or invocation.as_json:
        raise click.UsageError(f"write options after `{context.invoked_subcommand}`, not before it")


@trust.command(
    "list",
    cls=Command,
    examples=(("List what waits", "memory trust list"), ("Print it as JSON", "memory trust list --json")),
)
@options
def list_(invocation: Invocation) -> None:
    """List settings and approvals that wait, and trusted keys."""
    _list(invocation)


def _list(invocation: Invocation) -> None:
    from agent_home.pulling.trust import trust_of

    found = trust_of(invocation.home)
    invocation.show(_as_dict(found), _lines(found))


@trust.command(
    "accept",
    cls=Command,
    examples=(
        ("Agree to every setting that waits", "memory trust accept"),
        ("Agree to one of them", "memory trust accept distill.endpoint"),
        ("Let the listed approvals of others count", "memory trust accept --approvals"),
        ("Agree in a script to exactly what was listed", "memory trust accept --digest 0f3c... --as Grace"),
    ),
)
@click.argument("keys", metavar="[SETTING...]", nargs=-1)
@click.option("--approvals", is_flag=True, help="Agree to the approvals of others instead of settings.")
@click.option("--digest", default="", help="Digest that `memory trust list` prints. Required without a terminal.")
@click.option("--dry-run", is_flag=True, help="Print what would take effect, and change nothing.")
@person_option
@options
def accept(
    invocation: Invocation, keys: tuple[str, ...], person: str, digest: str, *, approvals: bool, dry_run: bool
) -> None:
    """Let settings or approvals that wait take effect.

    The consent is for the very values that `memory trust list` shows, on this machine alone. A value that changes
    afterwards waits again.
    """
    from agent_home.pulling import trust as store

    home = invocation.home
    found = store.trust_of(home)
    if approvals and keys:
        raise click.UsageError("name settings, or give --approvals, not both")
    expected = found.approvals_digest if approvals else found.settings_digest
    if digest and digest != expected:
        raise click.UsageError(
            f"what waits now has the digest {expected or '(nothing waits)'}. Read `memory trust list` again"
        )
    unknown = [key for key in keys if key not in {item.key for item in found.settings}]
    if unknown:
        raise click.UsageError(f"{unknown[0]} does not wait. `memory trust list` names what waits")
    if not dry_run and expected:
        name = the_person(invocation, person)
        if not digest and not _at_terminal(invocation):
            raise click.UsageError("without a terminal, name what you agree to with --digest (see `memory trust list`)")
        if approvals:
            store.accept_approvals(home, person=name, now=invocation.moment)
        else:
            store.accept(home, keys, person=name, now=invocation.moment)
    chosen = [item for item in found.settings if not keys or item.key in keys] if not approvals else []
    rows = list(found.approvals) if approvals else []
    data = {
        "accepted": [] if dry_run else [item.key for item in chosen],
        "would_accept": [item.key for item in chosen] if dry_run else [],
        "approvals": [row.id for row in rows],
        "dry_run": dry_run,
    }
    done = "would take effect" if dry_run else "takes effect"
    lines = [f"{revealed(item.key)} {done}: {_shown(item.value)}" for item in chosen]
    lines += [f"{revealed(row.id)} of {revealed(row.by)} {'would count' if dry_run else 'counts'}" for row in rows]
    invocation.show(data, lines or ["nothing waits"])


@trust.command(
    "reject",
    cls=Command,
    examples=(("Keep the settings in effect, and hear no more of the others", "memory trust reject"),),
)
@person_option
@options
def reject(invocation: Invocation, person: str) -> None:
    """Refuse the settings that wait.

    What was in effect stays. Prompts do not name these values any more. Other values wait again. agent.toml itself
    stays as it is.
    """
    from agent_home.pulling import trust as store

    home = invocation.home
    found = store.trust_of(home)
    if found.settings:
        store.reject(home, person=the_person(invocation, person), now=invocation.moment)
    keys = [item.key for item in found.settings]
    invocation.show({"rejected": keys}, [f"{revealed(key)} stays out of effect" for key in keys] or ["nothing waits"])


@trust.group("key", cls=Group, examples=(("List trusted keys", "memory trust key list"),))
def key() -> None:
    """Manage the keys whose signed commits count.

    An approval counts here if a commit that added it has a valid signature of a trusted key. Nothing in a home decides
    which keys these are.
    """


@key.command("list", cls=Command, examples=(("List trusted keys", "memory trust key list --json"),))
@options
def list_keys(invocation: Invocation) -> None:
    """List the trusted keys."""
    from agent_home.pulling.trust import trust_of

    keys = trust_of(invocation.home).keys
    invocation.show({"keys": list(keys)}, [revealed(item) for item in keys] or ["no key is trusted"])


@key.command(
    "add",
    cls=Command,
    examples=(
        ("Trust an SSH key", "memory trust key add ~/.ssh/id_ed25519.pub"),
        ("Trust a GPG key by its fingerprint", "memory trust key add 0123456789ABCDEF0123456789ABCDEF01234567"),
    ),
)
@click.argument("public_key", metavar="KEY")
@person_option
@options
def add_key(invocation: Invocation, public_key: str, person: str) -> None:
    """Add a trusted key.

    KEY is the file of a public SSH key, the key itself, or the fingerprint of a GPG key in 40 or 64 digits.
    """
    from agent_home.pulling import trust as store

    name = the_person(invocation, person)
    added = store.add_key(invocation.home, public_key, person=name, now=invocation.moment)
    invocation.show({"added": added}, [f"trusted: {revealed(added)}"])


@key.command("remove", cls=Command, examples=(("Trust a key no more", "memory trust key remove SHA256:0123abcd"),))
@click.argument("name", metavar="KEY")
@person_option
@options
def remove_key(invocation: Invocation, name: str, person: str) -> None:
    """Remove a trusted key. KEY is a part of the line that `memory trust key list` prints."""
    from agent_home.pulling import trust as store

    who = the_person(invocation, person)
    removed = store.remove_key(invocation.home, name, person=who, now=invocation.moment)
    invocation.show({"removed": removed}, [f"trusted no more: {revealed(removed)}"])


def _at_terminal(invocation: Invocation) -> bool:
    import sys

    return not invocation.as_json and sys.stdin.isatty() and sys.stdout.isatty()


def _as_dict(found: Trust) -> dict[str, Any]:
    return {
        "settings": [dataclasses.asdict(item) for item in found.settings],
        "settings_digest": found.settings_digest,
        "refused": found.refused,
        "approvals": [{"id": row.id, "kind": row.kind, "by": row.by, "ts": row.ts} for row in found.approvals],
        "approvals_digest": found.approvals_digest,
        "keys": list(found.keys),
    }


def _lines(found: Trust) -> Iterator[str]:
    for item in found.settings:
        yield f"{revealed(item.key)}: {_shown(item.value)}"
        yield f"    {revealed(item.why)}. In effect: {_shown(item.kept)}"
    if found.settings:
        refused = " You refused it" if found.refused else " Agree with `memory trust accept`"
        yield f"settings digest {found.settings_digest}.{refused}"
    for row in found.approvals:
        yield f"approval {revealed(row.id)} by {revealed(row.by)} on {revealed(row.ts[:10])} does not count here"
    if found.approvals:
        yield f"approvals digest {found.approvals_digest}. Agree with `memory trust accept --approvals`"
    for name in found.keys:
        yield f"trusted key {revealed(name)}"
    if not (found.settings or found.approvals):
        yield "nothing waits"


def _shown(value: Any) -> str:
    text = "not set" if value is None else revealed(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"
