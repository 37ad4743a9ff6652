"""Run the nightly maintenance of one home with its models, and bring its index up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from .indexing import index_changes
from .models import home_models

if TYPE_CHECKING:
    from agent_home.home import Home
    from distill.nightly import NightlyRun

__all__ = ["maintain"]


def maintain(
    home: Home,
    *,
    now: datetime,
    environ: Mapping[str, str],
    warn: Callable[[str], None],
    apply: bool = True,
    progress: Callable[[str, int, int], None] = lambda _step, _done, _total: None,
) -> tuple[NightlyRun, list[str]]:
    """Run the maintenance, and return what it did and what was degraded. *warn* gets lines about the models.

    Raises:
        HomeError: see :func:`distill.nightly.distill_home`.
    """
    from distill.nightly import distill_home

    night = distill_home(home, now=now, models=home_models(home, environ, warn), apply=apply, progress=progress)
    return night, index_changes(home, warn) if apply and night.commits else []
