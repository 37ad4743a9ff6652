"""Outputs are found by the ends of their ids, listed by what they belong to, and dropped when nobody refers to them."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent_home.home import Home
from agent_home.outputs import reading
from agent_home.outputs.blobs import blobs, drop_unused
from agent_home.outputs.entry import StoredOutput, record_path
from agent_home.outputs.pruning import prune_outputs
from agent_home.outputs.reading import (
    NoSuchOutput,
    OutputFilter,
    find_output,
    output_chunk,
    output_content,
    output_stats,
    outputs,
)
from agent_home.outputs.store import store_output

LONG = b"a line of an output\n" * 3000


def test_the_beginning_or_the_end_of_one_id_is_enough(home: Home, now: datetime) -> None:
    first = store_output(home, [b"one\n"], now=now)
    second = store_output(home, [b"two\n"], now=now + timedelta(days=1))
    for name in (first.id, first.id[:12], first.id[-8:], first.id[4:]):
        assert find_output(home, name) == first
    for name in ("mem-2", "", "mem-", "mem-20260123-123456-abcd1234", "../x"):
        with pytest.raises(NoSuchOutput):
            find_output(home, name)
    assert second.id != first.id


def test_a_list_is_newest_first_and_fits_what_is_asked(home: Home, now: datetime) -> None:
    for number in range(6):
        store_output(
            home, [b"x\n"], now=now + timedelta(days=number), tags=["even" if number % 2 == 0 else "odd"],
            directory=f"/code/{'api' if number < 3 else 'api-2'}", tool="pytest" if number == 5 else "",
            session="s" if number == 4 else "", checkpoint="c1" if number == 2 else "",
        )  # fmt: skip
    listed = list(outputs(home))
    assert [output.ts for output in listed] == sorted((output.ts for output in listed), reverse=True)
    counts = [
        len(list(outputs(home, wanted)))
        for wanted in (
            OutputFilter(tag="EVEN"), OutputFilter(directory="/code/api"), OutputFilter(directory="/code"),
            OutputFilter(tool="pytest"), OutputFilter(session="s"), OutputFilter(checkpoint="c1"),
            OutputFilter(type="summary"),
        )
    ]  # fmt: skip
    assert counts == [3, 3, 6, 1, 1, 1, 0]
    assert len(list(outputs(home, limit=2))) == 2


def test_a_chunk_that_is_not_there_is_named(home: Home, now: datetime) -> None:
    short, long = store_output(home, [b"x\n"], now=now), store_output(home, [LONG], now=now)
    assert output_chunk(home, short, 0) == b"x\n"
    with pytest.raises(ValueError, match="has the chunk 0"):
        output_chunk(home, short, 1)
    with pytest.raises(ValueError, match=f"chunks 0 to {len(long.chunks) - 1}"):
        output_chunk(home, long, -1)


def test_figures_are_those_of_all_outputs(home: Home, now: datetime) -> None:
    store_output(home, [b"x\n"], now=now, tags=["a"], tool="make")
    store_output(home, [LONG], now=now, type="context")
    found = output_stats(home)
    assert (found.outputs, found.bytes, found.types["context"], found.tools["make"]) == (2, 2 + len(LONG), 1, 1)
    assert 0 < found.stored_bytes < len(LONG)


def test_old_outputs_are_dropped_unless_a_text_names_them(home: Home, now: datetime) -> None:
    old, named, new = (
        store_output(home, [LONG + bytes([number])], now=now - timedelta(days=days))
        for number, days in ((65, 40), (66, 40), (67, 1))
    )
    (home.root / "Knowledge" / "run.md").write_text(f"# Run\n\nThe log is `{named.id}`.\n")
    for path in blobs(home):
        os.utime(path, (time.time() - 7200,) * 2)
    planned = prune_outputs(home, now=now, keep_days=30, apply=False)
    assert (planned.ids, planned.referenced, planned.applied) == ((old.id,), 1, False)
    assert len(list(outputs(home))) == 3
    done = prune_outputs(home, now=now, keep_days=30, apply=True)
    assert (done.ids, done.bytes) == (planned.ids, planned.bytes)
    assert {output.id for output in outputs(home)} == {named.id, new.id}
    assert len(list(blobs(home))) == 2


def test_the_newest_are_kept_by_number(home: Home, now: datetime) -> None:
    made = [store_output(home, [b"x\n"], now=now + timedelta(minutes=number)) for number in range(5)]
    done = prune_outputs(home, now=now, keep_days=30, keep_entries=2, apply=True)
    assert set(done.ids) == {output.id for output in made[:3]}


def test_a_content_that_was_used_a_moment_ago_is_kept(home: Home, now: datetime) -> None:
    store_output(home, [LONG], now=now - timedelta(days=40))
    prune_outputs(home, now=now, keep_days=30, apply=True)
    assert (list(outputs(home)), len(list(blobs(home)))) == ([], 1)


def test_a_content_that_is_stored_again_while_it_is_dropped_stays(
    home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_output(home, [LONG], now=now - timedelta(days=40))
    for path in blobs(home):
        os.utime(path, (time.time() - 7200,) * 2)

    def stored_meanwhile(home: Home, path: Path) -> None:
        store_output(home, [LONG], now=now)
        drop_unused(home, path)

    monkeypatch.setattr("agent_home.outputs.pruning.drop_unused", stored_meanwhile)
    prune_outputs(home, now=now, keep_days=30, apply=True)
    (kept,) = outputs(home)
    assert b"".join(output_content(home, kept)) == LONG


def test_the_content_of_a_damaged_record_is_kept(home: Home, now: datetime) -> None:
    stored = store_output(home, [LONG], now=now)
    record = home.root / record_path(stored.id)
    kept = record.read_bytes()
    for path in blobs(home):
        os.utime(path, (time.time() - 7200,) * 2)
    record.write_bytes(kept[:-20])
    prune_outputs(home, now=now, keep_days=0, apply=True)
    record.write_bytes(kept)
    assert b"".join(output_content(home, stored)) == LONG


def test_age_and_number_go_by_the_moment_in_any_zone(home: Home) -> None:
    times = ("2026-11-28T10:00:00+02:00", "2026-11-28T09:00:00+00:00", "2026-11-27T22:30:00-12:00")
    made = [store_output(home, [text.encode()], now=datetime.fromisoformat(text)) for text in times]
    later = datetime.fromisoformat("2026-12-05T09:15:00+00:00")
    assert prune_outputs(home, now=later, keep_days=7, apply=False).ids == (made[1].id, made[0].id)
    assert prune_outputs(home, now=later, keep_entries=1, apply=False).ids == (made[1].id, made[0].id)
    found = output_stats(home)
    assert (found.oldest, found.newest) == (times[0], times[2])


def test_a_damaged_record_is_told_and_counted_apart(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, broken = store_output(home, [b"one"], now=now), store_output(home, [b"two"], now=now)
    (home.root / record_path(broken.id)).write_bytes(b"{")
    read: list[str] = []
    real = reading.read_output

    def noted(home: Home, name: str) -> StoredOutput:
        read.append(name)
        return real(home, name)

    monkeypatch.setattr(reading, "read_output", noted)
    told: list[str] = []
    assert list(outputs(home, on_damaged=lambda error: told.append(error.name))) == [kept]
    assert told == [broken.id]
    found = output_stats(home)
    assert (found.outputs, found.damaged) == (1, 1)
    assert sorted(read) == sorted([kept.id, broken.id] * 2)


def test_outputs_of_one_second_are_listed_newest_first(home: Home, now: datetime) -> None:
    made = [store_output(home, [b"x"], now=now + timedelta(microseconds=70_000 * number)).id for number in range(12)]
    assert [output.id for output in outputs(home)] == made[::-1]


def test_more_outputs_than_ids_in_order_have_the_same_time(
    home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_home.outputs.store._MOST_ATTEMPTS", 0)
    assert len({store_output(home, [b"x"], now=now).id for _ in range(20)}) == 20
