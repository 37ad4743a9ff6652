"""Own what recall keeps in PostgreSQL: connections, migrations, and the server's form of the index."""
