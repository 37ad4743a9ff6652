"""One rule for secrets, and a set of them with the words that can make a rule match.

A rule runs only when one of its keywords occurs in the text, and is compiled then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from guard.secrets.filters import Candidate, entropy
from guard.secrets.pattern import Spans, compiled
from guard.text.canonical import Reading
from guard.text.keywords import KeywordIndex


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
            checks.append(any(compiled(rule, pattern).occurs(text) for pattern in self.patterns))
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
        pattern: regular expression in RE2's syntax.
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

    def spans(self, reading: Reading) -> Iterator[tuple[int, int]]:
        """Yield the half-open spans of the secrets in the text of *reading*.

        Raises:
            RuleError: the rule does not compile.
        """
        for spans in self.matches(reading):
            start, end = spans[self._group(spans)]
            if start < end and self._secret(reading.text, spans[0], reading.text[start:end]):
                yield start, end

    def matches(self, reading: Reading) -> Iterator[Spans]:
        """Yield the matches of the pattern in the text of *reading*.

        Raises:
            RuleError: the pattern does not compile.
        """
        return compiled(self.name, self.pattern).matches(reading)

    def check(self) -> None:
        """Compile every pattern of the rule, which is otherwise done when a text mentions the rule.

        Raises:
            RuleError: a pattern does not compile.
        """
        for pattern in (self.pattern, *(pattern for allowance in self.allow for pattern in allowance.patterns)):
            compiled(self.name, pattern)
        for drop in self.drops:
            drop({"secret": "", "match": "", "line": ""})

    def _group(self, spans: Spans) -> int:
        if self.group:
            return self.group if self.group < len(spans) else 0
        return next((number for number, (start, end) in enumerate(spans) if number and start < end), 0)

    def _secret(self, text: str, span: tuple[int, int], secret: str) -> bool:
        if self.accept is not None and not self.accept(secret):
            return False
        if self.digits and not any(map(str.isdigit, secret)):
            return False
        if self.entropy and entropy(secret) <= self.entropy:
            return False
        if not self.allow and not self.drops:
            return True
        candidate = {"secret": secret, "match": text[span[0] : span[1]], "line": _line(text, *span)}
        return not (
            any(allowance.excuses(self.name, candidate) for allowance in self.allow)
            or any(drop(candidate) for drop in self.drops)
        )


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules in order, specific ones first."""

    rules: tuple[SecretRule, ...]

    def mentioned(self, reading: Reading) -> Iterator[SecretRule]:
        """Yield the rules of which a keyword occurs in *reading*, in order."""
        return (self.rules[number] for number in self._index.mentioned(reading))

    def check(self) -> None:
        """Compile every pattern, which is otherwise done when a text mentions a rule.

        Raises:
            RuleError: a rule does not compile.
        """
        for rule in self.rules:
            rule.check()

    @cached_property
    def _index(self) -> KeywordIndex:
        return KeywordIndex([rule.keywords for rule in self.rules])


_LONGEST_LINE = 400
"""Characters of a line that an allowance looks at, on either side of a match."""


def _line(text: str, start: int, end: int) -> str:
    first = max(text.rfind("\n", 0, start) + 1, start - _LONGEST_LINE)
    last = text.find("\n", end)
    return text[first : min(len(text) if last < 0 else last, end + _LONGEST_LINE)]
