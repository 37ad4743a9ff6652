"""Write the views of a home as one HTML file: nothing in it can be decided, and nothing in it runs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from markupsafe import Markup

from agent_home.git import history
from agent_home.git.entries.entry_events import entry_histories
from agent_home.home import Home

from ..doctor.health import examine
from .checks import CheckRun
from .language import Translate, translation
from .rendering import render, static_file
from .views.entry import entry_view
from .views.health import health_view
from .views.memory import memory_view
from .views.over_time import over_time_view
from .views.prompt import prompt_view
from .views.review import review_cards

__all__ = ["static_page"]

#: Entries that are shown down to their turns and commits. The others have a row.
_MOST_DETAILED = 300
_MOST_ROWS = 100_000


def static_page(home: Home, now: datetime, language: str = "en") -> str:
    """Return the views of *home* as the text of one HTML file.

    Texts that the guard holds back are not in it: the file may go to places that the home does not.
    """
    _ = translation(language)
    style = "\n".join(_file(name) for name in ("page.css", "charts.css"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    parts = [(name, title, Markup(text)) for name, title, text in _parts(home, now, language, _)]  # noqa: S704 - HTML
    return render(
        "file.html", language, live=False, agent=home.manifest.name, parts=parts, when=f"{now:%Y-%m-%d %H:%M}",
        commit=history.head(home.root)[:9], policy=f"default-src 'none'; style-src 'sha256-{digest}'",
        style=Markup(style),  # noqa: S704 - a file of ours
    )  # fmt: skip


def _parts(home: Home, now: datetime, language: str, _: Translate) -> Iterator[tuple[str, str, str]]:
    """Yield the id, the title and the HTML of each view."""

    def shown(template: str, view: Any, **values: Any) -> str:
        return render(template, language, live=False, view=view, visitor=None, **values)

    live = memory_view(home, now, most=_MOST_ROWS, screened=True)
    archived = memory_view(home, now, archived=True, most=_MOST_ROWS, screened=True)
    detailed = [row.id for row in (*live.rows, *archived.rows)][:_MOST_DETAILED]
    yield "review", _("Review"), shown("review_list.html", review_cards(home, now))
    yield "memory", _("Memory"), shown("memory.html", live, detailed=detailed)
    yield "archive", _("Archive"), shown("memory.html", archived, detailed=detailed)
    yield "prompt", _("Prompt"), shown("prompt.html", prompt_view(home, now, _))
    yield "over-time", _("Over time"), shown("over_time.html", over_time_view(home, now, _))
    run = CheckRun(checks=examine(home, now), at=now)
    yield "health", _("Guard and health"), shown("health.html", health_view(home, run))
    histories = entry_histories(home.root, history.head(home.root))
    entries = "\n".join(shown("entry.html", entry_view(home, entry_id, now, histories)) for entry_id in detailed)
    yield "entries", _("Entries"), entries


def _file(name: str) -> str:
    found = static_file(name)
    assert found is not None, name  # noqa: S101 - a file of ours
    return found.content.decode()
