"""Checks of a home for ``memory doctor``, and what it mends."""
