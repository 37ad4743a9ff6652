"""The result of screening a file that is read: its text as it may be used, and what the guard found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .personal_text import LocatedFinding

__all__ = ["ScreenedText"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenedText:
    """A file's text as it may be shown or indexed, the findings, and the keys of the parts that are clean."""

    text: str
    findings: tuple[LocatedFinding, ...] = ()
    clean: tuple[str, ...] = ()
