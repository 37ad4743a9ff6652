"""Whether a commit says what a claim says, and whether what it did still stands.

Several words must agree, or several pairs of Chinese characters, and every number. A commit no longer stands when a
later one reverts it, by its hash or by its subject, or when HEAD has its files as they were before it.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from .claims import Claim, content_pairs, content_words
from .repository import CommitInfo, Repository, undoes
from .status import Judgement, unsure, verified

__all__ = ["agrees", "agrees_in_all", "done_by", "mentions", "numbers_agree"]

#: A claim without names is verified by words alone only when so many of them agree with one commit ...
_MIN_WORDS = 3
#: ... or so many pairs of Chinese characters ...
_MIN_PAIRS = 6
#: ... and when no more than this share of them does not.
_MAX_MISSING = 1 / 6
#: Fewer pairs than this are not compared.
_FEW_PAIRS = 3


def done_by(commit: CommitInfo, detail: str, repository: Repository) -> Judgement:
    """That *commit* did it, unless it was undone since or lies on another branch than HEAD."""
    if not repository.in_head(commit.commit):
        return unsure(f"{commit.short} is not on the branch at HEAD", commit.short)
    undone = repository.undone(commit)
    return unsure(undone, commit.short) if undone else verified(commit.short, detail)


def agrees(claim: Claim, commit: CommitInfo, repository: Repository, *, half: bool = False, some: bool = False) -> bool:
    """Whether the claim's words fit *commit*.

    *half*: a name agrees already, so half of the words are enough, and a claim without words passes; with *some* as
    well, one word or two pairs of Chinese characters must agree at least.
    """
    known = _words_of(commit)
    words = [word for word in claim.words if not word[0].isdigit()]
    hits = sum(word in known for word in words)
    ours, theirs = content_pairs(claim.text), content_pairs(commit.message)
    pairs = len(ours & theirs)
    enough = hits * 2 >= len(words) and (half or hits >= 2)
    if half and theirs and len(ours) >= _FEW_PAIRS:  # both in Chinese: a file that both name is not enough
        enough = enough and pairs * 3 >= len(ours)
    elif not half:
        enough = enough or (pairs >= 4 and pairs * 2 >= len(ours))
    if some:
        enough = enough and (hits >= 1 or pairs >= 2)
    return enough and _same_direction(claim, commit) and numbers_agree(claim, commit, repository)


def agrees_in_all(claim: Claim, commit: CommitInfo, repository: Repository) -> bool:
    """Whether nearly all that a claim without names says stands in the message and the paths of *commit*."""
    by_words = _nearly_all(set(claim.words), _words_of(commit), _MIN_WORDS)
    by_pairs = len(claim.words) < _MIN_WORDS and _nearly_all(
        content_pairs(claim.text), content_pairs(commit.message), _MIN_PAIRS
    )
    return (by_words or by_pairs) and _same_direction(claim, commit) and numbers_agree(claim, commit, repository)


def mentions(commit: CommitInfo, repository: Repository, symbol: str) -> bool:
    """Whether the message or the patch has *symbol* as a whole word."""
    text = commit.message + "\n" + repository.patch(commit.commit)
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])", text) is not None


def _same_direction(claim: Claim, commit: CommitInfo) -> bool:
    """Whether both undo something or neither does: a revert quotes the words of what it reverts."""
    return undoes(claim.text) == undoes(commit.subject)


def _nearly_all(ours: set[str], theirs: set[str], least: int) -> bool:
    hits = len(ours & theirs)
    return hits >= least and len(ours) - hits <= _MAX_MISSING * len(ours)


def numbers_agree(claim: Claim, commit: CommitInfo, repository: Repository) -> bool:
    """Every number in the claim stands in the message or the patch."""
    numbers = [word for word in claim.words if word[0].isdigit()]
    if not numbers:
        return True
    text = commit.message + "\n" + repository.patch(commit.commit)
    return set(numbers) <= set(re.findall(r"\d+(?:\.\d+)*", text))


def _words_of(commit: CommitInfo) -> set[str]:
    """Content words of the message and of the changed paths' parts."""
    known = set(content_words(commit.message))
    for change in commit.changes:
        path = PurePosixPath(change.path)
        known.update(content_words(" ".join(re.split(r"[._/-]", str(path.with_suffix(""))))))
    return known
