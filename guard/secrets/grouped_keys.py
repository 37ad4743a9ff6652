"""Keys in groups of characters, known by their form alone: licence keys and recovery keys.

Four or more groups of one length, in which letters and digits are mixed as chance mixes them, are written for one
purpose. So are two published forms: BitLocker's eight groups of six digits, each divisible by eleven, and systemd's
eight groups of eight letters of the modified hexadecimal alphabet.
"""

from collections.abc import Iterator

from guard.lazy_regex import lazy_regex
from guard.match import Match
from guard.redaction import replaced_match
from guard.text.canonical import TextVariant, utf8
from guard.text.quick_search import first_place

__all__ = ["find_grouped_keys"]

#: Beginnings of all keys, in RE2's syntax. Hardly any other text has one.
_BEGINNING = (
    r"[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2}-[A-Z0-9]{4}|[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){2}-[a-z0-9]{4}"
    r"|[A-Za-z]{0,7}[0-9][A-Za-z0-9]{0,7}(?: [A-Za-z0-9]{4,8}){2} [A-Za-z0-9]{4}"
)
_SPACED = "|".join(
    rf"{has_digit}(?:[{letters}0-9]{{{size}}} ){{3,11}}{has_digit}[{letters}0-9]{{{size}}}"
    for size in range(4, 9)
    for letters in ("A-Z", "a-z")
    for has_digit in [rf"(?=[{letters}]{{0,{size - 1}}}\d)"]
)
#: Between spaces all groups have one length, and the first and the last have a digit: what stands beside is a word.
_KEY = lazy_regex(
    r"(?<![\w-])(?:[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){3,11}|[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){3,11}"
    rf"|{_SPACED})(?![\w-])"
)
_MODHEX = frozenset("cbdefghijklnrtuv")
_HEX = frozenset("0123456789abcdefABCDEF")


def find_grouped_keys(variant: TextVariant) -> Iterator[Match]:
    """Yield the keys in groups in *variant*, with offsets into its source."""
    if first_place(_BEGINNING, utf8(variant.text)) < 0:
        return
    for match in _KEY.finditer(variant.text):
        if _is_key(match[0].replace("-", " ").split(" "), spaced=" " in match[0]):
            yield replaced_match("secret", "grouped-key", "key", variant.span(*match.span()))


def _is_key(groups: list[str], *, spaced: bool) -> bool:
    sizes = set(map(len, groups))
    if len(sizes) != 1:
        return False
    size, count, joined = sizes.pop(), len(groups), "".join(groups)
    if joined.isdigit():
        return (count, size) == (8, 6) and all(int(group) % 11 == 0 for group in groups)
    if (count, size) == (8, 8) and _MODHEX.issuperset(joined):
        return True
    if _HEX.issuperset(joined):  # fingerprints and identifiers are public
        return False
    # Between spaces, a word with a number behind it ("w2999") is a name and no part of a key.
    mixed = sum(
        not group.isdigit() and not (group.rstrip("0123456789") if spaced else group).isalpha() for group in groups
    )
    return 2 * mixed >= count
