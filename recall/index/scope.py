"""The part of the index that a search may find."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Scope"]


@dataclass(frozen=True, slots=True)
class Scope:
    """A restriction of a search: *layers* by code, *files* as a JSON list of ids. ``None`` means all."""

    layers: tuple[int, ...] | None = None
    files: str | None = None
