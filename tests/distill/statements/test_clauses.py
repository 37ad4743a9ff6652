"""The clauses that a newer sentence does not touch are told from the one that it replaces or ends."""

from __future__ import annotations

import pytest

from distill.statements.clauses import ended_clauses, replaced_clauses


@pytest.mark.parametrize(
    ("older", "newer", "gone", "kept"),
    [
        ("My doctor is Dr. Weiss, and I'm allergic to latex.", "My doctor is now Dr. Lang.",
         "My doctor is Dr. Weiss", ("I'm allergic to latex.",)),
        ("我女儿朵朵对芒果过敏,周三要上舞蹈课,四点半去接。", "朵朵的舞蹈课改到周四了",
         "周三要上舞蹈课", ("我女儿朵朵对芒果过敏", "四点半去接。")),
        ("我住在成都,在医院当护士。", "我搬到重庆了。", "我住在成都", ("在医院当护士。",)),
        ("coffee black, and meetings never before 10", "meetings before 10 are ok",
         "meetings never before 10", ("coffee black",)),
        ("never before 10 and never Friday afternoons", "meetings before 10 are ok",
         "never before 10", ("never Friday afternoons",)),
    ],
)  # fmt: skip
def test_the_clause_that_shares_most_is_replaced(older: str, newer: str, gone: str, kept: tuple[str, ...]) -> None:
    found = replaced_clauses(older, newer)
    assert (found.gone, found.kept, found.certain) == (gone, kept, True)


def test_a_clause_that_is_said_again_is_not_kept_twice() -> None:
    found = replaced_clauses(
        "I'm allergic to latex and my doctor is Dr Weiss.", "I'm allergic to latex and my doctor is Dr Lang."
    )
    assert (found.certain, found.kept) == (True, ())


def test_words_that_fit_two_clauses_or_none_are_not_certain() -> None:
    older = "The van is blue. The van needs petrol."
    assert not replaced_clauses(older, "The van goes to Rome.").certain
    assert not replaced_clauses(older, "Everything is different.").certain


@pytest.mark.parametrize(
    ("task", "said", "kept", "certain"),
    [
        ("send the invoice and renew the domain before 30 November", "I sent the invoice",
         ("renew the domain before 30 November",), True),
        ("ask the CFO, because the budget is frozen", "I asked the CFO", (), True),
        ("renew the domain and the certificate", "renewed the domain", (), False),
        ("find a plumber and paint the kitchen", "all sorted", (), False),
        ("给小王发合同,再预约体检。", "合同已经发给小王了", ("再预约体检。",), True),
    ],
)  # fmt: skip
def test_only_a_task_that_stands_alone_stays_open(task: str, said: str, kept: tuple[str, ...], certain: bool) -> None:
    found = ended_clauses(task, said)
    assert (found.kept, found.certain) == (kept, certain)
