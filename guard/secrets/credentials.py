"""Detection of secrets: by published format, by the name they are assigned to, and in prose.

Rules run in this order: private key blocks, the bundled formats (``rules/providers.toml``), rule files of the settings,
generic rules, spoken codes. A secret is reported by the first rule that finds it. Only the secret is replaced, not the
name before it. A private key is replaced as a whole block.
"""

import re
from collections.abc import Iterator
from functools import cache

from guard.match import Match
from guard.redaction import replaced_match
from guard.rule_tables import bundled_tables
from guard.secrets.code_lists import find_code_lists
from guard.secrets.generic import GENERIC
from guard.secrets.gitleaks import rules_from_tables
from guard.secrets.grouped_keys import find_grouped_keys
from guard.secrets.public_values import is_public
from guard.secrets.rule import RuleSet
from guard.secrets.seed_phrases import find_seed_phrases
from guard.secrets.spoken_codes import SPOKEN_CODES
from guard.secrets.told.rules import find_told_secrets
from guard.text.canonical import TextVariant

__all__ = ["bundled_rules", "find_secrets"]


@cache
def bundled_rules() -> RuleSet:
    """Return the rules of ``rules/providers.toml``. The first call reads them."""
    return rules_from_tables(bundled_tables()["providers"])


def find_secrets(variant: TextVariant, loaded: tuple[RuleSet, ...] = ()) -> Iterator[Match]:
    """Yield the secrets in *variant*, with offsets into its source. Specific formats come before general ones.

    Raises:
        RuleError: a rule whose keyword occurs does not compile.
    """
    if variant.mentions("private key"):
        for start, end in _private_keys(variant.text):
            yield replaced_match("secret", "private-key", "private_key", variant.span(start, end))
    for rules in (bundled_rules(), *loaded, GENERIC, SPOKEN_CODES):
        for rule in rules.with_keyword(variant):
            for start, end in rule.spans(variant):
                if is_public(variant.text, start, end):
                    continue
                yield replaced_match("secret", rule.name, rule.kind, variant.span(start, end))
    yield from find_seed_phrases(variant)
    yield from find_code_lists(variant)
    yield from find_grouped_keys(variant)
    yield from find_told_secrets(variant)


# Python's `re` runs these three in linear time: each starts at a fixed word, and nothing after a repetition can fail.
_KEY_HEADER = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_FOOTER = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_LINES = r"(?:[\s\\n]{0,8}[A-Za-z0-9+/=.]{12,100})*"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield PEM and PGP private key blocks. A block without a footer ends with its last line of key data."""
    position, closed = 0, True
    while header := _compiled(_KEY_HEADER).search(text, position):
        footer = _compiled(_KEY_FOOTER).search(text, header.end()) if closed else None
        closed = footer is not None
        if footer is None:
            footer = _compiled(_KEY_LINES).match(text, header.end())
        position = max(header.end(), footer.end() if footer else 0)
        yield header.start(), position
