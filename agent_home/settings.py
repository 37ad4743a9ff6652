"""``agent.toml``, the manifest of a home, and the tables of settings in it.

This module reads ``agent.toml``. Each package keeps a frozen settings dataclass, which :func:`read_table` fills. An
unknown key is an error.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from guard.lazy_regex import lazy_regex

from . import storage
from .audience import FOLDERS, Audience
from .errors import DocumentInvalid, SettingsBroken, SettingsInvalid
from .home_location import MANIFEST

__all__ = [
    "MANIFEST",
    "TABLES",
    "ContextFile",
    "Manifest",
    "OwnerSettings",
    "WaitingSetting",
    "load_manifest",
    "parse_manifest",
    "read_table",
    "setting_fields",
]

VERSION = 1
#: Tables that other packages read.
TABLES = ("owner", "embedding", "recall", "assembler", "distill", "guard", "serve")
#: Advice for a value of the wrong type.
_EXPECTED: Mapping[type, str] = {
    str: "a text in quotation marks",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}
#: Largest number of a setting. It is far above every use, and calculations with it stay exact.
_LARGEST = 10**12
#: Characters of a wrong value that an error repeats.
_MAX_SHOWN_CHARS = 100
_CONTROL = lazy_regex(r"[\x00-\x08\x0b-\x1f\x7f]")
_TOP = {"version", "name", "context", "audiences", *TABLES}

Cut = Literal["never", "oldest-first", "newest-first"]
Owner = Literal["user", "agent", "generated"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFile:
    """A file that is part of the prompt. Its place in ``agent.toml`` is its place in the prompt."""

    file: str
    owner: Owner
    audiences: tuple[str, ...]
    cut: Cut
    floor: int = 0  # tokens that a tight budget leaves it

    @property
    def name(self) -> str:
        """The section's name in prompt and receipt: ``SOUL`` for ``SOUL.md``."""
        return self.file.removesuffix(".md")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSetting:
    """A setting of ``agent.toml`` that is not in effect, because it widens something and nobody here agreed to it.

    *value* is what the file says, and *kept* what is in effect, ``None`` where it is not set. *why* names the harm.
    """

    key: str  # "table.key"
    value: Any
    kept: Any
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerSettings:
    """The table ``[owner]``: who the person is that the agent works for.

    Attributes:
        names: names under which chats show the owner's messages. Case and a leading ``@`` do not matter.
        accounts: the owner's account ids in chats that name accounts. Where both are known, the account decides.
    """

    names: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """True if anything is known about the owner."""
        return bool(self.names or self.accounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Content of ``agent.toml``. *tables* holds the other packages' settings, which are not checked yet.

    *waiting* are the settings that wait for a person's consent (``agent_home.consent``), and *refused* says that a
    person refused them.
    """

    path: Path
    name: str
    context: tuple[ContextFile, ...]
    audiences: Mapping[str, frozenset[str]]
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    waiting: tuple[WaitingSetting, ...] = ()
    refused: bool = False

    def settings(self, table: str, kind: type[T]) -> T:
        """Return the dataclass *kind* filled from ``[table]``, with its defaults where the file is silent.

        Raises:
            SettingsInvalid: an unknown or retired key, or a value of another type.
        """
        values = self.tables.get(table, {})
        where = f"{self.path}: [{table}]"
        for key in values:
            if key.replace("-", "_") in getattr(kind, "RETIRED", ()):
                line = _line_of(self.path, table, key)
                raise SettingsInvalid(
                    f"{self.path}{line}: [{table}]",
                    f"{key!r}: this setting was removed. Delete the line",
                )
        return read_table(kind, values, where)


def load_manifest(path: Path) -> Manifest:
    """Read ``agent.toml``.

    Raises:
        SettingsInvalid: an unknown key, a wrong type, a file named twice, a path that leaves the home.
        SettingsBroken: not TOML, empty, or not UTF-8.
    """
    try:
        return parse_manifest(storage.read_text(path), path)
    except DocumentInvalid as error:
        raise SettingsBroken(path, f"not valid TOML: {error.problem}") from error


def parse_manifest(text: str, path: Path) -> Manifest:
    """Read *text* as the manifest at *path*.

    Raises:
        SettingsInvalid: see :func:`load_manifest`.
    """
    try:
        data = tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError as error:
        problem = "its brackets are nested too deeply. Correct the file, or restore it from git"
        raise SettingsBroken(path, problem) from error
    except ValueError as error:  # of the syntax, or of a number with thousands of digits
        raise SettingsBroken(path, f"not valid TOML: {error}. Correct the file, or restore it from git") from error
    if not data:
        raise SettingsBroken(path, "it is empty. Restore it from git")
    for key in data:
        if key not in _TOP:
            raise SettingsInvalid(path, _unknown_key(key, _TOP))
    if data.get("version") != VERSION:
        raise SettingsInvalid(path, f"version is {data.get('version')!r}. This program reads version = {VERSION}")
    name = data.get("name", path.parent.name)
    _converted(str, name, f"{path}: name")
    tables = {name: data[name] for name in TABLES if name in data}
    for table, values in tables.items():
        if not isinstance(values, dict):
            raise SettingsInvalid(path, f"{table} is {values!r}. Write a table [{table}]")
    context = _context(path, data.get("context", []))
    return Manifest(
        path=path,
        name=name,
        context=context,
        audiences=_audiences(path, data.get("audiences", {}), context),
        tables=tables,
    )


def read_table(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """Return an instance of the dataclass *kind*, filled from a TOML table. *where* begins the error message.

    Lists become tuples. A whole number is accepted for a ``float``. A key may be written with ``-`` for ``_``.

    Raises:
        SettingsInvalid: a key that is unknown, missing or set twice, or a value of another type than the field's.
    """
    hints = _type_hints(kind)  # type: ignore[arg-type]  # mypy does not know that every class is hashable
    fields = {item.name: item for item in setting_fields(kind)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in fields:
            raise SettingsInvalid(where, _unknown_key(key, fields))
        if name in values:
            raise SettingsInvalid(where, f"{name!r} is set twice, with '-' and with '_'. Delete one of the two")
        values[name] = _converted(hints[name], value, f"{where} {key}")
    missing = [name for name, item in fields.items() if name not in values and _is_required(item)]
    if missing:
        raise SettingsInvalid(where, f"{missing[0]!r} is missing. Add the key")
    try:
        return kind(**values)
    except ValueError as error:
        raise SettingsInvalid(where, str(error)) from error


@lru_cache(maxsize=64)
def _type_hints(kind: type) -> Mapping[str, Any]:
    """Return the types of a dataclass's fields. They are written as text, and each look compiles that text again."""
    return typing.get_type_hints(kind)


def setting_fields(kind: type) -> list[dataclasses.Field[Any]]:
    """Return the fields of a settings dataclass that ``agent.toml`` may set.

    A field with ``metadata={"setting": False}`` is set by the program alone.
    """
    return [item for item in dataclasses.fields(kind) if item.metadata.get("setting", True)]


def _unknown_key(key: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(key.replace("-", "_"), list(known), n=1)
    hint = f"Did you mean {nearest[0]!r}?" if nearest else f"Known keys are {', '.join(sorted(known))}"
    return f"unknown key {key!r}. {hint}"


def _line_of(path: Path, table: str, key: str) -> str:
    """Return `` line 12`` for the line of *path* that sets *key* in ``[table]``, or nothing if it cannot be found."""
    try:
        rows = storage.read_bytes(path).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    inside = False
    for number, row in enumerate(rows, 1):
        words = row.split("#", maxsplit=1)[0].strip()
        if words.startswith("["):
            inside = words == f"[{table}]"
        name = words.partition("=")[0].strip()
        if name == f"{table}.{key}" or (inside and name.strip("\"'") == key):
            return f" line {number}"
    return ""


def _is_required(item: dataclasses.Field[Any]) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING


def _converted(hint: Any, value: Any, where: str) -> Any:
    """Return *value* in the type *hint*."""
    origin = typing.get_origin(hint)
    inner = typing.get_args(hint)
    if origin is Literal:
        return _one_of(inner, value, where)
    if origin in {tuple, frozenset}:
        _require(isinstance(value, list), value, "a list in square brackets", where)
        return origin(_converted(inner[0], item, where) for item in value)
    if origin in {dict, Mapping}:
        _require(isinstance(value, dict), value, "a table", where)
        return {key: _converted(inner[1], item, f"{where}.{key}") for key, item in value.items()}
    if origin in {typing.Union, types.UnionType}:
        return _converted(next(kind for kind in inner if kind is not type(None)), value, where)
    if dataclasses.is_dataclass(hint):
        _require(isinstance(value, dict), value, "a table", where)
        return read_table(typing.cast("type[Any]", hint), value, where)
    if issubclass(hint, StrEnum):
        return hint(_one_of([str(name) for name in hint], value, where))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    right = number if hint is float else isinstance(value, hint) and not (hint is int and isinstance(value, bool))
    _require(right, value, _EXPECTED.get(hint, hint.__name__), where)
    if number:  # no setting is negative, and NaN fails both comparisons
        _require(0 <= value <= _LARGEST, value, f"a number from 0 to {_LARGEST}", where)
    elif isinstance(value, str):
        _require(_CONTROL.search(value) is None, value, "a text without control characters", where)
    return float(value) if hint is float else value


def _one_of(names: Sequence[Any], value: Any, where: str) -> Any:
    _require(value in names, value, f"one of {', '.join(map(repr, names))}", where)
    return value


def _require(right: bool, value: Any, expected: str, where: str) -> None:  # noqa: FBT001
    if not right:
        raise SettingsInvalid(where, f"is {_shortened(value)}. Write {expected}")


def _shortened(value: Any) -> str:
    try:
        found = repr(value)
    except ValueError:  # a number with thousands of digits
        found = "a number with thousands of digits"
    return found if len(found) <= _MAX_SHOWN_CHARS else f"{found[:_MAX_SHOWN_CHARS]}..."


def _context(path: Path, rows: Any) -> tuple[ContextFile, ...]:
    if not isinstance(rows, list) or not rows:
        raise SettingsInvalid(path, 'names no context files. Add at least one [[context]] table with file = "..."')
    files = []
    for number, row in enumerate(rows, 1):
        _require(isinstance(row, dict), row, "a table", f"{path}: [[context]] {number}")
        item = read_table(ContextFile, row, f"{path}: [[context]] {number}")
        _require_inside(path, item.file)
        _require_audiences(path, item.audiences)
        files.append(item)
    names = [item.file for item in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise SettingsInvalid(path, f"names {twice} twice. Keep one [[context]] table for each file")
    return tuple(files)


def _audiences(path: Path, table: Any, context: tuple[ContextFile, ...]) -> dict[str, frozenset[str]]:
    if not isinstance(table, dict):
        raise SettingsInvalid(path, f"audiences is {table!r}. Write a table [audiences]")
    rules: dict[str, frozenset[str]] = {folder: frozenset(allowed) for folder, allowed in FOLDERS.items()}
    for item in context:
        rules[item.file] = frozenset(item.audiences)
    for name, allowed in table.items():
        if not isinstance(allowed, list):
            raise SettingsInvalid(path, f"audiences {name!r} is {allowed!r}. Write a list in square brackets")
        _require_audiences(path, tuple(allowed))
        rules[name] = frozenset(allowed)
    return rules


def _require_inside(path: Path, file: str) -> None:
    parts = Path(file).parts
    if not file.endswith(".md") or Path(file).is_absolute() or ".." in parts or parts[0].startswith("."):
        raise SettingsInvalid(path, f"{file!r} is not a Markdown file inside the home. Write a name such as USER.md")


def _require_audiences(path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in tuple(Audience):
            raise SettingsInvalid(path, f"unknown audience {name!r}. Known audiences are {', '.join(Audience)}")
