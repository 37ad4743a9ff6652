"""Own the Python API: :class:`AgentHome`, and what it gives of outputs, checkpoints, events and working memory."""

from .home import AgentHome, create_home, open_home

__all__ = ["AgentHome", "create_home", "open_home"]
