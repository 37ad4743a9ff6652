"""The fixtures of a module are made once in a run, whatever the number of workers."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="module")
def shared() -> object:
    return object()


def test_tests_that_share_a_fixture_run_in_one_worker(shared: object, request: pytest.FixtureRequest) -> None:
    group = "@test_conftest.py" if "PYTEST_XDIST_WORKER" in os.environ else ""

    assert request.node.nodeid == f"tests/test_conftest.py::{request.node.name}{group}"
    assert shared is not None
