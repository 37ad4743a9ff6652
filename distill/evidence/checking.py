"""Check the claims of a text against git.

The worst part decides about a claim that names several things, and about a text with several claims. All questions
about one claim share a deadline, after which the claim is ``unchecked``. Absence contradicts a claim only when all of a
session's repositories are complete and none has the thing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..statements.sentences import is_question, narrowed, shorten, split_sentences
from .claims import Claim, lasting_symbols, parse_claim, reports_push
from .commit_fit import WorkReport, read_report
from .commit_match import agrees, agrees_in_all, done_by
from .commit_side import commit_view, found_in, missing_in, objection, shows_all, standing
from .repository import CommitInfo, Deadline, DeadlinePassed, GitUnavailable, Repository
from .status import READ, Evidence, Judgement, State, Window, absent, not_pushed, unsure, verified
from .subjects import ClaimContext, judge
from .wording import read_units

__all__ = ["check", "check_standing", "check_text", "lost_symbol"]

#: Things from which on a sentence states something that the others do not confirm.
_STATING = 2
_MAX_DETAIL_CHARS = 60
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
    """Return the evidence for the worst claim in *text*, or ``None`` when it claims nothing.

    *role* is the speaker's. *timeout_s* limits each sentence, and *deadline* (of the monotonic clock) the whole text. A
    text is not verified while one of its sentences states what git does not show.
    """
    answers, unconfirmed = [], ""
    for sentence in split_sentences(text):
        claim, report = parse_claim(sentence, role), _report(sentence, role)
        if claim is None and (report is None or not repositories):
            unconfirmed = unconfirmed or _stating(sentence)
            continue
        left = min(timeout_s, deadline - time.monotonic())
        said = _check(claim, report, repositories, window, max(left, 0.0))
        if claim is not None or said.state == "verified":
            answers.append(said)
        else:
            unconfirmed = unconfirmed or _stating(sentence)
    worst = min(answers, key=_rank, default=None)
    if worst is not None and worst.state == "verified" and unconfirmed:
        return replace(worst, state="unverified", detail=f"it also says: {unconfirmed}")
    return worst


def _stating(sentence: str) -> str:
    """Return the start of a sentence that names several things, and nothing of any other."""
    return shorten(sentence, _MAX_DETAIL_CHARS) if len(read_units(sentence)) >= _STATING else ""


def lost_symbol(text: str, role: str, repositories: Sequence[Path], commit: str, *, timeout_s: float) -> str:
    """Return a symbol that *text* reports work on and that is gone at HEAD, or an empty string.

    Code at *commit* must have it. A symbol that the text says was removed does not count. A symbol is not lost when
    another of the *repositories* has it, or when git does not answer within *timeout_s*.
    """
    claims = [claim for sentence in split_sentences(text) if (claim := parse_claim(sentence, role)) is not None]
    limit = Deadline(timeout_s)
    opened = [Repository(root, limit) for root in repositories]
    try:
        holders = [
            repository for repository in opened if any(map(repository.in_head, repository.commits_named(commit)))
        ]
        for symbol in lasting_symbols(claims) if holders else ():
            if holders[0].lost_symbol(symbol, commit) and not any(
                repository.holds_symbol(symbol) for repository in opened
            ):
                return symbol
    except (DeadlinePassed, GitUnavailable):
        return ""
    return ""


def check_standing(text: str, repositories: Sequence[Path], commit: str, *, timeout_s: float) -> Evidence:
    """Return whether *commit*, in which a model read what *text* reports, still stands."""
    limit, report = Deadline(timeout_s), WorkReport.of(text)
    try:
        for repository in (Repository(root, limit) for root in repositories):
            for name in repository.commits_named(commit):
                evidence = standing(report, commit_view(repository.commit(name), repository), repository).evidence
                return replace(evidence, detail=READ) if evidence.state == "verified" else evidence
    except (DeadlinePassed, GitUnavailable) as error:
        return Evidence(state="unchecked", detail=str(error))
    return Evidence(state="unverified", detail=f"no commit {commit} here")


def check(claim: Claim, repositories: Sequence[Path], window: Window, timeout_s: float) -> Evidence:
    """Check *claim* in *repositories*, the likeliest first, within *timeout_s* altogether.

    One repository is enough to verify. One repository that still has the removed thing contradicts. All of them must
    agree that something never existed.
    """
    return _check(claim, _report(claim.text, "assistant"), repositories, window, timeout_s)


def _report(sentence: str, role: str) -> WorkReport | None:
    """Return the sentence as a report of the agent's work. Only the agent knows what it did."""
    return read_report(narrowed(sentence)) if role == "assistant" and not is_question(sentence) else None


def _check(
    claim: Claim | None, report: WorkReport | None, repositories: Sequence[Path], window: Window, timeout_s: float
) -> Evidence:
    if not repositories:
        return Evidence(state="unchecked", detail="no repository")
    limit, judgements, problem = Deadline(timeout_s), list[Judgement](), ""
    for root in repositories:
        try:
            judgement = _judge_sentence(claim, report, Repository(root, limit), window)
        except (DeadlinePassed, GitUnavailable) as error:
            problem = str(error)
            continue
        if judgement.evidence.state == "verified":
            return judgement.evidence
        judgements.append(judgement)
    if problem:
        return Evidence(state="unchecked", detail=problem)
    present = [f for f in judgements if f.evidence.state == "contradicted" and not f.by_absence]
    if present:
        return present[0].evidence
    others = [f for f in judgements if f.evidence.state != "contradicted"]
    return (others or judgements)[0].evidence


def _judge_sentence(
    claim: Claim | None, report: WorkReport | None, repository: Repository, window: Window
) -> Judgement:
    """Judge a sentence by what it names, and by the commits where that leaves it open."""
    judgement = (
        unsure("no commit of that time shows it", open_=True) if claim is None else _judge_in(claim, repository, window)
    )
    if claim is not None and judgement.evidence.state == "verified" and reports_push(claim.text):
        judgement = _judge_push(claim, judgement, repository)
    if report is None:
        return judgement
    state, commit = judgement.evidence.state, judgement.evidence.commit
    if state == "verified" and commit and claim is not None:
        against = _objection(claim, report, repository.commits_named(commit)[0], repository)
        return unsure(f"{commit} {against}", commit) if against else judgement
    if not judgement.open_:
        return judgement
    named = [
        repository.commit(found[0])
        for name in (claim.commits if claim else ())
        if (found := repository.commits_named(name))
    ]
    return found_in(report, repository, window, named) or judgement


def _judge_push(claim: Claim, judgement: Judgement, repository: Repository) -> Judgement:
    """Return *judgement* if a remote has the commits of a claim that reports a push, else that it is open."""
    for name in claim.commits or (judgement.evidence.commit,):
        if not name or not all(map(repository.pushed, repository.commits_named(name))):
            return unsure(not_pushed(name), judgement.evidence.commit)
    return judgement


def _objection(claim: Claim, report: WorkReport, commit: str, repository: Repository) -> str:
    """Return why *commit* does not confirm all of *claim*, or an empty string.

    Facts that were judged one by one may come from several commits. A claim of words alone needs one that agrees, and
    so does a claim about what changed inside files: that a file changed says little of it.
    """
    found = repository.commit(commit)
    only_changed = all(item.kind == "path" and item.action in {"changed", "fixed"} for item in claim.assertions)
    if only_changed and not claim.commits and (against := objection(report, found, repository)):
        return against
    if not claim.assertions and not claim.commits:
        return ""
    asserted = {name for item in claim.assertions for name in (item.subject, item.target, item.place)}
    asserted |= {name.removeprefix("v") for name in asserted}
    missing = missing_in(report, found, asserted, repository)
    if missing:
        return f"has no {missing}"
    shown = bool(claim.commits) or shows_all(report, found, repository)
    return "" if shown else "does not show all that it says"


def _judge_in(claim: Claim, repository: Repository, window: Window) -> Judgement:
    """Judge a claim by its worst part. Judge a claim without parts by its commit or its words."""
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
    judgements = [_judge_revert(commit, repository) for commit in undone]
    judgements += [judge(item, context) for item in claim.assertions]
    if not judgements:
        return (
            _judge_by_commit(claim, context.named, repository)
            if context.named
            else _judge_by_words(claim, repository, window)
        )
    worst = min(judgements, key=lambda judgement: _rank(judgement.evidence))
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
            if repository.ever_held(name):  # the hash of another repository's commit, pinned somewhere
                return unsure(f"{name} is no commit here", open_=True)
            return absent(f"git has no commit {name}")
        return unsure(f"no commit {name} here")
    if not repository.reachable(commits[0]):
        return unsure(f"commit {name} is on no branch")
    return repository.commit(commits[0])


def _judge_revert(commit: CommitInfo, repository: Repository) -> Judgement:
    """Judge the claim that *commit* was reverted."""
    by = repository.revert_of(commit)
    return verified(by.short, f"reverts {commit.short}") if by else unsure(f"no commit at HEAD reverts {commit.short}")


def _judge_by_commit(claim: Claim, named: Sequence[CommitInfo], repository: Repository) -> Judgement:
    """Judge a claim about a commit. The commit must exist.

    If the claim says what the commit did, several of its words must agree with the commit too.
    """
    commit = named[0]
    has_details = bool(claim.words) or re.search(r"[\u4e00-\u9fff]", _beyond_commit(claim)) is not None
    if not has_details:
        return done_by(commit, "the commit exists", repository)
    for found in named:
        if agrees(claim, found, repository):
            return done_by(found, "its message agrees", repository)
    return unsure(f"{commit.short} says: {commit.subject[:60]}", commit.short, open_=True)


def _judge_by_words(claim: Claim, repository: Repository, window: Window) -> Judgement:
    """Judge a claim without names: one commit of the session's time must have nearly all of its words."""
    if not window.known:
        return unsure("names nothing that git knows")
    judgement = unsure("no commit of that time says so", open_=True)
    for commit in repository.commits_between(window.since, window.until):
        if agrees_in_all(claim, commit, repository):
            judgement = done_by(commit, "its message agrees", repository)
            if judgement.evidence.state == "verified":
                break
    return judgement


def _beyond_commit(claim: Claim) -> str:
    return re.sub(r"提交|推送|合并|最新|已经|已|了|的|是|在|到|为|版本", "", claim.text)
