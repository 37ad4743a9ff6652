"""A model is not loaded where it does not fit."""

from __future__ import annotations

import sys

import pytest

from guard.inference import address_space
from guard.inference.address_space import lacking


def test_without_a_limit_every_model_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_space, "_left", lambda: None)
    assert lacking(1 << 40) == ""


def test_what_is_left_is_compared_with_the_model_and_its_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_space, "_left", lambda: 150_000_000)
    assert lacking(1_000_000) == ""
    assert "needs 174 MB of address space and 150 MB are left. Raise the limit" in lacking(20_000_000)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux")
def test_the_limit_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 40, 1 << 40))
    left = address_space._left()
    assert left is not None
    assert (1 << 40) - (1 << 36) < left < 1 << 40
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert address_space._left() is None
