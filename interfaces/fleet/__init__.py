"""A fleet of hosts that serve many homes: the registry in PostgreSQL, leases, moves, and the queue of nightly runs."""
