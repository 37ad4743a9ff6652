"""Read YAML or JSON documents of other systems, without running anything that they name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import HomeError

__all__ = ["MOST_BYTES", "ManifestUnreadable", "yaml_documents"]

#: Largest text that is read. Kubernetes keeps no object above 1.5 MB.
MOST_BYTES = 2 << 20
#: Levels of lists and mappings. The library in C ends the process when there are too many.
_MOST_LEVELS = 64
_MOST_EVENTS = 200_000
#: References to other parts, and keys that merge such parts. Ten that merge ten each multiply.
_MOST_ALIASES = 16


class ManifestUnreadable(HomeError):
    """A YAML or JSON document is not what a command reads."""


def yaml_documents(text: str, name: str) -> list[dict[str, Any]]:
    """Return the mappings in *text*, which was read from the file *name*. Those of a Kubernetes list come one by one.

    Raises:
        ManifestUnreadable: *text* is too large, no YAML, or holds no mapping.
    """
    import yaml

    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise ManifestUnreadable(f"{name} is larger than {MOST_BYTES >> 20} MB. Name a file with one object")
    loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _require_shallow(yaml.parse(text, loader), name)
        found = list(yaml.load_all(text, loader))
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise ManifestUnreadable(f"{name} is no YAML: {said[:200]}. Correct it") from error
    rows = [row for row in found if isinstance(row, dict)]
    items = [item for row in rows if isinstance(row.get("items"), list) for item in row["items"]]
    mappings = [row for row in [*rows, *items] if isinstance(row, dict)]
    if not mappings:
        raise ManifestUnreadable(f"{name} holds no YAML mapping")
    return mappings


def _require_shallow(events: Iterable[Any], name: str) -> None:
    """Refuse a document that is nested too deeply, or takes too long.

    Raises:
        ManifestUnreadable: it does.
    """
    level = aliases = 0
    for count, event in enumerate(events):
        kind = type(event).__name__
        if kind == "AliasEvent" or getattr(event, "value", "") == "<<":
            aliases += 1
        level += kind in {"MappingStartEvent", "SequenceStartEvent"}
        level -= kind in {"MappingEndEvent", "SequenceEndEvent"}
        if level > _MOST_LEVELS or count > _MOST_EVENTS or aliases > _MOST_ALIASES:
            raise ManifestUnreadable(
                f"{name} is no YAML that is read here: too deep, too many values or too many aliases"
            )
