"""Rule files in gitleaks' format (TOML), as they are; betterleaks' files are of the same format with filters.

Read are ``id``, ``regex``, ``keywords``, ``entropy``, ``secretGroup``, ``allowlists`` with ``regexes``, ``stopwords``,
``regexTarget`` and ``condition``, the allowlists of the whole file, and betterleaks' ``filter``. Text in a memory has
no file name: rules for certain paths run everywhere, and an allowlist that asks for a path never applies. Rules that
are only part of a pair (``skipReport``: client ids, host names) count when the value could be a secret itself; rules
without a ``regex`` are left out. No pattern is compiled here.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from guard.policy import RuleError
from guard.secrets.filters import drops
from guard.secrets.rule import Allowance, RuleSet, SecretRule
from guard.secrets.value import part_value


@cache
def rules_from_gitleaks(text: str) -> RuleSet:
    """Return the rules of the file whose content is *text*, in its order. The same text gives the same object.

    Raises:
        RuleError: *text* is no TOML, or a rule lacks an id or has a value of the wrong type.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError("file", f"not TOML: {error}") from error
    shared = _allowances(data.get("allowlist", ()), "allowlist")
    shared += _allowances(data.get("allowlists", ()), "allowlists")
    common = _filter(data.get("filter", ""), "filter")
    rows = data.get("rules", [])
    if not isinstance(rows, list):
        raise RuleError("file", f"rules is {type(rows).__name__}, wanted [[rules]] tables")
    wanted = (row for row in rows if isinstance(row, dict) and row.get("regex"))
    return RuleSet(tuple(_rule(row, shared, common) for row in wanted))


def _rule(row: Mapping[str, Any], shared: tuple[Allowance, ...], common: Iterable[Callable[..., bool]]) -> SecretRule:
    name = row.get("id")
    if not isinstance(name, str) or not name:
        raise RuleError("file", f"a rule has the id {name!r}, wanted a name")
    try:
        return SecretRule(
            name=name,
            kind=str(row.get("kind") or name.replace("-", "_")),
            pattern=_pattern(row["regex"], name),
            keywords=tuple(str(keyword).lower() for keyword in row.get("keywords", ())),
            group=int(row.get("secretGroup", 0)),
            entropy=float(row.get("entropy", 0)),
            digits=name.startswith("generic"),
            allow=_allowances(row.get("allowlists", row.get("allowlist", ())), name) + shared,
            drops=(*_filter(row.get("filter", ""), name), *common),
            accept=part_value if row.get("skipReport") else None,
        )
    except (TypeError, ValueError) as error:
        raise RuleError(name, str(error)) from error


def _filter(expression: Any, name: str) -> tuple[Callable[..., bool], ...]:
    return (drops(expression, name),) if isinstance(expression, str) and expression.strip() else ()


def _pattern(pattern: Any, name: str) -> str:
    if not isinstance(pattern, str):
        raise RuleError(name, f"a regular expression is {type(pattern).__name__}, wanted a string")
    return pattern


def _allowances(tables: Any, name: str) -> tuple[Allowance, ...]:
    """Read one ``[allowlist]`` or several ``[[allowlists]]``."""
    found = []
    for table in [tables] if isinstance(tables, dict) else tables:
        if not isinstance(table, dict):
            raise RuleError(name, f"an allowlist is {type(table).__name__}, wanted a table")
        together = str(table.get("condition", "or")).lower() in {"and", "&&"}
        if together and (table.get("paths") or table.get("commits")):
            continue
        found.append(
            Allowance(
                patterns=tuple(_pattern(pattern, name) for pattern in table.get("regexes", ())),
                words=tuple(str(word).lower() for word in table.get("stopwords", ())),
                target=str(table.get("regexTarget", "secret") or "secret"),
                together=together,
            )
        )
    return tuple(found)
