"""The documentation names modules that exist, and the glossary has one row for each term, in order."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
_ROW = re.compile(r"\| (?P<term>[^|]+) \| (?P<meaning>[^|]+) \| `(?P<module>[\w.]+)` \|")


def _rows() -> list[re.Match[str]]:
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    return [_parsed(line) for line in lines[lines.index("|---|---|---|") + 1 :]]


def _parsed(line: str) -> re.Match[str]:
    match = _ROW.fullmatch(line)
    assert match, f"docs/glossary.md: not a row of three cells: {line}"
    return match


def test_every_module_of_the_glossary_exists() -> None:
    modules = {row["module"] for row in _rows()}
    assert sorted(module for module in modules if find_spec(module) is None) == []


def test_every_python_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    assert {"guard/redaction.py", "distill/reading/classifier.py", "distill/reading/model_gate.py"} <= named
    assert sorted(path for path in named if not (ROOT / path).is_file()) == []


def test_terms_are_sorted_and_unique() -> None:
    terms = [row["term"].casefold() for row in _rows()]
    assert terms == sorted(set(terms))


def test_a_meaning_is_one_to_three_sentences() -> None:
    for row in _rows():
        assert row["meaning"].endswith("."), row["term"]
        assert len(re.findall(r"\.(?: |$)", row["meaning"])) <= 3, row["term"]


def test_the_readme_links_the_glossary() -> None:
    assert "(docs/glossary.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_no_page_has_conflict_markers() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    marked = [page.name for page in pages if re.search(r"^(<{7}|>{7}) ", page.read_text("utf-8"), re.MULTILINE)]
    assert marked == []
