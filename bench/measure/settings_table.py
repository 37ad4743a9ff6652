"""Describe every setting of ``agent.toml`` in one table, from the settings dataclasses and their docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Mapping
from typing import Any

from agent_home.settings import OwnerSettings, setting_fields
from assembler.settings import AssemblerSettings
from distill.language_model.endpoint import EndpointSettings
from distill.settings import DistillSettings
from guard.settings import GuardSettings
from interfaces.service.settings import ServeSettings
from recall.embedding.model import EmbeddingSettings
from recall.settings import RecallSettings

__all__ = ["SETTINGS", "settings_rows"]

#: Tables of ``agent.toml`` and the classes of their settings.
SETTINGS: Mapping[str, type] = {
    "assembler": AssemblerSettings,
    "embedding": EmbeddingSettings,
    "recall": RecallSettings,
    "distill": DistillSettings,
    "distill.endpoint": EndpointSettings,
    "guard": GuardSettings,
    "serve": ServeSettings,
    "owner": OwnerSettings,
}
_ATTRIBUTES = re.compile(r"^Attributes:\n(?P<text>(?:    .*\n?|\n)+)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<meaning>.*(?:\n     .*)*)", re.MULTILINE)
_ROLE = re.compile(r":\w+:`([^`]+)`")


def settings_rows(tables: Mapping[str, type]) -> list[list[str]]:
    """Return one row for each setting: key, default and meaning.

    Raises:
        KeyError: the docstring of a class has no line under ``Attributes:`` for a setting.
    """
    return [
        [f"`{table}.{field.name}`", _default(field), meanings[field.name]]
        for table, kind in tables.items()
        for meanings in [_meanings(kind)]
        for field in setting_fields(kind)
        if f"{table}.{field.name}" not in tables
    ]


def _meanings(kind: type) -> dict[str, str]:
    """Return the meaning of each attribute that the docstring of *kind* lists, as one line of Markdown."""
    found = _ATTRIBUTES.search(inspect.getdoc(kind) or "")
    return {
        name: _markdown(match["meaning"])
        for match in _ATTRIBUTE.finditer(found["text"] if found else "")
        for name in match["names"].split(", ")
    }


def _markdown(text: str) -> str:
    line = " ".join(_ROLE.sub(r"`\1`", text).replace("``", "`").replace("|", "&#124;").split())
    return line[:1].upper() + line[1:]


def _default(field: dataclasses.Field[Any]) -> str:
    """Return the default of *field* as TOML would write it."""
    value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    if value is dataclasses.MISSING:
        return "required"
    return f"`{json.dumps(sorted(value) if isinstance(value, frozenset) else value)}`"
