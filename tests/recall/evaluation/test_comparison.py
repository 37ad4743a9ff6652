"""Comparisons of evaluations against cases computed by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_home.errors import DocumentInvalid
from recall.evaluation.comparison import EvalComparison, Floor, compare, read_previous, shortfalls, worsenings
from recall.evaluation.metrics import CaseRanks, Report, Scores, measure

KS = (1, 5)
Ranks = Mapping[str, int | None]


def report(**answers: Ranks) -> Report:
    """Return an evaluation in one mode in which each question's sources stand at those ranks."""
    rows = []
    for ranks in answers.values():
        places = {rank: source for source, rank in ranks.items() if rank}
        found = [places.get(rank, f"x{rank}") for rank in range(1, 11)]
        rows.append(measure(found, list(ranks), KS))
    means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    questions = tuple(
        CaseRanks(query=query, category="c", ranks={"hybrid": dict(ranks)}) for query, ranks in answers.items()
    )
    scores = {"hybrid": Scores(n=len(rows), measures=means, latency_ms={"p50": 1.0, "p95": 2.0})}
    return Report(modes=scores, categories={}, questions=questions)


def compared(tmp_path: Path, before: Report, after: Report) -> EvalComparison:
    path = tmp_path / "previous.json"
    path.write_text(json.dumps(before.as_json()), "utf-8")
    return compare(read_previous(path, grain="message"), after)


BEFORE = report(one={"a": 1}, two={"b": 6}, three={"c": 2, "d": None}, four={"e": 3})
AFTER = report(one={"a": 4}, two={"b": 5}, three={"c": 2, "d": None}, four={"e": 4})


def test_changes_are_those_of_the_averages(tmp_path: Path) -> None:
    changes = {change.measure: change for change in compared(tmp_path, BEFORE, AFTER).changes}
    # frac@1: one of four, then none. frac@5: 1 + 0 + 1/2 + 1, then 1 + 1 + 1/2 + 1, over four.
    assert (changes["frac@1"].before, changes["frac@1"].after) == (0.25, 0.0)
    assert (changes["frac@5"].before, changes["frac@5"].after) == (0.625, 0.875)
    assert changes["frac@5"].as_json()["change"] == 0.25
    assert changes["mrr@10"].before == pytest.approx((1 + 1 / 6 + 1 / 2 + 1 / 3) / 4)


def test_questions_won_and_lost_are_those_that_cross_a_k(tmp_path: Path) -> None:
    """Check moves from 1 to 4, which lose, from 6 to 5, which win, and from 3 to 4, which do neither."""
    found = compared(tmp_path, BEFORE, AFTER)
    assert [(turn.query, turn.before, turn.after) for turn in found.lost] == [("one", {"a": 1}, {"a": 4})]
    assert [(turn.query, turn.before, turn.after) for turn in found.won] == [("two", {"b": 6}, {"b": 5})]
    assert found.notes == ()


def test_a_run_compared_with_itself_changed_nothing(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, BEFORE)
    assert (found.won, found.lost) == ((), ())
    assert all(change.before == change.after for change in found.changes)
    assert worsenings(found, [], 0.0) == []


def test_questions_that_expect_other_sources_are_not_compared(tmp_path: Path) -> None:
    found = compared(tmp_path, report(one={"a": 1}), report(one={"a": None, "b": None}, two={"c": 1}))
    assert (found.won, found.lost) == ((), ())
    assert found.notes == ("hybrid: 2 questions now, 1 in previous.json",)


def test_only_hybrid_frac_is_judged_without_floors(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, AFTER)
    assert worsenings(found, [], 0.01) == ["hybrid.frac@1 fell from 0.250 to 0.000, more than 0.01"]
    assert worsenings(found, [], 0.25) == []  # as much as the tolerance is not more


def test_with_floors_their_measures_alone_are_judged(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, AFTER)
    assert worsenings(found, [Floor.parse("hybrid.frac@5=0")], 0.01) == []
    assert len(worsenings(found, [Floor.parse("hybrid.frac@1=0"), Floor.parse("hybrid.frac@5=0")], 0.01)) == 1


def test_a_measure_below_its_floor_is_named() -> None:
    floors = [Floor.parse(text) for text in ("hybrid.frac@5=0.9", "hybrid.frac@5=0.875", "hybrid.frac@1=0")]
    assert shortfalls(AFTER, floors) == ["hybrid.frac@5 is 0.875, below 0.9"]


@pytest.mark.parametrize("text", ["vector.frac@5=0.5", "hybrid.frac@7=0.5"])
def test_a_floor_of_an_unmeasured_value_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="was not measured"):
        shortfalls(AFTER, [Floor.parse(text)])


@pytest.mark.parametrize(
    "text", ["", "hybrid", "hybrid.frac@5", "hybrid.frac@5=", "hybrid.frac@5=1.1", "hybrid.frac=1", "hybrid.frac@5=nan"]
)
def test_a_malformed_floor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a floor"):
        Floor.parse(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "not-json"),
        ("\udcff", "not-json"),
        ("[]", "no-modes"),
        ('{"modes": {}}', "no-modes"),
        ('{"modes": {"hybrid": 3}}', "no-modes"),
        ('{"modes": {"hybrid": {"frac@5": "high"}}}', "bad-measure"),
        ('{"modes": {"hybrid": {"frac@5": NaN}}}', "bad-measure"),
        ('{"modes": {"hybrid": {}}, "grain": "file"}', "other-grain"),
        ('{"modes": {"hybrid": {}}, "questions": 3}', "bad-questions"),
        ('{"modes": {"hybrid": {}}, "questions": [{"query": "q"}]}', "bad-questions"),
        ('{"modes": {"hybrid": {}}, "questions": [{"query": "q", "ranks": {"hybrid": {"a": 0}}}]}', "bad-questions"),
    ],
)
def test_a_file_without_an_evaluation_is_refused(tmp_path: Path, text: str, rule: str) -> None:
    path = tmp_path / "previous.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DocumentInvalid) as caught:
        read_previous(path, grain="message")
    assert caught.value.rule == rule


def test_runs_of_other_depths_cannot_be_judged(tmp_path: Path) -> None:
    path = tmp_path / "previous.json"
    path.write_text('{"modes": {"hybrid": {"n": 4, "frac@20": 0.5, "mrr@10": 0.5}}}', "utf-8")
    previous = read_previous(path, grain="message")
    with pytest.raises(DocumentInvalid, match="the same -k"):
        compare(previous, AFTER)
    with pytest.raises(DocumentInvalid, match=r"hybrid\.frac@5"):
        compare(previous, AFTER, [Floor.parse("hybrid.frac@5=0.5")])
    found = compare(previous, AFTER, [Floor.parse("hybrid.mrr@10=0.5")])
    assert [change.measure for change in found.changes] == ["mrr@10"]
    assert "names no questions" in found.notes[0]
