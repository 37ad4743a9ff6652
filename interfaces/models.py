"""Own how the models that a home's settings name are opened."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .indexing import home_embedder

if TYPE_CHECKING:
    from agent_home.home import Home
    from distill.summary.composition import Models

__all__ = ["home_models"]


def home_models(home: Home, environ: Mapping[str, str], warn: Callable[[str], None]) -> Models:
    """Return the embedding model, loaded on first use, and the endpoint of ``[distill.endpoint]``, if any.

    The endpoint's key is the value of its variable in *environ*. If that is not set, no key is sent, and the endpoint
    may refuse. A command line comes from *environ* too, because ``agent.toml`` may come from another machine.
    """
    from distill.language_model.endpoint import Endpoint
    from distill.settings import DistillSettings
    from distill.summary.composition import Models

    endpoint = home.manifest.settings("distill", DistillSettings).endpoint
    if any(item.key == "distill.endpoint" for item in home.manifest.waiting) and not home.manifest.refused:
        warn("[distill.endpoint] is not in effect until a person here agrees. `memory trust` shows it")
    key = environ.get(endpoint.key_env, "") if endpoint and endpoint.key_env else ""
    command = environ.get(endpoint.command_env, "") if endpoint and endpoint.kind == "command" else ""
    return Models(
        embedder=functools.cache(lambda: home_embedder(home, warn, build_missing=False)),
        endpoint=Endpoint(settings=endpoint, key=key.strip(), command=command) if endpoint else None,
    )
