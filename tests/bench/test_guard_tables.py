"""The guard's tables count texts, say how sure a share is, and take their claim on write paths from real tests."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bench
from bench.guard import WRITE_TESTS, WRITE_WORDS, Corpora, CorpusRow, interval, main, share, spread, table

ROOT = Path(bench.__file__).parents[1]


def write_corpus(folder: Path, name: str, rows: list[tuple[str, int, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
        for text, label, kind in rows:
            file.write(json.dumps({"text": text, "label": label, "kind": kind}) + "\n")


@given(st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_an_interval_holds_its_share_and_stays_between_0_and_1(counts: tuple[int, int]) -> None:
    hits, total = counts
    low, high = interval(hits, total)
    assert 0 <= low <= hits / total + 1e-9
    assert hits / total - 1e-9 <= high <= 1


def test_a_share_stands_with_its_counts_and_its_interval() -> None:
    assert share(81, 263) == "30.80 % (81 of 263; 25.5 to 36.6)"  # the example of Newcombe 1998
    assert share(0, 10) == "0.00 % (0 of 10; 0.0 to 27.8)"


def test_times_stand_with_mean_median_and_the_slowest_of_a_hundred() -> None:
    assert spread([1.0] * 98 + [2.0, 9.0]) == "mean 1.09 ms, p50 1.00 ms, p99 9.00 ms"


def test_a_column_that_is_empty_throughout_is_left_out() -> None:
    rows = [CorpusRow(measure="m", value="1", floor="2"), CorpusRow(measure="n", value="3")]
    whole = "| measure | this guard | detect-secrets | floor |\n|---|---|---|---|\n| m | 1 |  | 2 |\n| n | 3 |  |  |"
    assert table(rows) == whole
    assert table(rows, head=("a", "b", "", "d")) == "| a | b | d |\n|---|---|---|\n| m | 1 | 2 |\n| n | 3 |  |"


def test_texts_are_chosen_by_corpus_label_and_kind_and_what_is_absent_is_named(tmp_path: Path) -> None:
    write_corpus(tmp_path, "one", [("a", 1, "x"), ("b", 0, "x"), ("c", 1, "xy"), ("d", 1, "z")])
    corpora = Corpora(tmp_path)
    assert [text.text for text in corpora.texts("one", label=1)] == ["a", "c", "d"]
    assert [text.text for text in corpora.texts("one", kinds=("x",), label=1)] == ["a", "c"]
    assert corpora.texts("two") == []
    assert corpora.rules("gitleaks") == ()
    assert corpora.absent == ["two", "gitleaks.toml.gz"]


def test_without_corpora_nothing_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 1
    assert "nothing measured" in capsys.readouterr().err


def test_the_row_on_write_paths_rests_on_the_tests_that_enumerate_them() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-k", WRITE_WORDS, WRITE_TESTS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert [word for word in WRITE_WORDS.split(" or ") if word not in found] == []
