"""Values that look like secrets and are published on purpose: resource names, publishable keys, published examples.

A match of a rule is dropped when the value or the text right beside it says so. A secret in the same text still counts.
"""

from guard.lazy_regex import lazy_regex

__all__ = ["is_public", "is_row_field"]

_BESIDE = 160
"""Characters on either side that are examined."""

_PUBLIC = lazy_regex(
    r"(?:pk_(?:live|test)_|phc_|pk\.eyJ|arn:aws|G-[A-Z0-9]{10}$|GTM-|UA-\d|ca-pub-|ssh-(?:rsa|ed25519)|AAAA[BCE]3Nza)"
    r"|.*EXAMPLE(?:KEY)?$|[\w./-]{0,80}/(?:secrets|keys|versions|keyRings|cryptoKeys)/[\w./-]{1,80}$"
)
_METHOD = lazy_regex(
    r"(?i)argon2(?:i|d|id)?|b?crypt|scrypt|pbkdf2[\w-]{0,20}|(?:hmac-?)?sha-?\d{1,3}|[re]s256|x-[a-z-]{2,30}-v?\d"
)
"""Names of ways to keep or sign a password, and of headers."""

_RESOURCE = lazy_regex(r"arn:aws[\w-]{0,12}:[\w:/.*-]{0,200}$|projects/[\w/-]{0,100}$")
_BROWSER_KEY = lazy_regex(
    r"maps\.googleapis\.com/maps/api/js|authDomain|firebaseapp\.com|messagingSenderId"
    r"|(?i:(?:recaptcha|site|public)[ _-]?key|(?:public|browser|publishable|anon)[ _]key)"
)
_SECRET_BESIDE = lazy_regex(r"(?i)secret|private|server")
_DSN = lazy_regex(r"[0-9a-f]{32}")
_UNSET = lazy_regex(r"\$\{\w{1,60}:$")
_SAMPLE_PAIR = lazy_regex(r"://(guest|user|username|postgres|root|admin|test|minio|minioadmin):$")


_ROW = 240
"""Characters before a value in which the name of its field is looked for."""

_ROW_FIELD = lazy_regex(r"\"(?:account|channel|cwd|id|session|ts)\": ?\"[^\"\n]*\Z")


def is_row_field(text: str, start: int) -> bool:
    """Return whether *start* is in a field of a row of a transcript that is no text of somebody."""
    return _ROW_FIELD.search(text[max(0, start - _ROW) : start]) is not None


def is_public(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]``, which a rule took for a secret, is published on purpose."""
    value, before = text[start:end], text[max(0, start - _BESIDE) : start]
    if (
        _METHOD.fullmatch(value)
        or _PUBLIC.match(value)
        or _RESOURCE.search(before)
        or value.lower().startswith("o200k")
    ):
        return True
    if value[0] in "?-+=" and _UNSET.search(before):  # ${NAME:?message}
        return True
    if (pair := _SAMPLE_PAIR.search(before)) is not None:
        return value in {pair[1], "password", "changeme", "example"}
    if _DSN.fullmatch(value):
        return before.endswith("://") and ".ingest." in text[end : end + 40]
    if value.startswith(("AIza", "6L")):
        beside = before + text[end : end + _BESIDE]
        return _BROWSER_KEY.search(beside) is not None and _SECRET_BESIDE.search(beside) is None
    return False
