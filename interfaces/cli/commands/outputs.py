"""Define the commands for outputs of tools: ``memory log``, ``fetch``, ``list``, ``refs``, ``stats`` and ``prune``."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from agent_home.errors import HomeError
from agent_home.storage import open_file
from agent_home.visible import revealed

from ...answers import content_answer, output_answer, output_stats_answer, pruned_answer
from ...counts import counted
from ..columns import cells, fitted, wrapped
from ..completion import outputs as completed_outputs
from ..invocation import Invocation, home_command
from ..progress import ProgressMeter
from ..render import line_width
from ..surroundings import surroundings

if TYPE_CHECKING:
    from agent_home.outputs.entry import StoredOutput

__all__ = ["fetch", "list_", "log", "prune", "refs", "stats"]

#: Copied from ``agent_home.outputs.entry``, so that ``--help`` stays quick. A test compares them.
TYPES = ("transcript", "output", "summary", "context", "chunk")
_READ_BYTES = 1 << 20
_TYPE = click.Choice(TYPES)
_DETAILS = click.option("--details", is_flag=True, help="Also print when and where each was made, and its summary.")


@home_command(
    "log",
    examples=(
        ("Store what a pipe brings, such as pytest 2>&1", "memory log --stdin --tag pytest --tool pytest"),
        ("Store a file for a folder of the project", "memory log --file build.log --directory ./pipeline --tag build"),
        ("Store a line", 'memory log "Test results: all 42 tests passed"'),
    ),
)
@click.argument("text", required=False, metavar="[TEXT]")
@click.option("--file", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Store this file.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Store what comes on standard input.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Word by which it is listed. May be repeated.")
@click.option("--type", "kind", type=_TYPE, default="output", show_default=True, help="What it is.")
@click.option("--checkpoint", default="", metavar="ID", help="Checkpoint that it belongs to.")
@click.option("--directory", default="", metavar="DIR", help="Folder that it is about.")
@click.option("--tool", default="", metavar="NAME", help="Tool that printed it.")
@click.option("--command", default="", metavar="LINE", help="How the tool was called.")
@click.option("--exit-code", type=int, help="How the tool ended.")
@click.option("--session", default="", metavar="NAME", help="Session in which it was made.")
def log(
    invocation: Invocation,
    text: str | None,
    file: Path | None,
    from_stdin: bool,
    kind: Any,
    directory: str,
    **labels: Any,
) -> None:
    """Store what a tool printed, and print its id.

    Fewer than 500 tokens are stored as they are. Up to 4 000 are a compressed file with a summary, and more are split
    into chunks at the ends of lines. Secrets and personal data are replaced before anything is written. Everything else
    comes back byte for byte with `memory fetch`. `memory search --in outputs` searches it.
    """
    from ...api import AgentHome

    if (text is not None) + (file is not None) + from_stdin != 1:
        raise click.UsageError("name one of TEXT, --file and --stdin")
    agent = AgentHome(invocation.home, warn=invocation.warn)
    with _opened(text, file) as content:
        stored = agent.outputs.store(
            iter(lambda: content.read(_READ_BYTES), b""), now=invocation.moment, type=kind,
            directory=_folder(directory), progress=_progress(), **labels,
        )  # fmt: skip
    parts = f", {len(stored.chunks)} chunks" if len(stored.chunks) > 1 else ""
    size = f"{stored.length} bytes" if stored.binary else f"{stored.tokens} tokens"
    lines = [f"Stored: {stored.id} ({size}{parts})"]
    lines += [f"  guard: {stored.redacted} redacted"] if stored.redacted else []
    invocation.show(output_answer(stored), lines)


@home_command(
    "fetch",
    examples=(
        ("Print what was stored", "memory fetch mem-20260123-123456-abcd1234"),
        ("Print the summary alone", "memory fetch mem-20260123-123456-abcd1234 --summary-only"),
        ("Print the second chunk", "memory fetch mem-20260123-123456-abcd1234 --chunk 1"),
    ),
)
@click.argument("name", metavar="ID", shell_complete=completed_outputs)
@click.option("--summary-only", is_flag=True, help="Print the summary instead of the content.")
@click.option("--chunk", "number", type=int, metavar="N", help="Print this chunk alone. The first is 0.")
@click.option("--raw", is_flag=True, help="Print the bytes on a terminal, too, which may obey them.")
def fetch(invocation: Invocation, name: str, summary_only: bool, number: int | None, raw: bool) -> None:
    """Print an output, its summary or a part of it.

    The content is checked against the digest of what was stored. The beginning or the last digits of an ID are enough.
    A terminal gets it without colours, and with what else it would obey as text. A pipe gets the bytes. For an hour,
    --summary-only also shows what another machine of the home stored, if both use the same Redis server and key.
    """
    from ...api import AgentHome
    from ...api.outputs import OutputElsewhere

    if number is None and "#" in name:  # as a hit of a search names it
        name, _, digits = name.partition("#")
        number = int(digits) if digits.isdecimal() else None
    if summary_only and number is not None:
        raise click.UsageError("name --summary-only or --chunk, not both")
    agent = AgentHome(invocation.home, warn=invocation.warn)
    try:
        found = agent.outputs.get(name)
    except OutputElsewhere as error:
        if not summary_only:
            raise
        invocation.warn(f"{error.pointer.id} lies on another machine that serves this home")
        invocation.show_text(asdict(error.pointer), error.pointer.summary)
        return
    if summary_only:
        invocation.show_text(output_answer(found), found.summary)
        return
    try:
        parts = agent.outputs.fetch(found.id, chunk=number)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--chunk") from error
    if invocation.as_json:
        invocation.show({**output_answer(found), **content_answer(b"".join(parts))}, [])
        return
    shown = _on_terminal if sys.stdout.isatty() and not raw else bytes
    for part in parts:
        sys.stdout.buffer.write(shown(part))
    sys.stdout.buffer.flush()


def _on_terminal(data: bytes) -> bytes:
    """Return *data* as text that a terminal shows and does not obey, without colours."""
    from agent_home.visible import visible
    from guard.text.terminal_codes import without_terminal_codes

    text = data.decode("utf-8", "replace")
    *_, plain = [text, *(variant.text for variant in without_terminal_codes(text))]
    return visible(plain).encode("utf-8", "replace")


@home_command(
    "list",
    examples=(
        ("List the newest outputs", "memory list --limit 10"),
        ("List test runs of a folder", "memory list --tag pytest --directory ./tests"),
    ),
)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most outputs.")
@click.option("--type", "type", type=_TYPE, default=None, help="Only outputs of this type.")
@click.option("--tag", default="", metavar="TAG", help="Only outputs with this tag.")
@click.option("--directory", default="", metavar="DIR", help="Only outputs about this folder and what is below it.")
@click.option("--session", default="", metavar="NAME", help="Only outputs of this session.")
@click.option("--tool", default="", metavar="NAME", help="Only outputs of this tool.")
@_DETAILS
def list_(invocation: Invocation, limit: int, details: bool, **wanted: Any) -> None:
    """List stored outputs, newest first.

    Records that are damaged are counted on standard error.
    """
    _show_list(invocation, wanted, limit, details=details)


@home_command(
    "refs",
    examples=(
        ("References of a checkpoint", "memory refs --checkpoint ckpt-20260123-123456"),
        ("References of a folder", "memory refs --directory ./pipeline"),
    ),
)
@click.option("--checkpoint", default="", metavar="ID", help="Outputs of this checkpoint.")
@click.option("--directory", default="", metavar="DIR", help="Outputs about this folder and what is below it.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Most references.")
@_DETAILS
def refs(invocation: Invocation, checkpoint: str, directory: str, limit: int, details: bool) -> None:
    """List the outputs of a checkpoint or of a folder.

    Those of a checkpoint are the ones that it refers to, and those that were stored for it. ckpt-latest is the newest
    checkpoint. The newest come first, each with its summary's first line and its tokens.
    """
    if bool(checkpoint) == bool(directory):
        raise click.UsageError("name --checkpoint ID or --directory DIR")
    if not checkpoint:
        _show_list(invocation, {"directory": directory}, limit, details=details)
        return
    from agent_home.checkpoints.referring import outputs_of_checkpoint

    damaged: list[HomeError] = []
    found = outputs_of_checkpoint(invocation.home, checkpoint, limit=limit, on_damaged=damaged.append)
    _show_outputs(invocation, list(found), damaged, details=details)


@home_command("stats", examples=(("Count outputs and what they take", "memory stats"),))
def stats(invocation: Invocation) -> None:
    """Count stored outputs.

    Types, tools and tags are counted apart, and so is what they take on the disk.
    """
    from agent_home.outputs.reading import output_stats

    found = output_stats(invocation.home)
    _warn_of_damaged(invocation, found.damaged)
    invocation.show(output_stats_answer(found), _stats_lines(output_stats_answer(found)))


@home_command(
    "prune",
    examples=(
        ("Show what a week would leave", "memory prune --keep-days 7 --keep-entries 500"),
        ("Drop it", "memory prune --keep-days 7 --keep-entries 500 --apply"),
    ),
)
@click.option(
    "--keep-days", type=click.IntRange(0, 36_500), default=30, show_default=True, help="Keep outputs of these days."
)
@click.option("--keep-entries", type=click.IntRange(0), metavar="N", help="Keep at most the newest N outputs.")
@click.option("--apply", is_flag=True, help="Drop them. Without it, nothing is changed.")
def prune(invocation: Invocation, keep_days: int, keep_entries: int | None, apply: bool) -> None:
    """Drop old outputs.

    One that a Markdown file of the home, a STATUS.md that `memory status update` wrote, or one of the three newest
    checkpoints names is kept, and so are these checkpoints. Without --apply, nothing is changed.
    """
    from agent_home.checkpoints.pruning import prune as prune_home

    done = prune_home(
        invocation.home, now=invocation.moment, keep_days=keep_days, keep_entries=keep_entries, apply=apply
    )
    if apply and done.ids:
        from agent_home.events.recording import record_event
        from recall.hot_state.output_pointers import drop_pointers

        drop_pointers(invocation.home, done.ids)
        record_event(invocation.home, "prune", now=invocation.moment, outputs=len(done.ids), ids=list(done.ids[:50]))
    verb = "dropped" if apply else "would drop"
    lines = [f"{verb} {len(done.ids)} outputs, {_megabytes(done.bytes)}"]
    lines += [f"  {done.referenced} more are old, and a file refers to them"] if done.referenced else []
    lines += ["  --apply drops them"] if done.ids and not apply else []
    invocation.show(pruned_answer(done), lines)


def _opened(text: str | None, file: Path | None) -> BinaryIO:
    if text is not None:
        return io.BytesIO(text.encode("utf-8", "surrogateescape"))
    return open_file(file) if file is not None else sys.stdin.buffer


def _folder(name: str) -> str:
    """Return the folder *name* as an absolute path, from the working folder of this call."""
    return str((surroundings().folder / name).resolve()) if name else ""


def _progress() -> Callable[[int], None]:
    """Return what says on a terminal how much was stored."""
    meter = ProgressMeter()
    return lambda count: meter("megabytes stored", count // 1_000_000)


def _show_list(invocation: Invocation, wanted: Mapping[str, Any], limit: int, *, details: bool) -> None:
    from agent_home.outputs.reading import OutputFilter, outputs

    given = {name: value or "" for name, value in wanted.items()}
    given["directory"] = _folder(given.get("directory", ""))
    damaged: list[HomeError] = []
    listed = outputs(invocation.home, OutputFilter(**given), limit=limit, on_damaged=damaged.append)
    _show_outputs(invocation, list(listed), damaged, details=details)


def _show_outputs(
    invocation: Invocation, found: Sequence[StoredOutput], damaged: Sequence[HomeError], *, details: bool
) -> None:
    _warn_of_damaged(invocation, len(damaged))
    width = line_width()
    lines = [line for output in found for line in (_line(output, width), *(_more(output, width) if details else ()))]
    data = {"outputs": [output_answer(output) for output in found], "damaged": len(damaged)}
    invocation.show(data, lines or ["no output fits"])


def _warn_of_damaged(invocation: Invocation, count: int) -> None:
    if count:
        invocation.warn(f"{counted(count, 'record is', 'records are')} damaged: memory doctor")


def _line(output: StoredOutput, width: int) -> str:
    label = " ".join(filter(None, (output.tool or ",".join(output.tags), output.headline)))
    author = f"by {output.author}, " if output.author else ""
    size = f" ({output.tokens} tokens)"
    return f"{output.id}: {fitted(author + label, max(width - cells(output.id) - 2 - cells(size), 8))}{size}"


def _more(output: StoredOutput, width: int) -> Iterator[str]:
    """Yield what a line of a list has no room for."""
    ended = "" if output.exit_code is None else f", exit code {output.exit_code}"
    for name, value in (
        ("made", f"{output.ts[:19]}, {output.type}{ended}"),
        ("session", output.session),
        ("tags", ", ".join(output.tags)),
        ("folder", output.directory),
        ("command", output.command),
        ("summary", output.summary),
    ):
        for number, line in enumerate(wrapped(revealed(value).expandtabs(), width - 11) if value else ()):
            yield f"  {name if not number else '':8} {line}"


def _stats_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['outputs']} outputs, {found['chunks']} chunks, {found['tokens']} tokens"
    yield f"{_megabytes(found['bytes'])} of content in {_megabytes(found['stored_bytes'])}"
    for name in ("types", "tools", "tags"):
        if found[name]:
            yield f"{name}: " + ", ".join(f"{word} {count}" for word, count in found[name].items())
    if found["newest"]:
        yield f"from {found['oldest']} to {found['newest']}"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count} bytes"
