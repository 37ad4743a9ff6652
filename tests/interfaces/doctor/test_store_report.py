"""The report of the stores says where hot state is, and whether its server answers."""

from __future__ import annotations

from agent_home.home import Home
from interfaces.doctor.store_report import report_stores
from tests.own_redis import OwnRedis


def test_a_home_without_servers_has_files(home: Home) -> None:
    report = report_stores(home)
    assert report.hot_state == f"a file, {home.machine / 'hot-state.db'}"
    assert report.problems == ()


def test_a_redis_server_that_does_not_answer_is_a_problem(home: Home, own_redis: OwnRedis) -> None:
    assert report_stores(home).hot_state == f"Redis at {own_redis.url}"
    assert report_stores(home).problems == ()
    own_redis.end()
    (problem,) = report_stores(home).problems
    assert f"{own_redis.url} does not answer" in problem
