"""Own the SQLite index: schema, passages, vectors, synchronisation and verification."""
