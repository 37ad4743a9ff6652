"""Measure the stores of an index side by side: SQLite in a home, and PostgreSQL."""
