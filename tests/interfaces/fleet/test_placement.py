"""Which host serves which home."""

from __future__ import annotations

from collections import Counter

from interfaces.fleet.placement import place_of, placed

HOMES = [f"home-{number}" for number in range(3000)]


def test_a_host_that_goes_moves_only_its_own_homes() -> None:
    three = {"one": 1.0, "two": 1.0, "three": 1.0}
    before = {home: placed(home, three) for home in HOMES}
    after = {home: placed(home, {"one": 1.0, "two": 1.0}) for home in HOMES}
    assert {before[home] for home in HOMES if before[home] != after[home]} == {"three"}


def test_homes_are_shared_out_by_capacity() -> None:
    count = Counter(placed(home, {"one": 1.0, "two": 2.0, "three": 3.0}) for home in HOMES)
    assert 400 < count["one"] < 600
    assert 900 < count["two"] < 1100
    assert 1400 < count["three"] < 1600


def test_a_wanted_host_comes_first_and_an_avoided_one_last() -> None:
    hosts = {"one": 1.0, "two": 1.0}
    assert {place_of(home, hosts, wanted="two") for home in HOMES[:50]} == {"two"}
    assert {place_of(home, hosts, avoided=["one"]) for home in HOMES[:50]} == {"two"}
    assert {place_of(home, hosts, wanted="one", avoided=["one"]) for home in HOMES[:50]} == {"two"}
    assert {place_of(home, {"one": 1.0}, wanted="two", avoided=["one"]) for home in HOMES[:50]} == {"one"}
    assert placed("ada", {}) == place_of("ada", {}, wanted="one") == ""
