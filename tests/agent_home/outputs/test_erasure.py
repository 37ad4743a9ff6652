"""A text that is forgotten is in no output, however it was stored, and in no hot state."""

from __future__ import annotations

import signal
from datetime import datetime

from agent_home.home import Home
from agent_home.outputs.blobs import blob_path
from agent_home.outputs.reading import output_content, outputs
from agent_home.outputs.store import store_output
from distill.forget import forget
from recall.hot_state import hot_state
from tests.own_redis import OwnRedis

LINE = "the zanzibarite harbour opens at six\n"


def test_a_forgotten_text_is_in_no_output_and_no_hot_state(home: Home, now: datetime) -> None:
    short = store_output(home, [LINE.encode()], now=now)
    long = store_output(home, [("a line of the log\n" * 3_000 + LINE).encode()], now=now, tool="make")
    other = store_output(home, [b"another line of the log\n" * 3_000], now=now)
    hot_state(home).set_value("s1", "task", LINE.strip())
    done = forget(home, "zanzibarite harbour", now=now)
    assert not done.remaining
    kept = {output.id: output for output in outputs(home)}
    assert long.id not in kept
    assert other.id in kept
    if short.id in kept:
        assert b"zanzibarite" not in b"".join(output_content(home, kept[short.id]))
    assert hot_state(home).get_context("s1") == {}
    hot_state(home).set_value("s1", "task", "another")
    assert hot_state(home).get_context("s1") == {"task": "another"}


def test_an_output_that_is_named_goes_with_its_content(home: Home, now: datetime) -> None:
    long = store_output(home, [b"a line of the log about a turquoise walrus\n" * 3_000], now=now)
    short = store_output(home, [b"ok"], now=now)
    done = forget(home, long.id, now=now)
    assert any(long.id in warning for warning in done.warnings)
    assert not blob_path(home, long.digest).exists()
    assert [output.id for output in outputs(home)] == [short.id]
    assert not any("forgotten" in path.name for path in (home.root / "outputs").rglob("*"))


def test_a_forgotten_text_leaves_redis_now_or_before_it_is_read(home: Home, now: datetime, own_redis: OwnRedis) -> None:
    state = hot_state(home)
    state.set_value("s1", "task", LINE.strip())
    assert forget(home, "zanzibarite harbour", now=now).warnings == ()
    assert own_redis.client.dbsize() == 0
    state.set_value("s1", "task", "the turquoise walrus")
    own_redis.signal(signal.SIGSTOP)
    (said,) = forget(home, "turquoise walrus", now=now).warnings
    assert "is deleted before it is read again" in said
    own_redis.signal(signal.SIGCONT)
    own_redis.asked_again()
    assert state.items() == []
    assert own_redis.client.dbsize() == 0
