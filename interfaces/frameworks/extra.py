"""Own the error of an adapter whose framework is not installed."""

from __future__ import annotations

__all__ = ["missing_extra"]


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Return the error for *error*, which an import of the framework of *extra* raised. It says what to install."""
    found = f": {error}" if error.msg else ""
    return ImportError(
        f"the framework is not installed, or too old{found}. Install it with `pip install 'agent-home[{extra}]'`",
        name=error.name,
    )
