"""Reader of rule files in the TOML format of gitleaks, and of betterleaks' files, which add filters.

The supported keys are ``id``, ``regex``, ``keywords``, ``entropy``, ``secretGroup``, ``allowlists`` with ``regexes``,
``stopwords``, ``regexTarget`` and ``condition``, the allowlists of the whole file, and betterleaks' ``filter``. Text in
a memory has no file name. Rules for certain paths therefore run everywhere, and an allowlist that requires a path
never applies. A rule with ``skipReport`` (one part of a pair, such as a client id) counts when the value could be a
secret itself. Rules without a ``regex`` are left out. No pattern is compiled here.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from guard.policy import RuleError
from guard.secrets.filters import compile_filter
from guard.secrets.rule import Allowlist, RuleSet, SecretRule
from guard.secrets.value import is_part_value

__all__ = ["rules_from_gitleaks", "rules_from_tables"]


@cache
def rules_from_gitleaks(text: str) -> RuleSet:
    """Return the rules in the rule file *text*, in order. The same text gives the same object.

    Raises:
        RuleError: *text* is not TOML, a rule has no id, or a value has the wrong type.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError("file", f"not TOML: {error}") from error
    return rules_from_tables(data)


def rules_from_tables(data: Mapping[str, Any]) -> RuleSet:
    """Return the rules of a rule file that is parsed already, in order.

    Raises:
        RuleError: a rule has no id, or a value has the wrong type.
    """
    shared_allowlists = _allowlists(data.get("allowlist", ()), "allowlist")
    shared_allowlists += _allowlists(data.get("allowlists", ()), "allowlists")
    shared_filters = _filters(data.get("filter", ""), "filter")
    rows = data.get("rules", [])
    if not isinstance(rows, list):
        raise RuleError("file", f"rules is {type(rows).__name__}, expected [[rules]] tables")
    usable = (row for row in rows if isinstance(row, dict) and row.get("regex"))
    return RuleSet(tuple(_rule(row, shared_allowlists, shared_filters) for row in usable))


def _rule(
    row: Mapping[str, Any], shared_allowlists: tuple[Allowlist, ...], shared_filters: Iterable[Callable[..., bool]]
) -> SecretRule:
    name = row.get("id")
    if not isinstance(name, str) or not name:
        raise RuleError("file", f"a rule has the id {name!r}, expected a name")
    try:
        return SecretRule(
            name=name,
            kind=str(row.get("kind") or name.replace("-", "_")),
            pattern=_pattern(row["regex"], name),
            keywords=tuple(str(keyword).lower() for keyword in row.get("keywords", ())),
            group=int(row.get("secretGroup", 0)),
            entropy=float(row.get("entropy", 0)),
            digits=name.startswith("generic"),
            allowlists=_allowlists(row.get("allowlists", row.get("allowlist", ())), name) + shared_allowlists,
            filters=(*_filters(row.get("filter", ""), name), *shared_filters),
            accept=is_part_value if row.get("skipReport") else None,
        )
    except (TypeError, ValueError) as error:
        raise RuleError(name, str(error)) from error


def _filters(expression: Any, name: str) -> tuple[Callable[..., bool], ...]:
    return (compile_filter(expression, name),) if isinstance(expression, str) and expression.strip() else ()


def _pattern(pattern: Any, name: str) -> str:
    if not isinstance(pattern, str):
        raise RuleError(name, f"a regular expression is {type(pattern).__name__}, expected a string")
    return pattern


def _allowlists(tables: Any, name: str) -> tuple[Allowlist, ...]:
    """Read one ``[allowlist]`` or several ``[[allowlists]]``."""
    result = []
    for table in [tables] if isinstance(tables, dict) else tables:
        if not isinstance(table, dict):
            raise RuleError(name, f"an allowlist is {type(table).__name__}, expected a table")
        match_all = str(table.get("condition", "or")).lower() in {"and", "&&"}
        if match_all and (table.get("paths") or table.get("commits")):
            continue
        result.append(
            Allowlist(
                patterns=tuple(_pattern(pattern, name) for pattern in table.get("regexes", ())),
                words=tuple(str(word).lower() for word in table.get("stopwords", ())),
                target=str(table.get("regexTarget", "secret") or "secret"),
                match_all=match_all,
            )
        )
    return tuple(result)
