"""One rule for secrets, and a set of them with the words that can make a rule match.

A rule runs only when one of its keywords occurs in the text, and is compiled then.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property

from guard.canonical import Reading
from guard.filters import Candidate, entropy
from guard.policy import RuleError


@dataclass(frozen=True, slots=True)
class Allowance:
    """What makes a candidate harmless: a pattern found in *target* (secret, match or line), a word in the secret.

    With *together* both are asked for, where both are given.
    """

    patterns: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    target: str = "secret"
    together: bool = False

    def excuses(self, rule: str, candidate: Candidate) -> bool:
        """Whether this allowance covers *candidate* of *rule*."""
        checks = []
        if self.patterns:
            text = candidate.get(self.target, candidate["secret"])
            checks.append(any(compiled(rule, pattern).search(text) for pattern in self.patterns))
        if self.words:
            lowered = candidate["secret"].lower()
            checks.append(any(word in lowered for word in self.words))
        return bool(checks) and (all(checks) if self.together else any(checks))


@dataclass(frozen=True, slots=True, eq=False)
class SecretRule:
    """One format.

    Attributes:
        name: kebab-case; unique within its set.
        kind: what stands in the replacement.
        pattern: regular expression, ASCII classes.
        keywords: lower-case; the rule runs when one of them is in the lower-cased text, or always without any.
        group: the group that is the secret; 0 means the first that took part, else the whole match.
        entropy: least Shannon entropy of the secret, exclusive, in bits per character; 0 asks for none.
        digits: whether the secret must contain a digit.
        allow: what is harmless all the same.
        drops: further reasons to drop a candidate.
        accept: last word on the secret itself.
    """

    name: str
    kind: str
    pattern: str
    keywords: tuple[str, ...]
    group: int = 0
    entropy: float = 0.0
    digits: bool = False
    allow: tuple[Allowance, ...] = ()
    drops: tuple[Callable[[Candidate], bool], ...] = ()
    accept: Callable[[str], bool] | None = None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the half-open spans of the secrets in *text*.

        Raises:
            RuleError: the rule does not compile.
        """
        pattern = compiled(self.name, self.pattern)
        for match in pattern.finditer(text):
            start, end = match.span(self._group(match))
            if start < end and self._secret(text, match, text[start:end]):
                yield start, end

    def _group(self, match: re.Match[str]) -> int:
        if self.group:
            return self.group if self.group <= match.re.groups else 0
        return next((number for number, value in enumerate(match.groups(), 1) if value), 0)

    def _secret(self, text: str, match: re.Match[str], secret: str) -> bool:
        if self.accept is not None and not self.accept(secret):
            return False
        if self.digits and not any(map(str.isdigit, secret)):
            return False
        if self.entropy and entropy(secret) <= self.entropy:
            return False
        if not self.allow and not self.drops:
            return True
        candidate = {"secret": secret, "match": match[0], "line": _line(text, *match.span())}
        return not (
            any(allowance.excuses(self.name, candidate) for allowance in self.allow)
            or any(drop(candidate) for drop in self.drops)
        )


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules in order, specific ones first."""

    rules: tuple[SecretRule, ...]
    _always: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        always = tuple(number for number, rule in enumerate(self.rules) if not rule.keywords)
        object.__setattr__(self, "_always", always)

    def mentioned(self, reading: Reading) -> Iterator[SecretRule]:
        """Yield the rules of which a keyword occurs in *reading*, in order."""
        lowered = reading.lowered
        numbers = set(self._always)
        for keyword, owners in self._owners.items():
            if keyword in lowered:
                numbers.update(owners)
        return (self.rules[number] for number in sorted(numbers))

    @cached_property
    def _owners(self) -> dict[str, tuple[int, ...]]:
        owners: dict[str, list[int]] = {}
        for number, rule in enumerate(self.rules):
            for keyword in rule.keywords:
                owners.setdefault(keyword, []).append(number)
        return {keyword: tuple(numbers) for keyword, numbers in owners.items()}


@cache
def compiled(name: str, pattern: str) -> re.Pattern[str]:
    """Return *pattern* of the rule *name*, compiled once.

    Raises:
        RuleError: it does not compile.
    """
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise RuleError(name, str(error)) from error


_LONGEST_LINE = 400
"""Characters of a line that an allowance looks at, on either side of a match."""


def _line(text: str, start: int, end: int) -> str:
    first = max(text.rfind("\n", 0, start) + 1, start - _LONGEST_LINE)
    last = text.find("\n", end)
    return text[first : min(len(text) if last < 0 else last, end + _LONGEST_LINE)]
