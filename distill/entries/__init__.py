"""Own the life of an entry: promotion, consolidation, citation, eviction and decay."""
