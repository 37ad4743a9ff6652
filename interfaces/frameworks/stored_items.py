"""Own how items of a key-value store live in a home: one Markdown file each, below ``Knowledge/store/``.

An item has a namespace, which is a folder, a key, which is a file, and a JSON object as value, which stands in a fenced
block. Strings of several lines stand above it once more as plain text, so that search finds their words. The block
counts, and the gateway screens and commits the whole file.

Names of files are reversible: lower-case letters, digits, ``-`` and ``_`` stay, and other bytes are percent-encoded.
Upper-case letters are encoded as well, because some file systems ignore the case. Longer names end in a digest, and the
block has the name itself.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent_home import storage
from agent_home.errors import DocumentInvalid, GuardRefused, HomeError
from agent_home.home import Home
from agent_home.screening.service import ScreeningService
from agent_home.store.gateway import Transaction, transaction

if TYPE_CHECKING:
    from guard import Verdict
    from recall.search.hybrid import SearchResult

__all__ = [
    "FOLDER",
    "MOST_HITS",
    "MOST_LEVELS",
    "ItemChange",
    "ItemReader",
    "ItemRefused",
    "StoredItem",
    "item_path",
    "levels",
    "ranks",
    "write_items",
]

#: Where items live. ``agent_home.audience`` gives the folder to the owner alone.
FOLDER = "Knowledge/store"
#: Most hits that a search of the home gives.
MOST_HITS = 1000
#: Most levels of lists and mappings in a value. A walk through more would exceed Python's recursion limit.
MOST_LEVELS = 64
_log = logging.getLogger(__name__)
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
#: A file name may hold 255 bytes, and ``.md`` belongs to it.
_MOST_NAME_BYTES = 200
_SHORTENED_BYTES = 120
#: Every system opens paths of this length below a folder of ordinary depth.
_MOST_PATH_BYTES = 1500
_TITLE_CHARS = 100
_BLOCK = re.compile(r"^```json\n(?P<json>.*?)\n```$", re.MULTILINE | re.DOTALL)
#: Characters that a Markdown file may not hold, or that some reader takes for the end of a line.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")


class ItemRefused(HomeError, ValueError):
    """An item cannot be stored as it is. Nothing of its batch was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """An item as it is stored. What the guard redacted in *value* is redacted here."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """A value to store under a key, or ``None`` to delete the item."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any] | None


def item_path(namespace: Sequence[str], key: str) -> str:
    """Return the path of an item's file in its home.

    Raises:
        ItemRefused: a label is no string, or the path is longer than file systems take.

    >>> item_path(("users", "Ada"), "prefs.v1")
    'Knowledge/store/users/%41da/prefs%2ev1.md'
    """
    if not all(isinstance(label, str) for label in (*namespace, key)):
        raise ItemRefused(f"a label of {tuple(namespace)!r} or the key {key!r} is no string. Use strings")
    path = "/".join([FOLDER, *map(_encoded, namespace), f"{_encoded(key)}.md"])
    if len(path) > _MOST_PATH_BYTES:
        raise ItemRefused(f"the namespace and key need a path of {len(path)} bytes. At most {_MOST_PATH_BYTES} fit")
    return path


def levels(value: Any, *, most: int) -> int:
    """Return how many lists and mappings are inside each other in *value*, counted up to *most* and one more.

    >>> levels({"a": [1, {}]}, most=9), levels("a", most=9), levels([[[]]], most=1)
    (3, 0, 2)
    """
    layer, depth = [value], 0
    while depth <= most and (layer := [item for item in layer if isinstance(item, list | dict)]):
        depth += 1
        layer = [part for item in layer for part in (item.values() if isinstance(item, dict) else item)]
    return depth


class ItemReader:
    """Reads the items of a home as one audience may see them. Files that did not change are parsed once."""

    def __init__(self, audience: str) -> None:
        self.audience = audience
        self._known: dict[str, tuple[tuple[int, int], str, StoredItem | None]] = {}

    def get(self, home: Home, namespace: Sequence[str], key: str) -> StoredItem | None:
        """Return the item, or ``None`` if there is none that the audience may see."""
        return self._read(home, ScreeningService(home), item_path(namespace, key))

    def below(self, home: Home, prefix: Sequence[str] = ()) -> dict[str, StoredItem]:
        """Return the items whose namespace begins with *prefix*, by path, the last one updated first."""
        folder = item_path(prefix, "")[: -len("/%.md")]
        screening = ScreeningService(home)
        paths = (home.relative(path) for path in home.files(folder, "**/*.md"))
        found = {path: item for path in paths if (item := self._read(home, screening, path)) is not None}
        screening.keep_clean()
        newest_first = sorted(found, key=lambda path: found[path].updated_at, reverse=True)
        return {path: found[path] for path in newest_first}

    def _read(self, home: Home, screening: ScreeningService, path: str) -> StoredItem | None:
        if not home.may_read(path, self.audience):
            return None
        try:
            status = home.path(path).lstat()
            stamp = (status.st_mtime_ns, status.st_size)
            known = self._known.get(path)
            if known is None or known[:2] != (stamp, screening.signature):
                shown = screening.shown(path, storage.read_text(home.path(path))).text
                known = (stamp, screening.signature, _parsed(path, shown))
                self._known[path] = known
        except FileNotFoundError:
            return None
        except (OSError, DocumentInvalid) as error:
            _log.warning("%s is no item that can be read: %s", path, error)
            return None
        return known[2]


def ranks(result: SearchResult) -> dict[str, float]:
    """Return the score of each file that a search of the home found, also of those that say the same as another."""
    scores: dict[str, float] = {}
    for hit in result.hits:
        for path in (hit.path, *(source.rpartition("#")[0] for source in hit.also)):
            scores.setdefault(path, hit.score)
    return scores


def write_items(
    home: Home,
    changes: Iterable[ItemChange],
    *,
    actor: str,
    audience: str,
    now: datetime,
    source: Literal["agent", "participant"] = "agent",
) -> None:
    """Store and delete items in one commit. Of several changes of one key, the last one counts.

    *source* is the author of the values.

    Raises:
        ItemRefused: the guard refuses a value or a name, a value is no JSON, or *audience* may not see the item.
        Locked, HistoryError: see :func:`agent_home.store.gateway.transaction`. Nothing was written.
    """
    last = {(change.namespace, change.key): change for change in changes}
    by_path = {item_path(*name): change for name, change in last.items()}
    if not by_path:
        return
    hidden = next((path for path in by_path if not home.may_read(path, audience)), None)
    if hidden:
        raise ItemRefused(f"the audience {audience!r} may not see {hidden}. Name it in [audiences] of agent.toml")
    message = f"store: change {len(by_path)} item{'s' if len(by_path) > 1 else ''}"
    screening = ScreeningService(home)
    try:
        texts = {path: _screened(screening, path, change, now, source) for path, change in by_path.items()}
        with transaction(home, actor=actor, message=message, source=source, now=now) as edits:
            for path, text in texts.items():
                edits.write(path, _with_created(edits, path, text))
    except (GuardRefused, DocumentInvalid) as error:
        raise ItemRefused(str(error)) from error


def _with_created(edits: Transaction, path: str, text: str) -> str:
    """Return *text* with the time at which the item in the file was made, if there is one."""
    earlier = _parsed(path, edits.text(path)) if text else None
    if earlier is None:
        return text
    item = _parsed(path, text)
    assert item is not None  # noqa: S101 - rendered by this module
    return _rendered(item.namespace, item.key, item.value, earlier.created_at, item.updated_at)


def _screened(screening: ScreeningService, path: str, change: ItemChange, now: datetime, source: str) -> str:
    """Return the file's text with the guard's redactions. A deleted item has none.

    Strings are judged one by one, so that a redaction leaves the JSON whole, and then all together.

    Raises:
        ItemRefused, GuardRefused: the item cannot be stored.
    """
    if change.value is None:
        return ""
    for name in filter(None, (*change.namespace, change.key)):
        verdict = screening.verdict(path, name, source)
        if verdict.action != "allow":
            raise ItemRefused(f"the guard refused a namespace or a key: {_rules(verdict)}. Use another name")
    value = _without_findings(screening, path, source, _as_json(change.value))
    text = _rendered(change.namespace, change.key, value, now, now)
    verdict = screening.verdict(path, text, source)
    if not verdict.stored:
        raise GuardRefused(path, _rules(verdict))
    item = _parsed(path, verdict.text)
    if item is None:
        raise GuardRefused(path, "a redaction would break its JSON")
    return _rendered(item.namespace, item.key, item.value, now, now)


def _as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    try:
        plain = dict(json.loads(json.dumps(dict(value), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ItemRefused(f"the value is no JSON: {error}. Store numbers, strings, lists and mappings") from error
    if levels(plain, most=MOST_LEVELS) > MOST_LEVELS:
        raise ItemRefused(f"the value has more than {MOST_LEVELS} levels of lists and mappings. Store a flatter one")
    return plain


def _without_findings(screening: ScreeningService, path: str, source: str, value: Any) -> Any:
    if isinstance(value, str) and value:
        verdict = screening.verdict(path, value, source)
        if not verdict.stored:
            raise GuardRefused(path, _rules(verdict))
        return verdict.text
    if isinstance(value, list):
        return [_without_findings(screening, path, source, item) for item in value]
    if isinstance(value, dict):
        screened = {
            _without_findings(screening, path, source, key): _without_findings(screening, path, source, item)
            for key, item in value.items()
        }
        if len(screened) < len(value):
            raise GuardRefused(path, "two names in it would be redacted to the same one")
        return screened
    return value


def _rules(verdict: Verdict) -> str:
    return ", ".join(dict.fromkeys(finding.rule for finding in verdict.findings))


def _rendered(namespace: Sequence[str], key: str, value: Any, created: datetime, updated: datetime) -> str:
    record = {
        "namespace": list(namespace), "key": key, "created_at": created.isoformat(),
        "updated_at": updated.isoformat(), "value": value,
    }  # fmt: skip
    title = " ".join(_UNWANTED.sub(" ", key).split())[:_TITLE_CHARS] or "item"
    texts = "".join(_plain(text) for text in _long_texts(value))
    return _without_surrogates(f"# {title}\n\n{texts}```json\n{_json(record)}\n```\n")


def _json(record: Any) -> str:
    """Return *record* as JSON that a Markdown file may hold."""
    text = json.dumps(record, ensure_ascii=False, indent=2)
    return _without_surrogates(_UNWANTED.sub(lambda match: f"\\u{ord(match.group()):04x}", text))


def _without_surrogates(text: str) -> str:
    """Return *text* with a half of a pair as JSON escapes it: no file can hold one."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _long_texts(value: Any) -> Iterator[str]:
    """Yield the strings of *value* with several lines. JSON writes their line ends as letters."""
    if isinstance(value, str) and "\n" in value.strip():
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _long_texts(item)


def _plain(text: str) -> str:
    """Return *text* in a fence of its own."""
    lines = "\n".join(_UNWANTED.sub(" ", line).rstrip() for line in text.splitlines())
    ticks = "`" * max(4, 1 + max(map(len, re.findall("`+", lines)), default=0))
    return f"{ticks}text\n{lines.strip()}\n{ticks}\n\n"


def _parsed(path: str, text: str) -> StoredItem | None:
    """Return the item in the file *path*, or ``None`` if it is no item of that place."""
    blocks = _BLOCK.findall(text)
    try:
        record = json.loads(blocks[-1])
        item = StoredItem(
            namespace=tuple(record["namespace"]), key=record["key"], value=record["value"],
            created_at=datetime.fromisoformat(record["created_at"]),
            updated_at=datetime.fromisoformat(record["updated_at"]),
        )  # fmt: skip
        is_own = isinstance(item.value, dict) and item_path(item.namespace, item.key) == path
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        is_own = False
    if not is_own and text:
        _log.warning("%s is no item of the store: its block of JSON is missing, changed or held back", Path(path))
    return item if is_own else None


def _encoded(name: str) -> str:
    """Return *name* as the name of a file. An empty one is ``%``, and a long one ends in ``%~`` and a digest."""
    data = name.encode("utf-8", "surrogatepass")
    encoded = "".join(chr(byte) if chr(byte) in _SAFE else f"%{byte:02x}" for byte in data) or "%"
    if len(encoded) <= _MOST_NAME_BYTES:
        return encoded
    return f"{encoded[:_SHORTENED_BYTES]}%~{hashlib.sha256(data).hexdigest()[:32]}"
