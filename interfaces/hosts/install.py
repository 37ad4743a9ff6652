"""Put our hooks into the settings of a chat host, and take them out again without a trace.

Only our own hooks are touched: those whose command runs ``memory hook``. Everything else in the file keeps its place
and its value. A file that is only ours is removed with the hooks, and one that nobody changed since gets its old bytes
back.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent_home import storage
from agent_home.consent.signed_record import read_record, write_record
from agent_home.errors import HomeError
from agent_home.home import Home

from .event import HOSTS

__all__ = ["SettingsChange", "SettingsUnreadable", "handler", "install", "program", "settings_path", "uninstall"]

Scope = Literal["user", "project"]
#: Of each host, the file with its hooks, below the user's or the project's folder.
_FILES: Mapping[str, Mapping[Scope, str]] = {
    "claude-code": {"user": ".claude/settings.json", "project": ".claude/settings.local.json"},
    "codex": {"user": ".codex/hooks.json", "project": ".codex/hooks.json"},
    "gemini": {"user": ".gemini/settings.json", "project": ".gemini/settings.json"},
}
#: Seconds that a hook may take. At the end of a session Claude Code gives 1.5 s and Codex 1 s, unless told otherwise.
_SECONDS = {"session-start": 30, "user-prompt": 20, "stop": 10, "pre-compact": 10, "session-end": 3}
#: Tokens of context that Codex takes from our hooks, which give it at most half of that.
_CODEX_TOKENS, _CODEX_CHARS = 12_000, 24_000
_OURS = re.compile(
    r"(?:\bmemory|\binterfaces\.entry)['\"]? hook (?:session-start|user-prompt|stop|pre-compact|session-end)"
    r" --host (?:claude-code|codex|gemini)\b"
)
_RECORD = "hosts"


class SettingsUnreadable(HomeError):
    """A host's settings file is no JSON object, so nothing can be added to it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}. Nothing was changed. Correct the file, or add the hooks by hand")
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """A change of a settings file. *before* and *after* are its texts, ``None`` where there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def changed(self) -> bool:
        """True if the file would be, or was, another one afterwards."""
        return self.before != self.after


def settings_path(host: str, scope: Scope, folder: Path) -> Path:
    """Return the file with the hooks of *host*. *folder* is the user's home, or the project's folder."""
    return folder / _FILES[host][scope]


def install(home: Home, host: str, path: Path, *, apply: bool) -> SettingsChange:
    """Add our hooks for *home* to the settings file *path*, in place of older ones. Without *apply* nothing is written.

    Raises:
        SettingsUnreadable: the file is no JSON object, or its ``hooks`` are none.
        OSError: it cannot be written.
    """
    before = _read(path)
    settings = _parsed(path, before)
    hooks = _hooks_of(path, _without_ours(settings))
    for kind, name in HOSTS[host].items():
        groups = hooks.setdefault(name, [])
        if not isinstance(groups, list):
            raise SettingsUnreadable(path, f"has other things than a list under hooks.{name}")
        groups.append({"hooks": [handler(home, host, kind)]})
    settings["hooks"] = hooks
    change = SettingsChange(path=path, before=before, after=_rendered(settings, before))
    if apply and change.changed:
        _remember(home, path, before, change.after or "")
        _write(path, change.after or "")
    return change


def handler(home: Home, host: str, kind: str) -> dict[str, Any]:
    """Return the hook of *host* for the event *kind*, as its settings write it."""
    words = [*program(), "hook", kind, "--host", host, "--home", str(home.root)]
    seconds = _SECONDS[kind]
    handler: dict[str, Any] = {"type": "command"}
    if host == "codex":
        words += ["--max-chars", str(_CODEX_CHARS)]
        handler["additionalContextLimit"] = _CODEX_TOKENS
    handler["command"] = shlex.join(words)
    handler["timeout"] = seconds * 1000 if host == "gemini" else seconds
    if host == "gemini":
        handler["name"] = f"agent-home-{kind}"
    return handler


def uninstall(home: Home, path: Path, *, apply: bool) -> SettingsChange:
    """Take our hooks out of the settings file *path*. A file that is left empty, and that we had made, is removed.

    Raises:
        SettingsUnreadable: the file is no JSON object.
    """
    before = _read(path)
    if before is None:
        return SettingsChange(path=path, before=None, after=None)
    known = _remembered(home, path)
    if known is not None and before == known["after"]:
        after = known["before"]
    else:
        settings = _without_ours(_parsed(path, before))
        ours_alone = not settings and (known is None or known["before"] is None)
        after = None if ours_alone else _rendered(settings, before)
        after = before if settings == _parsed(path, before) else after
    change = SettingsChange(path=path, before=before, after=after)
    if apply and change.changed:
        if after is None:
            target = path.resolve()  # a link stays: somebody put it there
            target.unlink()
            if known is not None and known.get("made_folder") is True:
                _remove_empty(path.parent)
        else:
            _write(path, after)
    return change


def program() -> list[str]:
    """Return the command line of this program: its console script, or the interpreter with its module."""
    script = Path(sys.executable).with_name("memory")
    return [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "interfaces.entry"]


def _without_ours(settings: dict[str, Any]) -> dict[str, Any]:
    """Return *settings* without our hooks, and without the groups, events and tables that are empty then."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return settings
    kept: dict[str, Any] = {}
    for name, groups in hooks.items():
        left = groups
        if isinstance(groups, list):
            pairs = [(group, _group_without_ours(group)) for group in groups]
            left = [kept for group, kept in pairs if kept or not group]
        if left or not groups:
            kept[name] = left
    changed = {key: value for key, value in settings.items() if key != "hooks"}
    if kept or not hooks:
        changed = {key: (kept if key == "hooks" else value) for key, value in settings.items()}
    return changed


def _group_without_ours(group: Any) -> Any:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(handlers, list):
        return group
    left = [item for item in handlers if not (isinstance(item, dict) and _OURS.search(str(item.get("command", ""))))]
    return group if len(left) == len(handlers) else ({**group, "hooks": left} if left else None)


def _hooks_of(path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise SettingsUnreadable(path, "has other things than a table under hooks")
    return {name: list(groups) if isinstance(groups, list) else groups for name, groups in hooks.items()}


def _read(path: Path) -> str | None:
    try:
        return storage.read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsUnreadable(path, "is not UTF-8") from error


def _parsed(path: Path, text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        settings = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise SettingsUnreadable(path, "is not JSON (comments are not read)") from error
    if not isinstance(settings, dict):
        raise SettingsUnreadable(path, "is no JSON object")
    return settings


def _rendered(settings: Mapping[str, Any], before: str | None) -> str:
    """Return *settings* as JSON, indented as the file was."""
    found = re.search(r"^([ \t]+)\S", before or "", re.MULTILINE)
    indent: str | int = found[1] if found else 2
    return json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.resolve()  # a link may lead to another file system
    staged = target.with_name(f".{target.name}.agent-home")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise SettingsUnreadable(path, "has half of a character") from error
    storage.stage(staged, data)
    storage.replace(staged, target)


def _remember(home: Home, path: Path, before: str | None, after: str) -> None:
    """Keep the bytes of the file before our first change, so that it can be put back as it was."""
    record = read_record(home.machine, _RECORD) or {}
    known = record.get(str(path))
    if known is None or known["after"] != before:
        known = {"before": _before_us(path, before), "made_folder": not path.parent.exists()}
    write_record(home.machine, _RECORD, {**record, str(path): {**known, "after": after}})


def _before_us(path: Path, text: str | None) -> str | None:
    """Return the settings *text* as it was before hooks of ours that an earlier home had put there."""
    settings = _parsed(path, text)
    without = _without_ours(settings)
    if without == settings:
        return text
    return _rendered(without, text) if without else None


def _remembered(home: Home, path: Path) -> dict[str, Any] | None:
    record = read_record(home.machine, _RECORD) or {}
    known = record.get(str(path))
    return known if isinstance(known, dict) and {"before", "after"} <= set(known) else None


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
