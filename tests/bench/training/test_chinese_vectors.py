"""A small table is learned again from sentences of known parts, and every source of parallel texts is read."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from bench.training.chinese_vectors import ParallelText, Training, learn, read_pairs, table_bytes
from recall.embedding.chinese import ChineseTable, shipped_table

from ..conftest import WordEmbedder

WHO = {"我妹妹": "my sister", "老师": "the teacher", "邻居": "a neighbour", "医生": "our doctor", "司机": "one driver"}
DOES = {"买了": "bought", "卖了": "sold", "丢了": "lost", "找到了": "found", "修好了": "repaired"}
WHAT = {"自行车": "bicycle", "雨伞": "umbrella", "手表": "watch", "钢琴": "piano", "帐篷": "tent"}
PAIRS = [
    ParallelText("".join(part[0] for part in parts), " ".join(part[1] for part in parts))
    for parts in product(WHO.items(), DOES.items(), WHAT.items())
]
SMALL = Training(rows=200, width=32, occurrences=1, epochs=30, batch=20, dropped=0.1)


def _targets(pairs: list[ParallelText]) -> np.ndarray:
    return WordEmbedder().embed([pair.english for pair in pairs])


def test_a_small_table_reads_sentences_that_it_was_not_trained_on() -> None:
    held, known = PAIRS[::7], [pair for place, pair in enumerate(PAIRS) if place % 7]
    table = ChineseTable.from_bytes(table_bytes(learn(known, _targets(known), SMALL)))
    vectors = np.stack([table.encode(pair.chinese) for pair in held])
    nearest = (vectors @ _targets(held).T).argmax(axis=1)
    assert (nearest == np.arange(len(held))).mean() >= 0.8


def test_equal_pairs_give_equal_tables() -> None:
    small = PAIRS[:40]
    first, second = (table_bytes(learn(small, _targets(small), SMALL)) for _ in range(2))
    assert first == second


def test_too_few_pairs_are_rejected() -> None:
    with pytest.raises(ValueError, match="3 of 3 pairs can be read, expected at least 20"):
        learn(PAIRS[:3], _targets(PAIRS[:3]), SMALL)


def test_items_and_questions_are_paired_by_their_addresses(tmp_path: Path) -> None:
    for language, texts in (("zh", ["买了伞", "没有译文"]), ("en", ["bought an umbrella"])):
        rows = [{"session": "a", "id": str(at), "content": text} for at, text in enumerate(texts)]
        with gzip.open(tmp_path / f"ann.{language}.transcript.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        question = {"id": "q1", "query": {"zh": "买了什么", "en": "What was bought?"}[language], "expect": ["a#0"]}
        (tmp_path / f"ann.{language}.queries.jsonl").write_text(json.dumps(question) + "\n", "utf-8")
    assert read_pairs(lifebench=tmp_path) == [
        ParallelText("买了伞", "bought an umbrella"),
        ParallelText("买了什么", "What was bought?"),
    ]
    assert read_pairs(lifebench=tmp_path, leave_out=["ann"]) == []


def test_sentence_pairs_without_chinese_or_with_it_on_both_sides_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("Hi.\t你好。\tCC-BY\nHello.\tBonjour.\nWhat is 伞?\t伞是什么？\n", "utf-8")
    assert read_pairs(tatoeba=path) == [ParallelText("你好。", "Hi.")]


def test_a_table_is_read_as_it_was_written() -> None:
    table = shipped_table()
    again = ChineseTable.from_bytes(table_bytes(table))
    assert again.places == table.places
    assert np.array_equal(again.encode("我们周五见"), table.encode("我们周五见"))


def test_a_damaged_table_is_rejected() -> None:
    table = shipped_table()
    with pytest.raises(ValueError, match="damaged"):
        ChineseTable.from_bytes(table_bytes(replace(table, scales=table.scales[1:])))
