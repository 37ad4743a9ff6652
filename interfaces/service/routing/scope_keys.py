"""Own the keys that the service adds to the scope of a request."""

from __future__ import annotations

__all__ = ["HOME_IN_SCOPE"]

#: The home that the request names, on a host of a fleet.
HOME_IN_SCOPE = "agent_home.home"
