"""Two conversations for the demo, and the repository that one of them works on.

The transcripts stand here as templates: dates, paths, a commit and two planted secrets are filled in when the demo
runs, so that "yesterday" is yesterday and no secret lies in the source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from .repository import make_repository

__all__ = ["CODING_SESSION", "FORECAST_REVIEW", "dates", "load", "make_repository", "planted"]

FORECAST_REVIEW = "forecast-review.jsonl"  # neutral chat lines, Chinese and English
CODING_SESSION = "coding-session.jsonl"  # a coding assistant's own format
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def load(name: str, values: Mapping[str, str]) -> list[str]:
    """Return the lines of transcript *name*, without newlines, with each ``{{key}}`` replaced by ``values[key]``.

    Values may hold any text. They are escaped for JSON.

    Raises:
        KeyError: the transcript has a placeholder that *values* does not fill.
    """
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [_PLACEHOLDER.sub(lambda match: _escaped(values[match[1]]), line) for line in text.splitlines()]


def dates(now: datetime) -> dict[str, str]:
    """Return ``yesterday``, and a ``deadline`` in six days, as ISO dates seen from *now*."""
    return {"yesterday": f"{now - timedelta(days=1):%Y-%m-%d}", "deadline": f"{now + timedelta(days=6):%Y-%m-%d}"}


def planted() -> dict[str, str]:
    """Return the ``api_key`` and ``phone`` that must not survive.

    They are assembled here, so that no scanner takes this file for a leak.
    """
    return {"api_key": "AKIA" + "Q3EGRT5L" + "WX2NPK7D", "phone": "138" + "0013" + "8000"}


def _escaped(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]
