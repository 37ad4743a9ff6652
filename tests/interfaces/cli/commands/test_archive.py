"""Test ``memory cite``, ``memory archive`` and ``memory restore``."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message
from interfaces.cli import cli

Run = Callable[..., Result]


@pytest.fixture
def run(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs ``memory`` on 2026-11-21, without a model, in a home with two lessons."""
    monkeypatch.setattr("interfaces.indexing.MAX_VECTORS", 0)
    with transaction(home, actor="test", message="Add", now=now) as edits:
        for entry_id, day in (("LL-0AAA", "2026-08-01"), ("LL-0BBB", "2026-11-20")):
            entry = Entry(id=entry_id, date=day, title=f"Zeppelins of {entry_id}")
            edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Lessons Learned", entry))
    words = ["--home", str(home.root), "--now", "2026-11-21T09:00:00+00:00"]
    return lambda *arguments: CliRunner().invoke(cli, [*arguments, *words])


def data(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_dry_run_lists_entries_with_reasons_and_changes_nothing(run: Run) -> None:
    found = data(run("archive", "--json"))
    (candidate,) = found["candidates"]
    assert (candidate["id"], candidate["last_reference"], candidate["age_days"]) == ("LL-0AAA", None, 112)
    assert candidate["reason"] == "never referred to in 112 days"
    assert (found["applied"], found["commit"]) == (False, None)
    assert found["regret"] == {"archived": 0, "wanted": 0, "rate": 0.0}
    text = run("archive").stdout
    assert "would archive 1 of 2 entries" in text
    assert "[LL-0AAA] 2026-08-01 Zeppelins of LL-0AAA (never referred to in 112 days)" in text
    assert "memory archive --apply" in text
    assert len(data(run("archive", "--json"))["candidates"]) == 1


def test_an_archived_entry_is_found_and_can_be_restored(run: Run, home: Home) -> None:
    done = data(run("archive", "--apply", "--json"))
    assert done["applied"]
    assert done["commit"]
    search = ["search", "zeppelins", "--home", str(home.root), "--mode", "lexical", "--json"]
    sources = [hit["source"] for hit in json.loads(CliRunner().invoke(cli, search).stdout)["hits"]]
    assert set(sources) == {"MEMORY.md#LL-0BBB", "Archive/MEMORY-2026-11.md#LL-0AAA"}
    back = data(run("restore", "ll-0aaa", "--json"))
    assert (back["id"], back["text"]) == ("LL-0AAA", "- **[LL-0AAA]** 2026-08-01 Zeppelins of LL-0AAA\n")
    assert back["commit"]
    assert data(run("restore", "LL-0AAA", "--json"))["commit"] is None
    sources = [hit["source"] for hit in json.loads(CliRunner().invoke(cli, search).stdout)["hits"]]
    assert set(sources) == {"MEMORY.md#LL-0BBB", "MEMORY.md#LL-0AAA"}
    found = data(run("archive", "--json"))
    assert (found["candidates"], found["regret"]) == ([], {"archived": 1, "wanted": 1, "rate": 1.0})
    assert "1 of 1 archived entries were needed again" in run("archive").stdout


def test_citing_prints_recorded_and_restored_entries(run: Run) -> None:
    run("archive", "--apply")
    found = data(run("cite", "LL-0AAA", "[ll-0bbb]", "--session", "fc-1", "--json"))
    assert (found["ids"], found["restored"]) == (["LL-0AAA", "LL-0BBB"], ["LL-0AAA"])
    assert found["commit"]
    assert "recorded already" in run("cite", "LL-0BBB", "--session", "fc-1").stdout
    assert "is already in MEMORY.md" in run("restore", "LL-0AAA").stdout


@pytest.mark.parametrize("command", ["cite", "restore"])
def test_an_unknown_id_prints_one_line_with_similar_ids(run: Run, command: str) -> None:
    result = run(command, "LL-0AAB")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("memory: no entry LL-0AAB in MEMORY.md or Archive/. Did you mean LL-0AAA")


def test_citing_nothing_is_wrong_usage(run: Run) -> None:
    assert run("cite").exit_code == 2


def test_closing_prints_restored_entries(run: Run, home: Home, now: datetime) -> None:
    run("archive", "--apply")
    message = Message(session="a", id="m1", ts="2026-11-21T08:00:00+00:00", role="assistant", content="See LL-0AAA.")
    transcript.append(home, "a", [message], actor="test", now=now)
    assert data(run("close", "a", "--json"))["restored"] == ["LL-0AAA"]
