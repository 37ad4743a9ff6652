"""Own ``HomeStore``: LangGraph's long-term memory as files of a home.

Items are kept by ``interfaces.frameworks.stored_items``. A search with a query ranks them by the home's own search.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from agent_home.home import Home
from interfaces.api import AgentHome

from .extra import missing_extra
from .stored_items import MOST_HITS, ItemChange, ItemReader, ItemRefused, StoredItem, ranks, write_items

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
except ImportError as error:
    raise missing_extra("langgraph", error) from error

__all__ = ["HomeStore", "ItemRefused"]

_ACTOR = "langgraph"
_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class HomeStore(BaseStore):
    """A LangGraph store in a home. Each batch that changes something is one commit.

    *audience* decides what is read and may be changed. Everything is the owner's unless ``[audiences]`` of
    ``agent.toml`` names a folder below ``Knowledge/store/``. Reads of a batch see the state before its writes. Values
    come back as JSON does. Personal data and secrets in them are redacted, and a text that the guard holds back raises
    :class:`ItemRefused`, with which nothing of the batch is written. Items do not expire: a ``ttl`` is refused.
    """

    __slots__ = ("_agent", "_reader")

    supports_ttl = False

    def __init__(self, agent: AgentHome, *, audience: str = "owner") -> None:
        self._agent = agent
        self._reader = ItemReader(audience)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the result of each operation, in order. Writes happen together, after all reads.

        Raises:
            ItemRefused: an item cannot be stored. Nothing was written.
            NotImplementedError: an item has a ``ttl``.
            Locked, HistoryError: the home cannot be written. Nothing was written.
        """
        home = AgentHome(Home(self._agent.home.root)).home
        results: list[Result] = []
        changes = []
        for op in ops:
            if isinstance(op, PutOp):
                changes.append(_change(op))
                results.append(None)
            else:
                results.append(self._answer(home, op))
        moment = datetime.now(UTC)
        write_items(home, changes, actor=_ACTOR, audience=self._reader.audience, now=moment)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what :meth:`batch` does, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _answer(self, home: Home, op: Op) -> Result:
        if isinstance(op, GetOp):
            item = self._reader.get(home, op.namespace, op.key)
            return Item(**_fields(item)) if item else None
        if isinstance(op, SearchOp):
            return self._search(home, op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(home, op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _search(self, home: Home, op: SearchOp) -> list[SearchItem]:
        found = self._reader.below(home, op.namespace_prefix)
        wanted = [path for path, item in found.items() if _matches(item.value, op.filter or {})]
        scores = self._scores(op.query) if op.query and wanted else {}
        ranked = sorted(wanted, key=lambda path: -scores.get(path, float("-inf")))
        page = ranked[op.offset : op.offset + op.limit]
        return [SearchItem(**_fields(found[path]), score=scores.get(path)) for path in page]

    def _scores(self, query: str) -> dict[str, float]:
        """Return the score of each file that the home finds for *query*. Items behind the last hit have none."""
        result = self._agent.search(
            query, k=MOST_HITS, layers=("knowledge",), audience=self._reader.audience, unit="session"
        )
        return ranks(result)

    def _namespaces(self, home: Home, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {item.namespace for item in self._reader.below(home).values()}
        kept = {name for name in found if all(_meets(name, condition) for condition in op.match_conditions or ())}
        return sorted({name[: op.max_depth] for name in kept})[op.offset : op.offset + op.limit]


def _change(op: PutOp) -> ItemChange:
    if op.ttl is not None:
        raise NotImplementedError("items in a home do not expire. Leave ttl out, and delete what is not needed")
    return ItemChange(namespace=tuple(op.namespace), key=op.key, value=op.value)


def _fields(item: StoredItem) -> dict[str, Any]:
    # The value is copied: what the caller does to it must not reach the next reader.
    return {
        "namespace": item.namespace, "key": item.key, "value": _copied(item.value),
        "created_at": item.created_at, "updated_at": item.updated_at,
    }  # fmt: skip


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _meets(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether *namespace* begins or ends as *condition* says, where ``*`` stands for any label."""
    if condition.match_type not in {"prefix", "suffix"}:
        raise ValueError(f"unknown match type {condition.match_type!r}. Use prefix or suffix")
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in {"*", label} for wanted, label in zip(path, part, strict=True))


def _matches(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether the mapping *value* has all that *wanted* names. A missing key counts as ``None``."""
    return isinstance(value, dict) and all(_fits(value.get(key), item) for key, item in wanted.items())


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_compares(value, relation, operand) for relation, operand in wanted.items())
        return _matches(value, wanted)
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
    return bool(value == wanted)


def _compares(value: Any, relation: str, operand: Any) -> bool:
    """Return whether *value* has *relation*, such as ``$gt``, to *operand*. What is no number has no order.

    Raises:
        ValueError: the operator is unknown.
    """
    if relation in {"$eq", "$ne"}:
        return bool(value == operand) == (relation == "$eq")
    if relation not in _ORDERS:
        raise ValueError(f"unknown operator {relation!r}. Use $eq, $ne, {', '.join(_ORDERS)}")
    try:
        return _ORDERS[relation](float(value), float(operand))
    except (TypeError, ValueError):
        return False
