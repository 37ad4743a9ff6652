"""Own the service's figures for Prometheus. They count and time, and hold no text, name or path of a home."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.errors import HomeError
from agent_home.home import MEMORY, Home
from assembler.receipt import Receipt
from recall.namespaces.retrieval import RetrievedMemories
from recall.search.hybrid import SearchResult

__all__ = ["HomeMetrics", "Metrics"]

_LATENCY_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 30.0)
_TOKENS = (500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 50_000, 100_000)


class Metrics:
    """The figures of a service. Those of each home are apart, because a token belongs to one home."""

    def __init__(self, queued: Callable[[Home], int]) -> None:
        self._queued = queued
        self._of: dict[str, HomeMetrics] = {}

    def of(self, home: Home) -> HomeMetrics:
        """Return the figures of *home*."""
        return self._of.setdefault(str(home.root), HomeMetrics())

    def text(self, home: Home) -> bytes:
        """Return the figures of *home* in Prometheus' text format, with the size of its memory."""
        figures = self.of(home)
        figures.queue.set(self._queued(home))
        return generate_latest(figures.registry) + generate_latest(_growth(home))


class HomeMetrics:
    """The figures of one home."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("agent_home_requests", "Requests", ["route", "status"], registry=self.registry)
        self._latency = Histogram(
            "agent_home_request_seconds", "Time of a request", ["route"], buckets=_LATENCY_S, registry=self.registry
        )
        self._layer = Histogram(
            "agent_home_layer_seconds", "Time of a layer of the prompt", ["layer"], buckets=_LATENCY_S,
            registry=self.registry,
        )  # fmt: skip
        self._tokens = Histogram(
            "agent_home_prompt_tokens", "Tokens of a prompt", buckets=_TOKENS, registry=self.registry
        )
        self._searches = Counter(
            "agent_home_searches", "Searches with and without a hit", ["found"], registry=self.registry
        )
        self._degraded = Counter(
            "agent_home_degraded", "Prompts, searches and answers with a part that did not work", registry=self.registry
        )
        self._verdicts = Counter(
            "agent_home_guard_verdicts", "Texts by what the guard did with them", ["verdict"], registry=self.registry
        )
        self._answers = Counter(
            "agent_home_namespace_answers", "Answers of namespaces by where they have a memory from, and whether they "
            "were kept", ["memory", "kept"], registry=self.registry,
        )  # fmt: skip
        self.queue = Gauge("agent_home_jobs_waiting", "Jobs that are not done yet", registry=self.registry)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request of a *route*, which is a pattern and no path."""
        self._requests.labels(route, str(status)).inc()
        self._latency.labels(route).observe(seconds)

    def prompt(self, receipt: Receipt) -> None:
        """Count a prompt."""
        self._tokens.observe(receipt.tokens)
        for name, layer in receipt.layers.items():
            self._layer.labels(name).observe(layer.ms / 1000)
        if receipt.degraded:
            self._degraded.inc()

    def search(self, result: SearchResult) -> None:
        """Count a search."""
        self._searches.labels("yes" if result.hits else "no").inc()
        if result.degraded:
            self._degraded.inc()

    def namespace_answer(self, answer: RetrievedMemories) -> None:
        """Count an answer of a namespace."""
        short_term = any(memory.essential for memory in answer.memories)
        memory = "short-term" if short_term else "long-term" if answer.memories else "none"
        self._answers.labels(memory, "kept" if answer.cached else "new").inc()
        if answer.degraded:
            self._degraded.inc()

    def guard(self, *, stored: int = 0, redacted: int = 0, quarantined: int = 0) -> None:
        """Count what the guard did with texts that were written."""
        for verdict, count in (("allow", stored), ("redact", redacted), ("quarantine", quarantined)):
            if count:
                self._verdicts.labels(verdict).inc(count)


def _growth(home: Home) -> CollectorRegistry:
    """Return the size of the memory of *home*. A damaged memory has none, and must not stop the other figures."""
    registry = CollectorRegistry()
    entries = Gauge("agent_home_memory_entries", "Entries of memory", registry=registry)
    size = Gauge("agent_home_memory_bytes", "Size of MEMORY.md", registry=registry)
    try:
        memory = storage.read_text(home.root / MEMORY)
        size.set(len(memory.encode()))
        entries.set(sum(1 for _ in parse(memory).entries()))
    except (HomeError, OSError):
        return CollectorRegistry()
    return registry
