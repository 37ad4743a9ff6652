"""Read persona files: the name of an agent, whether it has memory, and the statements that its memory begins with.

    personas:
      - name: sre-watchdog
        memory:
          enabled: true
          seeds:
            - "Track repeated pod restarts for trend analysis"

The list may stand below ``spec``, as in a PersonaPack, or the file may be one persona.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .yaml_documents import ManifestUnreadable, yaml_documents

__all__ = ["Persona", "read_persona"]

#: Characters of a name.
_MOST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """An agent as a persona file describes it. *seeds* are in the file's order."""

    name: str
    enabled: bool = True
    seeds: tuple[str, ...] = ()


def read_persona(text: str, *, file: str, name: str = "") -> Persona:
    """Return the persona called *name* in the *text* of *file*, or without *name* the only one.

    Raises:
        ManifestUnreadable: there is no such persona, there are several, or one is not as described.
    """
    personas = {persona.name: persona for persona in _personas(text, file)}
    if name:
        if name not in personas:
            raise ManifestUnreadable(f"{file} has no persona {name!r}. It has {', '.join(personas) or 'none'}")
        return personas[name]
    if len(personas) != 1:
        known = f"the personas {', '.join(personas)}. Choose one" if personas else "no persona with a name"
        raise ManifestUnreadable(f"{file} has {known}")
    return next(iter(personas.values()))


def _personas(text: str, file: str) -> Iterator[Persona]:
    for document in yaml_documents(text, file):
        spec = document.get("spec")
        for place in (document, spec if isinstance(spec, Mapping) else {}):
            listed = place.get("personas")
            if isinstance(listed, list):
                yield from (_persona(row, file) for row in listed if isinstance(row, Mapping) and row.get("name"))
            elif listed is None and "memory" in place and _named(document, place):
                yield _persona({**place, "name": _named(document, place)}, file)


def _named(document: Mapping[str, Any], place: Mapping[str, Any]) -> str:
    """Return the name of a persona that is the whole file, which may stand in its metadata."""
    metadata = document.get("metadata")
    return str(place.get("name") or (metadata.get("name") if isinstance(metadata, Mapping) else "") or "")


def _persona(row: Mapping[str, Any], file: str) -> Persona:
    name, memory = str(row["name"]), row.get("memory")
    if not name.isprintable() or len(name) > _MOST_NAME:
        raise ManifestUnreadable(f"{file}: {name[:40]!r} is no name. Write 1 to {_MOST_NAME} characters on one line")
    if memory is None:
        return Persona(name=name, enabled=False)
    if not isinstance(memory, Mapping):
        raise ManifestUnreadable(f"{file}: memory of {name} is no mapping. Write `enabled` and `seeds` below it")
    enabled, seeds = memory.get("enabled", True), memory.get("seeds") or []
    if not isinstance(enabled, bool):
        raise ManifestUnreadable(f"{file}: memory.enabled of {name} is {enabled!r}. Write true or false")
    if not isinstance(seeds, list) or not all(isinstance(seed, str | int | float) for seed in seeds):
        raise ManifestUnreadable(f"{file}: memory.seeds of {name} is no list of texts")
    return Persona(name=name, enabled=enabled, seeds=tuple(str(seed) for seed in seeds if str(seed).strip()))
