"""Find where a commit has a thing that a report names: message, path, changed lines, or another word for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from guard.lazy_regex import lazy_regex

from ..statements.names import is_file_name
from .commit_view import CommitView
from .wording import ReportUnit, ReportUnitKind, Stems, stems_of

__all__ = ["FILE_STEMS", "Place", "in_lines", "in_message", "place_of"]

#: ``message`` is the subject, or a path for a file. ``body`` is the rest of the message. ``steady`` lines have the name
#: on both sides, or only stand beside the change. ``mates`` are other words of the concept, in the message or a path.
Place = Literal["message", "path", "body", "lines", "steady", "mates", "mates_in_lines", ""]

#: Words that name a file of most repositories. Only a message or a path shows that a commit is about it.
FILE_STEMS = frozenset({("readm",), ("changelog",), ("licens",)})
#: Endings of files that also end names in code: ``package.json``.
_KEY_ENDINGS = frozenset({"json", "c", "h", "go", "rs", "lock", "conf", "cfg", "sh", "lua", "pl", "ex"})
_VERSION = lazy_regex(r"\d+(?:\.\d+)+")
#: First Chinese character. Stems of a Chinese term are the term itself.
_FIRST_CHINESE = "\u4e00"


def place_of(unit: ReportUnit, view: CommitView) -> Place:
    """Return where *view* has *unit*, the place that says most first, and an empty string when nowhere."""
    rules: Mapping[ReportUnitKind, Callable[[ReportUnit, CommitView], Place]] = {
        "path": _of_path, "symbol": _of_symbol, "number": _of_number, "unknown": _of_unknown,
    }  # fmt: skip
    rule = rules.get(unit.kind)
    if rule is not None:
        return rule(unit, view)
    if unit.kind == "proper" and len(unit.own) > 1:
        return _of_compound(unit, view)
    return _by_own_stems(unit, view) or _by_mates(unit, view)


def in_message(stems: Stems, view: CommitView) -> bool:
    """Return whether message or paths have all *stems*."""
    return all(one in view.message or one in view.path_words for one in stems)


def in_lines(stems: Stems, view: CommitView) -> bool:
    """Return whether the changed lines, or the lines that name their function, have all *stems*."""
    return all(one in view.words or one in view.header_words for one in stems)


def _of_path(unit: ReportUnit, view: CommitView) -> Place:
    found = view.touches(unit.text) or _is_key(unit.text, view) or _is_slashed_word(unit.text, view)
    return "message" if found else ""


def _is_key(name: str, view: CommitView) -> bool:
    """Return whether a name with a dot that no changed file has is a module or key that the commit mentions."""
    if "/" in name or name.rpartition(".")[2] not in _KEY_ENDINGS:
        return False
    return name in view.info.message or any(name in text for _, _, text in view.lines)


def _is_slashed_word(name: str, view: CommitView) -> bool:
    """Return whether a name with a slash is no path of the commit's folders, and the commit has its parts."""
    first = name.partition("/")[0]
    if is_file_name(name) or any(first in path.split("/")[:-1] for path in view.paths):
        return False
    return all(in_message((one,), view) or in_lines((one,), view) for one in stems_of(name))


def _of_symbol(unit: ReportUnit, view: CommitView) -> Place:
    if unit.text in view.subject_names:
        return "message"
    if view.sides(unit.text).found:
        return _changed(unit.text, view)
    return "body" if unit.text.lower() in view.names else ""


def _of_number(unit: ReportUnit, view: CommitView) -> Place:
    if unit.text in view.message_numbers:
        return "message"
    if view.sides(unit.text).found:
        return _changed(unit.text, view)
    return "lines" if _is_joined_version(unit.text, view) else ""


def _is_joined_version(number: str, view: CommitView) -> bool:
    """Return whether the commit adds, removes or tells a version without its dots, as in py38."""
    joined = f"py{number.replace('.', '')}"
    if "." not in number:
        return False
    if joined in view.info.message.casefold():
        return True
    return sum(sign * text.casefold().count(joined) for sign, _, text in view.lines) != 0


def _of_unknown(unit: ReportUnit, view: CommitView) -> Place:
    pairs = [unit.text[at : at + 2] for at in range(len(unit.text) - 1)] or [unit.text]
    return "message" if all(pair in view.chinese for pair in pairs) else ""


def _of_compound(unit: ReportUnit, view: CommitView) -> Place:
    if view.subject_holds(unit.own):
        return "message"
    return "lines" if unit.text.lower() in view.names or view.spells(unit.text) else ""


def _by_own_stems(unit: ReportUnit, view: CommitView) -> Place:
    if not unit.own:
        return "message" if unit.text in view.chinese else ""
    if view.subject_holds(unit.own):
        return "message"
    if all(one in view.path_words for one in unit.own):
        return "path"
    if in_message(unit.own, view):
        return "body"
    if unit.own in FILE_STEMS or not in_lines(unit.own, view):
        return ""
    if not all(one in view.words for one in unit.own):  # only beside the change
        return "" if unit.kind == "proper" else "steady"
    return _changed(unit.text, view) if unit.kind == "proper" else "lines"


def _changed(name: str, view: CommitView) -> Place:
    """Return whether one side of the changed lines has *name* more often. A version on both sides did not change."""
    added, removed = view.sides(name).balance
    if added != removed or not added:
        return "lines"
    return "" if _VERSION.fullmatch(name) else "steady"


def _by_mates(unit: ReportUnit, view: CommitView) -> Place:
    if any(in_message(mate, view) or _in_chinese(mate, view) for mate in unit.mates):
        return "mates"
    if unit.mates & FILE_STEMS:
        return ""
    return "mates_in_lines" if any(in_lines(mate, view) for mate in unit.mates) else ""


def _in_chinese(stems: Stems, view: CommitView) -> bool:
    return stems[0] >= _FIRST_CHINESE and stems[0] in view.chinese
