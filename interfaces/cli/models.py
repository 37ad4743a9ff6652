"""The models that a home's settings name, as commands that write summaries hand them on."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from .commands.sync import opened_embedder

if TYPE_CHECKING:
    from agent_home.home import Home
    from distill import Models

    from .frame import Frame

__all__ = ["opened_models"]


def opened_models(home: Home, frame: Frame) -> Models:
    """The embedding model, loaded when it is first wanted, and the endpoint of ``[distill.endpoint]``, if any.

    The endpoint's key is what its variable holds; where that is not set, none is sent and the endpoint may refuse.
    """
    from distill import DistillSettings, Endpoint, Models

    wanted = home.manifest.settings("distill", DistillSettings).endpoint
    key = os.environ.get(wanted.key_env, "") if wanted and wanted.key_env else ""
    return Models(
        embedder=functools.cache(lambda: opened_embedder(home, frame, build_missing=False)),
        endpoint=Endpoint(settings=wanted, key=key.strip()) if wanted else None,
    )
