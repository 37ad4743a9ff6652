"""Who may read what. One question, answered here for injection and for recall alike: deny unless allowed.

A path that no rule names is the owner's alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

__all__ = ["FOLDERS", "Audience", "may_read"]


class Audience(StrEnum):
    """Who will see the prompt."""

    owner = "owner"  # the person the agent works for
    trusted = "trusted"  # a person the owner trusts with work matters
    group = "group"  # a channel that anybody may read
    job = "job"  # a scheduled run without a person


#: Folders and who besides the owner reads them, when ``agent.toml`` says nothing.
FOLDERS: Mapping[str, frozenset[Audience]] = {
    "Knowledge/": frozenset({Audience.trusted, Audience.group, Audience.job}),
    "Projects/": frozenset({Audience.trusted, Audience.job}),
    "DailyActivity/": frozenset({Audience.job}),
    "Archive/": frozenset(),
    "sessions/": frozenset(),
    "outputs/": frozenset(),
}


def may_read(rules: Mapping[str, Iterable[str]], path: str, audience: str) -> bool:
    """Whether *audience* may see the file *path* (relative to the home, ``/`` between its parts).

    *rules* maps a file, or a folder ending in ``/``, to the audiences allowed; the longest match decides. The owner
    reads everything; a path without a rule is the owner's alone, and so is one that could be another path in disguise
    (``Knowledge/../MEMORY.md``); an unknown audience reads nothing.

    >>> may_read({"Knowledge/": ["group"]}, "Knowledge/a.md", "group")
    True
    >>> may_read({"Knowledge/": ["group"]}, "MEMORY.md", "group")
    False
    """
    if audience not in set(Audience):
        return False
    if audience == Audience.owner:
        return True
    if any(part in {"", ".", ".."} for part in path.split("/")):
        return False
    matches = [rule for rule in rules if path == rule or (rule.endswith("/") and path.startswith(rule))]
    if not matches:
        return False
    return audience in set(rules[max(matches, key=len)])
