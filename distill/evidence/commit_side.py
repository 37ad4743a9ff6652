"""Look for the work that a sentence reports in the commits of the session's time, whatever verb the sentence has.

The sentence must report, and one commit must have everything that it names. ``commit_fit`` compares them,
``commit_model`` decides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from .claims import reports_push
from .commit_fit import WorkReport, fit, lacking
from .commit_match import done_by
from .commit_model import shipped
from .commit_view import CommitView, RepositoryWords, view_of
from .repository import CommitInfo, Repository
from .status import Judgement, Window, not_pushed, unsure

__all__ = ["commit_view", "found_in", "missing_in", "objection", "session_views", "shows_all", "standing"]

#: Most commits of a session that are compared, the newest first.
_MAX_COMMITS = 40
#: Commits whose subjects tell which words are rare.
_MAX_SUBJECTS = 3000
#: Most paths that tell the same.
_MAX_PATHS = 5000
#: Most characters of one patch that are read.
_MAX_PATCH_CHARS = 200_000
#: Vetoes that say the opposite was done. An earlier commit of the session that fits was then turned round.
_TURNED = ("adds ", "removes ", "supersedes ", "moves it ")
#: Most names of a report that are looked for at HEAD.
_MAX_NAMES = 6
#: A report that names as many things is confirmed by facts about some of them only if the commit fits it at least so
#: well. The true reports of the repositories that the model was trained on lie above.
_SEVERAL, _LEAST_FIT = 4, 0.45


def found_in(
    report: WorkReport, repository: Repository, window: Window, named: Sequence[CommitInfo] = ()
) -> Judgement | None:
    """Return ``verified`` by the commit that fits *report* best, and ``None`` when none fits.

    The commits are those that the report names, else those of the session's time. A commit that fits and no longer
    stands gives ``unverified``. A commit does not fit when a later one does the opposite of the report.
    """
    views = _views(named, repository) if named else session_views(repository, window)
    if not views:
        return None
    words, model = _words(repository), shipped()
    scored, turned = [], False
    for view in views:  # the newest first
        repository.limit.left()  # reading a large patch takes time, too
        found = fit(report, view, words)
        turned = turned or (found.veto.startswith(_TURNED) and not lacking(report, view))
        probability = 0.0 if turned else model.probability(found)
        if probability >= model.threshold:
            scored.append((probability, view))
    scored.sort(key=lambda pair: -pair[0])
    judgement = None
    for _, view in scored:
        judgement = standing(report, view, repository)
        if judgement.evidence.state == "verified":
            return judgement
    return judgement


def commit_view(commit: CommitInfo, repository: Repository) -> CommitView:
    """Return the view of one commit."""
    (view,) = _views([commit], repository)
    return view


def objection(report: WorkReport, commit: CommitInfo, repository: Repository) -> str:
    """Return what *commit* lacks of *report* or does the other way, or an empty string."""
    return fit(report, commit_view(commit, repository), _words(repository)).veto


def shows_all(report: WorkReport, commit: CommitInfo, repository: Repository) -> bool:
    """Return whether *commit* fits a report that names several things. One of them alone proves little of the rest."""
    if len(report.units) < _SEVERAL:
        return True
    found = fit(report, commit_view(commit, repository), _words(repository))
    return shipped().probability(found) >= _LEAST_FIT


def missing_in(report: WorkReport, commit: CommitInfo, asserted: Collection[str], repository: Repository) -> str:
    """Return the first name or number of *report*, besides those in *asserted*, that *commit* does not have."""
    view = commit_view(commit, repository)
    return next((text for text in lacking(report, view) if text not in asserted), "")


def session_views(repository: Repository, window: Window) -> list[CommitView]:
    """Return the commits of the session's time, the newest first. Without a time there are none."""
    commits = repository.commits_between(window.since, window.until)[:_MAX_COMMITS] if window.known else []
    return _views(commits, repository)


def _views(commits: Sequence[CommitInfo], repository: Repository) -> list[CommitView]:
    patches = repository.patches([commit.commit for commit in commits])
    return [_view(commit, patches.get(commit.commit, "")[:_MAX_PATCH_CHARS]) for commit in commits]


def _words(repository: Repository) -> RepositoryWords:
    return _counted(repository.subjects(_MAX_SUBJECTS), repository.paths()[:_MAX_PATHS])


def standing(report: WorkReport, view: CommitView, repository: Repository) -> Judgement:
    """Return ``verified`` unless the commit was undone, was not pushed as reported, or HEAD lacks what it brought."""
    names = [
        unit
        for unit, heading in zip(report.units, report.directions, strict=True)
        if heading != "old" and unit.kind in {"path", "symbol"}
    ]
    for unit in names[:_MAX_NAMES]:
        if unit.kind == "path":
            added = [change.path for change in view.info.changes if change.status == "A"]
            mine = [path for path in added if f"/{path}".endswith(f"/{unit.text}")]
            if mine and not any(
                repository.head_paths(path) or repository.moved_to(view.info.commit, path) for path in mine
            ):
                return unsure(f"{unit.text} is not at HEAD", view.info.short)
        else:
            added_lines, removed_lines = view.sides(unit.text).code
            if added_lines > removed_lines and not repository.holds_symbol(unit.text):
                return unsure(f"{unit.text} is not at HEAD", view.info.short)
    if reports_push(report.text) and not repository.pushed(view.info.commit):
        return unsure(not_pushed(view.info.short), view.info.short)
    return done_by(view.info, "its changes agree", repository)


@lru_cache(maxsize=64)
def _view(commit: CommitInfo, patch: str) -> CommitView:
    return view_of(commit, patch)


@lru_cache(maxsize=4)
def _counted(subjects: str, paths: tuple[str, ...]) -> RepositoryWords:
    return RepositoryWords.of(subjects.splitlines(), paths)
