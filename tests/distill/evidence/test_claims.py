"""Claims about work in sentences."""

from __future__ import annotations

import pytest

from distill.evidence.claims import Claim, content_words, is_completed_work, parse_claim
from distill.statements.names import named_paths
from tests.growth import is_linear


def said(text: str, role: str = "assistant") -> list[tuple[str, str, str]]:
    claim = parse_claim(text, role)
    return [(a.kind, a.subject, a.action) for a in claim.assertions] if claim else []


@pytest.mark.parametrize(
    ("text", "assertions"),
    [
        ("Removed `old.py` and added `new.py`.", [("path", "old.py", "removed"), ("path", "new.py", "added")]),
        ("`old.py` was deleted, b.py has been updated.", [("path", "old.py", "removed"), ("path", "b.py", "changed")]),
        ("a.py, b.py and c.py were removed", [("path", name, "removed") for name in ("a.py", "b.py", "c.py")]),
        ("把 src/a.py 删掉了,新增 b.py", [("path", "src/a.py", "removed"), ("path", "b.py", "added")]),
        ("I added `retry()` to net.py", [("symbol", "retry", "added")]),
        ("Moved a.py to lib/b.py", [("path", "a.py", "renamed")]),
        ("修复了 `parse_date` 和 `RowReader`", [("symbol", "parse_date", "fixed"), ("symbol", "RowReader", "fixed")]),
        ("Released v1.4.0", [("tag", "v1.4.0", "added")]),
        ("Updated https://example.com/a.py to the new host", []),
        ("Migrated the front end to Node.js and Vue.js", []),
    ],
)
def test_each_thing_named_has_its_own_verb(text: str, assertions: list[tuple[str, str, str]]) -> None:
    assert said(text) == assertions


@pytest.mark.parametrize(
    "text",
    [
        "I will remove old.py.",
        "old.py should be removed.",
        "Once `a.py` is deleted the build passes.",
        "Let me add `retry()`.",
        "Did you delete old.py?",
        "old.py 删了吗?",
        "需要删除 old.py",
        "下一步删除 old.py",
        "Here is an updated version of app.py:",
        "`render()` creates rows when they are added.",
    ],
)
def test_plans_questions_and_descriptions_claim_nothing(text: str) -> None:
    assert parse_claim(text) is None


def test_the_same_chinese_words_are_an_order_from_a_user_and_a_report_from_an_assistant() -> None:
    assert said("删除 old.py", "user") == []
    assert said("删除了 old.py", "user") == said("删除 old.py") == [("path", "old.py", "removed")]


def test_full_width_punctuation_separates_clauses() -> None:
    assert said("已删除 a.py\uff0c新增 b.py\uff08含测试\uff09") == [
        ("path", "a.py", "removed"),
        ("path", "b.py", "added"),
    ]


@pytest.mark.parametrize(
    ("text", "commits"),
    [
        ("Fixed in 3f9c2e1.", ("3f9c2e1",)),
        ("Committed as 1234567.", ("1234567",)),
        ("提交 3f9c2e1 和 a1b2c3d 修复了它", ("3f9c2e1", "a1b2c3d")),
        ("We added 1234567 rows.", ()),
        ("We added the word defaced.", ()),
        ("The id 3f9c2e1a-0000-4000-8000-000000000000 was added.", ()),
        ("The md5 is d41d8cd98f00b204e9800998ecf8427e, fixed.", ()),
    ],
)
def test_hashes_are_distinguished_from_numbers_words_and_other_ids(text: str, commits: tuple[str, ...]) -> None:
    claim = parse_claim(text)
    assert (claim.commits if claim else ()) == commits


def test_a_rename_names_both_ends_and_a_symbol_its_place() -> None:
    renamed, placed = parse_claim("Renamed a.py to b.py"), parse_claim("Removed `foo()` from a.py")
    assert isinstance(renamed, Claim)
    assert isinstance(placed, Claim)
    assert (renamed.assertions[0].subject, renamed.assertions[0].target) == ("a.py", "b.py")
    assert (placed.assertions[0].subject, placed.assertions[0].place) == ("foo", "a.py")


def test_a_denial_is_marked() -> None:
    claim = parse_claim("We have not removed a.py")
    assert claim is not None
    assert claim.assertions[0].negated


def test_words_compare_by_stem_and_without_common_words() -> None:
    assert content_words("Fixed the retries in uploading files") == content_words("Fix retry: uploads of the file")


def test_work_needs_a_verb_and_an_object() -> None:
    assert is_completed_work("I wrote three tests.")
    assert is_completed_work("已完成接口文档。")
    assert not is_completed_work("I wrote a poem.")
    assert not is_completed_work("My sister wrote the report.")


def test_file_names_are_known_by_their_endings() -> None:
    assert named_paths("See `src/a.py`, Makefile, `async/await`, `Dockerfile` and https://x.org/b.py") == [
        "src/a.py",
        "Dockerfile",
    ]


@pytest.mark.parametrize("unit", ["merged the ", "merged branch a/", "fixed a.py and "])
def test_time_grows_with_the_length(unit: str) -> None:
    assert is_linear(lambda text: parse_claim(text, "assistant"), unit, 10_000)
