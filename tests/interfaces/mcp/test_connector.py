"""Test search and fetch in the shape of ChatGPT's connectors."""

from __future__ import annotations

import json

import pytest

from agent_home.home import Home
from interfaces.api import AgentHome
from tests.conftest import NOW
from tests.interfaces.mcp.clients import called, local_server, text_of


def test_a_search_gives_ids_that_fetch_takes(home: Home) -> None:
    agent = AgentHome(home)
    agent.remember("The zeppelin leaves at nine", kind="decision", now=NOW)
    agent.append("talk", [{"role": "user", "content": "Where does the zeppelin land?", "id": "m1"}], now=NOW)
    server = local_server(home, connector=True)
    result = called(server, "search", query="zeppelin")
    found = json.loads(text_of(result))
    assert result.structured_content is None
    assert set(found) == {"results"}
    assert {frozenset(row) for row in found["results"]} == {frozenset({"id", "title", "url"})}
    assert len(found["results"]) == 2
    for row in found["results"]:
        fetched = json.loads(text_of(called(server, "fetch", id=row["id"])))
        assert set(fetched) == {"id", "title", "text", "url", "metadata"}
        assert {key: fetched[key] for key in row} == row
        assert "zeppelin" in fetched["text"]


def test_a_long_turn_is_fetched_with_all_of_its_parts(home: Home) -> None:
    words = " ".join(f"word{number}" for number in range(900))
    AgentHome(home).append("talk", [{"role": "user", "content": f"zeppelin {words}", "id": "m1"}], now=NOW)
    server = local_server(home, connector=True)
    (row,) = json.loads(text_of(called(server, "search", query="zeppelin")))["results"]
    text = json.loads(text_of(called(server, "fetch", id=row["id"])))["text"]
    assert "word0 " in text
    assert text.rstrip().endswith("word899")


@pytest.mark.parametrize("given", ["nothing", "MEMORY.md", "../../etc/passwd", "' OR 1=1 --", "x\0y", "x" * 4000])
def test_an_unknown_id_is_refused(home: Home, given: str) -> None:
    result = called(local_server(home, connector=True), "fetch", id=given)
    assert result.is_error
    assert text_of(result) == "id: there is no such text. Use an id that search returned"
