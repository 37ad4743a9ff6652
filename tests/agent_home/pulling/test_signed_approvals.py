"""Rows that a person agreed to stay, whatever the search for signatures finds."""

from __future__ import annotations

from agent_home.home import Home
from agent_home.pulling.signed_approvals import consent_to_rows, find_signed_rows
from agent_home.screening.review_ledger import vouched


def test_consented_rows_outlast_a_search_for_signed_ones(home: Home) -> None:
    find_signed_rows(home)
    assert vouched(home) == frozenset()
    consent_to_rows(home, ["d1"])
    consent_to_rows(home, ["d2"])
    find_signed_rows(home)
    assert vouched(home) == {"d1", "d2"}
