"""Two statements of one shape are about one object or about two."""

from __future__ import annotations

import pytest

from distill.statements.pairs.same_object import (
    chance_of_same_object,
    gives_another_value,
    have_one_shape,
    is_of_other_object,
)

_OTHER_OBJECT = (
    ("Write commit messages in English.", "Write the release notes in English."),
    ("Write commit messages in English.", "Write the release notes in German."),
    ("We use Postgres for billing.", "We use Redis for the cache."),
    ("We use Grafana for dashboards.", "We use Sentry for crash reports now."),
    ("Schreib Docstrings auf Englisch.", "Schreib Changelogs auf Deutsch."),
    ("Écris les commentaires en anglais.", "Écris les tests en anglais."),
    ("代码放在GitHub。", "工单放在Jira。"),
)
_OTHER_VALUE = (
    ("We use Jira for tickets.", "We use Linear for tickets now."),
    ("We pin Python to 3.11.", "We pin Python to 3.12."),
    ("Formatiere Python mit black.", "Formatiere Python mit ruff."),
    ("文档字符串用英文写。", "文档字符串用中文写。"),
)


@pytest.mark.parametrize(("older", "newer"), _OTHER_OBJECT)
def test_another_object_is_no_other_value(older: str, newer: str) -> None:
    assert is_of_other_object(older, newer)
    assert not gives_another_value(older, newer)


@pytest.mark.parametrize(("older", "newer"), _OTHER_VALUE)
def test_another_value_is_of_the_same_object(older: str, newer: str) -> None:
    assert not is_of_other_object(older, newer)
    assert gives_another_value(older, newer)


def test_objects_that_stand_side_by_side_give_no_other_value() -> None:
    assert not gives_another_value("I'm allergic to nuts.", "I'm allergic to latex.")


def test_a_much_longer_statement_has_another_shape() -> None:
    newer = "Ship it with DHL. The parcel is heavy, so ask for the big van, and tell them to ring at the side door."
    assert not have_one_shape("Ship it with UPS.", newer)


def test_empty_statements_have_no_shape() -> None:
    assert not have_one_shape("", "")
    assert 0 <= chance_of_same_object("", "") <= 1
