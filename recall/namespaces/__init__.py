"""Own memory as data, for agents that have no folder: many small namespaces in one PostgreSQL database."""
