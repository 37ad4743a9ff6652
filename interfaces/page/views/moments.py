"""Find the commit that a person names: by a revision, or by a day, for which it is the last commit of that day."""

from __future__ import annotations

from datetime import date

from agent_home.git import history
from agent_home.home import Home

__all__ = ["commit_at", "is_before"]

#: Git reads dates of these years. Of others it takes the present.
_FIRST_YEAR, _LAST_YEAR = 1971, 2098


def is_before(named: str, when: str) -> bool:
    """Return whether *named* is a day before *when*, the ISO 8601 time of the commit that it means."""
    try:
        return date.fromisoformat(named.strip()) < date.fromisoformat(when[:10])
    except ValueError:
        return False


def commit_at(home: Home, named: str) -> str:
    """Return the hash of the commit that *named* means, or an empty string for an empty one.

    A day before the first commit means the first one.

    Raises:
        NoSuchRevision: git knows no such revision.
    """
    named = named.strip()
    try:
        day = date.fromisoformat(named) if named else None
    except ValueError:
        return history.resolve(home.root, named)
    if day is None:
        return ""
    if day.year > _LAST_YEAR:
        return history.resolve(home.root, "HEAD")
    before = f"--before={day.isoformat()}T23:59:59"
    found = history.query(home.root, "rev-list", "-1", before, "HEAD").strip() if day.year >= _FIRST_YEAR else ""
    return found or history.query(home.root, "rev-list", "--max-parents=0", "HEAD").split()[0]
