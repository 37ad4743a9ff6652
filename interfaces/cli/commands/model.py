"""Define ``memory model`` and ``memory model build``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..command import Command, Group
from ..exit_codes import FINDINGS
from ..invocation import Invocation, options

if TYPE_CHECKING:
    from recall.embedding.model import EmbeddingSettings, ModelLocation

__all__ = ["model"]


@click.group(
    "model",
    cls=Group,
    invoke_without_command=True,
    examples=(
        ("Show which embedding model is in use", "memory model"),
        ("Verify its files and run it", "memory model --verify"),
        ("Build it", "memory model build"),
    ),
)
@click.option("--verify", is_flag=True, help="Hash every file and run the model, instead of comparing sizes and times.")
@options
@click.pass_context
def model(context: click.Context, invocation: Invocation, verify: bool) -> None:
    """Show which embedding model is in use, or build it.

    The exit code is 1 when the model is missing or damaged. Search then uses words alone.
    """
    if context.invoked_subcommand is not None:
        if invocation.home_option or invocation.as_json or verify:
            raise click.UsageError(f"write options after `{context.invoked_subcommand}`, not before it")
        return
    from recall.embedding.model import locate

    settings = _settings(invocation)
    _show(context, invocation, settings, locate(settings), verify=verify)


@model.command(
    "build",
    cls=Command,
    examples=(
        ("Put the model in the cache", "memory model build"),
        ("Build it and run it", "memory model build --verify"),
    ),
)
@click.option("--verify", is_flag=True, help="Run the model afterwards and check its answers.")
@options
@click.pass_context
def build_(context: click.Context, invocation: Invocation, verify: bool) -> None:
    """Build the embedding model in the cache.

    The model is written from the installed weights, or downloaded if the settings allow it. A complete model is left as
    it is. A damaged one is written again.
    """
    from recall.embedding.model import build

    settings = _settings(invocation)
    _show(context, invocation, settings, build(settings, progress=invocation.warn), verify=verify)


def _settings(invocation: Invocation) -> EmbeddingSettings:
    """Return the settings of the home, or the defaults if there is no home yet."""
    from agent_home.errors import NoHome
    from recall.embedding.model import EmbeddingSettings

    try:
        return invocation.home.manifest.settings("embedding", EmbeddingSettings)
    except NoHome:
        if invocation.home_option or os.environ.get("AGENT_HOME"):
            raise
        return EmbeddingSettings()


def _show(
    context: click.Context,
    invocation: Invocation,
    settings: EmbeddingSettings,
    location: ModelLocation,
    *,
    verify: bool,
) -> None:
    """Print *location* and the result of a verification, and set the exit code."""
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
    invocation.show(data, lines)
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
    return (
        []
        if distinguishes_meaning(embedder)
        else [f"{location.name} runs, but gives unrelated texts similar vectors. Run `memory model build`"]
    )
