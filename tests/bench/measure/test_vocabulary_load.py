"""Tests of the table on loading a vocabulary. The measurement itself compares both vocabularies' counts."""

from __future__ import annotations

from bench.measure.vocabulary_load import HEAD, Loading, table_row


def test_a_row_has_a_cell_for_each_heading() -> None:
    loading = Loading(way="w", size_mb=1.681, compressed_mb=0.78, load_ms=386.6, mb_per_s=3.55)
    assert table_row(loading) == ["w", "1.68", "0.78", "387", "3.5"]
    assert len(HEAD) == 5
