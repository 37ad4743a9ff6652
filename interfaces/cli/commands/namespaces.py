"""Define ``memory namespaces``: memory as data, for agents that have no folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from agent_home.visible import revealed

from ...answers import (
    due_run_answer,
    forgotten_answer,
    namespace_promotion_answer,
    namespace_stats_answer,
    processed_answer,
    retrieved_answer,
)
from ...counts import counted
from ..command import Command, Group
from ..exit_codes import FINDINGS
from ..invocation import Invocation, options_without_home

if TYPE_CHECKING:
    from distill.namespaces.schedule import DueRun
    from recall.namespaces.registry import NamespaceCounts
    from recall.namespaces.retrieval import RetrievedMemories

    from ...api.namespace import AgentNamespace

__all__ = ["namespaces"]

_NAME = click.argument("name", metavar="NAME")


@click.group(
    "namespaces",
    cls=Group,
    examples=(
        ("List them", "memory namespaces list"),
        ("Ask one", 'memory namespaces retrieve multi-agent-prod "Which framework do we use?"'),
        ("Do what is due, as a scheduler does every few minutes", "memory namespaces process"),
    ),
)
def namespaces() -> None:
    """Keep memory of many agents in PostgreSQL.

    A namespace is the memory of an agent that has no folder. All are in the database that AGENT_HOME_DATABASE_URL
    names, and none reads another one, unless it was shared. Programs record and ask in Python or over HTTP.
    """


@namespaces.command(
    "list",
    cls=Command,
    examples=(("List namespaces that begin with crew-", "memory namespaces list --prefix crew-"),),
)
@click.option("--prefix", default="", metavar="TEXT", help="Only names that begin so.")
@click.option("--after", default="", metavar="NAME", help="Only names behind this one, for the next page.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Most names.")
@options_without_home
def list_(invocation: Invocation, prefix: str, after: str, limit: int) -> None:
    """List namespaces by name."""
    from recall.namespaces.registry import namespace_names
    from recall.namespaces.schema import database
    from recall.servers import database_url

    with database(database_url()) as conn:
        found = namespace_names(conn, prefix=prefix, after=after, limit=limit)
    invocation.show({"namespaces": found}, found or ["no namespaces"])


@namespaces.command(
    "stats", cls=Command, examples=(("Count what one holds", "memory namespaces stats multi-agent-prod"),)
)
@_NAME
@options_without_home
def stats(invocation: Invocation, name: str) -> None:
    """Count what a namespace holds."""
    counts = _opened(name).stats(now=invocation.moment)
    invocation.show(namespace_stats_answer(counts), _stats_lines(counts))


@namespaces.command(
    "retrieve",
    cls=Command,
    examples=(
        ("Print memories with their numbers", 'memory namespaces retrieve crew-7 "Who reviews releases?"'),
        ("Print the text for a prompt", 'memory namespaces retrieve crew-7 "Who reviews releases?" --text'),
    ),
)
@_NAME
@click.argument("query", metavar="QUERY")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Most memories.")
@click.option(
    "--budget", type=click.IntRange(1), default=2000, show_default=True, metavar="TOKENS", help="Most tokens of text."
)
@click.option("--text", "as_text", is_flag=True, help="Print the text that a prompt gets.")
@options_without_home
def retrieve(invocation: Invocation, name: str, query: str, limit: int, budget: int, *, as_text: bool) -> None:
    """Print the memories that answer QUERY, with their numbers and relevance."""
    namespace = _opened(name)
    namespace.stats(now=invocation.moment)  # a mistyped name is an error here, where a person asks
    essential = min(namespace.settings.essential, limit)
    found = namespace.retrieve(
        query, now=invocation.moment, limit=limit, budget_tokens=budget, essential=essential
    )  # fmt: skip
    for reason in found.degraded:
        invocation.warn(reason)
    lines = map(revealed, found.text.splitlines()) if as_text else _memory_lines(found)
    invocation.show(retrieved_answer(found), lines)


@namespaces.command(
    "process",
    cls=Command,
    examples=(
        ("Do all that is due, in all namespaces", "memory namespaces process"),
        ("Read the new messages of one", "memory namespaces process multi-agent-prod"),
    ),
)
@click.argument("name", metavar="[NAME]", default="")
@click.option("--most", type=click.IntRange(1), default=1000, show_default=True, help="Most namespaces of one run.")
@options_without_home
@click.pass_context
def process(context: click.Context, invocation: Invocation, name: str, most: int) -> None:
    """Turn new messages into memories, and do promotions that are due.

    Without NAME it does so for all namespaces, and a scheduler calls it so every few minutes. Several processes may run
    at once: each namespace is worked on by one of them. The exit code is 1 if a namespace failed, which is named.
    """
    if name:
        done = _opened(name).process(now=invocation.moment)
        for reason in done.degraded:
            invocation.warn(reason)
        read = counted(done.messages, "message", "messages")
        told = f"{read} read: {done.added} new, {done.restated} said again, {done.superseded} superseded"
        line = f"{told}, {done.held} held back"
        lines = ["another process works on it" if done.busy else line]
        invocation.show(processed_answer(done), lines)
        return
    run = _run_due(invocation, most)
    worked = counted(run.namespaces, "namespace", "namespaces")
    read, new = counted(run.messages, "message"), counted(run.memories, "new memory", "new memories")
    line = f"{worked}: {read} read, {new}, {run.promoted} promoted"
    failed = [f"failed: {' '.join(run.failed)}"] if run.failed else []
    invocation.show(due_run_answer(run), [line, *failed, *(["more is due: run it again"] if run.left else [])])
    context.exit(FINDINGS if run.failed else 0)


@namespaces.command(
    "promote", cls=Command, examples=(("Promote one now", "memory namespaces promote multi-agent-prod"),)
)
@_NAME
@click.option("--if-due", is_flag=True, help="Only if the time of its next promotion has come.")
@options_without_home
def promote(invocation: Invocation, name: str, if_due: bool) -> None:
    """Promote memories that are important, mentioned often and recent, and merge related ones."""
    done = _opened(name).promote(if_due=if_due, now=invocation.moment)
    if done.problem:
        invocation.warn(f"the analysis failed ({done.problem}), so what was said last was promoted")
    counts = f"{len(done.promoted)} promoted, {len(done.filled)} fill the room they leave"
    line = f"{counts}, {len(done.merged)} merged, {len(done.archived)} archived, {done.expired} expired"
    state = "another process works on it" if done.busy else "not due" if not done.due else line
    invocation.show(namespace_promotion_answer(done), [state])


@namespaces.command(
    "share",
    cls=Command,
    examples=(
        ("Let the reviewers read what the crew knows", "memory namespaces share crew-7 reviewers"),
        ("Let them read it no more", "memory namespaces share crew-7 reviewers --stop"),
    ),
)
@_NAME
@click.argument("reader", metavar="READER")
@click.option("--stop", is_flag=True, help="Take the permission back.")
@options_without_home
def share(invocation: Invocation, name: str, reader: str, stop: bool) -> None:
    """Let the namespace READER read the memories of NAME.

    READER cannot share them on, and NAME does not read READER's.
    """
    namespace = _opened(name)
    if stop:
        was = namespace.stop_sharing_with(reader)
        invocation.show({"reader": reader, "stopped": was}, ["stopped" if was else "nothing was shared"])
        return
    new = namespace.share_with(reader, now=invocation.moment)
    invocation.show({"reader": reader, "new": new}, [f"{reader} reads {name}" if new else "shared already"])


@namespaces.command(
    "split", cls=Command, examples=(("Take a merged memory apart", "memory namespaces split crew-7 4711"),)
)
@_NAME
@click.argument("memory", metavar="MEMORY", type=click.IntRange(1, 2**63 - 1))
@options_without_home
def split(invocation: Invocation, name: str, memory: int) -> None:
    """Take the merged memory MEMORY apart. Its parts stay apart."""
    parts = _opened(name).split(memory)
    invocation.show({"parts": parts}, [f"parts: {', '.join(map(str, parts))}"])


@namespaces.command(
    "forget",
    cls=Command,
    examples=(
        ("Count the places of a text", "memory namespaces forget crew-7 --text 'Project Heron'"),
        ("Forget it", "memory namespaces forget crew-7 --text 'Project Heron' --apply"),
        ("Forget a text without leaving it in the shell's history", "memory namespaces forget crew-7 --text - --apply"),
        ("Delete the namespace", "memory namespaces forget crew-7 --everything --apply"),
    ),
)
@_NAME
@click.option("--text", default="", metavar="TEXT|-", help="Wherever it stands. With - from standard input.")
@click.option("--session", default="", metavar="SESSION", help="All exchanges of a session.")
@click.option("--memory", type=click.IntRange(1, 2**63 - 1), metavar="N", help="One memory.")
@click.option("--everything", is_flag=True, help="The namespace itself, with its shares.")
@click.option("--apply", "do_it", is_flag=True, help="Do it (default: only count).")
@options_without_home
@click.pass_context
def forget(
    context: click.Context,
    invocation: Invocation,
    name: str,
    text: str,
    session: str,
    memory: int | None,
    everything: bool,
    do_it: bool,
) -> None:
    """Forget a text, a session, a memory, or all of a namespace.

    A text is found in any case, spacing and Unicode form. A mark replaces it in the log, every memory from these
    exchanges goes, and what else they say is read again. Backups of the database keep what they have. Without --apply
    nothing is changed. The exit code is 1 when the text is still somewhere.
    """
    given = sys.stdin.read().strip() if text == "-" else text
    if sum(map(bool, (given, session, memory, everything))) != 1:
        raise click.UsageError("give one of --text, --session, --memory and --everything")
    namespace = _opened(name)
    if everything:
        counts = namespace.stats(now=invocation.moment)
        if do_it:
            namespace.delete()
        verb = "deleted" if do_it else "would delete"
        data = {"deleted": do_it, "messages": counts.messages, "memories": counts.memories}
        held = f"{counted(counts.messages, 'message')}, {counted(counts.memories, 'memory', 'memories')}"
        invocation.show(data, [f"{verb} {name}: {held}"])
        return
    done = namespace.forget(given, session=session, memory=memory or 0, dry_run=not do_it)
    verb = "would change" if done.dry_run else "changed"
    lines = [f"{verb} {counted(done.messages, 'message')}, {counted(done.memories, 'memory goes', 'memories go')}"]
    lines += [f"still in {done.remaining} places: run it again"] if done.remaining else []
    lines += ["  --apply does it"] if done.dry_run else []
    invocation.show(forgotten_answer(done), lines)
    context.exit(FINDINGS if done.remaining else 0)


def _opened(name: str) -> AgentNamespace:
    from ...api.namespace import open_namespace

    return open_namespace("", name)


def _run_due(invocation: Invocation, most: int) -> DueRun:
    from distill.namespaces.schedule import run_due
    from distill.namespaces.screening import NamespaceGuard
    from recall.embedding.embedder import NoEmbedder
    from recall.namespaces.settings import NamespaceSettings
    from recall.servers import database_url

    from ...api.namespace import default_embedder

    opened = default_embedder()
    if isinstance(opened, NoEmbedder):
        invocation.warn(f"without vectors: {opened.reason}")
    return run_due(
        database_url(), settings=NamespaceSettings(), embedder=None if isinstance(opened, NoEmbedder) else opened,
        guard=NamespaceGuard(), clock=invocation.clock(), most=most,
    )  # fmt: skip


def _memory_lines(found: RetrievedMemories) -> Iterator[str]:
    if not found.memories:
        yield "no memory fits"
    for memory in found.memories:
        why = f"{'essential, ' if memory.essential else ''}relevance {memory.relevance:.2f}"
        yield f"{memory.id} [{memory.category}, {memory.said:%Y-%m-%d}, {why}] {revealed(memory.summary)}"
    if found.memories:
        yield f"{counted(found.tokens, 'token')} as text"


def _stats_lines(counts: NamespaceCounts) -> Iterator[str]:
    yield f"{counted(counts.messages, 'message')}, {counts.pending} not read yet, {counts.held} held back by the guard"
    kinds = f"{counts.archived} archived, {counts.merged} merged, {counts.short_term} in short-term memory"
    yield f"{counted(counts.memories, 'memory', 'memories')} ({kinds}), {counts.superseded} superseded"
    yield f"{counts.entities} entities, {counts.relationships} relationships, {counts.without_vector} without a vector"
    if counts.reads:
        yield f"reads {', '.join(counts.reads)}"
    if counts.read_by:
        yield f"read by {', '.join(counts.read_by)}"
    if counts.promoted is not None:
        yield f"promoted at {counts.promoted:%Y-%m-%d %H:%M}"
