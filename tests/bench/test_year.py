"""Part of a simulated year; ``python -m bench.year`` lives the whole of it."""

from __future__ import annotations

import pytest

from bench.year import CAP_TOKENS, Year, simulate


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Year:
    """Thirty sessions, spread over twelve months."""
    return simulate(tmp_path_factory.mktemp("year") / "home", sessions=30)


def test_memory_stays_under_its_cap_and_smaller_than_if_nothing_left(year: Year) -> None:
    assert max(year.tokens) < CAP_TOKENS
    assert year.tokens[-1] < 0.7 * year.everything


def test_what_leaves_is_exactly_what_is_old_unreferenced_and_unprotected(year: Year) -> None:
    assert len(year.archived) > 20
    assert (year.wrongly_archived, year.left_behind) == ([], [])
    assert year.days_archived > 10


def test_what_left_is_found_and_comes_back_to_the_letter(year: Year) -> None:
    assert (year.not_found, year.not_exact) == ([], [])


def test_the_home_stays_sound_and_its_regret_is_that_of_the_plan(year: Year) -> None:
    assert year.problems == []
    assert year.regret.archived == len(year.archived)
    assert 0 < year.regret.wanted < year.regret.archived
    print(f"regret rate of the simulated year: {year.regret.rate:.1%}")  # noqa: T201 - a figure worth seeing with -s


def test_every_statement_that_was_taken_back_ends_superseded(year: Year) -> None:
    assert (year.taken_back, year.superseded) == (6, 6)
