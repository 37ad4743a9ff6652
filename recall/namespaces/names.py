"""Own which names a namespace may have, so that no two of them look the same.

A name is compared byte for byte. So two names in look-alike letters, such as a Latin and a Cyrillic «a», would be two
namespaces that no person can tell apart. Each namespace therefore also has the form in which such letters are one, and
no two namespaces share it.
"""

from __future__ import annotations

import unicodedata

from guard.text.canonical import is_invisible, is_lookalike, skeleton

from .errors import NamespaceRefused

__all__ = ["appearance", "checked_name"]

_MOST_CHARS = 128
#: Signs besides letters, digits and their marks. A slash would end the name in an address.
_SIGNS = frozenset("-._:@+")
#: Letters of Cherokee, Lisu and Coptic that look like Latin ones. The guard reads no text in these scripts.
_LETTERS = {
    **dict(zip("ᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏒᏔᏕᏙᏚᏞᏟᏢᏦᏴᎥᎩ", "DRTAJEWMHGZRWSVSLCPKBiy", strict=True)),
    **dict(zip("ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPdDTGKJCZFMNLSRVHWXYAEIOU", strict=True)),
    **dict(zip("ⲀⲂⲈⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬⲟⲣⲥ", "ABEHIKMNOPCTYXopc", strict=True)),
}


def checked_name(name: str) -> str:
    """Return *name* if a namespace may be called so.

    Raises:
        NamespaceRefused: it is too long, or has another character than letters, digits and ``- . _ : @ +``.

    >>> checked_name("multi-agent-prod"), checked_name("用户:42")
    ('multi-agent-prod', '用户:42')
    """
    if not 0 < len(name) <= _MOST_CHARS:
        raise NamespaceRefused(f"the name of a namespace has 1 to {_MOST_CHARS} characters, and this one {len(name)}")
    if not name[0].isalnum() or not all(map(_is_plain, name)):
        raise NamespaceRefused(
            f"the namespace {name!a} cannot be named so. Use letters, digits and {' '.join(sorted(_SIGNS))}, "
            "with a letter or a digit first"
        )
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:
        raise NamespaceRefused(f"the namespace {name!a} has letters in another form. Write {plain!r}")
    return name


def appearance(name: str) -> str:
    """Return *name* with Latin letters and digits in place of those of other scripts that look like them.

    >>> appearance("prod") == appearance("pr\u043ed"), appearance("prod") == appearance("Prod")
    (True, False)
    """
    return unicodedata.normalize("NFC", "".join(map(_latin, unicodedata.normalize("NFD", name))))


def _latin(char: str) -> str:
    if is_lookalike(char):
        return skeleton(char)
    return _LETTERS.get(char) or (str(unicodedata.decimal(char)) if char.isdecimal() else char)


def _is_plain(char: str) -> bool:
    return char in _SIGNS or (unicodedata.category(char)[0] in "LMN" and not is_invisible(ord(char)))
