"""Addresses are shown without passwords, and a server that fails is left alone for a while."""

from __future__ import annotations

import pytest

from recall.servers import LONGEST_WAIT_S, Backoff, ServerUnavailable, database_url, redis_url, without_password


def test_addresses_come_from_the_environment() -> None:
    environ = {"AGENT_HOME_DATABASE_URL": " postgresql://db/x ", "AGENT_HOME_REDIS_URL": "redis://cache"}
    assert (database_url(environ), redis_url(environ)) == ("postgresql://db/x", "redis://cache")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hunter2@db/x",
        "postgresql://ann@db/x?password=hunter2",
        "host=db password=hunter2",
        "redis://:hunter2@cache:6379/0",
        "redis://cache:hunter2/0",
    ],
)
def test_no_message_shows_a_password(address: str) -> None:
    assert "hunter2" not in str(ServerUnavailable("PostgreSQL", address, "refused"))
    assert "hunter2" not in without_password(address)


def test_a_socket_is_shown_as_it_was_written() -> None:
    assert without_password("unix:///run/redis.sock?password=hunter2&db=1") == "unix:///run/redis.sock"


def test_each_failure_doubles_the_wait_up_to_a_minute() -> None:
    now = [0.0]
    backoff = Backoff(lambda: now[0])
    waits = []
    for _ in range(8):
        backoff.failed("refused")
        waits.append(backoff.wait_s)
        now[0] += backoff.wait_s
    assert waits == [1, 2, 4, 8, 16, 32, 60, LONGEST_WAIT_S]


def test_failures_of_several_threads_count_once() -> None:
    backoff = Backoff(lambda: 0.0)
    for _ in range(5):
        backoff.failed("refused")
    assert backoff.wait_s == 1


def test_an_answer_ends_the_wait() -> None:
    backoff = Backoff(lambda: 0.0)
    backoff.failed("refused")
    backoff.succeeded()
    assert backoff.wait_s == 0
