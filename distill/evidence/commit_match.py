"""Match a claim with a commit, and tell whether the commit still stands.

Several words or several pairs of Chinese characters must agree, and every number. A commit no longer stands when a
later one reverts it, by its hash or by its subject, or when HEAD has its files as they were before it.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from .claims import Claim, content_pairs, content_words
from .repository import CommitInfo, Repository, undoes
from .status import Judgement, unsure, verified

__all__ = ["agrees", "agrees_in_all", "done_by", "mentions", "numbers_agree"]

#: Fewest words that must agree with one commit to verify a claim without names ...
_MIN_WORDS = 3
#: ... or fewest pairs of Chinese characters ...
_MIN_PAIRS = 6
#: ... and the largest share of them that may be missing.
_MAX_MISSING = 1 / 6
#: Fewest pairs that are compared.
_MIN_COMPARED_PAIRS = 3


def done_by(commit: CommitInfo, detail: str, repository: Repository) -> Judgement:
    """Return ``verified`` by *commit*, unless it was undone later or is on another branch than HEAD."""
    if not repository.in_head(commit.commit):
        return unsure(f"{commit.short} is not on the branch at HEAD", commit.short)
    undone = repository.undone(commit)
    return unsure(undone, commit.short) if undone else verified(commit.short, detail)


def agrees(claim: Claim, commit: CommitInfo, repository: Repository, *, half: bool = False, some: bool = False) -> bool:
    """Return whether the claim's words fit *commit*.

    With *half*, a name already agrees: half of the words are enough, and a claim without words passes. *some* requires
    at least one word, or two pairs of Chinese characters.
    """
    known = _words_of(commit)
    words = [word for word in claim.words if not word[0].isdigit()]
    hits = sum(word in known for word in words)
    claim_pairs, commit_pairs = content_pairs(claim.text), content_pairs(commit.message)
    pairs = len(claim_pairs & commit_pairs)
    enough = hits * 2 >= len(words) and (half or hits >= 2)
    if (
        half and commit_pairs and len(claim_pairs) >= _MIN_COMPARED_PAIRS
    ):  # both are in Chinese, and a common file name is not enough
        enough = enough and pairs * 3 >= len(claim_pairs)
    elif not half:
        enough = enough or (pairs >= 4 and pairs * 2 >= len(claim_pairs))
    if some:
        enough = enough and (hits >= 1 or pairs >= 2)
    return enough and _same_direction(claim, commit) and numbers_agree(claim, commit, repository)


def agrees_in_all(claim: Claim, commit: CommitInfo, repository: Repository) -> bool:
    """Return whether message and paths of *commit* have nearly all words of a claim without names."""
    by_words = _nearly_all(set(claim.words), _words_of(commit), _MIN_WORDS)
    by_pairs = len(claim.words) < _MIN_WORDS and _nearly_all(
        content_pairs(claim.text), content_pairs(commit.message), _MIN_PAIRS
    )
    return (by_words or by_pairs) and _same_direction(claim, commit) and numbers_agree(claim, commit, repository)


def mentions(commit: CommitInfo, repository: Repository, symbol: str) -> bool:
    """Return whether the message or the patch has *symbol* as a whole word."""
    text = commit.message + "\n" + repository.patch(commit.commit)
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])", text) is not None


def _same_direction(claim: Claim, commit: CommitInfo) -> bool:
    """Return whether both undo something or neither does. A revert quotes the words of the reverted commit."""
    return undoes(claim.text) == undoes(commit.subject)


def _nearly_all(claimed: set[str], known: set[str], least: int) -> bool:
    hits = len(claimed & known)
    return hits >= least and len(claimed) - hits <= _MAX_MISSING * len(claimed)


def numbers_agree(claim: Claim, commit: CommitInfo, repository: Repository) -> bool:
    """Return whether the message or the patch has every number of the claim."""
    numbers = [word for word in claim.words if word[0].isdigit()]
    if not numbers:
        return True
    text = commit.message + "\n" + repository.patch(commit.commit)
    return set(numbers) <= set(re.findall(r"\d+(?:\.\d+)*", text))


def _words_of(commit: CommitInfo) -> set[str]:
    """Return the content words of the message and of the changed paths."""
    known = set(content_words(commit.message))
    for change in commit.changes:
        path = PurePosixPath(change.path)
        known.update(content_words(" ".join(re.split(r"[._/-]", str(path.with_suffix(""))))))
    return known
