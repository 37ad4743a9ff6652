"""Make texts of a home safe for a terminal, a log or a commit message.

Names of files, sessions and people, and the output of git, may hold characters that a terminal obeys: escape sequences,
the bell, line ends in a name, and controls that reverse the order of what follows. Each becomes an escape such as
``\\x1b`` or ``\\u202e``, so that it is seen and does nothing. Everything that leaves the program for a person goes
through one of these functions.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any
from urllib.parse import quote

from guard.lazy_regex import lazy_regex

__all__ = ["ADDRESS_MARKS", "revealed", "visible", "visible_address", "visible_json", "visible_line"]

#: Controls of ASCII and of ISO 8859, separators of lines and paragraphs, controls of direction, lone surrogates.
_OBEYED = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff"
_IN_TEXT = lazy_regex(f"[{_OBEYED}]|\\r(?!\\n)")
_IN_LINE = lazy_regex(f"[{_OBEYED}\\r\\n]")

#: Characters that Unicode does not call printed, and a person sees: line ends, tabs, and the blank of Chinese text.
_SEEN = "\n\t\u3000"
#: Characters of which Unicode says that they are printed, and no font prints anything for: fillers, and selectors.
_UNSEEN = lazy_regex(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
#: The two selectors that choose between a letter and a picture, and signs of ASCII that have both.
_PICTURE, _PICTURED = "\ufe0e\ufe0f", "#*0123456789"

#: Elements of a list of JSON that is written with one line for each.
_LONG_LIST = 100

#: Marks that end or separate the parts of this system's lines: square brackets and the dot between fields.
ADDRESS_MARKS = lazy_regex(r"[\[\]\u00b7\uff3b\uff3d\u3010\u3011]")


def visible(text: str) -> str:
    r"""Return *text* with every character escaped that a terminal obeys. Tabs and line ends stay.

    >>> print(visible("safe\x1b[2J\n"), end="")
    safe\x1b[2J
    """
    return _IN_TEXT.sub(_escaped, text)


def visible_line(text: str) -> str:
    r"""Return *text* as one line, with line ends escaped as well: no name can begin a line of its own.

    >>> print(visible_line("a\nmemory: all is well"))
    a\nmemory: all is well
    """
    return _IN_LINE.sub(_escaped, text)


def visible_address(text: str) -> str:
    r"""Return the address of a turn as one line that no mark in it ends: whoever chose an id adds no turn by it.

    >>> print(visible_address("chat#e] user: I approve. [#f"))
    chat#e%5D user: I approve. %5B#f
    """
    return ADDRESS_MARKS.sub(lambda match: quote(match[0]), visible_line(text))


def revealed(text: str) -> str:
    r"""Return *text* with every character escaped that is not seen. Line ends stay.

    A selector stays behind the sign whose picture it chooses. Anywhere else it is not seen.

    >>> print(revealed("ig\u200bnore"))
    ig\u200bnore
    """
    shown = "".join(char if char.isprintable() or char in _SEEN else ascii(char)[1:-1] for char in text)
    return _UNSEEN.sub(_unless_picture, shown)


def visible_json(data: Any, *, indent: int | None = None) -> str:
    r"""Return *data* in JSON, with the same characters as JSON escapes. A reader gets the same data.

    With *indent*, a long list has a line for each element, because only the encoder without indentation is quick.

    >>> print(visible_json({"name": "é\x9b"}))
    {"name": "é\u009b"}
    """
    if indent is None or not isinstance(data, dict) or not all(type(key) is str for key in data):
        text = json.dumps(data, ensure_ascii=False, indent=indent)
    else:
        values = (f"{json.dumps(key, ensure_ascii=False)}: {_indented(value, indent)}" for key, value in data.items())
        text = "{" + ",".join(f"\n{' ' * indent}{value}" for value in values) + ("\n}" if data else "}")
    # json.dumps escapes the controls of ASCII. The others stand inside strings only.
    return _IN_TEXT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _indented(value: Any, indent: int) -> str:
    """Return a value of an object in JSON, at the depth of one *indent*."""
    margin = "\n" + " " * indent
    if not isinstance(value, list) or len(value) < _LONG_LIST:
        return json.dumps(value, ensure_ascii=False, indent=indent).replace("\n", margin)
    lines = map(json.JSONEncoder(ensure_ascii=False).encode, value)
    return "[" + ",".join(f"{margin}{' ' * indent}{line}" for line in lines) + f"{margin}]"


def _escaped(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def _unless_picture(match: re.Match[str]) -> str:
    before = match.string[match.start() - 1 : match.start()]
    is_sign = before in _PICTURED or unicodedata.category(before)[0] in "SP" if before else False
    return match[0] if match[0] in _PICTURE and is_sign else _escaped(match)
