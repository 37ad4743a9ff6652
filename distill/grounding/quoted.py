"""Find quotations, identifiers and currencies of an entry that its turns do not have."""

# ruff: noqa: E501 - a pattern is read as a whole

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from guard.lazy_regex import lazy_regex

__all__ = ["missing_strings"]

_QUOTATION = lazy_regex(
    r"`(?P<code>[^`\n]+)`|\"(?P<plain>[^\"\n]+)\"|“(?P<curly>[^”\n]+)”|«(?P<angle>[^»\n]+)»|《(?P<title>[^》\n]+)》|"
    r"「(?P<corner>[^」\n]+)」|『(?P<double>[^』\n]+)』"
)
#: Paths, addresses, dotted and underscored names: anything with such a sign between two word characters.
_IDENTIFIER = lazy_regex(
    r"(?![A-Za-z]+/[A-Za-z]+(?![\w./\\@#:+]))(?<![\w)])(?:[~.]{0,2}/)?[A-Za-z_]\w*(?:[./\\_@#:+]+\w+)+(?:\(\))?|"
    r"(?<![\w)])(?:[~.]{0,2}/)\w+|(?<![\w-])--?[a-z][a-z-]+|\b[a-z]+\d\w*\b|\bv?\d+\.\d+\.\d+\w*",
    re.ASCII,
)
_CURRENCIES = ({"$", "usd", "dollar", "dollars", "bucks", "美元", "刀"}, {"€", "eur", "euro", "euros", "欧元"},
               {"£", "gbp", "pound", "pounds", "quid", "英镑"}, {"¥", "rmb", "cny", "yuan", "元", "块", "人民币"})  # fmt: skip


def missing_strings(text: str, contents: Sequence[str]) -> Iterator[str]:
    """Yield the quotations, identifiers and currencies of *text* that none of *contents* has."""
    said = "\n".join(contents)
    spaced = " ".join(said.casefold().split())
    for match in _QUOTATION.finditer(text):
        quoted = next(group for group in match.groups() if group is not None)
        if " ".join(quoted.casefold().split()) not in spaced:
            yield f"quotation {quoted!r}"
    for match in _IDENTIFIER.finditer(text):
        name = match.group()
        if not re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", said, re.IGNORECASE):
            yield f"name {name!r}"
    for signs in _CURRENCIES:
        sign = next(iter(sign for sign in signs if not sign.isalnum()))
        if sign in text and not any(other in said.casefold() for other in signs):
            yield f"currency {sign!r}"
