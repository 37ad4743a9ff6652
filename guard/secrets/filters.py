"""Filter expressions of betterleaks rule files, which drop candidates that are no secrets.

The supported part of the language looks at the candidate: ``||``, ``&&``, ``!``, comparison, ``entropy``, ``len``,
``matchesAny`` and ``containsAny`` over ``finding["secret"]``, ``["match"]`` and ``["line"]``. Everything else (file
attributes, lookups, tokenisers) has an unknown value. A filter drops a candidate only when its value is known to be
true, so a filter with a syntax error drops none.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from guard.lazy_regex import lazy_regex
from guard.secrets.pattern import compile_pattern

__all__ = ["SecretCandidate", "compile_filter", "entropy"]

SecretCandidate = Mapping[str, str]
"""``secret``, ``match`` and ``line`` of a possible secret."""

_Value = object | None
_Expression = Callable[[SecretCandidate], _Value]

_TOKEN = lazy_regex(
    r"""\s*(?://[^\n]*\s*)*(?:(`[^`]*`|"(?:[^"\\]|\\.)*")|(\d+(?:\.\d+)?)|([A-Za-z_][\w.]*)|(\|\||&&|[<>=!]=|\?\?|.))""",
    re.DOTALL,
)


class _UnknownSyntaxError(Exception):
    """The expression is outside the supported language."""


def compile_filter(expression: str, rule: str = "filter") -> Callable[[SecretCandidate], bool]:
    """Return a predicate that is true when the filter *expression* of *rule* is known to drop a candidate.

    The predicate raises ``RuleError`` when a pattern of the expression does not compile.

    >>> drops('entropy(finding["secret"]) <= 3.0')({"secret": "aaaaaaaa"})
    True
    >>> drops('changed(finding["commit"])')({"secret": "aaaaaaaa"})
    False
    """
    try:
        parsed = _Parser(expression, rule).parse()
    except _UnknownSyntaxError:
        return lambda _candidate: False
    return lambda candidate: parsed(candidate) is True


def entropy(text: str) -> float:
    """Return the Shannon entropy of *text* in bits per character, 0 for the empty string."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


class _Parser:
    def __init__(self, expression: str, rule: str) -> None:
        self._functions = _FUNCTIONS | {"matchesAny": partial(_matches_any, rule)}
        self._tokens: list[tuple[str, str, str, str]] = _TOKEN.findall(expression.strip())
        self._at = 0

    def parse(self) -> _Expression:
        while self._peek() == "let":
            self._skip_binding()
        expression = self._parse_or()
        if self._at < len(self._tokens):
            raise _UnknownSyntaxError
        return expression

    def _skip_binding(self) -> None:
        """Skip ``let name = ...;``. The value of the name is unknown."""
        while self._at < len(self._tokens) and self._peek() != ";":
            self._at += 1
        self._at += 1

    def _peek(self) -> str:
        return "".join(self._tokens[self._at]) if self._at < len(self._tokens) else ""

    def _accept(self, expected: str) -> bool:
        if self._peek() != expected:
            return False
        self._at += 1
        return True

    def _expect(self, expected: str) -> None:
        if not self._accept(expected):
            raise _UnknownSyntaxError

    def _parse_or(self) -> _Expression:
        parts = [self._parse_and()]
        while self._accept("||"):
            parts.append(self._parse_and())
        return parts[0] if len(parts) == 1 else lambda candidate: _or(part(candidate) for part in parts)

    def _parse_and(self) -> _Expression:
        parts = [self._parse_comparison()]
        while self._accept("&&"):
            parts.append(self._parse_comparison())
        return parts[0] if len(parts) == 1 else lambda candidate: _and(part(candidate) for part in parts)

    def _parse_comparison(self) -> _Expression:
        left = self._parse_value()
        sign = self._peek()
        if sign in _COMPARE:
            self._at += 1
            right, compare = self._parse_value(), _COMPARE[sign]
            return lambda candidate: _compared(compare, left(candidate), right(candidate))
        return left

    def _parse_value(self) -> _Expression:
        if self._accept("!"):
            inner = self._parse_value()
            return lambda candidate: None if inner(candidate) is None else not inner(candidate)
        if self._accept("("):
            inner = self._parse_or()
            self._expect(")")
            return inner
        if self._accept("["):
            return self._parse_list()
        return self._parse_atom()

    def _parse_list(self) -> _Expression:
        items: list[_Expression] = []
        while not self._accept("]"):
            items.append(self._parse_or())
            if not self._accept(",") and self._peek() != "]":
                raise _UnknownSyntaxError
        return lambda candidate: [item(candidate) for item in items]

    def _parse_atom(self) -> _Expression:
        if self._at >= len(self._tokens):
            raise _UnknownSyntaxError
        text, number, name, _ = self._tokens[self._at]
        self._at += 1
        if text:
            literal = text[1:-1]
            return lambda _candidate: literal
        if number:
            amount = float(number)
            return lambda _candidate: amount
        if not name:
            raise _UnknownSyntaxError
        return self._parse_name(name)

    def _parse_name(self, name: str) -> _Expression:
        expression: _Expression = _unknown
        if self._accept("("):
            function = self._functions.get(name.removeprefix("filter."))
            arguments: list[_Expression] = []
            while not self._accept(")"):
                arguments.append(self._parse_or())
                if not self._accept(",") and self._peek() != ")":
                    raise _UnknownSyntaxError
            if function is not None:
                expression = _call_function(function, arguments)
        elif self._accept("["):
            key = self._parse_or()
            self._expect("]")
            if name == "finding":
                expression = lambda candidate: candidate.get(str(key(candidate)))  # noqa: E731
        if self._accept("??"):
            self._parse_value()
        return expression


def _unknown(_candidate: SecretCandidate) -> _Value:
    return None


def _call_function(function: Callable[..., _Value], arguments: list[_Expression]) -> _Expression:
    def called(candidate: SecretCandidate) -> _Value:
        values = [argument(candidate) for argument in arguments]
        return None if any(value is None for value in values) else function(*values)

    return called


def _or(values: object) -> _Value:
    known = list(values)  # type: ignore[call-overload]
    return True if any(value is True for value in known) else None if None in known else False


def _and(values: object) -> _Value:
    known = list(values)  # type: ignore[call-overload]
    return False if any(value is False for value in known) else None if None in known else True


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
    return any(pattern.occurs(text) for pattern in [compile_pattern(rule, pattern) for pattern in patterns])


def _contains_any(text: str, parts: list[str]) -> bool:
    lowered = text.lower()
    return any(part in lowered for part in parts)


_FUNCTIONS: dict[str, Callable[..., _Value]] = {
    "entropy": entropy,
    "len": len,
    "containsAny": _contains_any,
}
