"""Write and read ``MEMORY.md`` as a Kubernetes ConfigMap, which a pod mounts at ``/memory/MEMORY.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..documents.document import parse
from ..documents.entry import superseded_by
from ..home import MEMORY
from .yaml_documents import ManifestUnreadable, yaml_documents

__all__ = ["MOST_CONFIGMAP_BYTES", "ConfigMapMemory", "instance_name", "read_configmap", "render_configmap"]

#: Bytes of data that a ConfigMap may hold.
MOST_CONFIGMAP_BYTES = 1 << 20
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_ENDING = "-memory"
_ITEM = re.compile(r"\s*[-*+] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMapMemory:
    """Memory of the ConfigMap *name*: *statements* in order, without those that hold no longer."""

    name: str
    statements: tuple[str, ...]


def instance_name(name: str) -> str:
    """Return *name* as Kubernetes allows it: lower case letters, digits, dots and hyphens.

    >>> instance_name("SRE Watchdog (blue)")
    'sre-watchdog-blue'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.casefold()).strip("-.")[: 253 - len(_ENDING)].rstrip("-.") or "agent"


def render_configmap(instance: str, memory: str, *, namespace: str = "") -> str:
    """Return the manifest of the ConfigMap ``INSTANCE-memory`` with the text of ``MEMORY.md``.

    Raises:
        ValueError: a name is none that Kubernetes allows.
        ManifestUnreadable: *memory* is too large for a ConfigMap.
    """
    import yaml

    name = f"{instance}{_ENDING}"
    for given in (name, namespace or "default"):
        if not _NAME.fullmatch(given):
            raise ValueError(f"{given!r} is no name for Kubernetes. Write lower case letters, digits and hyphens")
    size = len(memory.encode("utf-8", "surrogatepass")) + len(MEMORY)
    if size > MOST_CONFIGMAP_BYTES:
        raise ManifestUnreadable(
            f"MEMORY.md has {size >> 10} KB, and a ConfigMap holds {MOST_CONFIGMAP_BYTES >> 10} KB. Archive entries "
            "(memory archive --apply), or let the pod ask the service (memory serve --http)"
        )
    metadata: dict[str, Any] = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata["labels"] = {"app.kubernetes.io/managed-by": "agent-home"}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {MEMORY: _BlockText(memory)}}
    text: str = yaml.dump(manifest, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=1 << 30)
    return text


def read_configmap(text: str, *, file: str) -> ConfigMapMemory:
    """Return the memory in the manifest *text*, YAML or JSON as ``kubectl get configmap`` prints it.

    Raises:
        ManifestUnreadable: there is no ConfigMap with ``MEMORY.md``, there are several, or its data is too large.
    """
    found = [row for row in yaml_documents(text, file) if row.get("kind") == "ConfigMap" and _memory(row) is not None]
    if len(found) != 1:
        held = "no ConfigMap" if not found else f"{len(found)} ConfigMaps"
        raise ManifestUnreadable(f"{file} holds {held} with the key {MEMORY}. Give it one: kubectl get configmap NAME")
    memory, metadata = _memory(found[0]) or "", found[0].get("metadata")
    if len(memory.encode("utf-8", "surrogatepass")) > MOST_CONFIGMAP_BYTES:
        raise ManifestUnreadable(f"{file}: {MEMORY} is larger than {MOST_CONFIGMAP_BYTES >> 10} KB")
    name = str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
    return ConfigMapMemory(name=name or "configmap", statements=tuple(dict.fromkeys(_statements(memory))))


def _memory(manifest: dict[str, Any]) -> str | None:
    data = manifest.get("data")
    memory = data.get(MEMORY) if isinstance(data, dict) else None
    return memory if isinstance(memory, str) else None


def _statements(memory: str) -> Iterator[str]:
    """Yield the statements of a memory file: its live entries and its other list items, or without these its lines."""
    document = parse(memory)
    entries = list(document.entries())
    replaced = superseded_by(entries)
    yield from (" ".join(entry.text.split()) for entry in entries if not entry.retired and entry.id not in replaced)
    own = {line for entry in entries for line in entry.render().split("\n")}
    lines = [line for line in memory.splitlines() if line not in own]
    items = [line for line in lines if _ITEM.match(line)]
    known = set(resources.files("agent_home.template").joinpath(MEMORY).read_text("utf-8").splitlines())
    plain = [line for line in lines if line not in known and not line.startswith("#")]
    yield from (text for line in items or plain if (text := _ITEM.sub("", line).strip()))


class _BlockText(str):
    """A text that YAML shows line by line."""

    __slots__ = ()


def _dumper() -> type[Any]:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writer of manifests."""

    Dumper.add_representer(_BlockText, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, "|"))
    return Dumper
