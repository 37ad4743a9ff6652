"""An agent's memory as a folder of Markdown in git: layout, documents, entries, the write gateway, history.

The names below are the Python API of the whole project (``interfaces.api``). They are loaded when they are asked for,
so that reading a document does not load the modules for writing. Import every other name from its module
(``from agent_home.store.gateway import transaction``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interfaces.api import AgentHome, AgentNamespace, create_home, open_home, open_namespace

__all__ = ["AgentHome", "AgentNamespace", "create_home", "open_home", "open_namespace"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("interfaces.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
