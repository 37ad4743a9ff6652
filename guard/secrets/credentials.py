"""Secrets: credentials by their published formats, by the name they are assigned to, and in prose.

Sets of rules run in this order: private key blocks, the bundled formats (``rules/providers.toml``), rule files the
settings bring, generic rules. What was found first is not reported again. Only the secret is replaced, not the name
before it; of a private key the whole block.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from guard.match import Match, Strength, placeholder
from guard.secrets.generic import GENERIC
from guard.secrets.gitleaks import rules_from_gitleaks
from guard.secrets.rule import RuleSet
from guard.text.canonical import Reading


@cache
def bundled_rules() -> RuleSet:
    """Return the rules of ``rules/providers.toml``, read when first asked for."""
    return rules_from_gitleaks(resources.files("guard").joinpath("rules/providers.toml").read_text("utf-8"))


def find_secrets(reading: Reading, loaded: tuple[RuleSet, ...] = ()) -> Iterator[Match]:
    """Yield the secrets in *reading*, with offsets into its source. Specific formats come before general ones.

    Raises:
        RuleError: a rule whose keyword occurs does not compile.
    """
    if reading.mentions("private key"):
        for start, end in _private_keys(reading.text):
            yield _match("private-key", "private_key", reading.span(start, end))
    for rules in (bundled_rules(), *loaded, GENERIC):
        for rule in rules.mentioned(reading):
            for start, end in rule.spans(reading):
                yield _match(rule.name, rule.kind, reading.span(start, end))


def _match(rule: str, kind: str, span: tuple[int, int]) -> Match:
    return Match(
        layer="secret",
        rule=rule,
        kind=kind,
        start=span[0],
        end=span[1],
        strength=Strength.CLEAN,
        replacement=placeholder(kind),
    )


# These three stay in `re`: each matches forward from a fixed opening and never gives back, so they are linear.
_KEY_HEADER = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_FOOTER = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_LINES = r"(?:[\s\\n]{0,8}[A-Za-z0-9+/=.]{12,100})*"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield whole PEM and PGP private key blocks; one without an end goes as far as its lines of code."""
    position, closed = 0, True
    while header := _compiled(_KEY_HEADER).search(text, position):
        footer = _compiled(_KEY_FOOTER).search(text, header.end()) if closed else None
        closed = footer is not None
        if footer is None:
            footer = _compiled(_KEY_LINES).match(text, header.end())
        position = max(header.end(), footer.end() if footer else 0)
        yield header.start(), position
