"""Decide which audience may read which file.

Prompts and recall use the same rules. A path without a rule may be read only by the owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

__all__ = ["FOLDERS", "Audience", "may_read", "rule_of"]


class Audience(StrEnum):
    """The readers of a prompt."""

    owner = "owner"  # the person the agent works for
    trusted = "trusted"  # a person the owner trusts with work matters
    group = "group"  # a channel that anybody may read
    job = "job"  # a scheduled run without a person


#: Folders and the audiences besides the owner that read them, unless ``agent.toml`` sets others.
FOLDERS: Mapping[str, frozenset[Audience]] = {
    "Knowledge/": frozenset({Audience.trusted, Audience.group, Audience.job}),
    "Knowledge/Hosts/": frozenset(),
    "Knowledge/memories/": frozenset(),  # an agent's own notes, which may be about the owner
    "Knowledge/store/": frozenset(),  # what agent frameworks keep, often about one person
    "Projects/": frozenset({Audience.trusted, Audience.job}),
    "DailyActivity/": frozenset({Audience.job}),
    "Archive/": frozenset(),
    "sessions/": frozenset(),
    "outputs/": frozenset(),
}


def may_read(rules: Mapping[str, Iterable[str]], path: str, audience: str) -> bool:
    """Return whether *audience* may see the file *path* (relative to the home, ``/`` between its parts).

    *rules* maps a file, or a folder ending in ``/``, to the allowed audiences. The longest match decides. The owner
    reads everything. A path without a rule is the owner's alone, and so is a path that could be another one in disguise
    (``Knowledge/../MEMORY.md``). An unknown audience reads nothing.

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
    return audience in rule_of(rules, path)


def rule_of(rules: Mapping[str, Iterable[str]], path: str) -> frozenset[str]:
    """Return the audiences that the longest rule for *path* names. *path* may itself be a folder ending in ``/``."""
    matches = [rule for rule in rules if path == rule or (rule.endswith("/") and path.startswith(rule))]
    return frozenset(rules[max(matches, key=len)]) if matches else frozenset()
