"""One spelling of a text, before anything looks at its words."""

from __future__ import annotations

import unicodedata

from guard.lazy_regex import lazy_regex

__all__ = ["normalise"]

#: Format characters (zero width, direction marks), which would cut a word in two, and halves of surrogate pairs.
_INVISIBLE = lazy_regex("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ud800-\udfff]")


def normalise(text: str) -> str:
    """Return *text* with full-width letters narrowed, one minus sign, one apostrophe and no invisible characters.

    Case stays. The result may be shorter or longer than *text*.

    >>> normalise("ＡＢＣ don’t −5")
    "ABC don't -5"
    """
    if "\x00" in text:
        text = text.replace("\x00", " ")
    if text.isascii():
        return text
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return plain.replace("−", "-").replace("’", "'")
