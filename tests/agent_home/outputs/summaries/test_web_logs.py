"""Access logs."""

from __future__ import annotations

from collections.abc import Callable

from agent_home.outputs.summaries import OutputSummary


def test_server_errors_are_told_by_path_without_the_query(sum_up: Callable[..., OutputSummary]) -> None:
    line = '::1 - - [28/Nov/2026:10:00:00 +0000] "GET /pay?id={} HTTP/1.1" {} 17'
    summary = sum_up([line.format(number, 503 if number % 3 else 200) for number in range(9)])
    assert summary.headline == "9 requests: 3 2xx, 6 5xx; most 5xx: /pay 503 x6"
    assert [(one.name, one.message, one.line) for one in summary.failures] == [("503 /pay", "6 times", 2)]


def test_requests_that_cannot_be_read_count_by_status(sum_up: Callable[..., OutputSummary]) -> None:
    line = '10.0.0.1 - - [28/Nov/2026:10:00:00 +0000] "\\x16\\x03\\x01" 400 157 "-" "-"'
    assert sum_up([line, line]).headline == "2 requests: 2 4xx"
