"""``memory search``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from agent_home.audience import Audience

from ..frame import Frame, home_command

if TYPE_CHECKING:
    from recall.search.hybrid import Duplicates, Hit, Mode, SearchResult

__all__ = ["layer_names", "search"]

#: The same as ``recall.search.hybrid``'s, written out so that ``--help`` loads no SQLite; a test compares them.
MODES = ("hybrid", "lexical", "vector")
DUPLICATES = ("show", "collapse")
MAX_HITS = 1000
_WIDTH = 96


def layer_names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """``--in memory,sessions`` as names; ``None`` means all layers."""
    if value is None:
        return None
    from recall.index.passage import LAYERS

    names = tuple(name.strip() for name in value.split(",") if name.strip())
    unknown = [name for name in names if name not in LAYERS]
    if unknown or not names:
        raise click.BadParameter(f"{value!r} names {unknown or 'no layer'}; known are {','.join(LAYERS)}")
    return names


@home_command("search")
@click.argument("query")
@click.option("-k", "wanted", default=10, type=click.IntRange(0, MAX_HITS), metavar="N", help="How many hits.")
@click.option(
    "--in", "layers", callback=layer_names, metavar="LAYER,...", help="Only these: memory,sessions,daily, ..."
)
@click.option("--mode", default="hybrid", type=click.Choice(MODES), help="Words, vectors, or both.")
@click.option(
    "--audience", default="owner", type=click.Choice([str(name) for name in Audience]), help="Who will see the hits."
)
@click.option(
    "--duplicates",
    default="collapse",
    type=click.Choice(DUPLICATES),
    help="Name passages that say the same beside the one that stands for them, or show each as a hit.",
)
@click.option("--explain", is_flag=True, help="Print the score of each part, and the milliseconds of each retriever.")
def search(
    frame: Frame,
    query: str,
    wanted: int,
    layers: tuple[str, ...] | None,
    mode: Mode,
    audience: str,
    duplicates: Duplicates,
    explain: bool,
) -> None:
    """Find the passages that answer QUERY, with their addresses.

    An entry that another one supersedes follows just below it; archived passages stand below living ones.
    Changed files are noticed first. What could not be searched is said on standard error, and in "degraded".
    """
    from recall.index.sync import ensure_fresh
    from recall.search.hybrid import search as find
    from recall.settings import RecallSettings

    from .sync import opened_embedder

    home = frame.home
    settings = home.manifest.settings("recall", RecallSettings)
    embedder = None if mode == "lexical" else opened_embedder(home, frame, build_missing=False)
    fresh = ensure_fresh(home, settings, embedder)
    result = find(
        home, query, settings=settings, embedder=embedder, k=wanted, layers=layers, mode=mode, audience=audience,
        now=frame.moment, duplicates=duplicates,
    )  # fmt: skip
    degraded = list(dict.fromkeys((*fresh.degraded, *result.degraded)))
    for problem in degraded:
        frame.warn(problem)
    data = {
        "hits": [_hit(hit) for hit in result.hits],
        "degraded": degraded,
        "ms": round(result.ms, 3),
        "legs": {name: round(ms, 3) for name, ms in result.retriever_ms.items()},
    }
    frame.show(data, _lines(result, explain=explain))


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "source": hit.source,
        "score": round(hit.score, 6),
        "text": hit.text,
        "layer": hit.layer,
        "ts": hit.ts,
        "path": hit.path,
        "session": hit.session,
        "name": hit.name,
        "heading": hit.heading,
        "parts": {name: round(score, 6) for name, score in hit.parts.items()},
        "also": list(hit.also),
    }


def _lines(result: SearchResult, *, explain: bool) -> Iterator[str]:
    for hit in result.hits:
        who = f" {hit.name}:" if hit.name else ""
        text = " ".join(hit.text.split())
        yield f"{hit.score:6.3f}  {hit.source}  {hit.ts}".rstrip()
        yield f"        {who} {text if len(text) <= _WIDTH else text[: _WIDTH - 1] + '…'}"
        if hit.also:
            yield f"         the same: {', '.join(hit.also)}"
        if explain:
            yield "         " + "  ".join(f"{name} {score:.3f}" for name, score in hit.parts.items())
    if not result.hits:
        yield "nothing found"
    if explain:
        yield f"{result.ms:.1f} ms: " + ", ".join(f"{name} {ms:.1f}" for name, ms in result.retriever_ms.items())
