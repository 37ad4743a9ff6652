"""Own what may be kept in the hot state: names, sizes, and what the guard replaces or holds back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agent_home.errors import GuardRefused
from agent_home.home import Home
from agent_home.screening.scan.json_values import is_plain_name, json_text, json_without_values
from agent_home.screening.service import ScreeningService

from .store import HotStateRefused

__all__ = ["MOST_NAME", "MOST_VALUE", "CleanNames", "clean_value", "require_name"]

#: Characters of a value as JSON, and of a name.
MOST_VALUE, MOST_NAME = 65_536, 200
#: Names that an object knows to be clean.
_MOST_KNOWN = 4096
#: Where programs keep such values, for the guard.
_PATH = "outputs/x.txt"
_SHOWN = "the hot state"


class CleanNames:
    """Names that the guard has passed. An object may be shared between threads."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._known: set[str] = set()

    def require(self, names: Iterable[str]) -> None:
        """Check the names of values and of sessions.

        Raises:
            GuardRefused: one is a secret, personal data or an instruction.
        """
        for name in names:
            if name not in self._known:
                _require_clean(self._home, name)
                self._known.add(name)
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()


def require_name(name: str) -> str:
    """Return the name of a value as it is.

    Raises:
        HotStateRefused: it is empty, too long, or not on one line.
    """
    if not name.strip() or len(name) > MOST_NAME or not name.isprintable() or not _is_text(name):
        raise HotStateRefused(f"{name[:40]!r} is no name of a value. Write 1 to {MOST_NAME} characters on one line")
    return name


def clean_value(home: Home, name: str, value: Any) -> str:
    """Return *value* as JSON, without secrets and personal data.

    Raises:
        HotStateRefused: it is no JSON, or too large.
        GuardRefused: the guard holds it back.
    """
    try:
        text, plain = json.dumps(value, ensure_ascii=False, allow_nan=False), json_text(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise HotStateRefused(f"the value {name!r} is no JSON: {error}") from error
    if not _is_text(text):
        raise HotStateRefused(f"the value {name!r} is no valid Unicode. Give text in UTF-8")
    if len(text) > MOST_VALUE:
        raise HotStateRefused(f"the value {name!r} has {len(text)} characters. Store it: memory log")
    screening = ScreeningService(home)
    verdict = screening.verdict(_PATH, f"{name}: {plain}", "agent")
    if not verdict.stored:
        raise GuardRefused(_SHOWN, f"{name!r} holds {verdict.findings[0].rule}")
    if verdict.action == "allow" and "\x1b" not in plain:  # read as a whole, beside all names, and nothing was found
        return text
    clean, whole = json_without_values(screening, value, "agent", name=name)
    if not whole:
        raise GuardRefused(_SHOWN, f"{name!r} holds a secret in several parts. Leave it out")
    return json.dumps(clean, ensure_ascii=False)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _require_clean(home: Home, name: str) -> None:
    if is_plain_name(name):
        return
    screening = ScreeningService(home)
    verdict = screening.verdict(_PATH, name, "agent")
    if verdict.action != "allow" or screening.without_values(_PATH, name, "agent")[1]:
        found = verdict.findings[0].rule if verdict.findings else "a secret"
        raise GuardRefused(_SHOWN, f"no value and no session may be called that ({found})")
