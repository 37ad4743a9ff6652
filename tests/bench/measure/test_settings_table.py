"""The table of settings: one row for each key, with the default in TOML and the meaning from the docstring."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bench.measure.settings_table import SETTINGS, settings_rows


@dataclass(frozen=True)
class Sample:
    """Settings of a test.

    Attributes:
        limit: largest number of ``a|b`` pairs, see
            :func:`sample.count`. 0 is none.
        first, second: names of folders.
        on: whether it works.
        hidden: a value of the program.
    """

    limit: int
    first: frozenset[str] = frozenset({"b", "a"})
    second: tuple[str, ...] = ()
    on: bool = False
    hidden: int = field(default=0, metadata={"setting": False})


@dataclass(frozen=True)
class Silent:
    """Settings without a meaning."""

    limit: int = 1


def test_a_setting_without_a_meaning_is_an_error() -> None:
    with pytest.raises(KeyError, match="limit"):
        settings_rows({"silent": Silent})


def test_a_row_has_key_default_and_meaning() -> None:
    assert settings_rows({"sample": Sample}) == [
        ["`sample.limit`", "required", "Largest number of `a&#124;b` pairs, see `sample.count`. 0 is none."],
        ["`sample.first`", '`["a", "b"]`', "Names of folders."],
        ["`sample.second`", "`[]`", "Names of folders."],
        ["`sample.on`", "`false`", "Whether it works."],
    ]


def test_every_setting_has_a_meaning() -> None:
    assert all(meaning for _key, _default, meaning in settings_rows(SETTINGS))
