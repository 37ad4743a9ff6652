"""Secrets in encoded values and in strings that code joins: "the admin password in base64: TGlnaHRob3VzZSE0NDI=".

All rules and the models of told secrets read the text with its values decoded and joined in place. A decoded value near
the name of a credential is a secret as well, because hardly anybody encodes a word beside a password that is none.
Without a name, it is one if it looks like nothing but a password: capitals, small letters and digits, and no word of a
language.
"""

from collections.abc import Iterator, Sequence

from guard.lazy_regex import lazy_regex
from guard.match import Match
from guard.redaction import replaced_match
from guard.secrets.credentials import find_secrets
from guard.secrets.public_values import is_public
from guard.secrets.rule import RuleSet
from guard.secrets.told.model import find_told_values
from guard.secrets.told.rules import credential_names
from guard.secrets.value import is_plausible_value
from guard.secrets.value_model import password_likeness
from guard.text.canonical import TextVariant
from guard.text.decoded_in_place import DecodedInPlace, decode_in_place

__all__ = ["find_encoded_values"]

_BEFORE, _AFTER = 100, 60
"""Characters between the name of a credential and an encoded value behind it, and before it."""

_LIKELY = 4.0
"""Log odds of being a password that a value needs without a name."""

_PROSE = lazy_regex(r"(?:[^\W\d_]+[,.;:!?]? ){2,}")
"""Three or more words are the text of an example, such as "hello to the world"."""

_PASSWORD = lazy_regex(r"(?=.*[A-Z])(?=.*[a-z])(?=.*\d)[A-Za-z0-9_.!@#$^&*+~=?-]{8,40}")


def find_encoded_values(variant: TextVariant, rule_sets: Sequence[RuleSet] = ()) -> Iterator[Match]:
    """Yield the secrets in the encoded values and in the joined strings of *variant*, with offsets into its source."""
    decoded = decode_in_place(variant)
    if decoded is None:
        return
    plain = TextVariant(decoded.text, decoded.text)
    for match in (*find_secrets(plain, tuple(rule_sets)), *find_told_values(plain), *_decoded_secrets(decoded, plain)):
        if decoded.touches(match.start, match.end):
            start, end = decoded.span(match.start, match.end)
            if not is_public(variant.source, start, end):
                yield replaced_match("secret", match.rule, match.kind, (start, end))


def _decoded_secrets(decoded: DecodedInPlace, plain: TextVariant) -> Iterator[Match]:
    """Yield the decoded values near the name of a credential, and those that look like a password."""
    names = [(start, end) for kind, start, end in credential_names(plain) if kind != "code"]
    for start, end, joined in zip(decoded.starts, decoded.ends, decoded.joined, strict=True):
        if joined:
            continue
        value = decoded.text[start:end]
        named = any(-_AFTER <= start - last <= _BEFORE or 0 <= first - end <= _AFTER for first, last in names)
        if named:
            is_secret = not _PROSE.match(value) and (" " in value or is_plausible_value(value))
        else:
            is_secret = "%" not in decoded.source[slice(*decoded.span(start, end))] and _looks_chosen(value)
        if is_secret:
            yield replaced_match("secret", "encoded-value", "password", (start, end))


def _looks_chosen(value: str) -> bool:
    return _PASSWORD.fullmatch(value) is not None and password_likeness(value) >= _LIKELY
