"""Tell what a person was shown from what is there now, so that a form decides about nothing that nobody read."""

from __future__ import annotations

import hashlib
import hmac
import json

from distill.errors import DistillError
from distill.review.decided_items import DecidedItem
from distill.review.queue import ReviewItem

__all__ = ["ChangedSince", "require_seen", "seen_of"]


class ChangedSince(DistillError):
    """A text that waits, or a decision, is no more the one that the person was shown. Nothing was written."""

    def __init__(self, item_id: str) -> None:
        super().__init__(f"{item_id} was changed since this page was loaded. Load the page again, and read it anew")
        self.item_id = item_id


def seen_of(item: ReviewItem | DecidedItem) -> str:
    """Return a digest of what the page shows of *item*. A form sends it back."""
    shown = [item.id, item.kind, item.path, item.text]
    if isinstance(item, DecidedItem):
        shown += [item.action, item.ts]
    else:
        shown += [item.section, item.ends, item.commit]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]


def require_seen(item: ReviewItem | DecidedItem, seen: str) -> None:
    """Refuse a decision about another text than the one with the digest *seen*.

    Raises:
        ChangedSince: *item* was changed since.
    """
    if not hmac.compare_digest(seen_of(item).encode(), seen.encode()):
        raise ChangedSince(item.id)
