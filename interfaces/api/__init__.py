"""Own the Python API: :class:`AgentHome` and what it gives, and :class:`AgentNamespace` for memory without a folder."""

from .home import AgentHome, create_home, open_home
from .namespace import AgentNamespace, open_namespace

__all__ = ["AgentHome", "AgentNamespace", "create_home", "open_home", "open_namespace"]
