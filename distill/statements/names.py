"""Names in a sentence that git knows: files, symbols, versions, merged branches and commits.

Statements about the names are the business of ``distill.evidence.claims``. Web addresses, ids, plain words and plain
numbers are no names.
"""

from __future__ import annotations

import re
from bisect import bisect
from dataclasses import dataclass
from typing import Literal

from guard.lazy_regex import lazy_regex

from .sentences import narrowed

__all__ = ["Name", "NameKind", "commits_in", "is_file_name", "named_paths", "names_in", "prose_of"]

NameKind = Literal["path", "symbol", "tag", "branch"]

_URL = lazy_regex(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}://[^\s<>()]+|\bwww\.[^\s<>()]+", re.IGNORECASE)
_EXTENSIONS = (
    "py|pyi|js|mjs|cjs|ts|tsx|jsx|java|kt|kts|go|rs|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|zsh|sql|md|mdx|rst|txt|"
    "json|jsonl|yaml|yml|toml|ini|cfg|conf|lock|csv|tsv|html|css|scss|vue|svelte|xml|proto|ipynb|lua|pl|ex|exs|erl|hs|tf|"
    "gradle|patch|xlsx|docx|pptx|pdf|png|svg"
)
#: In running text a name begins with ASCII. Chinese has no spaces, so it would begin with the words before it.
#: Where no path begins, a run with brackets or "+" matches without *name*. Otherwise each of them would be a start.
_PATH = lazy_regex(
    r"(?<![A-Za-z0-9_/.@~-])(?:(?P<name>(?:~?/|\.{1,2}/)?"
    r"(?:(?:[A-Za-z0-9_.@+\[\]-]+/)*[A-Za-z0-9_.@+\[\]-]*[A-Za-z0-9_\]-]|[A-Za-z0-9_.@+\[\]-]+/[\w.@+\[\]/-]{0,200}?[\w\]-])"
    rf"\.(?:{_EXTENSIONS})(?![A-Za-z0-9_/-]|\.[A-Za-z0-9]))"
    r"|/?(?:[A-Za-z0-9_.@+\[\]-]+/)*[A-Za-z0-9_.@+\[\]-]*[+\[\]][A-Za-z0-9_.@+\[\]-]*)"
)
#: The look-ahead finds a slash, so that the name is read once and not once for each of its slashes.
_QUOTED_PATH = lazy_regex(
    r"`(?P<path>(?=[^`\s][^`\s/]*/)[^`\s]+(?<![/()])|(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG|Jenkinsfile)|"
    rf"[^`\s()]+\.(?:{_EXTENSIONS}))`"
)
_PRODUCT = lazy_regex(r"[A-Z][A-Za-z0-9]*\.js$")  # Node.js, Vue.js
#: Qualified names that are not called match without *name*. Otherwise each of their parts would be read to the end.
_CALL = lazy_regex(r"(?<![\w.])(?:[A-Za-z_]\w*(?:\.|::|#))*(?:(?P<name>[A-Za-z_]\w*)\(\)|[A-Za-z_]\w*)", re.ASCII)
_SNAKE = lazy_regex(
    r"(?<![\w/.-])(?:[A-Za-z_]\w*\.)*(?P<name>_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)(?![\w/-])", re.ASCII
)
_CAMEL = lazy_regex(r"`(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+)(?:\([^`)]*\))?`", re.ASCII)
_QUOTED_CALL = lazy_regex(r"`(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\([^`]*\)`", re.ASCII)
_TAG = lazy_regex(
    r"(?<![A-Za-z0-9_./-])v\d+\.\d+(?:\.\d+)?(?:[-.]?(?:rc|alpha|beta|a|b|dev)\.?\d*)?(?![A-Za-z0-9_/]|\.\d)", re.ASCII
)
_VERSION = lazy_regex(
    r"(?:version|release|tag|版本|标签)\s*(?:to\s+|为|到|号)?\s*`?(?P<name>\d+\.\d+(?:\.\d+)?)(?![\d.]*\d)",
    re.IGNORECASE,
)
_BRANCH = lazy_regex(
    r"(?:\bmerged\s+(?:the\s+)?branch\s+|合并了?\s*分支\s*)[`'\"]?(?P<name>[A-Za-z0-9][\w./-]*\w)"
    r"|\bmerged\s+(?:the\s+)?[`'\"]?(?P<first>[A-Za-z0-9][\w./-]*\w)[`'\"]?\s+branch\b",
    re.IGNORECASE | re.ASCII,
)
_HASH = lazy_regex(r"(?<![A-Za-z0-9_/.#=-])(?P<hash>[0-9a-f]{7,40})(?![A-Za-z0-9_/=-]|\.[A-Za-z0-9])")
_COMMIT_WORD = lazy_regex(
    r"\b(?:commit(?:ted|s)?|sha|hash|revision|merged|pushed|landed|cherry-picked|reverted)\b|"
    r"提交|推送|合并|回滚",
    re.IGNORECASE,
)
#: Things besides commits that have hexadecimal names.
_OTHER_ID = lazy_regex(
    r"\b(?:image|container|build|job|run|ticket|task|issue|card|layer|digest|checksum|session|request|trace|id|uuid|token|"
    r"key|pod|device|order|user|node|md5|blob|tree|镜像|容器|任务|工单|会话|请求|订单号?|编号)\W{0,3}$",
    re.IGNORECASE,
)
#: Longest distance of a hash from the word before it that says its kind.
_NEAR_CHARS = 40
_NAMES_COMMIT = lazy_regex(
    r"(?:\b(?:commit(?:ted|s)?(?: (?:as|in|at|is|was))?|sha|hash|revision)|提交了?(?:为|是|号|到)?)\W{0,3}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name and where it stands in the text, quotes and qualifiers included."""

    kind: NameKind
    name: str
    start: int
    end: int


def prose_of(text: str) -> str:
    """Return *text* with narrow punctuation and with blanks for web addresses, of the same length."""
    return _URL.sub(lambda match: " " * len(match.group()), narrowed(text))


def commits_in(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the hashes in *text*, and whether the text calls them commits. A plain word or number is no hash."""
    strict = _COMMIT_WORD.search(text) is not None
    found = []
    for match in _HASH.finditer(text):
        name = match["hash"]
        mixed = re.search(r"\d", name) and re.search(r"[a-f]", name)
        before = text[max(0, match.start() - _NEAR_CHARS) : match.start()]
        named = _NAMES_COMMIT.search(before)
        plausible = mixed and (len(name) <= 12 or len(name) == 40) and not _OTHER_ID.search(before)
        if plausible or named:
            found.append(name)
    return tuple(dict.fromkeys(found)), strict


def names_in(text: str) -> list[Name]:
    """Return the files, symbols and versions named, in the order of the text. A name inside another is left out."""
    found: list[Name] = []
    patterns: tuple[tuple[NameKind, re.Pattern[str]], ...] = (
        ("path", _QUOTED_PATH), ("path", _PATH), ("symbol", _QUOTED_CALL), ("symbol", _CALL), ("symbol", _CAMEL),
        ("symbol", _SNAKE), ("tag", _TAG), ("tag", _VERSION),
    )  # fmt: skip
    for match in _BRANCH.finditer(text):
        group = "name" if match["name"] else "first"
        found.append(Name(kind="branch", name=match[group], start=match.start(group), end=match.end(group)))
    for kind, pattern in patterns:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            name = next((value for value in groups.values() if value), "" if groups else match.group())
            start, end = match.span()
            if not name or (kind == "path" and (_PRODUCT.fullmatch(name) or not re.search(r"[A-Za-z]", name))):
                continue
            # The names found so far do not overlap and are in order, so only two of them can overlap this one.
            place = bisect(found, start, key=_start)
            if (place and found[place - 1].end > start) or (place < len(found) and found[place].start < end):
                continue
            found.insert(place, Name(kind=kind, name=name, start=start, end=end))
    return found


def _start(name: Name) -> int:
    return name.start


def named_paths(text: str) -> list[str]:
    """Return the files that *text* names by a known ending, in order. Web addresses are left out."""
    return [one.name for one in names_in(prose_of(text)) if one.kind == "path" and is_file_name(one.name)]


def is_file_name(name: str) -> bool:
    """Return whether *name* can only be a file, by its ending. `async/await` has no such ending."""
    return (
        re.search(rf"\.(?:{_EXTENSIONS})$|(?:^|/)(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG)$", name) is not None
    )
