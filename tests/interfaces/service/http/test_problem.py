"""Test how errors become answers."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from agent_home.errors import GuardRefused, Locked, NoSuchEntry
from interfaces.cli.exit_codes import EXIT_CODES
from interfaces.service.http.problem import HttpProblem, problem_of

SECRET = "zanzibarite"


def error_named(name: str) -> Exception:
    """Return an error of the class *name*, whose message holds memory."""
    module, _, attribute = name.rpartition(".")
    kind = getattr(importlib.import_module(module), attribute)
    error: Exception = kind.__new__(kind)
    error.args = (f"the plan is\n {SECRET}",)
    return error


#: Errors of a command line do not reach the service's endpoints.
EXPECTED = [name for name in EXIT_CODES if not name.startswith("click.")]


@pytest.mark.parametrize("name", EXPECTED)
def test_every_expected_error_has_a_status_of_its_kind_and_says_what_is_wrong(name: str) -> None:
    problem = problem_of(error_named(name))
    assert 400 <= problem.status < 600
    assert problem.status != 500, "an expected error is no defect"
    assert str(problem) == f"the plan is {SECRET}"


@pytest.mark.parametrize("name", EXPECTED)
def test_for_somebody_who_may_not_read_memory_no_error_says_what_it_holds(name: str) -> None:
    problem = problem_of(error_named(name), private=True)
    assert SECRET not in str(problem)
    assert str(problem)
    assert problem.status == problem_of(error_named(name)).status
    assert SECRET not in str(problem.headers)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NoSuchEntry("KD-0000", []), 404),
        (GuardRefused("MEMORY.md", "a secret"), 422),
        (Locked(Path("write.lock"), 30), 503),
        (OSError("disk full"), 503),
        (ValueError("k is 0"), 422),
        (KeyError("k"), 500),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "x"), 500),
    ],
)
def test_an_error_has_this_status(error: Exception, status: int) -> None:
    assert problem_of(error).status == status


def test_who_may_ask_again_learns_when() -> None:
    assert int(problem_of(Locked(Path("write.lock"), 30)).headers["Retry-After"]) > 0
    assert "Retry-After" not in problem_of(NoSuchEntry("KD-0000", [])).headers


@pytest.mark.parametrize("private", [False, True])
def test_a_defect_says_only_its_kind(private: bool) -> None:
    problem = problem_of(RuntimeError(SECRET), private=private)
    assert problem.status == 500
    assert "RuntimeError" in str(problem)
    assert SECRET not in str(problem)


def test_a_wrong_value_is_named_to_the_owner_alone() -> None:
    assert str(problem_of(ValueError(f"no layer {SECRET}"))) == f"no layer {SECRET}"
    assert SECRET not in str(problem_of(ValueError(f"no layer {SECRET}"), private=True))


def test_a_problem_stays_as_it_is() -> None:
    problem = HttpProblem(429, "too many", headers={"Retry-After": "3"})
    assert problem_of(problem, private=True) is problem
