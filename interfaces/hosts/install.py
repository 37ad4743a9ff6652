"""Put our hooks into the settings of a chat host, and take them out again without a trace.

Only our own hooks are touched: those whose command runs ``memory hook``. They are put into the text of the file, which
otherwise stays as it is, to the byte. A file that is only ours is removed with the hooks. The record about a file has
its digest and the places of our hooks, and nothing that others wrote there.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from agent_home import storage
from agent_home.consent.signed_record import read_record, write_record
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.home_location import MANIFEST
from agent_home.store.machine_state import hold_home

from .event import HOSTS
from .json_text import JsonInsertion, JsonPart, JsonStyle, cut, insert, insertion, parts, spans_without, start_of_value

__all__ = [
    "Scope",
    "SettingsChange",
    "SettingsElsewhere",
    "SettingsUnreadable",
    "absent_homes",
    "handler",
    "has_hooks",
    "install",
    "program",
    "settings_path",
    "uninstall",
]

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
#: The words of a command of ours behind the program, with the home as NUL.
_OURS = re.compile(
    r"hook (?:session-start|user-prompt|stop|pre-compact|session-end) --host (?:claude-code|codex|gemini)"
    r"(?: --home \0)?(?: --max-chars \d+)?"
)
_RECORD = "hosts"
_HOOKS = "hooks"


class SettingsUnreadable(HomeError):
    """A host's settings file is no JSON object, so nothing can be added to it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}. Nothing was changed. Correct the file, or change its hooks by hand")
        self.path = path


class SettingsElsewhere(HomeError):
    """A link in a project leads from its settings file to a place outside of the project."""

    def __init__(self, path: Path, real: Path) -> None:
        super().__init__(
            f"{path} leads to {real}, outside of this project. Nothing was changed. Remove the link, or leave out "
            "--scope project"
        )
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """A change of a settings file. *before* and *after* are its texts, ``None`` where there is no file.

    *absent* are the homes that hooks of ours named before, and that are not there.
    """

    path: Path
    before: str | None
    after: str | None
    absent: tuple[Path, ...] = ()

    @property
    def changed(self) -> bool:
        """True if the file would be, or was, another one afterwards."""
        return self.before != self.after


class _InstalledHooks(NamedTuple):
    """A row of the record: the digest of a file, the places of our hooks, and whether we made it and its folder."""

    digest: str
    spans: Sequence[Sequence[int]]
    made_file: bool
    made_folder: bool


def settings_path(host: str, scope: Scope, folder: Path) -> Path:
    """Return the file with the hooks of *host*. *folder* is the user's home, or the project's folder.

    A link of the user is followed. A link that came with a project must not lead out of it, or into its git folder.

    Raises:
        SettingsElsewhere: it does.
        SettingsUnreadable: a link leads to itself.
    """
    path = folder / _FILES[host][scope]
    try:
        real = path.resolve()
    except (RuntimeError, OSError) as error:
        raise _link_loop(path) from error
    inside = real.is_relative_to(folder.resolve()) and ".git" not in real.relative_to(folder.resolve()).parts
    if scope == "project" and not inside:
        raise SettingsElsewhere(path, real)
    return path


def install(home: Home, host: str, path: Path, *, apply: bool) -> SettingsChange:
    """Add our hooks for *home* to the settings file *path*, in place of older ones. Without *apply* nothing is written.

    Raises:
        SettingsUnreadable: the file is no JSON object, or its ``hooks`` are none, or stand there twice.
        OSError: it cannot be written.
        HomeError: see :func:`agent_home.store.machine_state.hold_home`, whose lock keeps the record whole.
    """
    with hold_home(home) if apply else nullcontext():
        before = _read(path)
        _require_settings(path, before)
        known = _remembered(home, path, before)
        without = _without_ours(before) if known is None else _put_back(known, before)
        after, spans = _with_ours(home, host, path, without)
        absent = tuple(absent_homes(path))
        change = SettingsChange(path=path, before=before, after=after, absent=absent)
        if apply and change.changed:
            made_folder = known.made_folder if known else not path.parent.exists()
            remembered = _InstalledHooks(_digest(after), spans, without is None, made_folder)
            _remember(home, path, remembered)
            _write(path, before, after)
    return change


#: Events whose hooks give context.
_GIVING = frozenset({"session-start", "user-prompt"})


def handler(home: Home, host: str, kind: str) -> dict[str, Any]:
    """Return the hook of *host* for the event *kind*, as its settings write it."""
    words = [*program(), "hook", kind, "--host", host, "--home", str(home.root)]
    seconds = _SECONDS[kind]
    handler: dict[str, Any] = {"type": "command"}
    if host == "codex":
        words += ["--max-chars", str(_CODEX_CHARS)]
        if kind in _GIVING:  # Codex warns at every start about the limit of an event that can give no context
            handler["additionalContextLimit"] = _CODEX_TOKENS
    handler["command"] = shlex.join(words)
    handler["timeout"] = seconds * 1000 if host == "gemini" else seconds
    if host == "gemini":
        handler["name"] = f"agent-home-{kind}"
    return handler


def uninstall(home: Home | None, path: Path, *, apply: bool) -> SettingsChange:
    """Take our hooks out of the settings file *path*. A file that is left empty, and that we had made, is removed.

    Without a *home*, which may have been deleted, a file that only had our hooks counts as made by us.

    Raises:
        SettingsUnreadable: the file is no JSON object.
        HomeError: see :func:`agent_home.store.machine_state.hold_home`, whose lock keeps the record whole.
    """
    with hold_home(home) if apply and home is not None else nullcontext():
        return _uninstalled(home, path, apply=apply)


def _uninstalled(home: Home | None, path: Path, *, apply: bool) -> SettingsChange:
    """Do the work of :func:`uninstall`, with the lock of *home* held if anything is to be written."""
    before = _read(path)
    known = _remembered(home, path, before)
    if known is not None:
        after = _put_back(known, before)
    else:
        _require_settings(path, before)
        after = _without_ours(before, keep_file=_is_of_others(home, path))
    change = SettingsChange(path=path, before=before, after=after)
    if apply and change.changed:
        if after is None:
            target = path.resolve()  # a link stays: somebody put it there
            _require_unchanged(path, before)
            target.unlink()
            if known is not None and known.made_folder:
                _remove_empty(path.parent)
        else:
            _write(path, before, after)
    if apply:
        _remember(home, path, None)
    return change


def absent_homes(path: Path) -> Iterator[Path]:
    """Yield the homes that our hooks in the settings file *path* name, and that are not there. Once each, in order."""
    try:
        text = _read(path)
        _require_settings(path, text)
    except (HomeError, OSError):
        return
    commands = [str(item.value["command"]) for _, item in _handlers(text or "") if _is_ours(item.value)]
    for name in dict.fromkeys(filter(None, map(_home_in, commands))):
        if not (Path(name) / MANIFEST).is_file():
            yield Path(name)


def has_hooks(path: Path, home: Home) -> bool:
    """Return whether the settings file *path* has hooks of ours for *home*."""
    try:
        text = _read(path)
        _require_settings(path, text)
    except (HomeError, OSError):
        return False
    commands = [str(item.value["command"]) for _, item in _handlers(text or "") if _is_ours(item.value)]
    return str(home.root) in map(_home_in, commands)


def program() -> list[str]:
    """Return the command line of this program: its console script, or the interpreter with its module."""
    script = Path(sys.executable).with_name("memory")
    return [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "interfaces.entry"]


def _home_in(command: str) -> str:
    """Return the home that a command of ours names, or an empty string."""
    try:
        words = shlex.split(command)
    except ValueError:  # somebody edited it
        return ""
    at = words.index("--home") + 1 if "--home" in words else len(words)
    return words[at] if at < len(words) else ""


def _with_ours(home: Home, host: str, path: Path, text: str | None) -> tuple[str, list[tuple[int, int]]]:
    """Return *text* with our hooks, and their places."""
    style = JsonStyle.of(text or "")
    groups = {name: {_HOOKS: [handler(home, host, kind)]} for kind, name in HOSTS[host].items()}
    at = start_of_value(text or "")
    if text is None or at == len(text):
        whole = style.render({_HOOKS: {name: [group] for name, group in groups.items()}}, 0)
        return insert(text or "", [JsonInsertion(at, f"{whole}{style.newline}" if text is None else whole)])
    hooks = _member(text, at, _HOOKS)
    if hooks is None:
        rendered = f'"{_HOOKS}": ' + style.render({name: [group] for name, group in groups.items()}, 1)
        return insert(text, [insertion(text, at, [rendered], style, 1)])
    insertions, fresh = [], []
    for name, group in groups.items():
        event = _member(text, hooks.at, name)
        if event is None:
            fresh.append(f'"{name}": {style.render([group], 2)}')
        elif isinstance(event.value, list):
            insertions.append(insertion(text, event.at, [style.render(group, 3)], style, 3))
        else:
            raise SettingsUnreadable(path, f"has other things than a list under {_HOOKS}.{name}")
    if fresh:
        insertions.append(insertion(text, hooks.at, fresh, style, 2))
    return insert(text, insertions)


def _member(text: str, at: int, key: str) -> JsonPart | None:
    return next((part for part in parts(text, at) if part.key == key), None)


def _without_ours(text: str | None, *, keep_file: bool = False) -> str | None:
    """Return *text* without our hooks, and without the groups, events and tables that are empty then.

    A file that had nothing else is ``None``, unless *keep_file* says that it was there before us.
    """
    found = [] if text is None else list(_handlers(text))
    gone: dict[tuple[int, int], set[int]] = {}
    for place, item in found:
        if _is_ours(item.value):
            _take_out(text or "", place, gone)
    if text is None or not gone:
        return text
    top = start_of_value(text)
    if not keep_file and len(gone.get((0, top), ())) == len(parts(text, top)):
        return None
    spans = [span for (_, at), numbers in gone.items() for span in spans_without(text, at, numbers)]
    outer = [span for span in spans if not any(span != other and _is_within(span, other) for other in spans)]
    return cut(text, outer)


def _take_out(text: str, place: Sequence[tuple[int, int]], gone: dict[tuple[int, int], set[int]]) -> None:
    """Note the handler at *place*, a number and a container for each level, and what is empty without it."""
    for depth in range(len(place) - 1, -1, -1):
        number, at = place[depth]
        numbers = gone.setdefault((depth, at), set())
        numbers.add(number)
        if len(numbers) < len(parts(text, at)):
            return


def _is_within(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return other[0] <= span[0] and span[1] <= other[1]


def _handlers(text: str) -> Iterator[tuple[tuple[tuple[int, int], ...], JsonPart]]:
    """Yield each hook with its place: on each level its number, and where the object or array around it begins."""
    top = start_of_value(text)
    if top == len(text):
        return
    for table, hooks in _numbered(text, top, dict, _HOOKS):
        for event, groups in _numbered(text, hooks.at, dict):
            for group, group_part in _numbered(text, groups.at, list):
                for _, handlers in _numbered(text, group_part.at, dict, _HOOKS):
                    for number, item in _numbered(text, handlers.at, list):
                        yield ((table, top), (event, hooks.at), (group, groups.at), (number, handlers.at)), item


def _numbered(text: str, at: int, kind: type, key: str = "") -> Iterator[tuple[int, JsonPart]]:
    """Yield the parts of what begins at *at*, if it is of that *kind*, numbered. With *key*, those members alone."""
    if text[at] != ("{" if kind is dict else "["):
        return
    for number, part in enumerate(parts(text, at)):
        if not key or part.key == key:
            yield number, part


def _is_ours(item: Any) -> bool:
    """Return whether a hook is one that we wrote, perhaps for another home or by another installation.

    A command that does more than ours is somebody's own, even if it calls ours.
    """
    command = str(item.get("command", "")).strip() if isinstance(item, dict) else ""
    try:
        words = shlex.split(command)
    except ValueError:  # somebody edited it
        return False
    if "hook" not in words or shlex.join(words) != command:  # what a shell would read otherwise is not ours
        return False
    at = words.index("hook")
    starter, rest = words[:at], words[at:]
    if "--home" in rest[:-1]:
        rest[rest.index("--home") + 1] = "\0"
    started = starter[1:] == ["-P", "-m", "interfaces.entry"] or [Path(word).name for word in starter] == ["memory"]
    return started and _OURS.fullmatch(" ".join(rest)) is not None


def _read(path: Path) -> str | None:
    try:
        return storage.read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsUnreadable(path, "is not UTF-8") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _link_loop(path) from error
        raise


def _link_loop(path: Path) -> SettingsUnreadable:
    return SettingsUnreadable(path, "is a link that leads to itself")


def _require_settings(path: Path, text: str | None) -> None:
    """Refuse a text that is no JSON object, or in which our hooks would have two places.

    Raises:
        SettingsUnreadable: it is one of these.
    """
    if text is None or start_of_value(text) == len(text):
        return
    try:
        settings = json.loads(text.removeprefix("\ufeff"), parse_constant=_no_json)
    except (ValueError, RecursionError) as error:
        raise SettingsUnreadable(path, "is not JSON (comments are not read)") from error
    if not isinstance(settings, dict):
        raise SettingsUnreadable(path, "is no JSON object")
    top = start_of_value(text)
    hooks = [part for part in parts(text, top) if part.key == _HOOKS]
    if any(not isinstance(part.value, dict) for part in hooks):
        raise SettingsUnreadable(path, f"has other things than a table under {_HOOKS}")
    names = [part.key for part in hooks] + [f"{_HOOKS}.{event.key}" for part in hooks for event in parts(text, part.at)]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise SettingsUnreadable(path, f"has the key {twice[:80]} twice, and hosts read only one of them")


def _no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _write(path: Path, before: str | None, text: str) -> None:
    """Write *text* in place of *before*, unless another program has changed the file meanwhile.

    Raises:
        SettingsUnreadable: it has.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.resolve()  # a link may lead to another file system
    staged = target.with_name(f".{target.name}.agent-home")
    storage.stage(staged, text.encode())
    try:
        _require_unchanged(path, before)
        storage.replace(staged, target)
    finally:
        staged.unlink(missing_ok=True)


def _require_unchanged(path: Path, before: str | None) -> None:
    """Refuse to overwrite what another program wrote a moment ago. Its next write may still come between.

    Raises:
        SettingsUnreadable: the file is another one than *before*.
    """
    if _read(path) != before:
        raise SettingsUnreadable(path, "was changed by another program just now")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _put_back(known: _InstalledHooks, text: str | None) -> str | None:
    """Return *text*, which nobody changed since, as it was before us."""
    return None if known.made_file else cut(text or "", known.spans)


def _remember(home: Home | None, path: Path, row: _InstalledHooks | None) -> None:
    """Keep *row* about the file, or nothing. What an earlier version kept about any file is dropped."""
    if home is None:
        return
    record = {name: old for name, old in (read_record(home.machine, _RECORD) or {}).items() if _row(old) is not None}
    changed = {name: old for name, old in record.items() if name != str(path)}
    if row is not None:
        changed[str(path)] = row._asdict()
    if changed or read_record(home.machine, _RECORD):
        write_record(home.machine, _RECORD, changed)


def _remembered(home: Home | None, path: Path, text: str | None) -> _InstalledHooks | None:
    """Return what is kept about the file, if it is the *text* that was written."""
    row = _recorded(home, path)
    return row if row is not None and text is not None and row.digest == _digest(text) else None


def _is_of_others(home: Home | None, path: Path) -> bool:
    """Return whether the file was there before our hooks."""
    row = _recorded(home, path)
    return row is not None and not row.made_file


def _recorded(home: Home | None, path: Path) -> _InstalledHooks | None:
    return None if home is None else _row((read_record(home.machine, _RECORD) or {}).get(str(path)))


def _row(kept: Any) -> _InstalledHooks | None:
    """Return a row of the record, which this machine signed, or ``None`` for one of an earlier version."""
    return _InstalledHooks(**kept) if isinstance(kept, dict) and set(kept) == set(_InstalledHooks._fields) else None


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
