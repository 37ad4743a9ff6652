"""Own which texts PostgreSQL can hold."""

from __future__ import annotations

__all__ = ["storable_text"]


def storable_text(text: str) -> str:
    """Return *text* without the characters that PostgreSQL cannot hold: the one with the number 0, and lone surrogates.

    >>> storable_text("a" + chr(0))
    'a\ufffd'
    """
    plain = text.replace("\x00", "\ufffd")
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode("utf-8")
