"""Judge one thing that a claim names: a file, a symbol, a version or a merged branch.

HEAD, and a commit that explains the state of HEAD, decide about an addition, a removal and a rename. A commit that
still stands and whose message agrees decides about a change or a fix. It is the commit that the claim names, or one of
the session's time. Among several commits, those of the session come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ..statements.names import NameKind, is_file_name
from .claims import Assertion, Claim
from .commit_match import agrees, done_by, mentions, numbers_agree
from .repository import CommitInfo, PathChange, Repository
from .status import Judgement, Window, absent, present, unsure, verified

__all__ = ["ClaimContext", "judge"]

#: Most patches that are read to find the commit that added or removed a symbol.
_MAX_PATCHES = 20
#: Fewest words besides a version that claim more than its release.
_MANY_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimContext:
    """A claim that is checked in one repository. *named* are its commits that the repository has."""

    claim: Claim
    named: Sequence[CommitInfo]
    repository: Repository
    window: Window

    def by_named(self, changes: Sequence[PathChange]) -> list[PathChange]:
        """Return those of *changes* that a named commit made."""
        hashes = {commit.commit for commit in self.named}
        return [change for change in changes if change.commit in hashes]

    def in_session(self, changes: Sequence[PathChange]) -> list[PathChange]:
        """Return those of *changes* that were certainly made in the session's time."""
        return [change for change in changes if self.window.known and self.window.holds(change.ts)]


def judge(item: Assertion, context: ClaimContext) -> Judgement:
    """Judge one assertion."""
    if item.negated:
        return unsure("a denial; git records what was done")
    rules: Mapping[NameKind, Callable[[Assertion, ClaimContext], Judgement]] = {
        "path": _path, "symbol": _symbol, "tag": _tag, "branch": _branch,
    }  # fmt: skip
    return rules[item.kind](item, context)


def _confirmed_by(change: PathChange, detail: str, context: ClaimContext) -> Judgement:
    """Return ``verified`` by *change*, unless it is older than the session or lacks a number of the claim."""
    if context.window.known and not context.named and change.ts < context.window.since:
        return unsure(f"{change.short} did it before the session", change.short)
    commit = context.repository.commit(change.commit)
    if not numbers_agree(context.claim, commit, context.repository):
        return unsure(f"{change.short} does not have that number", change.short)
    return verified(change.short, detail)


def _path(item: Assertion, context: ClaimContext) -> Judgement:
    name = _relative(item.subject, context.repository.root)
    if not name:
        return unsure(f"{item.subject} is outside the repository")
    item = replace(item, subject=name)
    changes = context.repository.path_changes(name)
    if item.action == "added":
        judgement, status = _path_added(item, changes, context), "A"
    elif item.action == "removed":
        judgement, status = _path_removed(item, changes, context), "D"
    elif item.action == "renamed" and item.target:
        judgement, status = _path_renamed(item, changes, context), "D"
    else:
        return _path_changed(item, changes, context)
    if judgement.evidence.state != "verified" or not context.named:
        return judgement
    if any(change.status == status for change in context.by_named(changes)):
        return judgement
    return unsure(f"done by {judgement.evidence.commit}, not by {context.named[0].short}")


def _path_added(item: Assertion, changes: Sequence[PathChange], context: ClaimContext) -> Judgement:
    repository = context.repository
    at_head = repository.head_paths(item.subject)
    additions = [change for change in changes if change.status == "A"]
    there = [change for change in additions if change.path in at_head]
    if there:
        best = _first_in(context.window, there)
        return _confirmed_by(best, f"{best.path} added", context)
    if additions:
        first = additions[0]
        now = repository.moved_to(first.commit, first.path)
        where = f"{first.path} is {now} now" if now else f"added by {first.short}, not at HEAD"
        return unsure(where, first.short)
    if at_head or changes:
        return unsure(f"no commit shows how {item.subject} came to be")
    if repository.on_disk(item.subject):
        return unsure("not committed")
    if repository.incomplete or "/" not in item.subject or not is_file_name(item.subject):
        return unsure(f"{item.subject} is not in the history that is here")  # a bare name may lie anywhere
    return absent(f"{item.subject} was never in the repository")


def _path_removed(item: Assertion, changes: Sequence[PathChange], context: ClaimContext) -> Judgement:
    at_head = context.repository.head_paths(item.subject)
    removals = [change for change in changes if change.status == "D"]
    gone = [change for change in removals if change.path not in at_head]
    recent = [change for change in removals if context.window.holds(change.ts)]
    is_file = all(f"/{path}".endswith(f"/{item.subject}") for path in at_head)
    if gone and (not at_head or (is_file and any(context.window.holds(change.ts) for change in gone))):
        best = _first_in(context.window, gone)
        return _confirmed_by(best, f"{best.path} removed", context)
    if not at_head:
        return unsure("no commit shows its removal" if changes else f"{item.subject} was never in the repository")
    if gone:
        return unsure(f"{gone[0].path} was removed before, {at_head[0]} is at HEAD")
    if recent:
        return unsure(f"removed by {recent[0].short}, at HEAD again", recent[0].short)
    new = next((change for change in changes if change.status == "A" and context.window.holds(change.ts)), None)
    if new is not None and context.window.known:  # the sentence more likely says that another file went
        return unsure(f"{new.path} added by {new.short}", new.short)
    return _still_there(at_head, context.repository)


def _path_renamed(item: Assertion, changes: Sequence[PathChange], context: ClaimContext) -> Judgement:
    repository = context.repository
    target = _relative(item.target, repository.root) or item.target
    old_at_head = repository.head_paths(item.subject)
    removed = {change.commit for change in changes if change.status == "D"}
    arrived = [change for change in repository.path_changes(target) if change.status == "A"]
    both = [change for change in arrived if change.commit in removed]
    if both and not old_at_head and any(repository.head_paths(change.path) for change in both):
        best = _first_in(context.window, both)
        return _confirmed_by(best, f"{item.subject} is {best.path} now", context)
    if both or not old_at_head:
        return unsure("no commit that is at HEAD renames it so")
    return _still_there(old_at_head, repository)


def _still_there(at_head: Sequence[str], repository: Repository) -> Judgement:
    """Judge the claim that files are gone which HEAD has."""
    if not any(repository.on_disk(path) for path in at_head):
        return unsure("not committed")
    return present(f"{at_head[0]} is still at HEAD")


def _path_changed(item: Assertion, changes: Sequence[PathChange], context: ClaimContext) -> Judgement:
    if not context.named and not context.window.known:
        return unsure("the session has no times")
    recent = context.by_named(changes) if context.named else context.in_session(changes)
    for change in recent:
        commit = context.repository.commit(change.commit)
        if agrees(context.claim, commit, context.repository, half=True, some=item.aside):
            return done_by(commit, f"{change.path} changed", context.repository)
    if recent:
        return unsure(
            f"{recent[0].short} touches {recent[0].path}; its message says something else", recent[0].short, open_=True
        )
    if context.named:
        return unsure(f"{context.named[0].short} does not touch {item.subject}", context.named[0].short)
    if not changes and context.repository.on_disk(item.subject):
        return unsure("not committed")
    return unsure(f"no commit of that time touches {item.subject}", open_=True)


def _symbol(item: Assertion, context: ClaimContext) -> Judgement:
    """Judge a symbol by a search for its letters, and by the session's commits where that verifies nothing."""
    quick = context.repository.symbol_changes(item.subject)
    standing = [change for change in quick if item.action != "changed" or _has_word(item.subject, change, context)]
    judgement = _symbol_by(item, standing, context)
    if judgement.evidence.state == "verified" or not quick:
        return judgement
    return _symbol_by(item, [*_recent_mentions(item.subject, quick, context), *standing], context)


def _recent_mentions(symbol: str, known: Sequence[PathChange], context: ClaimContext) -> list[PathChange]:
    """Return the commits of the session's time that have *symbol* in a changed line, besides *known* ones.

    The quick search misses a commit that makes the name a part of a longer one.
    """
    window, repository = context.window, context.repository
    if not window.known:
        return []
    commits = {commit.commit: commit for commit in repository.commits_between(window.since, window.until)}
    others = [name for name in commits if name not in {change.commit for change in known}][:_MAX_PATCHES]
    word = re.compile(rf"^[-+].*(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])", re.MULTILINE)
    return [
        PathChange(commit=name, short=commits[name].short, ts=commits[name].ts, status="M", path="")
        for name, patch in repository.patches(others).items()
        if word.search(patch)
    ]


def _has_word(symbol: str, change: PathChange, context: ClaimContext) -> bool:
    if context.named or not context.in_session([change]):
        return True
    return mentions(context.repository.commit(change.commit), context.repository, symbol)


def _symbol_by(item: Assertion, changes: Sequence[PathChange], context: ClaimContext) -> Judgement:
    repository = context.repository
    by_named = context.by_named(changes)
    if context.named and not by_named:
        inside = any(mentions(commit, repository, item.subject) for commit in context.named)
        if inside and item.action in {"changed", "fixed"}:
            return done_by(context.named[0], f"{item.subject} in its patch", repository)
        return unsure(f"{context.named[0].short} does not touch {item.subject}", context.named[0].short)
    if item.action == "added":
        return _symbol_added(item, changes, by_named, context)
    if item.action == "removed":
        return _symbol_removed(item, changes, by_named, context)
    if item.action == "renamed" and item.target:
        return _symbol_renamed(item, by_named or changes, context)
    for change in by_named or context.in_session(changes):
        commit = repository.commit(change.commit)
        if agrees(context.claim, commit, repository, half=True, some=item.aside):
            return done_by(commit, f"{item.subject} in its patch", repository)
    return unsure(f"no commit of that time shows a change of {item.subject}", open_=True)


def _symbol_added(
    item: Assertion, changes: Sequence[PathChange], named: Sequence[PathChange], context: ClaimContext
) -> Judgement:
    repository = context.repository
    places = repository.head_paths(item.place) if item.place else []
    if changes and repository.holds_symbol(item.subject, places):
        best = _first_changing(item.subject, named or _recent_first(context.window, changes[::-1]), repository, 1)
        if best is None:
            return unsure(f"no commit looked at brings {item.subject} in")
        return _confirmed_by(best, f"{item.subject} added", context)
    if changes:
        return unsure(f"{item.subject} is not at HEAD{' in ' + item.place if item.place else ''}")
    if repository.holds_symbol(item.subject, work_tree=True):
        return unsure("not committed")
    if repository.incomplete or repository.holds_symbol(item.subject) or not _is_code(item, context):
        return unsure(f"no commit that is here brings {item.subject} in")
    if repository.ever_held(item.subject):  # in documentation, say
        return unsure(f"{item.subject} is not in the code", open_=True)
    return absent(f"{item.subject} was never in the code")


def _symbol_removed(
    item: Assertion, changes: Sequence[PathChange], named: Sequence[PathChange], context: ClaimContext
) -> Judgement:
    repository = context.repository
    places = repository.head_paths(item.place) if item.place else []
    if item.place and not places:
        return unsure(f"{item.place} is not at HEAD")
    if not repository.holds_symbol(item.subject, places):
        best = _first_changing(item.subject, named or _recent_first(context.window, changes), repository, -1)
        if best is None:
            return unsure(f"no commit shows that {item.subject} was removed")
        return _confirmed_by(best, f"{item.subject} removed", context)
    recent = [change for change in changes if context.window.holds(change.ts)]
    dropped = _first_changing(item.subject, recent, repository, -1)
    if dropped is not None:
        return unsure(f"{dropped.short} takes {item.subject} out, it is still used", dropped.short)
    if any(_takes_out(item.subject, change, repository) for change in recent[:_MAX_PATCHES]):
        return unsure(f"a commit of that time takes {item.subject} out of some place", open_=True)
    if not repository.holds_symbol(item.subject, places, work_tree=True):
        return unsure("not committed")
    if not _is_code(item, context):
        return unsure(f"{item.subject} is in the code at HEAD")
    return present(f"{item.subject} is still in the code at HEAD")


def _takes_out(symbol: str, change: PathChange, repository: Repository) -> bool:
    word = re.compile(rf"^-.*(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])", re.MULTILINE)
    return word.search(repository.patch(change.commit)) is not None


def _is_code(item: Assertion, context: ClaimContext) -> bool:
    """Return whether the claim certainly names code: `user_events` may be a table, `user_events()` is not."""
    name = re.escape(item.subject)
    kinds = "(?:function|class|method|helper|函数|类|方法)"
    called = rf"\b{name}(?:`?\(|`?\s*{kinds})|{kinds}\s*`?{name}\b"
    return bool(item.place) or re.search(called, context.claim.text, re.IGNORECASE) is not None


def _symbol_renamed(item: Assertion, changes: Sequence[PathChange], context: ClaimContext) -> Judgement:
    """Judge a rename: one commit removes the old name and adds the new one, and HEAD has only the new one."""
    repository = context.repository
    there = repository.symbol_changes(item.target)
    arrived = {change.commit for change in (*_recent_mentions(item.target, there, context), *there)}
    both = _recent_first(context.window, [change for change in changes if change.commit in arrived])
    best = _first_changing(item.subject, both, repository, -1)
    if best is None or not repository.holds_symbol(item.target) or repository.holds_symbol(item.subject):
        return unsure(f"no commit that is at HEAD renames {item.subject} so", open_=True)
    return _confirmed_by(best, f"{item.subject} is {item.target} now", context)


def _first_changing(symbol: str, changes: Sequence[PathChange], repository: Repository, sign: int) -> PathChange | None:
    """Return the first commit whose patch has *symbol* more often in added (*sign* 1) or removed (-1) lines."""
    word = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])")
    for change in changes[:_MAX_PATCHES]:
        patch = repository.patch(change.commit).splitlines()
        balance = sum((1 if line[0] == "+" else -1) * len(word.findall(line)) for line in patch)
        if balance * sign > 0:
            return change
    return None


def _tag(item: Assertion, context: ClaimContext) -> Judgement:
    """Judge a version. A tag shows its release, and a commit must confirm anything else."""
    repository, bare = context.repository, item.subject.removeprefix("v")
    has_details = item.action != "added" or len(context.claim.words) >= _MANY_WORDS
    tagged = [commit for name in (f"v{bare}", bare) if (commit := repository.tag_commit(name))]
    hashes = {found.commit for found in context.named}
    for release in (repository.commit(name) for name in tagged if not context.named or name in hashes):
        if not has_details or agrees(context.claim, release, repository, half=True):
            return verified(release.short, f"tag {item.subject}")
    window = context.window
    candidates = [] if context.named or not window.known else repository.commits_between(window.since, window.until)
    for found in context.named or candidates:
        if bare in re.findall(r"\d+(?:\.\d+)+", found.message) and agrees(context.claim, found, repository, half=True):
            return done_by(found, f"its message names {bare}", repository)
    if tagged:
        return unsure(f"nothing more is known of {item.subject} than its tag")
    return unsure(f"no tag {item.subject}", open_=item.action == "changed")


def _branch(item: Assertion, context: ClaimContext) -> Judgement:
    """Judge a merged branch: a merge at HEAD names it, or HEAD has its tip from the session's time."""
    repository = context.repository
    merges = repository.merges_of(item.subject)
    if merges:
        best = next((merge for merge in merges if context.window.holds(merge.ts)), merges[0])
        return done_by(best, f"merges {item.subject}", repository)
    tip = repository.branch_tip(item.subject)
    if tip and context.window.known:
        commit = repository.commit(tip)
        if context.window.holds(commit.ts) and repository.in_head(tip):
            return verified(commit.short, f"{item.subject} is at HEAD")
    return unsure(f"no merge of {item.subject} is at HEAD")


def _first_in(window: Window, changes: Sequence[PathChange]) -> PathChange:
    """Return the newest change in *window*, else the newest of all. *changes* are newest first."""
    return next((change for change in changes if window.holds(change.ts)), changes[0])


def _recent_first(window: Window, changes: Sequence[PathChange]) -> list[PathChange]:
    return sorted(changes, key=lambda change: not window.holds(change.ts))


def _relative(name: str, root: Path) -> str:
    """Return *name* as git writes paths, or an empty string when it is outside *root*."""
    if name.startswith("~"):
        return ""
    if name.startswith("/"):
        path = Path(name)
        return path.relative_to(root).as_posix() if root in path.parents else ""
    while name.startswith("./"):
        name = name[2:]
    return "" if ".." in PurePosixPath(name).parts else name.rstrip("/")
