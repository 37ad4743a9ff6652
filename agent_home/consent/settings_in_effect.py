"""Decide which settings of ``agent.toml`` are in effect on this machine.

``agent.toml`` is in git, so a pull can change it. A setting that widens something takes effect when a person on this
machine agrees to its very value. Until then the value stays that was in effect here before, or the default. The record
``settings.json`` of this machine holds what is in effect, so a narrower value that was in effect here is not lost by a
pull either. A rule file counts by its content, and this machine keeps a copy of the content in effect.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from .. import storage
from ..audience import rule_of
from ..settings import Manifest, WaitingSetting, parse_manifest
from .setting_classes import CLASSES, is_wider
from .signed_record import read_record, try_write_record, write_record

__all__ = ["accept_settings", "refuse_settings", "remember_settings", "settings_digest", "settings_in_effect"]

_RECORD = "settings"
_REFUSED = "refused-settings"
#: Key of the audience of a path in what waits: ``audiences.MEMORY.md``.
_AUDIENCES = "audiences."
#: Key of a rule file in what waits: ``guard.rules.own.toml``.
_RULES = "guard.rules."
#: Folder of machine state with the rule files that are in effect, by the digest of their content.
_COPIES = "rules"
#: Largest rule file that is read.
_MAX_RULES_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class _Known:
    """The state of this machine: settings that are not harmless, audiences by path, rule files by digest."""

    values: Mapping[str, Any]
    audiences: Mapping[str, frozenset[str]]
    files: Mapping[str, str]


def settings_in_effect(manifest: Manifest, machine: Path) -> Manifest:
    """Return *manifest*, as its file says it, with the settings that are in effect. *machine* holds the record.

    What waits for a person's consent is in ``waiting``.
    """
    known = _known(machine)
    tables, waiting = _tables_in_effect(manifest, known)
    rules = tables.get("guard", {}).get("rules")
    if isinstance(rules, list):
        changed = list(_changed_rules(manifest.path.parent, rules, known))
        copies = {item.key.removeprefix(_RULES): str(_copy(machine, item.kept)) for item in changed}
        tables["guard"] = {**tables["guard"], "rules": [copies.get(path, path) for path in rules]}
        waiting += changed
    audiences = {
        path: rule_of(manifest.audiences, path) & rule_of(known.audiences, path)
        for path in sorted({*manifest.audiences, *known.audiences})
    }
    waiting += _waiting_audiences(manifest.audiences, audiences)
    refused = bool(waiting) and (read_record(machine, _REFUSED) or {}).get("digest") == settings_digest(waiting)
    return replace(manifest, tables=tables, audiences=audiences, waiting=tuple(waiting), refused=refused)


def remember_settings(manifest: Manifest, machine: Path) -> None:
    """Record what is in effect of *manifest*, which :func:`settings_in_effect` returned."""
    record, known = _record_of(manifest), read_record(machine, _RECORD) or {"values": {}, "files": {}}
    record["values"].pop(_RULES[:-1], None)  # rule files change by consent alone
    if (rules := known["values"].get(_RULES[:-1])) is not None:
        record["values"][_RULES[:-1]] = rules
    try_write_record(machine, _RECORD, {**record, "files": known["files"]})


def accept_settings(manifest: Manifest, machine: Path, keys: Collection[str] = ()) -> None:
    """Record a person's consent to *manifest* as its file says it, or to its waiting settings *keys* alone.

    From now on their very values are in effect on this machine.

    Raises:
        MachineKeyUnusable: the consent cannot be signed.
    """
    record = _record_of(manifest)
    if keys:
        wanted = record
        remember_settings(settings_in_effect(manifest, machine), machine)
        record = read_record(machine, _RECORD) or {"values": {}, "audiences": {}, "files": {}}
        for key in keys:
            part, name = _place(key)
            if part == "audiences":
                record[part][name] = sorted(rule_of(manifest.audiences, name))
                continue
            record[part].pop(name, None)
            if name in wanted[part]:
                record[part][name] = wanted[part][name]
            if key == _RULES[:-1]:
                record["files"] = wanted["files"]
    for path, digest in record["files"].items():
        content = _content(manifest.path.parent, path)
        if hashlib.sha256(content).hexdigest() == digest:
            storage.stage(_copy(machine, digest), content)
    write_record(machine, _RECORD, record)


def refuse_settings(manifest: Manifest, machine: Path) -> None:
    """Record that a person refused what waits in *manifest*, which :func:`settings_in_effect` returned."""
    write_record(machine, _REFUSED, {"digest": settings_digest(manifest.waiting)})


def settings_digest(waiting: Collection[WaitingSetting]) -> str:
    """Return the digest of what waits, which names these very values on every machine. Nothing has an empty one."""
    if not waiting:
        return ""
    rows = [[item.key, item.value] for item in sorted(waiting, key=lambda item: item.key)]
    return hashlib.sha256(json.dumps(rows, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _tables_in_effect(manifest: Manifest, known: _Known) -> tuple[dict[str, dict[str, Any]], list[WaitingSetting]]:
    tables = {name: dict(table) for name, table in manifest.tables.items()}
    waiting = []
    for key in sorted(_guarded(manifest.tables) | set(known.values)):
        table, _, name = key.partition(".")
        value, present = _value(manifest.tables.get(table, {}), name), known.values.get(key)
        if not is_wider(CLASSES[key], value, present):
            continue
        waiting.append(WaitingSetting(key=key, value=value, kept=present, why=CLASSES[key].why))
        values = tables.setdefault(table, {})
        for spelling in (name, name.replace("_", "-")):
            values.pop(spelling, None)
        if present is not None:
            values[name] = present
    return tables, waiting


def _changed_rules(root: Path, rules: list[Any], known: _Known) -> Iterator[WaitingSetting]:
    """Yield the rule files whose content is not the one that a person here agreed to."""
    for path in rules:
        kept = known.files.get(path) if isinstance(path, str) else None
        present = hashlib.sha256(_content(root, path)).hexdigest() if kept else None
        if present != kept:
            why = "other content of a rule file, which decides what is redacted"
            yield WaitingSetting(key=f"{_RULES}{path}", value=present, kept=kept, why=why)


def _waiting_audiences(
    wanted: Mapping[str, frozenset[str]], in_effect: Mapping[str, frozenset[str]]
) -> Iterator[WaitingSetting]:
    for path, allowed in in_effect.items():
        if more := rule_of(wanted, path) - allowed - {"owner"}:
            why = f"shows {path} to {', '.join(sorted(more))}"
            value = sorted(wanted[path]) if path in wanted else None
            yield WaitingSetting(key=f"{_AUDIENCES}{path}", value=value, kept=sorted(allowed), why=why)


def _place(key: str) -> tuple[str, str]:
    """Return the part of the record that holds the waiting setting *key*, and its name there."""
    if key.startswith(_AUDIENCES):
        return "audiences", key.removeprefix(_AUDIENCES)
    return ("files", key.removeprefix(_RULES)) if key.startswith(_RULES) else ("values", key)


def _record_of(manifest: Manifest) -> dict[str, Any]:
    """Return what *manifest* says, without what is harmless, as JSON types."""
    values = {}
    for key in _guarded(manifest.tables):
        table, _, name = key.partition(".")
        values[key] = _value(manifest.tables[table], name)
    rules = values.get("guard.rules")
    contents = (
        {str(path): _content(manifest.path.parent, str(path)) for path in rules} if isinstance(rules, list) else {}
    )
    files = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    audiences = {path: sorted(allowed) for path, allowed in manifest.audiences.items()}
    record = {"values": values, "audiences": audiences, "files": files}
    return json.loads(json.dumps(record, default=str))  # type: ignore[no-any-return]


def _known(machine: Path) -> _Known:
    """Return what this machine's record holds, or the settings of a new home."""
    record = read_record(machine, _RECORD)
    if record is None:
        return _Known({}, _template_audiences(), {})
    values = {key: value for key, value in record["values"].items() if key in CLASSES}
    audiences = {path: frozenset(allowed) for path, allowed in record["audiences"].items()}
    return _Known(values, audiences, record["files"])


@cache
def _template_audiences() -> Mapping[str, frozenset[str]]:
    from importlib import resources  # a machine with a record needs no template

    template = resources.files("agent_home.template").joinpath("agent.toml")
    return parse_manifest(template.read_text(encoding="utf-8"), Path("agent.toml")).audiences


def _guarded(tables: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the settings in *tables* that are not harmless. The package that reads an unknown key reports it."""
    keys = {f"{table}.{name.replace('-', '_')}" for table, values in tables.items() for name in values}
    return {key for key in keys if key in CLASSES and CLASSES[key].kind != "harmless"}


def _value(table: Mapping[str, Any], name: str) -> Any:
    return table.get(name, table.get(name.replace("_", "-")))


def _copy(machine: Path, digest: str) -> Path:
    return machine.absolute() / _COPIES / f"{digest}.toml"


def _content(root: Path, path: str) -> bytes:
    """Return the content of a rule file. One that cannot be read is empty here, and the guard names what is wrong."""
    with suppress(OSError, ValueError), storage.open_file(root / path) as file:
        return file.read(_MAX_RULES_BYTES)
    return b""
