"""The reports of real commits are well formed, and are judged in the repositories that are there."""

from __future__ import annotations

from pathlib import Path

from bench.evidence_data.commit_reports import judged_reports, table
from bench.evidence_data.commits import SETS, CommitReport, reports
from bench.evidence_data.history import build
from bench.evidence_data.parcel import PARCEL


def test_every_report_has_a_twin_that_differs() -> None:
    rows = [row for name in SETS for row in reports(name)]
    assert len({row.id for row in rows}) == len(rows) >= 120
    assert all(row.true != row.false and row.lang in {"en", "zh"} for row in rows)


def test_a_repository_that_is_absent_is_left_out(tmp_path: Path) -> None:
    assert judged_reports(reports("development"), tmp_path) == []


def test_a_report_is_judged_at_its_commit(tmp_path: Path) -> None:
    built = build(PARCEL, tmp_path / "parcel")
    report = CommitReport(
        id="parcel-01", repo="parcel", commit=built.commits["zone"], lang="en", altered="object",
        true="Delivery estimates have the right timezone offset.", false="Delivery receipts have the right locale.",
    )  # fmt: skip
    (row,) = judged_reports([report], tmp_path)
    assert (row.said_of_true, row.said_of_false) == ("verified", "no claim")
    assert "parcel" in table({"development": [row]})
