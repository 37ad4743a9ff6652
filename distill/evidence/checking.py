"""Ask git about what a text claims.

A claim that names several things is as good as its worst part, and so is a text with several claims. Every question
about one claim shares one deadline; when it passes, the answer is ``unchecked``. Only a complete repository can say
that something never existed, and all of a session's repositories have to say it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from ..statements.sentences import split_sentences
from .claims import Claim, lasting_symbols, parse_claim
from .commit_match import agrees, agrees_in_all, done_by
from .repository import CommitInfo, Deadline, DeadlinePassed, GitUnavailable, Repository
from .status import Evidence, Judgement, State, Window, absent, unsure, verified
from .subjects import ClaimContext, judge

__all__ = ["check", "check_text", "lost_symbol"]

_WORST_FIRST: tuple[State, ...] = ("contradicted", "stale", "unverified", "unchecked", "verified")


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
    claims = (parse_claim(sentence, role) for sentence in split_sentences(text))
    answers = []
    for claim in claims:
        if claim is not None:
            left = min(timeout_s, deadline - time.monotonic())
            answers.append(check(claim, repositories, window, max(left, 0.0)))
    return min(answers, key=_rank) if answers else None


def lost_symbol(text: str, role: str, repositories: Sequence[Path], commit: str, *, timeout_s: float) -> str:
    """A symbol that *text* tells of work on, that code had at *commit* and no code has at HEAD; empty without one.

    A symbol that the text says goes away is none. One that another of the *repositories* has is not lost, and neither
    is one about which git does not answer within *timeout_s*.
    """
    claims = [claim for sentence in split_sentences(text) if (claim := parse_claim(sentence, role)) is not None]
    limit = Deadline(timeout_s)
    places = [Repository(root, limit) for root in repositories]
    try:
        holders = [place for place in places if any(map(place.in_head, place.commits_named(commit)))]
        for symbol in lasting_symbols(claims) if holders else ():
            if holders[0].lost_symbol(symbol, commit) and not any(place.holds_symbol(symbol) for place in places):
                return symbol
    except (DeadlinePassed, GitUnavailable):
        return ""
    return ""


def check(claim: Claim, repositories: Sequence[Path], window: Window, timeout_s: float) -> Evidence:
    """Ask git about *claim* in *repositories*, the likeliest first. *timeout_s* is for the whole claim.

    One repository that verifies is enough; one that still has what was to be gone contradicts; that something never
    existed must be said by all of them.
    """
    if not repositories:
        return Evidence(state="unchecked", detail="no repository")
    limit, findings, problem = Deadline(timeout_s), list[Judgement](), ""
    for root in repositories:
        try:
            finding = _in_repository(claim, Repository(root, limit), window)
        except (DeadlinePassed, GitUnavailable) as error:
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
    others = [f for f in findings if f.evidence.state != "contradicted"]
    return (others or findings)[0].evidence


def _in_repository(claim: Claim, repository: Repository, window: Window) -> Judgement:
    """The worst of what is found about the parts; without parts, what the commit or the words say."""
    if claim.negated:
        return unsure("a denial; git records what was done")
    named: list[CommitInfo] = []
    for name in claim.commits:
        found = _named_commit(name, claim, repository)
        if isinstance(found, Judgement):
            return found
        named.append(found)
    undone = [commit for name, commit in zip(claim.commits, named, strict=True) if name in claim.reverted]
    context = ClaimContext(
        claim=claim, named=[commit for commit in named if commit not in undone], repository=repository, window=window
    )
    findings = [_reverted(commit, repository) for commit in undone]
    findings += [judge(item, context) for item in claim.assertions]
    if not findings:
        return _by_commit(claim, context.named, repository) if context.named else _by_words(claim, repository, window)
    worst = min(findings, key=lambda finding: _rank(finding.evidence))
    if worst.evidence.state == "verified" and context.named:
        return verified(context.named[0].short, worst.evidence.detail)
    return worst


def _rank(evidence: Evidence) -> int:
    return _WORST_FIRST.index(evidence.state)


def _named_commit(name: str, claim: Claim, repository: Repository) -> CommitInfo | Judgement:
    commits = repository.commits_named(name)
    if len(commits) > 1:
        return unsure(f"{name} is ambiguous")
    if not commits:
        if claim.strict and not repository.incomplete:
            return absent(f"git has no commit {name}")
        return unsure(f"no commit {name} here")
    if not repository.reachable(commits[0]):
        return unsure(f"commit {name} is on no branch")
    return repository.commit(commits[0])


def _reverted(commit: CommitInfo, repository: Repository) -> Judgement:
    """A claim that *commit* was reverted."""
    by = repository.revert_of(commit)
    return verified(by.short, f"reverts {commit.short}") if by else unsure(f"no commit at HEAD reverts {commit.short}")


def _by_commit(claim: Claim, named: Sequence[CommitInfo], repository: Repository) -> Judgement:
    """A claim about a commit: that it exists, and, when it is said what it did, that several words agree."""
    commit = named[0]
    says_more = bool(claim.words) or re.search(r"[\u4e00-\u9fff]", _beyond_commit(claim)) is not None
    if not says_more:
        return done_by(commit, "the commit exists", repository)
    for found in named:
        if agrees(claim, found, repository):
            return done_by(found, "its message agrees", repository)
    return unsure(f"{commit.short} says: {commit.subject[:60]}", commit.short)


def _by_words(claim: Claim, repository: Repository, window: Window) -> Judgement:
    """A claim without names: nearly all that it says must stand in one commit of the session's time."""
    if not window.known:
        return unsure("names nothing that git knows")
    finding = unsure("no commit of that time says so")
    for commit in repository.commits_between(window.since, window.until):
        if agrees_in_all(claim, commit, repository):
            finding = done_by(commit, "its message agrees", repository)
            if finding.evidence.state == "verified":
                break
    return finding


def _beyond_commit(claim: Claim) -> str:
    return re.sub(r"提交|推送|合并|最新|已经|已|了|的|是|在|到|为|版本", "", claim.text)
