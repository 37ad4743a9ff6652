"""Keep count of what a small workshop has in stock: a sample of ordinary Python for counting tokens."""

import csv
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

logger = logging.getLogger(__name__)

REORDER_THRESHOLD = 5
HTTP_STATUS_CODES = {200: "ok", 404: "not found", 409: "conflict", 503: "unavailable"}


class OutOfStockError(LookupError):
    """Fewer pieces are there than were asked for."""

    def __init__(self, article_number: str, wanted: int, available: int) -> None:
        super().__init__(f"{article_number}: {wanted} wanted, {available} available")
        self.article_number = article_number
        self.wanted, self.available = wanted, available


@dataclass(slots=True)
class StockItem:
    article_number: str
    description: str
    unit_price_cents: int
    quantity: int = 0
    last_changed: datetime = field(default_factory=lambda: datetime.now(tz=UTC))

    @property
    def total_value_cents(self) -> int:
        return self.unit_price_cents * self.quantity

    def needs_reorder(self, threshold: int = REORDER_THRESHOLD) -> bool:
        return self.quantity < threshold


class Inventory:
    """Items by article number. Raises `KeyError` for an unknown one."""

    def __init__(self, items: Iterable[StockItem] = ()) -> None:
        self._items: dict[str, StockItem] = {item.article_number: item for item in items}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[StockItem]:
        yield from sorted(self._items.values(), key=lambda item: item.article_number)

    def withdraw(self, article_number: str, *, count: int = 1) -> StockItem:
        item = self._items[article_number]
        if count <= 0:
            raise ValueError(f"count must be positive, got {count!r}")
        if item.quantity < count:
            raise OutOfStockError(article_number, count, item.quantity)
        item.quantity -= count
        item.last_changed = datetime.now(tz=UTC)
        logger.info("withdrew %d x %s, %d left", count, article_number, item.quantity)
        return item

    def to_reorder(self) -> list[str]:
        return [item.article_number for item in self if item.needs_reorder()]

    @classmethod
    def from_csv(cls, path: Path, *, encoding: str = "utf-8") -> "Inventory":
        with path.open(newline="", encoding=encoding) as file:
            reader = csv.DictReader(file, delimiter=";")
            return cls(
                StockItem(
                    article_number=row["article_number"].strip(),
                    description=row["description"],
                    unit_price_cents=round(float(row["price"]) * 100),
                    quantity=int(row.get("quantity") or 0),
                )
                for row in reader
            )


def summarize(inventory: Inventory) -> str:
    lines = [f"{'article':<12} {'pieces':>8} {'value':>12}", "-" * 34]
    total = 0
    for item in inventory:
        total += item.total_value_cents
        lines.append(f"{item.article_number:<12} {item.quantity:>8} {item.total_value_cents / 100:>12.2f}")
    lines.append(f"{'total':<21} {total / 100:>12.2f}")
    return "\n".join(lines)
