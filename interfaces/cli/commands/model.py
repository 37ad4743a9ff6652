"""``memory model`` and ``memory model build``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..frame import FINDINGS, Frame, options

if TYPE_CHECKING:
    from recall.embedding.model import EmbeddingSettings, ModelLocation

__all__ = ["model"]


@click.group("model", invoke_without_command=True)
@click.option(
    "--verify", is_flag=True, help="Hash every file and run the model, instead of looking at sizes and times."
)
@options
@click.pass_context
def model(context: click.Context, frame: Frame, verify: bool) -> None:
    """Show which embedding model is in use, and where it is.

    Exit code 1 when there is none, or it is damaged: the search then goes by words alone.
    """
    if context.invoked_subcommand is not None:
        if frame.home_option or frame.as_json or verify:
            raise click.UsageError(f"options were given to `model`; write them after `{context.invoked_subcommand}`")
        return
    from recall.embedding.model import locate

    settings = _settings(frame)
    _show(context, frame, settings, locate(settings), verify=verify)


@model.command("build")
@click.option("--verify", is_flag=True, help="Run the model afterwards and see that it understands.")
@options
@click.pass_context
def build_(context: click.Context, frame: Frame, verify: bool) -> None:
    """Put the model in the cache: written from the installed weights, or downloaded where the settings allow it.

    Does nothing when it is there and whole; a damaged one is written anew.
    """
    from recall.embedding.model import build

    settings = _settings(frame)
    _show(context, frame, settings, build(settings, progress=frame.warn), verify=verify)


def _settings(frame: Frame) -> EmbeddingSettings:
    """The settings of the home, if there is one: the model can be built before the first home is made."""
    from agent_home.errors import NoHome
    from recall.embedding.model import EmbeddingSettings

    try:
        return frame.home.manifest.settings("embedding", EmbeddingSettings)
    except NoHome:
        if frame.home_option or os.environ.get("AGENT_HOME"):
            raise
        return EmbeddingSettings()


def _show(
    context: click.Context, frame: Frame, settings: EmbeddingSettings, location: ModelLocation, *, verify: bool
) -> None:
    """Print *location*, with what a verification found, and set the exit code."""
    from recall.embedding.model import digest

    problems = _problems(settings, location) if verify else []
    data: dict[str, Any] = {
        "name": location.name,
        "origin": location.origin,
        "folder": str(location.folder) if location.folder else None,
        "dimension": location.dimension,
        "ready": location.ready and not problems,
        "sha256": digest(location),
        "recipe": location.recipe,
        "detail": location.detail,
    }
    lines = [f"{key:<10}{value}" for key, value in data.items() if value not in {None, ""}]
    if verify:
        data["problems"] = problems
        lines += problems or ["verified"]
    frame.show(data, lines)
    context.exit(FINDINGS if problems or (settings.enabled and not location.ready) else 0)


def _problems(settings: EmbeddingSettings, location: ModelLocation) -> list[str]:
    from recall.embedding.embedder import NoEmbedder, distinguishes_meaning, open_embedder
    from recall.embedding.model import verify

    problems = verify(location)
    if problems:
        return problems
    embedder = open_embedder(settings, build_missing=False)
    if isinstance(embedder, NoEmbedder):
        return [embedder.reason]
    return [] if distinguishes_meaning(embedder) else [f"{location.name} runs, but cannot tell a dog from a tax office"]
