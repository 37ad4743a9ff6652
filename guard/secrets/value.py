"""Checks that tell a secret value from a placeholder, a description or code.

Each function checks one value quickly, without the text around it.
"""

import base64
import re
from functools import cache
from itertools import pairwise

from guard.secrets.filters import entropy

__all__ = [
    "is_basic_credentials",
    "is_bracketed_password",
    "is_code_value",
    "is_encoded_value",
    "is_environment_password",
    "is_key_value",
    "is_mentioned_token",
    "is_network_password",
    "is_part_value",
    "is_password_value",
    "is_plausible_value",
    "is_quoted_password",
    "is_random_token",
    "is_spoken_password",
    "is_token_value",
    "is_told_password",
    "is_url_password",
    "is_varied",
]

_REDACTED = "[redacted"

_STAND_INS = (
    r"your|my[-_]|example|placeholder|change[-_]?me|replace|insert|redacted|dummy|sample|[-_]here|todo|xxxx|\*{4}|\.{4}|…"
    r"|environ|getenv|process\.env|env\[|secrets\.|vault|null|none|undefined|://"
)
"""Parts of placeholders: variables, and instructions to insert a secret."""

_TEMPLATE = (
    r"\$\{[\w.:?!\s\"-]{0,80}\}|\$\([^()]{0,80}\)|\{\{[^{}]{0,80}\}\}|<[^<>]{1,80}>"
    r"|%\(\w{1,60}\)s?|%\w{1,60}%|\{\w{0,60}\}|\$\w{1,60}"
)

_DESCRIPTIONS = (
    r"admin|root|user|username|input|text|string|str|int|bool|bytes|any|number|object|varchar\(255\)|default|true|false"
    r"|none|null|unset|empty|missing|required|optional|reset|changed|expired|incorrect|invalid|wrong|correct|hidden"
    r"|protected|secret|password|passwd|token|test|hash|hashed|encrypted|plain|plaintext|bearer|basic|oauth2?|jwt|base64"
    r"|utf-?8|md5|sha-?(?:1|256|512)|bcrypt|argon2|rsa-(?:2048|4096)|aes-256|ed25519|private|public|unknown|disabled"
    r"|obbligatori[ao]|obligatori[ao]|obrigatóri[ao]|sbagliat[ao]"
    r"|enabled|prompt|stdin|auto|never|always|rotated|stored|kept|shared|strong|weak|secure|safe"
)
"""Values that describe a password or token instead of being one."""

_PLAIN_URL_WORDS = frozenset({"pass", "password", "passwd", "pwd", "secret", "token", "x", "pw", "redacted", "pswd"})


def is_varied(secret: str) -> bool:
    """Return whether *secret* has at least 8 different characters, unlike ``ghp_xxxxxxxxxxxx``."""
    return _REDACTED not in secret.lower() and len(set(secret)) >= 8


def is_random_token(secret: str) -> bool:
    """Return whether *secret* is varied, has letters and digits, and is no placeholder."""
    lowered = secret.lower()
    return (
        is_varied(secret)
        and any(map(str.isdigit, secret))
        and any(map(str.isalpha, secret))
        and not _is_stand_in(lowered)
    )


def is_token_value(value: str) -> bool:
    """Check the value of an assignment to a token-like name."""
    value = value.rstrip("\\,.")
    if len(value) < 10 or value[0] in ".~%@#" or (value[0] == "$" and not value[1:2].islower()):
        return False
    if _is_harmless(value) or not _looks_random(value) or (value[0] == "/" and value[-1] != "="):
        return False
    if entropy(value) < (2.5 if value.isdigit() else 3.0):
        return False
    # Paths and dotted names such as self.config.token1 or src/auth/token2.py are code, not secrets.
    return not any(map(str.isdigit, value)) or not _is_dotted_name(value)


def is_part_value(value: str) -> bool:
    """Return whether one part of a pair, such as a client id, could be a secret itself."""
    return (
        len(value) >= 12
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not re.search(r"[/.:\s]", value)
        and not _is_harmless(value)
    )


def is_key_value(value: str) -> bool:
    """Check the value of an assignment to a name in *key*. Many harmless names end so, hence the stricter check."""
    return (
        len(value) >= 16
        and is_token_value(value)
        and entropy(value) >= 3.0
        and any(map(str.isdigit, value))
        and not re.search(r"[/:.,@]", value)
    )


def is_mentioned_token(value: str) -> bool:
    """Check a value after a word for secrets on the same line: both cases and digits, no name, no identifier."""
    return (
        any(map(str.isdigit, value))
        and any(map(str.islower, value))
        and any(map(str.isupper, value))
        and is_token_value(value)
        and entropy(value) >= 3.7
        and not re.fullmatch(r"[0-9A-Fa-f-]{1,200}|[A-Za-z]+(?:[A-Z_-][a-z]+)+\d{0,3}", value)
        and _count_alternations(value) >= len(value) // 4
    )


def is_password_value(value: str) -> bool:
    """Check the value of an assignment to a password-like name: no word, no name in code."""
    lowered = value.lower()
    if _is_harmless(value) or len(set(value)) < 4 or value[0] in "/.~$%" or value.startswith(("&&", "||", "==")):
        return False
    if re.match(r"[A-Za-z_][\w.]{0,60}\(", value) or re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value):
        return False
    if re.fullmatch(r"[\W_]+", lowered):
        return False
    return any(map(str.isdigit, value)) or any(character in "!@#$%^&*+=~?" for character in value[:-1])


def is_quoted_password(value: str) -> bool:
    """Check a quoted value beside a password-like name."""
    return (
        not _is_harmless(value)
        and len(set(value)) >= 4
        and " " not in value.strip()
        and not (re.fullmatch(r"[A-Za-z_.-]*", value) and re.search("passw|secret|token|key", value.lower()))
        and value[0] not in "/.~$%:,=)"
        and any(map(str.isalnum, value))
    )


def is_environment_password(value: str) -> bool:
    """Check the value of an upper-case variable or of a part of a connection string, without spaces around it."""
    lowered = value.lower()
    return (
        not _is_harmless(value) and len(set(value)) >= 4 and value[0] not in "/.~%" and not lowered.endswith("password")
    )


def is_spoken_password(value: str) -> bool:
    """Check an ASCII word after 密码是: it is the password, unless it describes one."""
    return not _is_harmless(value.strip("[](){}<>.,;:!?\\'\"")) and (len(set(value)) >= 4 or _is_number(value))


def is_told_password(value: str) -> bool:
    """Check a value after "the password is": a number of four digits may repeat them."""
    return is_password_value(value) or _is_number(value)


def is_code_value(value: str) -> bool:
    """Check a value after the name of a code and of what it opens: a number, or a word with a digit."""
    return _is_number(value, least=3) or (
        not re.fullmatch(r"\d+(?:[a-z]{1,2}|[A-Z]{2})", value) and is_password_value(value)
    )


def is_network_password(value: str) -> bool:
    """Check a value after "the wifi password is": quoted, with a capital or a sign inside, or with a digit."""
    word = value.strip("\"'`“”.,;!")
    if word != value.rstrip(".,;!") and " " not in word:
        return not _is_harmless(word)
    return is_code_value(word) or (
        re.fullmatch(r"[A-Za-z]+(?:-[A-Za-z]+){1,4}|[A-Z][a-z]+(?:[A-Z][a-z]+)+", word) is not None
        and not _is_harmless(word)
        and len(word) >= 8
    )


def is_plausible_value(value: str) -> bool:
    """Return whether a word of a sentence could be a secret: no placeholder, description, path, address or code."""
    if not 4 <= len(value) <= 100 or _is_harmless(value) or len(set(value)) < 3:
        return False
    if (
        value[0] in "/\\<$%{~-])"
        or value.endswith(("'s", "’s"))
        or any(sign in value for sign in ("://", "()", "<", ">", "{", "}", "\\", "=", "`", "["))
    ):
        return False
    if re.search(
        r"%[0-9A-F]{2}|%[sd]|@[\w-]+\.\w|\.(?:py|js|ts|md|txt|json|ya?ml|toml|conf|cfg|go|rs|sh|html?|php|sql|env|key|pem|com|org|net"
        r"|io|de)\Z|\w\(|/\w+/|\w/\w+\.|::|\.\(|\A\+?0x[0-9a-fA-F]+\Z|\.[a-z]{1,5}:\d",
        value,
    ):
        return False
    if re.fullmatch(
        r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]{4,20}(?:z|[+-]\d\d:\d\d)?", value
    ):
        return False
    return not re.fullmatch(
        r"[\W\d_]{1,40}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|v?\d+(?:\.\d+)+\S{0,8}|[A-Za-z]{1,10}(?:[A-Z][a-z]+)+[A-Z]{0,5}",
        value,
    )


def is_bracketed_password(value: str) -> bool:
    """Check a long value for mismatched brackets, which code does not have."""
    value = value.rstrip(";,`)")
    return len(set(value)) >= 10 and not _is_harmless(value) and _has_mismatched_brackets(value)


def is_url_password(value: str) -> bool:
    """Check the password in ``scheme://user:password@host``."""
    lowered = value.lower()
    if _is_stand_in(lowered) or value[0] in "$<{%:" or _REDACTED in lowered:
        return False
    return lowered not in _PLAIN_URL_WORDS


def is_basic_credentials(value: str) -> bool:
    """Check the base64 form of ``user:password``."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:
        return False
    user, colon, password = decoded.partition(":")
    return bool(colon) and decoded.isprintable() and len(user + password) >= 4 and not _is_stand_in(decoded.lower())


def is_encoded_value(value: str) -> bool:
    """Check a base64 value in the data of a manifest."""
    try:
        base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False
    return len(set(value)) >= 6


def _is_number(value: str, *, least: int = 4) -> bool:
    """Return whether *value* is a number of at least *least* digits, perhaps with signs between them."""
    return re.fullmatch(r"[#*]?\d(?:[ .-]?\d){2,11}[#*]?[.,;!?]?", value) is not None and (
        sum(map(str.isdigit, value)) >= least
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _is_harmless(value: str) -> bool:
    lowered = value.lower()
    return not value or _REDACTED in lowered or _is_description(lowered) or _is_stand_in(lowered)


def _is_stand_in(lowered: str) -> bool:
    if _compiled(_STAND_INS).search(lowered) is not None:
        return True
    # The text outside templates must be long enough for a secret.
    rest = _compiled(_TEMPLATE).sub("", lowered) if any(sign in lowered for sign in "${<%") else lowered
    return rest != lowered and len(rest) < max(6, len(lowered) // 2)


def _is_description(lowered: str) -> bool:
    return _compiled(_DESCRIPTIONS).fullmatch(lowered) is not None


def _is_dotted_name(value: str) -> bool:
    """Return whether *value* is words joined by signs, each with at most three digits at its end."""
    return all(re.fullmatch(r"[A-Za-z]*\d{0,3}", part) for part in re.split(r"[./:_-]", value))


def _looks_random(value: str) -> bool:
    """Return whether *value* is letters with digits, many digits, or letters that form no words."""
    if not is_varied(value):
        return len(value) >= 16 and value.isdigit() and len(set(value)) >= 5
    if any(map(str.isdigit, value)):
        return any(map(str.isalpha, value)) or len(value) >= 16
    letters = value.rstrip("=")
    if len(letters) < 16 or not re.fullmatch(r"[A-Za-z+/_-]+", letters):
        return False
    runs = _compiled(r"(?i)[bcdfghjklmnpqrstvwxz]{4}").findall(letters)
    return _count_alternations(letters) >= len(letters) // 3 or len(runs) >= 2


def _count_alternations(value: str) -> int:
    """Count the changes of letter case or kind from one character to the next."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "s" for c in value]
    return sum(a != b for a, b in pairwise(kinds))


_OPENING = {")": "(", "]": "[", "}": "{"}


def _has_mismatched_brackets(value: str) -> bool:
    """Return whether a closing bracket follows an opening one of another kind."""
    open_brackets: list[str] = []
    for character in value:
        if character in "([{":
            open_brackets.append(character)
        elif character in _OPENING and open_brackets and open_brackets.pop() != _OPENING[character]:
            return True
    return False
