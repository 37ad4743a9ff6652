"""Own the addresses of the page: what each shows, and what each form does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from agent_home.home import Home
from distill.review import queue
from distill.review.decided_items import undoable
from distill.review.queue import ReviewItem
from distill.review.undo import undo

from ..doctor.repair import repair
from .checks import forget_checks, latest_checks
from .language import Translate
from .seen import require_seen
from .views.entry import entry_view
from .views.health import health_view
from .views.memory import memory_view
from .views.over_time import over_time_view
from .views.prompt import prompt_view
from .views.review import review_view
from .views.search import search_view

__all__ = ["ACTIONS", "VIEWS", "PageAction", "PageView"]

Given = Mapping[str, str]
#: Longest message for which a prompt is shown, and longest query.
_MOST_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class PageView:
    """A view: its address, its template, the tab that it belongs to, and what it shows for the query of a request."""

    path: str
    template: str
    tab: str
    show: Callable[[Home, datetime, Given, Translate], Any]


@dataclass(frozen=True, slots=True)
class PageAction:
    """A form that acts in the name of a person. It returns the address of the page to go on with."""

    path: str
    act: Callable[[Home, str, datetime, Given], str]


def _review(home: Home, now: datetime, given: Given, _: Translate) -> Any:
    return review_view(home, now, given.get("item", ""))


def _memory(home: Home, now: datetime, given: Given, _: Translate) -> Any:
    return memory_view(
        home, now, section=given.get("section", ""), words=given.get("words", "")[:_MOST_CHARS],
        archived=given.get("archived", "") == "1", page=_number(given.get("page", "")) or 1, at=given.get("at", ""),
    )  # fmt: skip


def _entry(home: Home, now: datetime, given: Given, _: Translate) -> Any:
    return entry_view(home, given["entry"], now)


def _prompt(home: Home, now: datetime, given: Given, translate: Translate) -> Any:
    other_window = given.get("other_window", "")
    return prompt_view(
        home, now, translate, message=given.get("message", "")[:_MOST_CHARS], window=_number(given.get("window", "")),
        audience=given.get("audience", "") or "owner", at=given.get("at", ""), other_at=given.get("other_at", ""),
        other_window=_number(other_window) if other_window else None,
    )  # fmt: skip


def _over_time(home: Home, now: datetime, _given: Given, _: Translate) -> Any:
    return over_time_view(home, now, _)


def _health(home: Home, now: datetime, _given: Given, _: Translate) -> Any:
    return health_view(home, latest_checks(home, now))


def _search(home: Home, _now: datetime, given: Given, _: Translate) -> Any:
    return search_view(home, given.get("words", "")[:_MOST_CHARS], given.get("layer", ""))


def _accept(home: Home, person: str, now: datetime, form: Given) -> str:
    mode: Literal["as-is", "redacted"] = "redacted" if form.get("mode") == "redacted" else "as-is"
    queue.accept(home, _seen(home, now, form), person=person, now=now, mode=mode)
    return _next(form)


def _reject(home: Home, person: str, now: datetime, form: Given) -> str:
    queue.reject(home, _seen(home, now, form), person=person, now=now)
    return _next(form)


def _edit(home: Home, person: str, now: datetime, form: Given) -> str:
    item = _seen(home, now, form)
    queue.edit(home, item, form.get("text", ""), person=person, now=now)
    return f"/page/review?item={quote(item.id)}"


def _undo(home: Home, person: str, now: datetime, form: Given) -> str:
    decided = next((item for item in undoable(home, now) if item.id == form["item"]), None)
    if decided is not None:
        require_seen(decided, form.get("seen", ""))
    done = undo(home, form["item"], person=person, now=now)
    return f"/page/review?item={quote(done.item.id)}"


def _repair(home: Home, _person: str, now: datetime, _form: Given) -> str:
    repair(home, now)
    forget_checks(home)
    return "/page/health"


def _seen(home: Home, now: datetime, form: Given) -> ReviewItem:
    """Return the text that a form decides about, if it is the one that the person was shown."""
    item = queue.find(home, form["item"], now)
    require_seen(item, form.get("seen", ""))
    return item


def _next(form: Given) -> str:
    following = form.get("next", "")
    return f"/page/review?item={quote(following)}" if following else "/page/review"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


VIEWS = (
    PageView("/page/review", "review.html", "review", _review),
    PageView("/page/memory", "memory.html", "memory", _memory),
    PageView("/page/memory/{entry}", "entry.html", "memory", _entry),
    PageView("/page/prompt", "prompt.html", "prompt", _prompt),
    PageView("/page/over-time", "over_time.html", "over-time", _over_time),
    PageView("/page/search", "search.html", "search", _search),
    PageView("/page/health", "health.html", "health", _health),
)
ACTIONS = (
    PageAction("/page/review/{item:path}/accept", _accept),
    PageAction("/page/review/{item:path}/reject", _reject),
    PageAction("/page/review/{item:path}/edit", _edit),
    PageAction("/page/review/{item:path}/undo", _undo),
    PageAction("/page/health/repair", _repair),
)
