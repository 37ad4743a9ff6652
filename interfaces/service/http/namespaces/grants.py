"""Own which namespaces a token may use: those that it names, and no other.

A name that ends with a star stands for all namespaces whose names begin so. A token without names uses none. Programs
of this user that ask over the home's socket may use all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recall.namespaces.names import checked_name

__all__ = ["EVERY_NAMESPACE", "checked_grants", "grants_namespace", "prefixes"]

#: Stands for all namespaces.
EVERY_NAMESPACE = "*"


def checked_grants(grants: Sequence[str]) -> tuple[str, ...]:
    """Return *grants*, each once and in order, if they are names, or beginnings of names with a star.

    Raises:
        NamespaceRefused: no namespace is called so, or begins so.

    >>> checked_grants(["crew-*", "multi-agent-prod", "crew-*"])
    ('crew-*', 'multi-agent-prod')
    """
    for grant in grants:
        if grant != EVERY_NAMESPACE:
            checked_name(grant.removesuffix("*"))
    return tuple(dict.fromkeys(grants))


def grants_namespace(grants: Sequence[str], name: str) -> bool:
    """Return whether a token with these *grants* may use the namespace *name*.

    >>> grants_namespace(["crew-*"], "crew-7"), grants_namespace(["crew"], "crew-7"), grants_namespace([], "crew")
    (True, False, False)
    """
    return name in grants or any(name.startswith(prefix) for prefix in prefixes(grants))


def prefixes(grants: Sequence[str]) -> Iterator[str]:
    """Yield the beginnings of names that *grants* name."""
    return (grant.removesuffix("*") for grant in grants if grant.endswith("*"))
