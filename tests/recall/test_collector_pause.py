"""Tests of the pause of the garbage collector."""

from __future__ import annotations

import gc

import pytest

from recall.collector_pause import collector_paused


def test_the_collector_is_off_for_the_block_and_on_again_after_an_error() -> None:
    seen = []

    def fail() -> None:
        with collector_paused():
            seen.append(gc.isenabled())
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert seen == [False]
    assert gc.isenabled()


def test_a_second_pause_does_not_extend_the_first() -> None:
    first, second = collector_paused(), collector_paused()
    with first:
        gc.enable()  # as another thread sees it between two pauses
        with second:
            assert gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
