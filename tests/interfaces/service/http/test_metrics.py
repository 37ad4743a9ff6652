"""Test the figures for Prometheus: their format, what they count, and that they hold no text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent_home.home import Home
from interfaces.api import AgentHome
from interfaces.service.http.metrics import Metrics
from recall.namespaces.retrieval import RecalledMemory, RetrievedMemories
from tests.conftest import FolderCopy

AT = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


@pytest.fixture
def pattern(_pattern_home: FolderCopy) -> FolderCopy:
    """The files of a new home."""
    return _pattern_home


def figures(metrics: Metrics, home: Home) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return the value of each figure by its name and labels, as Prometheus reads them."""
    return {
        (sample.name, tuple(sorted(sample.labels.values()))): sample.value
        for family in text_string_to_metric_families(metrics.text(home).decode())
        for sample in family.samples
    }


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(lambda _home: 3)


def test_requests_are_counted_by_route_and_status(metrics: Metrics, home: Home) -> None:
    metrics.of(home).request("/entries/{entry}", 200, 0.01)
    metrics.of(home).request("/entries/{entry}", 200, 0.03)
    metrics.of(home).request("/entries/{entry}", 404, 0.5)
    found = figures(metrics, home)
    assert found["agent_home_requests_total", ("/entries/{entry}", "200")] == 2
    assert found["agent_home_requests_total", ("/entries/{entry}", "404")] == 1
    assert found["agent_home_request_seconds_count", ("/entries/{entry}",)] == 3
    assert found["agent_home_request_seconds_sum", ("/entries/{entry}",)] == pytest.approx(0.54)


def test_prompts_and_searches_are_counted_with_their_layers(metrics: Metrics, home: Home) -> None:
    agent = AgentHome(home)
    receipt = agent.prompt("postgres", now=AT)
    metrics.of(home).prompt(receipt)
    metrics.of(home).search(agent.search("postgres", mode="lexical"))
    found = figures(metrics, home)
    assert found["agent_home_prompt_tokens_sum", ()] == receipt.tokens
    assert {name[1][0] for name in found if name[0] == "agent_home_layer_seconds_count"} == set(receipt.layers)
    assert found["agent_home_searches_total", ("no",)] == 1


def test_answers_of_namespaces_are_counted_by_where_they_came_from(metrics: Metrics, home: Home) -> None:
    recalled = RecalledMemory(
        namespace="n", id=1, summary="s", category="fact", role="user", session="s", importance=0.5, relevance=0.9,
        essential=True, said=AT,
    )  # fmt: skip
    for answer in (
        RetrievedMemories(),
        RetrievedMemories(memories=(recalled,), cached=True),
        RetrievedMemories(memories=(replace(recalled, essential=False),), degraded=("without vectors",)),
    ):
        metrics.of(home).namespace_answer(answer)
    found = figures(metrics, home)
    for memory, kept in (("none", "new"), ("short-term", "kept"), ("long-term", "new")):
        assert found["agent_home_namespace_answers_total", tuple(sorted((memory, kept)))] == 1
    assert found["agent_home_degraded_total", ()] == 1


def test_what_the_guard_did_is_counted_by_verdict(metrics: Metrics, home: Home) -> None:
    metrics.of(home).guard(stored=2, redacted=1)
    metrics.of(home).guard(quarantined=4)
    found = figures(metrics, home)
    verdicts = {
        verdict: found["agent_home_guard_verdicts_total", (verdict,)] for verdict in ("allow", "redact", "quarantine")
    }
    assert verdicts == {"allow": 2, "redact": 1, "quarantine": 4}


def test_the_size_of_memory_and_the_waiting_jobs_are_those_of_the_moment(metrics: Metrics, home: Home) -> None:
    before = figures(metrics, home)
    AgentHome(home).remember("We chose the kestrel engine", kind="decision", now=AT)
    after = figures(metrics, home)
    assert after["agent_home_memory_entries", ()] == before["agent_home_memory_entries", ()] + 1
    assert after["agent_home_memory_bytes", ()] == len((home.root / "MEMORY.md").read_bytes())
    assert after["agent_home_jobs_waiting", ()] == 3


def test_a_home_sees_its_own_figures_alone(home: Home, tmp_path: Path, pattern: FolderCopy) -> None:
    pattern.write(tmp_path / "zanzibarite")
    other = Home(tmp_path / "zanzibarite")
    AgentHome(other).remember("We chose the kestrel engine", kind="decision", now=AT)
    metrics = Metrics(lambda _home: 0)
    metrics.of(other).request("/prompt", 200, 0.01)
    assert ("agent_home_requests_total", ("/prompt", "200")) in figures(metrics, other)
    assert ("agent_home_requests_total", ("/prompt", "200")) not in figures(metrics, home)
    entries = {root: figures(metrics, root)["agent_home_memory_entries", ()] for root in (home, other)}
    assert entries[other] == entries[home] + 1
    text = metrics.text(other).decode()
    assert "zanzibarite" not in text
    assert "kestrel" not in text


def test_a_damaged_memory_stops_no_other_figure(metrics: Metrics, home: Home) -> None:
    (home.root / "MEMORY.md").write_bytes(b"\xff\xfe")
    found = figures(metrics, home)
    assert found["agent_home_jobs_waiting", ()] == 3
    assert ("agent_home_memory_bytes", ()) not in found
