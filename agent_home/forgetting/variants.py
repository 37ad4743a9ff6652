"""Other spellings of a text that is forgotten: in identifiers, in another order, and in an encoding.

Case, spacing, Unicode forms and escapes are the matter of :mod:`agent_home.forgetting.text_matcher`, which applies to
each spelling.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from guard.lazy_regex import lazy_regex

from .text_matcher import Phrase

__all__ = ["encoded", "respelled", "topic_words"]

_WORD = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+|[^\W_]+")
_PLAIN_WORD = lazy_regex(r"[^\W_]+")
_JOINTS = (" ", "_", "-", "", ".", "/", "+")
#: Most words of a name or an identifier. A longer text is a sentence, which nobody joins.
_MOST_WORDS = 6
#: Most words of a name that stands in another order.
_MOST_NAME_WORDS = 3
#: Fewest characters of a joined spelling, and of an encoded one: a shorter one is part of other texts.
_LEAST_CHARS, _LEAST_ENCODED = 8, 10


def respelled(text: str) -> Iterator[Phrase]:
    """Yield the spellings of *text* with other joints between its words, and with its last word first.

    >>> [phrase.text for phrase in respelled("Ada Lovelace")][:4]
    ['Ada_Lovelace', 'Ada-Lovelace', 'AdaLovelace', 'Ada.Lovelace']
    """
    words = _PLAIN_WORD.findall(text)
    if len(words) == 1:
        words = _WORD.findall(text)
    if not 2 <= len(words) <= _MOST_WORDS or len("".join(words)) < _LEAST_CHARS:
        return
    forms = [joint.join(words) for joint in _JOINTS]
    if len(words) <= _MOST_NAME_WORDS:
        rest = " ".join(words[:-1])
        forms += [f"{words[-1]}, {rest}", f"{words[-1]} {rest}", "_".join((words[-1], *words[:-1]))]
    known = Phrase(text).folded
    yield from (phrase for form in dict.fromkeys(forms) if (phrase := Phrase(form)).folded != known)


def encoded(text: str) -> Iterator[Phrase]:
    """Yield *text* in base64 and in hexadecimal digits, as written, in small letters and in capitals.

    Of base64 these are the characters that stand for the text alone, at each of the three places in a group.
    """
    forms: dict[str, None] = {}
    for spelling in dict.fromkeys((text, text.lower(), text.upper(), text.title())):
        data = spelling.encode("utf-8", "surrogatepass")
        for shift in range(3):
            whole = base64.b64encode(b"\0" * shift + data).decode()
            if not shift:
                forms.setdefault(whole)
            inside = whole[shift + bool(shift) :].rstrip("=")
            inside = inside[:-1] if (shift + len(data)) % 3 else inside
            forms.setdefault(inside)
            forms.setdefault(inside.translate(str.maketrans("+/", "-_")))
        forms.setdefault(data.hex())
        forms.setdefault(data.hex(" "))
        forms.setdefault(data.hex(":"))
    long = (form for form in forms if len(form) >= _LEAST_ENCODED)
    yield from (Phrase(form) for form in sorted(long, key=len, reverse=True))


def topic_words(text: str) -> frozenset[str]:
    """Return the words of a *text* of several words, folded, as a list of topics may have them."""
    words = frozenset(Phrase(word).folded for word in _PLAIN_WORD.findall(text) if len(word) > 2)
    return words if 2 <= len(words) <= _MOST_WORDS else frozenset()
