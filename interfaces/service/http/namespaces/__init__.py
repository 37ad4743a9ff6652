"""Own the endpoints of namespaces: memory as data, for agents that have no folder."""
