"""The filter expressions of betterleaks rule files: which candidates are no secrets.

Of the expression language the part is read that looks at the candidate itself: ``||``, ``&&``, ``!``, comparison,
``entropy``, ``len``, ``matchesAny``, ``containsAny`` over ``finding["secret"]``, ``["match"]`` and ``["line"]``.
Everything else (file attributes, lookups, tokenisers) is *unknown*, and what is unknown excuses nobody: a filter drops
a candidate only when it is known to be true, so a filter that cannot be read drops none.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from guard.secrets.pattern import compiled

Candidate = Mapping[str, str]
"""``secret``, ``match`` and ``line`` of one candidate."""

_Value = object | None
_Expression = Callable[[Candidate], _Value]

_TOKEN = re.compile(
    r"""\s*(?://[^\n]*\s*)*(?:(`[^`]*`|"(?:[^"\\]|\\.)*")|(\d+(?:\.\d+)?)|([A-Za-z_][\w.]*)|(\|\||&&|[<>=!]=|\?\?|.))""",
    re.DOTALL,
)


class _Unreadable(Exception):
    """The expression is not of this language."""


def drops(expression: str, rule: str = "filter") -> Callable[[Candidate], bool]:
    """Return a predicate: whether the filter *expression* of *rule* is known to drop a candidate.

    The predicate raises ``RuleError`` when a pattern of the expression does not compile.

    >>> drops('entropy(finding["secret"]) <= 3.0')({"secret": "aaaaaaaa"})
    True
    >>> drops('changed(finding["commit"])')({"secret": "aaaaaaaa"})
    False
    """
    try:
        parsed = _Parser(expression, rule).whole()
    except _Unreadable:
        return lambda _candidate: False
    return lambda candidate: parsed(candidate) is True


def entropy(text: str) -> float:
    """Shannon entropy in bits per character; 0 for the empty string."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


class _Parser:
    def __init__(self, expression: str, rule: str) -> None:
        self._functions = _FUNCTIONS | {"matchesAny": partial(_matches_any, rule)}
        self._tokens: list[tuple[str, str, str, str]] = _TOKEN.findall(expression.strip())
        self._at = 0

    def whole(self) -> _Expression:
        while self._peek() == "let":
            self._binding()
        expression = self._either()
        if self._at < len(self._tokens):
            raise _Unreadable
        return expression

    def _binding(self) -> None:
        """Step over ``let name = ...;``: the name is unknown from then on."""
        while self._at < len(self._tokens) and self._peek() != ";":
            self._at += 1
        self._at += 1

    def _peek(self) -> str:
        return "".join(self._tokens[self._at]) if self._at < len(self._tokens) else ""

    def _take(self, wanted: str) -> bool:
        if self._peek() != wanted:
            return False
        self._at += 1
        return True

    def _need(self, wanted: str) -> None:
        if not self._take(wanted):
            raise _Unreadable

    def _either(self) -> _Expression:
        parts = [self._both()]
        while self._take("||"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda candidate: _any(part(candidate) for part in parts)

    def _both(self) -> _Expression:
        parts = [self._comparison()]
        while self._take("&&"):
            parts.append(self._comparison())
        return parts[0] if len(parts) == 1 else lambda candidate: _all(part(candidate) for part in parts)

    def _comparison(self) -> _Expression:
        left = self._value()
        sign = self._peek()
        if sign in _COMPARE:
            self._at += 1
            right, compare = self._value(), _COMPARE[sign]
            return lambda candidate: _compared(compare, left(candidate), right(candidate))
        return left

    def _value(self) -> _Expression:
        if self._take("!"):
            inner = self._value()
            return lambda candidate: None if inner(candidate) is None else not inner(candidate)
        if self._take("("):
            inner = self._either()
            self._need(")")
            return inner
        if self._take("["):
            return self._list()
        return self._atom()

    def _list(self) -> _Expression:
        items: list[_Expression] = []
        while not self._take("]"):
            items.append(self._either())
            if not self._take(",") and self._peek() != "]":
                raise _Unreadable
        return lambda candidate: [item(candidate) for item in items]

    def _atom(self) -> _Expression:
        if self._at >= len(self._tokens):
            raise _Unreadable
        text, number, name, _ = self._tokens[self._at]
        self._at += 1
        if text:
            literal = text[1:-1]
            return lambda _candidate: literal
        if number:
            amount = float(number)
            return lambda _candidate: amount
        if not name:
            raise _Unreadable
        return self._named(name)

    def _named(self, name: str) -> _Expression:
        expression: _Expression = _unknown
        if self._take("("):
            function = self._functions.get(name.removeprefix("filter."))
            arguments: list[_Expression] = []
            while not self._take(")"):
                arguments.append(self._either())
                if not self._take(",") and self._peek() != ")":
                    raise _Unreadable
            if function is not None:
                expression = _call(function, arguments)
        elif self._take("["):
            key = self._either()
            self._need("]")
            if name == "finding":
                expression = lambda candidate: candidate.get(str(key(candidate)))  # noqa: E731
        if self._take("??"):
            self._value()
        return expression


def _unknown(_candidate: Candidate) -> _Value:
    return None


def _call(function: Callable[..., _Value], arguments: list[_Expression]) -> _Expression:
    def called(candidate: Candidate) -> _Value:
        values = [argument(candidate) for argument in arguments]
        return None if any(value is None for value in values) else function(*values)

    return called


def _any(values: object) -> _Value:
    seen = list(values)  # type: ignore[call-overload]
    return True if any(value is True for value in seen) else None if None in seen else False


def _all(values: object) -> _Value:
    seen = list(values)  # type: ignore[call-overload]
    return False if any(value is False for value in seen) else None if None in seen else True


def _compared(compare: Callable[[float, float], bool], left: _Value, right: _Value) -> _Value:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return compare(left, right)
    return None


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def _matches_any(rule: str, text: str, patterns: list[str]) -> bool:
    # All are compiled before the first is searched for, so that `SecretRule.check` compiles every one.
    return any(pattern.occurs(text) for pattern in [compiled(rule, pattern) for pattern in patterns])


def _contains_any(text: str, parts: list[str]) -> bool:
    lowered = text.lower()
    return any(part in lowered for part in parts)


_FUNCTIONS: dict[str, Callable[..., _Value]] = {
    "entropy": entropy,
    "len": len,
    "containsAny": _contains_any,
}
