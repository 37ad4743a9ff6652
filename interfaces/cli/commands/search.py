"""Define ``memory search``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from agent_home.audience import Audience
from agent_home.store.speakers import role_and_name
from agent_home.suggestions import did_you_mean, near_names
from agent_home.visible import visible, visible_address

from ...answers import search_answer
from ..columns import Span, cells, cut_inside, fitted, styled, wrapped
from ..invocation import Invocation, home_command
from ..render import line_width

if TYPE_CHECKING:
    from recall.search.hybrid import Duplicates, Hit, Mode, SearchResult, Unit

__all__ = ["layer_names", "search"]

#: Copied from ``recall.search.hybrid``, so that ``--help`` loads no SQLite. A test compares them.
MODES = ("hybrid", "lexical", "vector")
DUPLICATES = ("show", "collapse")
UNITS = ("passage", "session")
MAX_HITS = 1000
#: Columns before the text of a hit, below its score.
_INDENT = 8


def layer_names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Return the names of ``--in memory,sessions``. ``None`` means all layers."""
    if value is None:
        return None
    from recall.index.passage import LAYERS

    names = tuple(name.strip() for name in value.split(",") if name.strip())
    unknown = [name for name in names if name not in LAYERS]
    if unknown or not names:
        hint = did_you_mean(near_names(unknown[0], LAYERS)) if unknown else ""
        problem = f"no layer {unknown[0]!r}" if unknown else f"{value!r} names no layer"
        raise click.BadParameter(f"{problem}. {hint or 'The layers are ' + ', '.join(LAYERS)}")
    return names


def _hit_count(context: click.Context, _parameter: click.Parameter, value: str) -> int:
    try:
        count = int(value)
    except ValueError as error:
        raise click.UsageError(f"-k is {value!r}, which is not a whole number", context) from error
    if count < 1:
        raise click.UsageError("-k must be 1 or more", context)
    if count > MAX_HITS:
        raise click.UsageError(f"-k must be {MAX_HITS} or less", context)
    return count


@home_command(
    "search",
    examples=(
        ("Search everything", "memory search which database did we choose"),
        ("Search conversations and the daily logs", "memory search postgres --in sessions,daily"),
        ("Print the three best hits and their scores", "memory search postgres -k 3 --explain"),
        ("Find the conversations about something", "memory search postgres --by session"),
    ),
)
@click.argument("words", metavar="QUERY...", nargs=-1, required=True)
@click.option(
    "-k", "--limit", "count", default="10", callback=_hit_count, metavar="N", show_default=True, help="Number of hits."
)
@click.option(
    "--in",
    "layers",
    callback=layer_names,
    metavar="LAYER,...",
    help="Search only these layers, for example memory,sessions,daily.",
)
@click.option(
    "--mode", default="hybrid", type=click.Choice(MODES), show_default=True, help="Search by words, vectors, or both."
)
@click.option(
    "--audience", default="owner", type=click.Choice([str(name) for name in Audience]), help="Who will see the hits."
)
@click.option(
    "--duplicates",
    default="collapse",
    type=click.Choice(DUPLICATES),
    help="Collapse passages with the same text into one hit, or show each of them.",
)
@click.option(
    "--by", "unit", default="passage", type=click.Choice(UNITS), show_default=True,
    help="Rank passages, or whole sessions and files with the best passage of each.",
)  # fmt: skip
@click.option(
    "--explain", is_flag=True, help="Also print the parts of each score, and the milliseconds of each retriever."
)
@click.option("--details", is_flag=True, help="Print each passage and its address in full.")
def search(
    invocation: Invocation,
    words: tuple[str, ...],
    count: int,
    layers: tuple[str, ...] | None,
    mode: Mode,
    audience: str,
    duplicates: Duplicates,
    unit: Unit,
    explain: bool,
    details: bool,
) -> None:
    """Search memory, conversations and knowledge.

    The command prints the passages that best answer QUERY, with their sources. It indexes changed files first. Entries
    that were superseded, resolved, retracted or archived are marked. A superseded entry follows just below its newest
    successor, and archived passages rank below live ones. A part of the search that did not work is reported on
    standard error and in "degraded".
    """
    from recall.index.sync import ensure_fresh
    from recall.problems import told_once
    from recall.search.hybrid import search as find
    from recall.settings import RecallSettings

    from ...indexing import home_embedder

    query = " ".join(words)
    if not query.strip():
        raise click.UsageError("QUERY is empty")
    home = invocation.home
    settings = home.manifest.settings("recall", RecallSettings)
    embedder = None if mode == "lexical" else home_embedder(home, invocation.warn, build_missing=False)
    fresh = ensure_fresh(home, settings, embedder)
    result = find(
        home, query, settings=settings, embedder=embedder, k=count, layers=layers, mode=mode, audience=audience,
        now=invocation.moment, duplicates=duplicates, unit=unit,
    )  # fmt: skip
    degraded = list(told_once((*fresh.degraded, *result.degraded)))
    for problem in degraded:
        invocation.warn(problem)
    data = search_answer(result, degraded)
    invocation.show_spans(data, _lines(result, explain=explain, details=details))


def _lines(result: SearchResult, *, explain: bool, details: bool) -> Iterator[Sequence[Span]]:
    width = line_width() - _INDENT
    if result.without_words and result.hits:
        told = "No passage that was searched holds a word of the query. These are the nearest in meaning:"
        yield from styled(wrapped(told, width + _INDENT))
    for hit in result.hits:
        yield from _heading(hit, width, whole=details)
        who = f"{role_and_name(hit.role, hit.name)}: " if hit.layer == "sessions" else ""
        text = visible(who + (_told(hit) if details else " ".join(_told(hit).split())))
        yield from styled(wrapped(text.expandtabs(), width) if details else [fitted(text, width)], indent=_INDENT)
        if hit.also:
            told = f"the same: {', '.join(map(visible_address, hit.also))}"
            yield from styled(wrapped(told, width) if details else [fitted(told, width)], "faint", indent=_INDENT)
        if explain:
            parts = [f"{name} {score:.3f}" for name, score in hit.parts.items()]
            yield from styled(_filled(parts, width), "faint", indent=_INDENT)
    if not result.hits:
        yield [("nothing found", "plain")]
    if explain:
        told = f"{result.ms:.1f} ms: " + ", ".join(f"{name} {ms:.1f}" for name, ms in result.retriever_ms.items())
        yield from styled(wrapped(told, width + _INDENT), "faint")


def _heading(hit: Hit, width: int, *, whole: bool) -> Iterator[Sequence[Span]]:
    """Yield the score, the address, the time and the mark of a hit, in a second line where the first is full."""
    mark = f"[{hit.standing.words}]" if hit.standing and hit.standing.state != "live" else ""
    address = visible_address(hit.source)
    named = address if whole else cut_inside(address, width)
    lines = _filled([named, *filter(None, (hit.ts if whole else hit.ts[:16], mark))], width)
    yield [(f"{hit.score:6.3f}  ", "plain"), (lines[0], "strong")]
    rest = [line for more in lines[1:] for line in wrapped(more, width)]
    yield from styled(rest, "faint", indent=_INDENT)


def _filled(parts: Sequence[str], width: int) -> list[str]:
    """Return *parts* in lines, as many in each as fit, two blanks apart."""
    lines: list[str] = []
    for part in parts:
        if lines and cells(lines[-1]) + 2 + cells(part) <= width:
            lines[-1] += f"  {part}"
        else:
            lines.append(part)
    return lines


def _told(hit: Hit) -> str:
    """Return the statement of an entry, whose id and date stand in the line above, or the text of another passage."""
    from agent_home.documents.entry import parse_entry

    entry = parse_entry(hit.text + "\n") if hit.standing else None
    return entry.text if entry else hit.text
