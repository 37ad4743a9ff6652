"""Secret rules and sets of them.

A rule runs only when one of its keywords occurs in the text. It is compiled then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from guard.secrets.filters import SecretCandidate, entropy
from guard.secrets.pattern import Spans, compile_pattern
from guard.text.canonical import TextVariant
from guard.text.keywords import KeywordIndex

__all__ = ["Allowlist", "RuleSet", "SecretRule"]


@dataclass(frozen=True, slots=True)
class Allowlist:
    """Exceptions of a rule: patterns found in *target* (secret, match or line), and words in the secret.

    With *match_all*, both a pattern and a word are required, where both are set.
    """

    patterns: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    target: str = "secret"
    match_all: bool = False

    def covers(self, rule: str, candidate: SecretCandidate) -> bool:
        """Return whether the exceptions apply to *candidate* of *rule*."""
        checks = []
        if self.patterns:
            text = candidate.get(self.target, candidate["secret"])
            checks.append(any(compile_pattern(rule, pattern).occurs(text) for pattern in self.patterns))
        if self.words:
            lowered = candidate["secret"].lower()
            checks.append(any(word in lowered for word in self.words))
        return bool(checks) and (all(checks) if self.match_all else any(checks))


@dataclass(frozen=True, slots=True, eq=False)
class SecretRule:
    """Rule for one kind of secret.

    Attributes:
        name: kebab-case, unique within its set.
        kind: name of the secret in the replacement.
        pattern: regular expression in RE2's syntax.
        keywords: lower-case. The rule runs when one of them is in the lower-cased text, or always without any.
        group: the group that is the secret. 0 means the first group with text, or the whole match without one.
        entropy: exclusive minimum of the secret's Shannon entropy, in bits per character. 0 means no minimum.
        digits: True when the secret must contain a digit.
        allowlists: exceptions of the rule.
        filters: predicates that drop a candidate.
        accept: predicate on the secret itself.
    """

    name: str
    kind: str
    pattern: str
    keywords: tuple[str, ...]
    group: int = 0
    entropy: float = 0.0
    digits: bool = False
    allowlists: tuple[Allowlist, ...] = ()
    filters: tuple[Callable[[SecretCandidate], bool], ...] = ()
    accept: Callable[[str], bool] | None = None

    def spans(self, variant: TextVariant) -> Iterator[tuple[int, int]]:
        """Yield the half-open spans of the secrets in the text of *variant*.

        Raises:
            RuleError: the rule does not compile.
        """
        for spans in self.matches(variant):
            start, end = spans[self._secret_group(spans)]
            if start < end and self._is_secret(variant.text, spans[0], variant.text[start:end]):
                yield start, end

    def matches(self, variant: TextVariant) -> Iterator[Spans]:
        """Yield the matches of the pattern in the text of *variant*.

        Raises:
            RuleError: the pattern does not compile.
        """
        return compile_pattern(self.name, self.pattern).matches(variant)

    def check(self) -> None:
        """Compile every pattern of the rule. Without this call, the first text with a keyword compiles them.

        Raises:
            RuleError: a pattern does not compile.
        """
        for pattern in (self.pattern, *(pattern for allowlist in self.allowlists for pattern in allowlist.patterns)):
            compile_pattern(self.name, pattern)
        for is_dropped in self.filters:
            is_dropped({"secret": "", "match": "", "line": ""})

    def _secret_group(self, spans: Spans) -> int:
        if self.group:
            return self.group if self.group < len(spans) else 0
        return next((number for number, (start, end) in enumerate(spans) if number and start < end), 0)

    def _is_secret(self, text: str, span: tuple[int, int], secret: str) -> bool:
        if self.accept is not None and not self.accept(secret):
            return False
        if self.digits and not any(map(str.isdigit, secret)):
            return False
        if self.entropy and entropy(secret) <= self.entropy:
            return False
        if not self.allowlists and not self.filters:
            return True
        candidate = {"secret": secret, "match": text[span[0] : span[1]], "line": _line(text, *span)}
        return not (
            any(allowlist.covers(self.name, candidate) for allowlist in self.allowlists)
            or any(is_dropped(candidate) for is_dropped in self.filters)
        )


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules in order, specific ones first."""

    rules: tuple[SecretRule, ...]

    def with_keyword(self, variant: TextVariant) -> Iterator[SecretRule]:
        """Yield the rules with a keyword in *variant*, in order."""
        return (self.rules[number] for number in self._index.matching_rules(variant))

    def check(self) -> None:
        """Compile every pattern of every rule.

        Raises:
            RuleError: a rule does not compile.
        """
        for rule in self.rules:
            rule.check()

    @cached_property
    def _index(self) -> KeywordIndex:
        return KeywordIndex([rule.keywords for rule in self.rules])


_LONGEST_LINE = 400
"""Characters of the line that an allowlist examines on either side of a match."""


def _line(text: str, start: int, end: int) -> str:
    first = max(text.rfind("\n", 0, start) + 1, start - _LONGEST_LINE)
    last = text.find("\n", end)
    return text[first : min(len(text) if last < 0 else last, end + _LONGEST_LINE)]
