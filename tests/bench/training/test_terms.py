"""Terms are learned from pairs of texts, and the shipped table is well formed."""

from __future__ import annotations

from pathlib import Path

from bench.training.terms import TERMS_FILE, learned_terms, manual_pairs

PAIRS = [
    (f"{english} of the {noun}", f"{noun_zh}的{chinese}")
    for english, chinese in (("The pointer", "指针"), ("The field", "字段"), ("The compiler", "编译器"))
    for noun, noun_zh in (("queue", "队列"), ("string", "字符串"), ("window", "窗口"), ("table", "表格")) * 5
]


def test_terms_are_learned_with_the_stems_that_they_translate() -> None:
    found = learned_terms(PAIRS)
    assert found["指针"] == ("pointer",)
    assert found["字段"] == ("field",)


def test_a_manual_gives_its_translated_messages(tmp_path: Path) -> None:
    text = 'msgid ""\nmsgstr ""\n\nmsgid "a long "\n"pointer"\nmsgstr "长指针"\n\nmsgid "open"\nmsgstr ""\n'
    (tmp_path / "a.po").write_text(text, encoding="utf-8")
    assert list(manual_pairs(tmp_path)) == [("a long pointer", "长指针")]


def test_the_shipped_table_has_terms_of_code() -> None:
    lines = TERMS_FILE.read_text(encoding="utf-8").splitlines()[1:]
    table = {line.split()[0]: line.split()[1:] for line in lines}
    assert "pointer" in table["指针"]
    assert all(stems for stems in table.values())
