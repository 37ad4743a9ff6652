"""Copy the history of one repository into a backup, and as much of a damaged one as git can read.

Where git cannot read it, the copy that an earlier backup has stays. Without one, branches and tags are copied one by
one, without those that are damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import GitFailed, GitMissing, HistoryError, NoRepository
from ..git.client import home_client
from .content_store import ContentStore
from .history import new_objects, read_history, stored_packs
from .manifest import BackupFile, BackupHistory

__all__ = ["CopiedHistory", "copy_history", "is_partial"]

#: Refs and stashes of a damaged repository that are tried. Each takes a process of git.
_MOST_TRIED = 200
#: Damaged refs that are named.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedHistory:
    """A *history* with its *packs*, and the *problem* that kept git from reading all of it.

    It is ``None`` where there is nothing to carry. *staged_alone* means that only the staging area could not be read,
    and *is_earlier* that the history is that of the earlier copy.
    """

    history: BackupHistory | None
    packs: tuple[BackupFile, ...] = ()
    problem: str = ""
    staged_alone: bool = False
    is_earlier: bool = False


def copy_history(
    root: Path, base: BackupHistory | None, packs: tuple[BackupFile, ...], store: ContentStore | None, place: str = ""
) -> CopiedHistory:
    """Copy the history of *root*, of which *packs* hold *base*, the last copy. Without a *store* nothing is written.

    *place* is that of a repository inside the home. It may be a shallow clone.

    Raises:
        GitMissing: git is not installed.
        HistoryError: the home's own repository has a form that no backup carries.
        OSError: the backup cannot be written.
    """
    caught = (HistoryError, ValueError) if place else (GitFailed, NoRepository)
    reasons = list[str]()
    for staged_too in (True, False):
        try:
            history = read_history(root, shallow_too=bool(place), staged_too=staged_too)
            if history is None:
                return CopiedHistory(history=None)
            copied = packs if store is None else stored_packs(root, history, base, packs, store, place)
        except GitMissing:
            raise
        except caught as error:
            reasons.append(" ".join(str(error).split()))
        else:
            return CopiedHistory(
                history=history, packs=copied, problem=". ".join(reasons), staged_alone=not staged_too
            )  # fmt: skip
    if base is not None:
        return CopiedHistory(history=base, packs=packs, problem=reasons[-1], is_earlier=True)
    try:
        return _part(root, store, place, reasons[-1])
    except caught:
        return CopiedHistory(history=None, problem=reasons[-1])


def _part(root: Path, store: ContentStore | None, place: str, reason: str) -> CopiedHistory:
    """Copy the refs and stashes whose objects git can read, without what is staged.

    Raises:
        HistoryError, ValueError: it can read none of them.
    """
    damaged = list[str]()
    whole = read_history(root, shallow_too=bool(place), staged_too=False, damaged=damaged)
    if whole is None or len(whole.refs) + len(whole.stashes) > _MOST_TRIED:
        raise GitFailed("pack-objects", 0, reason)
    known = BackupHistory()
    for one in _pieces(whole):
        try:
            for _ in new_objects(root, one, known) or ():
                pass
        except GitFailed:
            damaged += [ref.name for ref in one.refs] or ["a stash"]
        else:
            known = replace(known, refs=(*known.refs, *one.refs), stashes=(*known.stashes, *one.stashes))
    if not known.refs:
        raise GitFailed("pack-objects", 0, reason)
    history = replace(whole, refs=known.refs, stashes=known.stashes)
    packs = () if store is None else stored_packs(root, history, None, (), store, place)
    more = f" and {len(damaged) - _MOST_NAMED} more" if len(damaged) > _MOST_NAMED else ""
    said = f"{reason}. The backup has the history without {', '.join(damaged[:_MOST_NAMED]) or 'a part'}{more}"
    return CopiedHistory(history=history, packs=packs, problem=said)


def _pieces(whole: BackupHistory) -> Iterator[BackupHistory]:
    """Yield each ref and each stash of *whole* as a history of its own."""
    yield from (replace(whole, refs=(ref,), stashes=()) for ref in whole.refs)
    yield from (replace(whole, refs=(), stashes=(stash,)) for stash in whole.stashes)


def is_partial(root: Path) -> bool:
    """Return whether *root* is a clone that lacks objects, as far as it can be told."""
    try:
        return home_client(root).is_partial()
    except HistoryError:
        return False
