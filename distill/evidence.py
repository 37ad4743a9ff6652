"""What git says about a claim: ``verified``, ``unverified``, ``contradicted`` or ``unchecked``.

``verified`` names a commit that did what the claim says; that words are absent, or that one common word is present,
proves nothing. ``contradicted`` says what git has instead, and only a complete repository can say that something
never existed. A claim that names several things is as good as its worst part. No repository, no git and no answer in
time are ``unchecked``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from .claims import Assertion, Claim, content_words, is_file_name, parse_claim
from .repository import Change, CommitFound, GitRefused, Repository, TimeLimit, TimeOver
from .sentences import split

__all__ = ["STATES", "UNCHECKED", "Evidence", "State", "Window", "check", "check_text"]

State = Literal["verified", "unverified", "contradicted", "unchecked"]
STATES: tuple[State, ...] = ("verified", "unverified", "contradicted", "unchecked")
#: A claim without names is verified by words alone only when so many of them agree with one commit ...
_MIN_WORDS = 3
#: ... and when no more than this share of them does not.
_MAX_MISSING = 1 / 6
#: Patches read to find the commit that brought a symbol in or took it out.
_MAX_PATCHES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Git's answer. *commit* is a short hash or empty; *detail* says what was found, in a few words."""

    state: State
    commit: str = ""
    detail: str = ""

    def render(self, address: str = "") -> str:
        """As it stands in an entry: ``verified, commit 3f9c2e1; DailyActivity/2026-11-20.md#s-1a2b``."""
        commit = f", commit {self.commit}" if self.commit else ""
        detail = f", {self.detail}" if self.detail and self.state != "verified" else ""
        where = f"; {address}" if address else ""
        return f"{self.state}{commit}{detail}{where}"


UNCHECKED = Evidence(state="unchecked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time a session took, widened, in seconds since the epoch. Commits in it come first."""

    since: float = 0.0
    until: float = float("inf")

    @property
    def known(self) -> bool:
        """Whether the session has times at all; without them every commit may have been in it, and none surely."""
        return self.since > 0

    def holds(self, ts: float) -> bool:
        return self.since <= ts <= self.until


@dataclass(frozen=True, slots=True)
class _Finding:
    """*evidence*, and whether a contradiction rests on absence: then every repository has to say it."""

    evidence: Evidence
    by_absence: bool = False


def check_text(
    text: str,
    role: str,
    repositories: Sequence[Path],
    window: Window,
    *,
    timeout_s: float,
    deadline: float = float("inf"),
) -> Evidence | None:
    """What git says about all that *text* claims, its worst part; ``None`` when it claims nothing.

    *role* is who said it; *timeout_s* is for each sentence, *deadline* (of the monotonic clock) for all of it.
    """
    claims = (parse_claim(sentence, role) for sentence in split(text))
    answers = []
    for claim in claims:
        if claim is not None:
            left = min(timeout_s, deadline - time.monotonic())
            answers.append(check(claim, repositories, window, max(left, 0.0)))
    return min(answers, key=lambda answer: _RANK[answer.state]) if answers else None


def check(claim: Claim, repositories: Sequence[Path], window: Window, timeout_s: float) -> Evidence:
    """Ask git about *claim* in *repositories*, the likeliest first. *timeout_s* is for the whole claim.

    One repository that verifies is enough; one that still has what was to be gone contradicts; that something never
    existed must be said by all of them.
    """
    if not repositories:
        return Evidence(state="unchecked", detail="no repository")
    limit, findings, problem = TimeLimit(timeout_s), [], ""
    for root in repositories:
        try:
            finding = _in_repository(claim, Repository(root, limit), window)
        except (TimeOver, GitRefused) as error:
            problem = str(error)
            continue
        if finding.evidence.state == "verified":
            return finding.evidence
        findings.append(finding)
    if problem:
        return Evidence(state="unchecked", detail=problem)
    present = [f for f in findings if f.evidence.state == "contradicted" and not f.by_absence]
    if present:
        return present[0].evidence
    unsure = [f for f in findings if f.evidence.state != "contradicted"]
    return (unsure or findings)[0].evidence


def _in_repository(claim: Claim, repository: Repository, window: Window) -> _Finding:
    """The worst of what is found about the parts; without parts, what the commit or the words say."""
    if claim.negated:
        return _unsure("a denial; git records what was done")
    named: list[CommitFound] = []
    for name in claim.commits:
        found = _named_commit(name, claim, repository)
        if isinstance(found, _Finding):
            return found
        named.append(found)
    findings = [_assertion(item, named, claim, repository, window) for item in claim.assertions]
    if not findings:
        return _by_commit(claim, named, repository) if named else _by_words(claim, repository, window)
    worst = min(findings, key=lambda finding: _RANK[finding.evidence.state])
    if worst.evidence.state == "verified" and named:
        return _verified(named[0].short, worst.evidence.detail)
    return worst


_RANK = {"contradicted": 0, "unverified": 1, "unchecked": 2, "verified": 3}


def _named_commit(name: str, claim: Claim, repository: Repository) -> CommitFound | _Finding:
    commits = repository.commits_named(name)
    if len(commits) > 1:
        return _unsure(f"{name} is ambiguous")
    if not commits:
        if claim.strict and not repository.incomplete:
            return _absent(f"git has no commit {name}")
        return _unsure(f"no commit {name} here")
    if not repository.reachable(commits[0]):
        return _unsure(f"commit {name} is on no branch")
    return repository.commit(commits[0])


def _assertion(
    item: Assertion, named: Sequence[CommitFound], claim: Claim, repository: Repository, window: Window
) -> _Finding:
    if item.negated:
        return _unsure("a denial; git records what was done")
    if item.kind == "tag":
        return _tag(item, named, claim, repository, window)
    if item.kind == "symbol":
        return _symbol(item, named, claim, repository, window)
    return _path(item, named, claim, repository, window)


def _path(
    item: Assertion, named: Sequence[CommitFound], claim: Claim, repository: Repository, window: Window
) -> _Finding:
    name = _relative(item.subject, repository.root)
    if not name:
        return _unsure(f"{item.subject} is outside the repository")
    item = replace(item, subject=name)
    changes = repository.path_changes(name)
    rules: dict[str, Callable[[Assertion, list[Change], Repository, Window], _Finding]] = {
        "added": _path_added, "removed": _path_removed, "renamed": _path_renamed,
    }  # fmt: skip
    if item.action not in rules or (item.action == "renamed" and not item.target):
        return _path_changed(item, changes, named, claim, repository, window)
    finding = rules[item.action](item, changes, repository, window)
    if finding.evidence.state != "verified" or not named:
        return finding
    wanted = {"added": "A", "removed": "D", "renamed": "D"}[item.action]
    by_named = any(c.commit == commit.commit and c.status == wanted for c in changes for commit in named)
    return finding if by_named else _unsure(f"done by {finding.evidence.commit}, not by {named[0].short}")


def _path_added(item: Assertion, changes: list[Change], repository: Repository, window: Window) -> _Finding:
    at_head = repository.head_paths(item.subject)
    additions = [change for change in changes if change.status == "A"]
    there = [change for change in additions if change.path in at_head]
    if there:
        best = _first_in(window, there)
        return _verified(best.short, f"{best.path} added")
    if additions:
        return _unsure(f"added by {additions[0].short}, not at HEAD", additions[0].short)
    if at_head or changes:
        return _unsure(f"no commit shows how {item.subject} came to be")
    if repository.on_disk(item.subject):
        return _unsure("not committed")
    if repository.incomplete or not is_file_name(item.subject):
        return _unsure(f"{item.subject} is not in the history that is here")
    return _absent(f"{item.subject} was never in the repository")


def _path_removed(item: Assertion, changes: list[Change], repository: Repository, window: Window) -> _Finding:
    at_head = repository.head_paths(item.subject)
    removals = [change for change in changes if change.status == "D"]
    gone = [change for change in removals if change.path not in at_head]
    recent = [change for change in removals if window.holds(change.ts)]
    is_file = all(f"/{path}".endswith(f"/{item.subject}") for path in at_head)
    if gone and (not at_head or (is_file and any(window.holds(change.ts) for change in gone))):
        best = _first_in(window, gone)
        return _verified(best.short, f"{best.path} removed")
    if not at_head:
        known = "no commit shows its removal" if changes else f"{item.subject} was never in the repository"
        return _unsure(known)
    if gone:
        return _unsure(f"{gone[0].path} was removed before, {at_head[0]} is at HEAD")
    if recent:
        return _unsure(f"removed by {recent[0].short}, at HEAD again", recent[0].short)
    if not any(repository.on_disk(path) for path in at_head):
        return _unsure("not committed")
    return _Finding(Evidence(state="contradicted", detail=f"{at_head[0]} is still at HEAD"))


def _path_renamed(item: Assertion, changes: list[Change], repository: Repository, window: Window) -> _Finding:
    target = _relative(item.target, repository.root)
    old_at_head = repository.head_paths(item.subject)
    removed = {change.commit: change for change in changes if change.status == "D"}
    arrived = [change for change in repository.path_changes(target or item.target) if change.status == "A"]
    both = [change for change in arrived if change.commit in removed]
    if both and not old_at_head and any(repository.head_paths(change.path) for change in both):
        best = _first_in(window, both)
        return _verified(best.short, f"{item.subject} is {best.path} now")
    if both or not old_at_head:
        return _unsure("no commit that is at HEAD renames it so")
    if not any(repository.on_disk(path) for path in old_at_head):
        return _unsure("not committed")
    return _Finding(Evidence(state="contradicted", detail=f"{old_at_head[0]} is still at HEAD"))


def _path_changed(
    item: Assertion, changes: list[Change], named: Sequence[CommitFound], claim: Claim, repository: Repository,
    window: Window,
) -> _Finding:  # fmt: skip
    wanted = {commit.commit for commit in named}
    recent = [change for change in changes if (change.commit in wanted if named else window.holds(change.ts))]
    if not named and not window.known:
        return _unsure("the session has no times")
    for change in recent:
        commit = repository.commit(change.commit)
        if _agrees(claim, commit, repository, half=True):
            return _verified(change.short, f"{change.path} changed")
    if recent:
        return _unsure(f"{recent[0].short} touches {recent[0].path}; its message says something else", recent[0].short)
    if named:
        return _unsure(f"{named[0].short} does not touch {item.subject}", named[0].short)
    if not changes and repository.on_disk(item.subject):
        return _unsure("not committed")
    return _unsure(f"no commit of that time touches {item.subject}")


def _symbol(
    item: Assertion, named: Sequence[CommitFound], claim: Claim, repository: Repository, window: Window
) -> _Finding:
    changes = repository.symbol_changes(item.subject)
    by_named = [change for change in changes if any(change.commit == commit.commit for commit in named)]
    if named and not by_named:
        if any(_mentions(commit, repository, item.subject) for commit in named) and item.action in {"changed", "fixed"}:
            return _verified(named[0].short, f"{item.subject} in its patch")
        return _unsure(f"{named[0].short} does not touch {item.subject}", named[0].short)
    if item.action in {"added", "removed"}:
        rule = _symbol_added if item.action == "added" else _symbol_removed
        return rule(item, changes, by_named, repository, window)
    for change in by_named or [change for change in changes if window.known and window.holds(change.ts)]:
        if _agrees(claim, repository.commit(change.commit), repository, half=True):
            return _verified(change.short, f"{item.subject} in its patch")
    return _unsure(f"no commit of that time shows a change of {item.subject}")


def _symbol_added(
    item: Assertion, changes: list[Change], named: list[Change], repository: Repository, window: Window
) -> _Finding:
    places = repository.head_paths(item.place) if item.place else []
    if changes and repository.holds_symbol(item.subject, places):
        best = _that_moves(item.subject, named or _recent_first(window, changes[::-1]), repository, 1)
        if best is None:
            return _unsure(f"no commit looked at brings {item.subject} in")
        return _verified(best.short, f"{item.subject} added")
    if changes:
        return _unsure(f"{item.subject} is not at HEAD{' in ' + item.place if item.place else ''}")
    if repository.holds_symbol(item.subject, work_tree=True):
        return _unsure("not committed")
    if repository.incomplete or repository.holds_symbol(item.subject):
        return _unsure(f"no commit that is here brings {item.subject} in")
    return _absent(f"{item.subject} was never in the code")


def _symbol_removed(
    item: Assertion, changes: list[Change], named: list[Change], repository: Repository, window: Window
) -> _Finding:
    places = repository.head_paths(item.place) if item.place else []
    if item.place and not places:
        return _unsure(f"{item.place} is not at HEAD")
    recent = [change for change in changes if window.holds(change.ts)]
    if not repository.holds_symbol(item.subject, places):
        best = _that_moves(item.subject, named or _recent_first(window, changes), repository, -1)
        if best is None:
            return _unsure(f"no commit shows that {item.subject} was removed")
        return _verified(best.short, f"{item.subject} removed")
    dropped = _that_moves(item.subject, recent, repository, -1)
    if dropped is not None:
        return _unsure(f"{dropped.short} takes {item.subject} out, it is still used", dropped.short)
    if not repository.holds_symbol(item.subject, places, work_tree=True):
        return _unsure("not committed")
    return _Finding(Evidence(state="contradicted", detail=f"{item.subject} is still in the code at HEAD"))


def _that_moves(symbol: str, changes: Sequence[Change], repository: Repository, sign: int) -> Change | None:
    """The first commit whose patch has *symbol* more often among added lines (*sign* 1) or removed ones (-1)."""
    word = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])")
    for change in changes[:_MAX_PATCHES]:
        patch = repository.patch(change.commit).splitlines()
        balance = sum((1 if line[0] == "+" else -1) * len(word.findall(line)) for line in patch)
        if balance * sign > 0:
            return change
    return None


def _tag(
    item: Assertion, named: Sequence[CommitFound], claim: Claim, repository: Repository, window: Window
) -> _Finding:
    bare = item.subject.removeprefix("v")
    for name in (f"v{bare}", bare):
        commit = repository.tag_commit(name)
        if commit and (not named or commit in {found.commit for found in named}):
            return _verified(repository.commit(commit).short, f"tag {name}")
    if named:
        return _by_commit(claim, named, repository)
    for found in repository.commits_between(window.since, window.until) if window.known else ():
        if bare in re.findall(r"\d+(?:\.\d+)+", found.message):
            return _verified(found.short, f"its message names {bare}")
    return _unsure(f"no tag {item.subject}")


def _by_commit(claim: Claim, named: Sequence[CommitFound], repository: Repository) -> _Finding:
    """A claim about a commit: that it exists, and, when it is said what it did, that several words agree."""
    commit = named[0]
    says_more = bool(claim.words) or re.search(r"[\u4e00-\u9fff]", _beyond_commit(claim)) is not None
    if not says_more:
        return _verified(commit.short, "the commit exists")
    if any(_agrees(claim, found, repository) for found in named):
        return _verified(commit.short, "its message agrees")
    return _unsure(f"{commit.short} says: {commit.subject[:60]}", commit.short)


def _by_words(claim: Claim, repository: Repository, window: Window) -> _Finding:
    """A claim without names: nearly all its words must agree with one commit of the session's time."""
    if not window.known or len(claim.words) < _MIN_WORDS:
        return _unsure("names nothing that git knows")
    for commit in repository.commits_between(window.since, window.until):
        known = _words_of(commit)
        hits = [word for word in claim.words if word in known]
        missing = len(claim.words) - len(hits)
        if (
            len(hits) >= _MIN_WORDS
            and missing <= _MAX_MISSING * len(claim.words)
            and _numbers_agree(claim, commit, repository)
        ):
            return _verified(commit.short, "its message agrees")
    return _unsure("no commit of that time says so")


def _agrees(claim: Claim, commit: CommitFound, repository: Repository, *, half: bool = False) -> bool:
    """Whether the claim's words fit *commit*. *half*: a name agrees already, so any claim without words passes."""
    known = _words_of(commit)
    words = [word for word in claim.words if not word[0].isdigit()]
    hits = sum(word in known for word in words)
    enough = hits * 2 >= len(words) if half else hits >= 2 and hits * 2 >= len(words)
    if not enough and not half:
        ours, theirs = _bigrams(claim.text), _bigrams(commit.message)
        enough = len(ours & theirs) >= 4 and len(ours & theirs) * 2 >= len(ours)
    return enough and _numbers_agree(claim, commit, repository)


def _numbers_agree(claim: Claim, commit: CommitFound, repository: Repository) -> bool:
    """Every number in the claim stands in the message or the patch."""
    numbers = [word for word in claim.words if word[0].isdigit()]
    if not numbers:
        return True
    text = commit.message + "\n" + repository.patch(commit.commit)
    return set(numbers) <= set(re.findall(r"\d+(?:\.\d+)*", text))


def _mentions(commit: CommitFound, repository: Repository, symbol: str) -> bool:
    text = commit.message + "\n" + repository.patch(commit.commit)
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])", text) is not None


def _words_of(commit: CommitFound) -> set[str]:
    """Content words of the message and of the changed paths' parts."""
    known = set(content_words(commit.message))
    for change in commit.changes:
        path = PurePosixPath(change.path)
        known.update(content_words(" ".join(re.split(r"[._/-]", str(path.with_suffix(""))))))
    return known


def _bigrams(text: str) -> set[str]:
    runs = re.findall(r"[\u4e00-\u9fff]{2,}", text)
    return {run[at : at + 2] for run in runs for at in range(len(run) - 1)}


def _beyond_commit(claim: Claim) -> str:
    return re.sub(r"提交|推送|合并|最新|已经|已|了|的|是|在|到|为|版本", "", claim.text)


def _first_in(window: Window, changes: Sequence[Change]) -> Change:
    """The newest in *window*, else the newest; *changes* are newest first."""
    return next((change for change in changes if window.holds(change.ts)), changes[0])


def _recent_first(window: Window, changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: not window.holds(change.ts))


def _relative(name: str, root: Path) -> str:
    """*name* as git writes paths; empty when it lies outside *root*."""
    if name.startswith("~"):
        return ""
    if name.startswith("/"):
        path = Path(name)
        return path.relative_to(root).as_posix() if root in path.parents else ""
    while name.startswith("./"):
        name = name[2:]
    return "" if ".." in PurePosixPath(name).parts else name.rstrip("/")


def _verified(commit: str, detail: str) -> _Finding:
    return _Finding(Evidence(state="verified", commit=commit, detail=detail))


def _unsure(detail: str, commit: str = "") -> _Finding:
    return _Finding(Evidence(state="unverified", commit=commit, detail=detail))


def _absent(detail: str) -> _Finding:
    return _Finding(Evidence(state="contradicted", detail=detail), by_absence=True)
