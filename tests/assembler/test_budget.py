"""Test the budgets of windows, and their distribution over requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.budget import BudgetRequest, advice, budget_for, share_out, shrink
from assembler.errors import WindowTooSmall
from assembler.settings import AssemblerSettings

SETTINGS = AssemblerSettings()


@pytest.mark.parametrize(
    ("window", "tokens", "tier"),
    [
        (1_000_000, 100_000, "100K"),
        (500_000, 100_000, "100K"),
        (499_999, 50_000, "50K"),
        (200_000, 50_000, "50K"),
        (199_999, 30_000, "30K"),
        (128_000, 30_000, "30K"),
        (64_000, 30_000, "30K"),
        (63_999, 6_399, "minimal"),
        (32_000, 3_200, "minimal"),
        (20_001, 2_000, "minimal"),
        (20_000, 2_000, "minimal"),
        (8_000, 2_000, "minimal"),
        (7_999, 1_999, "minimal"),
        (4_000, 1_000, "minimal"),
        (100, 25, "minimal"),
        (4, 1, "minimal"),
    ],
)
def test_a_window_has_the_budget_of_its_tier(window: int, tokens: int, tier: str) -> None:
    budget = budget_for(window, 0, SETTINGS)
    assert (budget.tokens, budget.tier, budget.minimal) == (tokens, tier, tier == "minimal")


@pytest.mark.parametrize(("window", "used"), [(0, 0), (-5, 0), (3, 0), (1000, 1000), (1000, 2000), (1000, 999)])
def test_no_room_for_memory_is_an_error_that_names_the_window(window: int, used: int) -> None:
    with pytest.raises(WindowTooSmall, match=f"window of {window} tokens with {used} in use.*--window"):
        budget_for(window, used, SETTINGS)


def test_memory_takes_at_most_half_of_the_free_tokens() -> None:
    assert budget_for(200_000, 60_000, SETTINGS).tokens == 50_000
    assert budget_for(200_000, 190_000, SETTINGS).tokens == 5_000
    assert budget_for(200_000, 190_000, SETTINGS).tier == "50K"


@given(window=st.integers(4, 3_000_000), used=st.integers(0, 3_000_000))
def test_used_tokens_only_lower_a_budget(window: int, used: int) -> None:
    try:
        budget = budget_for(window, used, SETTINGS)
    except WindowTooSmall:
        assert used > window - 2
    else:
        assert 1 <= budget.tokens <= budget_for(window, 0, SETTINGS).tokens
        assert budget.tokens * 2 <= window - used


def test_tiers_are_settings() -> None:
    settings = AssemblerSettings(tiers=((10_000, 700), (1_000, 90)))
    assert [budget_for(w, 0, settings).tokens for w in (10_000, 9_999, 1_000, 999)] == [700, 90, 90, 249]


@pytest.mark.parametrize("tier", [(100, 51), (0, 1), (100, 0), (100,)])
def test_an_invalid_tier_is_refused(tier: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="tier"):
        AssemblerSettings(tiers=(tier,))


def test_an_unknown_vocabulary_is_refused_with_a_list_of_known_ones() -> None:
    with pytest.raises(ValueError, match="cl100k"):
        AssemblerSettings(vocabulary="morse")


def test_advice_follows_the_share_of_the_window() -> None:
    assert [advice(tokens, 1000) for tokens in (0, 49, 50, 100, 101)] == [
        "comfortable", "comfortable", "watch", "watch", "dilution risk",
    ]  # fmt: skip


requests = st.lists(
    st.builds(
        BudgetRequest, name=st.uuids().map(str), full=st.integers(0, 900), floor=st.integers(0, 500), rank=st.integers()
    ),
    max_size=12,
)


@given(requests=requests, tokens=st.integers(-10, 5_000))
def test_shares_never_exceed_the_budget_or_the_request(requests: list[BudgetRequest], tokens: int) -> None:
    shares = share_out(requests, tokens)
    assert sum(shares.values()) <= max(0, tokens)
    assert all(0 <= shares[request.name] <= request.full for request in requests)
    if sum(min(request.floor, request.full) for request in requests) <= tokens:
        assert all(shares[request.name] >= min(request.floor, request.full) for request in requests)
        assert sum(shares.values()) == min(tokens, sum(request.full for request in requests))


def test_tokens_above_the_floors_go_to_the_smallest_rank_first() -> None:
    requests = [
        BudgetRequest(name=name, full=100, floor=10, rank=rank)
        for name, rank in (("late", 9), ("early", 1), ("mid", 5))
    ]
    assert share_out(requests, 150) == {"late": 10, "early": 100, "mid": 40}


def test_floors_that_do_not_fit_shrink_in_proportion() -> None:
    assert shrink({"a": 300, "b": 100, "c": 0}, 100) == {"a": 75, "b": 25, "c": 0}
    assert shrink({"a": 3}, -1) == {"a": 0}
