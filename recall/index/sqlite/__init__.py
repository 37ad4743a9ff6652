"""Own the index in SQLite: schema, passages, vectors, connections, damage and verification."""
