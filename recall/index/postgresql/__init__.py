"""Own the index in PostgreSQL: tables, reader, writer, synchronisation and verification."""
