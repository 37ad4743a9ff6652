"""Tests of writing a vocabulary of tiktoken as a file of tokenizers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

tokens = pytest.importorskip("bench.tokens", reason="tiktoken is only installed for the benchmarks")
vocabulary_load = pytest.importorskip("bench.measure.vocabulary_load")

SAMPLES = sorted(tokens.SAMPLES.glob("*.txt"))


def test_the_converted_vocabulary_gives_the_same_counts(tmp_path: Path) -> None:
    count = tokens.real_counter("cl100k")
    (tmp_path / "cl100k.json").write_text(json.dumps(vocabulary_load.tokenizers_json("cl100k")), "utf-8")
    tokenizer = Tokenizer.from_file(str(tmp_path / "cl100k.json"))
    texts = [file.read_text("utf-8") for file in SAMPLES]
    assert [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts] == list(map(count, texts))


def test_a_row_has_a_cell_for_each_heading() -> None:
    loading = vocabulary_load.Loading(way="w", size_mb=1.681, compressed_mb=0.78, load_ms=386.6, mb_per_s=3.55)
    assert vocabulary_load.table_row(loading) == ["w", "1.68", "0.78", "387", "3.5"]
    assert len(vocabulary_load.HEAD) == 5
