"""Own how a framework's own items of a conversation are kept in a transcript, so that they come back as they were.

A transcript is append-only. An item is a row beside the message that people and search read. Taking items away is a row
as well, which names them: from then on they are not given back. All of it stays on the disk.

An item belongs to the audience that it was added for, and only that audience gets it back.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from agent_home.home import Home
from agent_home.imports import import_messages
from agent_home.store import transcript

from .stored_items import MOST_LEVELS, levels

__all__ = ["add_items", "items", "remove_items"]

#: Key of a binary value in an item. Its base64 stands in the row's list of binaries.
_BINARY = "$binary"
_DATA_URL = re.compile(r"data:(?:image|audio|video)/[\w.+-]+;base64,(?P<data>[A-Za-z0-9+/]+={0,2})")
#: First bytes of binary files. Text cannot begin like this.
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"ID3", b"OggS", b"fLaC", b"\xff\xfb")


def items(home: Home, session: str, *, audience: str) -> list[dict[str, Any]]:
    """Return the items of *session* that were not removed, oldest first. A session that is not there has none."""
    path = transcript.session_path(home, session)
    return list(_present(path, audience).values()) if path else []


def add_items(
    home: Home,
    session: str,
    added: Sequence[tuple[Mapping[str, Any], Mapping[str, str] | None]],
    *,
    audience: str,
    now: datetime,
) -> None:
    """Append items, each with the message that says the same in words, or with ``None`` where it says nothing.

    Raises:
        ValueError: an item is no JSON. Nothing was written.
        Locked, GuardRefused, DocumentInvalid: nothing was written.
    """
    rows, messages = [], []
    for item, message in added:
        binaries: list[str] = []
        try:
            plain = json.loads(json.dumps(item, allow_nan=False))
        except (TypeError, RecursionError) as error:
            raise ValueError(f"an item is no JSON: {error}") from error
        if levels(plain, most=MOST_LEVELS) > MOST_LEVELS:
            raise ValueError(f"an item has more than {MOST_LEVELS} levels of lists and mappings")
        if f'"{_BINARY}"' not in json.dumps(plain):  # an item with such a mark of its own is kept as it is
            plain = _without_binaries(plain, binaries)
        row: dict[str, Any] = {"id": _new_id("i"), "ts": now.isoformat(), "audience": audience}
        row |= {"source": _SOURCES.get((message or {}).get("role", ""), "agent"), "item": plain}
        rows.append(row | ({"binaries": binaries} if binaries else {}))
        if message is not None and message["content"].strip():
            messages.append({"id": _new_id("m"), "ts": now.isoformat(), **message})
    import_messages(home, session, messages, now=now, items=lambda _path: rows)


def remove_items(home: Home, session: str, *, audience: str, now: datetime, last: bool = False) -> list[dict[str, Any]]:
    """Take all items away, or the *last* one, and return them. Their rows stay in the transcript.

    Raises:
        Locked, GuardRefused: nothing was written.
    """
    if transcript.session_path(home, session) is None:
        return []
    removed: list[dict[str, Any]] = []

    def rows(path: Path | None) -> Sequence[Mapping[str, Any]]:
        present = _present(path, audience) if path else {}
        names = list(present)[-1:] if last else list(present)
        removed.extend(present[name] for name in names)
        return [{"id": _new_id("i"), "ts": now.isoformat(), "removed": names}] if names else []

    import_messages(home, session, (), now=now, items=rows)
    return removed


#: Author of an item's texts to the guard, by the role of its message.
_SOURCES: Mapping[str, str] = {"user": "user", "participant": "participant", "tool": "tool"}


def _present(path: Path, audience: str) -> dict[str, dict[str, Any]]:
    """Return the items of the transcript that were not removed, by the ids of their rows."""
    found: dict[str, dict[str, Any]] = {}
    for row in transcript.read_items(path):
        for name in row.get("removed", ()):
            found.pop(name, None)
        if row.get("audience") == audience and isinstance(row.get("item"), dict):
            found[str(row.get("id"))] = _with_binaries(row["item"], row.get("binaries", []))
    return found


def _new_id(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def _without_binaries(value: Any, binaries: list[str]) -> Any:
    """Return *value* with the images and sounds in it moved to *binaries*: rules for texts would cut them."""

    def moved(text: str) -> Any:
        if not _is_binary(text):
            return text
        binaries.append(text)
        return {_BINARY: len(binaries) - 1}

    return _mapped(value, moved)


def _with_binaries(value: Any, binaries: Sequence[str]) -> Any:
    if isinstance(value, dict) and value.keys() == {_BINARY} and isinstance(value[_BINARY], int):
        return binaries[value[_BINARY]] if 0 <= value[_BINARY] < len(binaries) else value
    if isinstance(value, dict):
        return {key: _with_binaries(item, binaries) for key, item in value.items()}
    return [_with_binaries(item, binaries) for item in value] if isinstance(value, list) else value


def _mapped(value: Any, change: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _mapped(item, change) for key, item in value.items()}
    return [_mapped(item, change) for item in value] if isinstance(value, list | tuple) else value


def _is_binary(text: str) -> bool:
    """Return whether *text* is a data address of an image or a sound, and no text in its clothes."""
    if not text.startswith("data:") or not (match := _DATA_URL.fullmatch(text)):
        return False
    try:
        return base64.b64decode(match["data"], validate=True).startswith(_SIGNATURES)
    except binascii.Error:
        return False
