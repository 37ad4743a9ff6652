"""Tell that two statements are about two things of one sort: the mail server and the test server.

Both share the noun and most other words, so they match well, and a newer value of the one says nothing of the other.
"""

from __future__ import annotations

import re

__all__ = ["names_other_thing"]

#: A qualified noun at the head of a statement.
_QUALIFIED = re.compile(
    r"(?:\w+: )?(?:the|our|my|his|her|their|your)\s+(?P<which>[a-z][\w-]+)\s+"
    r"(?!(?:is|are|was|were|has|have|had|will|can|must|should|gets?|got|now|moved|runs?)\b)(?P<noun>[a-z][\w-]+)\b",
    re.IGNORECASE,
)
_OF = re.compile(
    r"(?:\w+: )?(?:the|our|my|his|her|their|your)\s+(?P<noun>[a-z][\w-]+)\s+of\s+"
    r"(?:(?:the|our|my|his|her|their|your)\s+)?(?P<which>[a-z][\w-]+)\b",
    re.IGNORECASE,
)
_HAN = re.compile(r"(?:我们?的?|咱们?的?)?(?P<whole>[\u4e00-\u9fff]{4,8})的")
#: Words that tell an earlier state of the same thing from a later one.
_SAME_THING = frozenset({
    "old", "new", "current", "present", "next", "last", "former", "latest", "recent", "first", "second", "other",
    "final", "original", "previous", "now",
})  # fmt: skip
_LEAST_NOUN_CHARS = 2
_MAX_CHARS = 200


def names_other_thing(older: str, newer: str) -> bool:
    """Return whether both statements begin with the same noun, qualified as two different things."""
    old, new = older[:_MAX_CHARS], newer[:_MAX_CHARS]
    for pattern in (_OF, _QUALIFIED):
        was, now = pattern.match(old), pattern.match(new)
        if was and now and was["noun"].casefold() == now["noun"].casefold():
            which = {was["which"].casefold(), now["which"].casefold()}
            return len(which) > 1 and not which & _SAME_THING
    return _other_in_chinese(old, new)


def _other_in_chinese(older: str, newer: str) -> bool:
    was, now = _HAN.match(older), _HAN.match(newer)
    if was is None or now is None:
        return False
    first, second = was["whole"], now["whole"]
    shared = 0
    while shared < min(len(first), len(second)) and first[-1 - shared] == second[-1 - shared]:
        shared += 1
    rests = first[: len(first) - shared], second[: len(second) - shared]
    apart = all(rests) and not set(rests[0]) & set(rests[1]) and not set("旧新老原前后") & set("".join(rests))
    return shared >= _LEAST_NOUN_CHARS and apart
