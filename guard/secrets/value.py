"""Whether the value found where a secret would stand is one, or stands for one, describes one, or is code.

Each function judges one value and is quick; none looks at the text around it.
"""

import base64
import re
from functools import cache
from itertools import pairwise

from guard.secrets.filters import entropy

_REDACTED = "[redacted"

_STAND_INS = (
    r"your|my[-_]|example|placeholder|change[-_]?me|replace|insert|redacted|dummy|sample|[-_]here|todo|xxxx|\*{4}|\.{4}|…"
    r"|environ|getenv|process\.env|env\[|secrets\.|vault|null|none|undefined|://"
)
"""Parts of what stands where a secret would: a variable, an instruction to put one there."""

_TEMPLATE = (
    r"\$\{[\w.:?!\s\"-]{0,80}\}|\$\([^()]{0,80}\)|\{\{[^{}]{0,80}\}\}|<[^<>]{1,80}>"
    r"|%\(\w{1,60}\)s?|%\w{1,60}%|\{\w{0,60}\}|\$\w{1,60}"
)

_DESCRIPTIONS = (
    r"admin|root|user|username|input|text|string|str|int|bool|bytes|any|number|object|varchar\(255\)|default|true|false"
    r"|none|null|unset|empty|missing|required|optional|reset|changed|expired|incorrect|invalid|wrong|correct|hidden"
    r"|protected|secret|password|passwd|token|test|hash|hashed|encrypted|plain|plaintext|bearer|basic|oauth2?|jwt|base64"
    r"|utf-?8|md5|sha-?(?:1|256|512)|bcrypt|argon2|rsa-(?:2048|4096)|aes-256|ed25519|private|public|unknown|disabled"
    r"|enabled|prompt|stdin|auto|never|always|rotated|stored|kept|shared|strong|weak|secure|safe"
)
"""Values that say something about a password or token instead of being one."""

_PLAIN_URL_WORDS = frozenset({"pass", "password", "passwd", "pwd", "secret", "token", "x", "pw", "redacted", "pswd"})


def varied(secret: str) -> bool:
    """Not a row of few characters, as in ``ghp_xxxxxxxxxxxx``."""
    return _REDACTED not in secret.lower() and len(set(secret)) >= 8


def strange(secret: str) -> bool:
    """Letters and digits, varied, and no stand-in: what tokens are made of and names are not."""
    lowered = secret.lower()
    return (
        varied(secret) and any(map(str.isdigit, secret)) and any(map(str.isalpha, secret)) and not _stands_in(lowered)
    )


def token_value(value: str) -> bool:
    """The value of an assignment to a token-like name."""
    value = value.rstrip("\\,.")
    if len(value) < 10 or value[0] in ".~%@#" or (value[0] == "$" and not value[1:2].islower()):
        return False
    if _harmless(value) or not _random(value) or (value[0] == "/" and value[-1] != "="):
        return False
    if entropy(value) < (2.5 if value.isdigit() else 3.0):
        return False
    # Paths and dotted names such as self.config.token1 or src/auth/token2.py are code, not secrets.
    return not any(map(str.isdigit, value)) or not _named(value)


def part_value(value: str) -> bool:
    """The value of a rule that is only part of a pair, such as a client id: taken when it could be a secret itself."""
    return (
        len(value) >= 12
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not re.search(r"[/.:\s]", value)
        and not _harmless(value)
    )


def key_value(value: str) -> bool:
    """The value of an assignment to a name that ends in *key*, which much else does as well: stricter."""
    return (
        len(value) >= 16
        and token_value(value)
        and entropy(value) >= 3.0
        and any(map(str.isdigit, value))
        and not re.search(r"[/:.,@]", value)
    )


def mentioned_token(value: str) -> bool:
    """A random value in the same line after a word for secrets: both cases and digits, no name, no identifier."""
    return (
        any(map(str.isdigit, value))
        and any(map(str.islower, value))
        and any(map(str.isupper, value))
        and token_value(value)
        and entropy(value) >= 3.7
        and not re.fullmatch(r"[0-9A-Fa-f-]{1,200}|[A-Za-z]+(?:[A-Z_-][a-z]+)+\d{0,3}", value)
        and _alternations(value) >= len(value) // 4
    )


def password_value(value: str) -> bool:
    """The value of an assignment to a password-like name: not a word, not a name in code."""
    lowered = value.lower()
    if _harmless(value) or len(set(value)) < 4 or value[0] in "/.~$%" or value.startswith(("&&", "||", "==")):
        return False
    if re.match(r"[A-Za-z_][\w.]{0,60}\(", value) or re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value):
        return False
    if re.fullmatch(r"[\W_]+", lowered):
        return False
    return any(map(str.isdigit, value)) or any(character in "!@#$%^&*+=~?" for character in value[:-1])


def quoted_password(value: str) -> bool:
    """A value between quotation marks beside a password-like name."""
    return (
        not _harmless(value)
        and len(set(value)) >= 4
        and " " not in value.strip()
        and not (re.fullmatch(r"[A-Za-z_.-]*", value) and re.search("passw|secret|token|key", value.lower()))
        and value[0] not in "/.~$%:,=)"
        and any(map(str.isalnum, value))
    )


def environment_password(value: str) -> bool:
    """The value of an upper-case variable or of a part of a connection string, without any space around."""
    lowered = value.lower()
    return not _harmless(value) and len(set(value)) >= 4 and value[0] not in "/.~%" and not lowered.endswith("password")


def spoken_password(value: str) -> bool:
    """After 密码是 an ASCII word is the password, unless it says what kind of thing it is."""
    return not _harmless(value.strip("[](){}<>.,;:!?\\'\"")) and len(set(value)) >= 4


def bracketed_password(value: str) -> bool:
    """A long value with brackets that do not match: in code they would."""
    value = value.rstrip(";,`)")
    return len(set(value)) >= 10 and not _harmless(value) and _mismatched(value)


def url_password(value: str) -> bool:
    """The password in ``scheme://user:password@host``."""
    lowered = value.lower()
    if _stands_in(lowered) or value[0] in "$<{%:" or _REDACTED in lowered:
        return False
    return lowered not in _PLAIN_URL_WORDS


def basic_credentials(value: str) -> bool:
    """The base64 form of ``user:password``."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:
        return False
    user, colon, password = decoded.partition(":")
    return bool(colon) and decoded.isprintable() and len(user + password) >= 4 and not _stands_in(decoded.lower())


def encoded_value(value: str) -> bool:
    """A base64 value, as the data of a manifest hold it."""
    try:
        base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False
    return len(set(value)) >= 6


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _harmless(value: str) -> bool:
    lowered = value.lower()
    return not value or _REDACTED in lowered or _describes(lowered) or _stands_in(lowered)


def _stands_in(lowered: str) -> bool:
    if _compiled(_STAND_INS).search(lowered) is not None:
        return True
    # What a template leaves over must be enough for a secret.
    rest = _compiled(_TEMPLATE).sub("", lowered) if any(sign in lowered for sign in "${<%") else lowered
    return rest != lowered and len(rest) < max(6, len(lowered) // 2)


def _describes(lowered: str) -> bool:
    return _compiled(_DESCRIPTIONS).fullmatch(lowered) is not None


def _named(value: str) -> bool:
    """Words joined by signs, each with at most three digits at its end."""
    return all(re.fullmatch(r"[A-Za-z]*\d{0,3}", part) for part in re.split(r"[./:_-]", value))


def _random(value: str) -> bool:
    """Letters with digits, a long row of digits, or letters that make no words."""
    if not varied(value):
        return len(value) >= 16 and value.isdigit() and len(set(value)) >= 5
    if any(map(str.isdigit, value)):
        return any(map(str.isalpha, value)) or len(value) >= 16
    letters = value.rstrip("=")
    if len(letters) < 16 or not re.fullmatch(r"[A-Za-z+/_-]+", letters):
        return False
    runs = _compiled(r"(?i)[bcdfghjklmnpqrstvwxz]{4}").findall(letters)
    return _alternations(letters) >= len(letters) // 3 or len(runs) >= 2


def _alternations(value: str) -> int:
    """How often letter case or kind changes from one character to the next, capitals of words left out."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "s" for c in value]
    return sum(a != b for a, b in pairwise(kinds))


_OPENING = {")": "(", "]": "[", "}": "{"}


def _mismatched(value: str) -> bool:
    """Whether a closing bracket meets an opening one of another kind."""
    open_brackets: list[str] = []
    for character in value:
        if character in "([{":
            open_brackets.append(character)
        elif character in _OPENING and open_brackets and open_brackets.pop() != _OPENING[character]:
            return True
    return False
