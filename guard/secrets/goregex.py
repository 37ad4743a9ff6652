"""Reading Go's regular expressions (RE2 syntax), as rule files of secret scanners use them, with Python's ``re``.

The rewriting is mechanical and keeps the meaning: flags in the middle of a pattern become scoped groups, ``\\z``
becomes ``\\Z``, POSIX classes are spelled out, and what Python would read as something else is escaped. What it cannot
express stays as it is, and compiling it fails with Python's own message.
"""

import re
from dataclasses import dataclass, field

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}

_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_CLASS_NAME = re.compile(r"\[:(\^?)([a-z]+):\]")
_CODE_POINT = re.compile(r"\\x\{([0-9A-Fa-f]{1,6})\}")
_LITERAL = re.compile(r"\\Q(.*?)(?:\\E|\Z)", re.DOTALL)


@dataclass(slots=True)
class _Group:
    """An open group, and how many flag scopes were opened in it since its last bar."""

    scopes: list[str] = field(default_factory=list)


def python_pattern(pattern: str) -> str:
    """Return *pattern*, in Go's syntax, in Python's. Compile it with ``re.ASCII``."""
    out: list[str] = []
    groups = [_Group()]
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position = _escape(pattern, position, out)
        elif character == "[":
            position = _class(pattern, position, out)
        elif flags := _FLAGS.match(pattern, position):
            position = flags.end()
            _flags(flags, groups, out)
        else:
            position = _plain(pattern, position, groups, out)
    out.append(")" * len(groups[-1].scopes))
    return "".join(out)


def _plain(pattern: str, position: int, groups: list[_Group], out: list[str]) -> int:
    """Copy one character outside classes, keeping account of groups; return the position after it."""
    character = pattern[position]
    if pattern.startswith("(?<", position) and pattern[position + 3 : position + 4] not in {"=", "!"}:
        groups.append(_Group())
        out.append("(?P<")
        return position + 3
    if character == "(":
        groups.append(_Group())
    elif character == "|":
        scopes = groups[-1].scopes
        out.append(f"{')' * len(scopes)}|{''.join(scopes)}")
        return position + 1
    elif character == ")" and len(groups) > 1:
        out.append(")" * len(groups.pop().scopes))
    elif pattern.startswith("{,", position):
        out.append("\\")
    out.append(character)
    return position + 1


def _flags(flags: re.Match[str], groups: list[_Group], out: list[str]) -> None:
    on, off = flags[1].replace("U", ""), (flags[2] or "").replace("U", "")
    scope = f"(?{on}-{off}:" if off else f"(?{on}:"
    if flags[3] == ":":
        groups.append(_Group())
    else:
        groups[-1].scopes.append(scope)
    out.append(scope)


def _escape(pattern: str, position: int, out: list[str]) -> int:
    if literal := _LITERAL.match(pattern, position):
        out.append(re.escape(literal[1]))
        return literal.end()
    if code := _CODE_POINT.match(pattern, position):
        out.append(f"\\U{int(code[1], 16):08x}")
        return code.end()
    pair = pattern[position : position + 2]
    out.append(r"\Z" if pair == r"\z" else pair)
    return position + 2


def _class(pattern: str, position: int, out: list[str]) -> int:
    """Copy a character class whole; return the position after its bracket."""
    out.append("[")
    position += 1
    if pattern.startswith("^", position):
        out.append("^")
        position += 1
    first = True
    while position < len(pattern) and (first or pattern[position] != "]"):
        first = False
        if name := _CLASS_NAME.match(pattern, position):
            out.append(_POSIX.get(name[2], name[0]))
            position = name.end()
        elif pattern[position] == "\\":
            position = _escape(pattern, position, out)
        else:
            # Python warns of brackets and doubled signs in a class: they may mean something some day.
            if pattern[position] in "[&|~" or (pattern[position] == "-" and pattern.startswith("--", position)):
                out.append("\\")
            out.append(pattern[position])
            position += 1
    out.append("]")
    return position + 1
