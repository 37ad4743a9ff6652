"""Test the searcher over the home's own index."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from agent_home.home import Home
from assembler.prompt import Request, assemble
from assembler.recalled.searcher import HomeSearcher
from recall.embedding.embedder import Vector
from recall.index.sqlite import schema
from recall.index.sync import sync
from recall.settings import RecallSettings
from tests.consenting import agree

Written = Callable[..., Home]


class Letters:
    """Embedder of letter counts. It counts the queries, and fails on request."""

    name = fingerprint = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.error: Exception | None = None

    def embed(self, texts: Sequence[str]) -> Vector:
        rows = np.array([[1 + text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)
        unit: Vector = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def embed_query(self, text: str) -> Vector:
        self.questions.append(text)
        if self.error is not None:
            raise self.error
        vector: Vector = self.embed([text])[0]
        return vector


def transcript_of(session: str, text: str) -> tuple[str, str]:
    row = {"session": session, "id": "1", "ts": "2026-10-01T10:00:00+00:00", "role": "user", "content": text}
    return f"sessions/2026/10/{session}.jsonl", json.dumps(row) + "\n"


@pytest.fixture
def home_with_talks(written: Written) -> Home:
    home = written(
        dict([transcript_of("past", "the zebra budget is frozen"), transcript_of("mine", "zebra asked again")])
        | {"Knowledge/zebra.md": "# Zebra\n\nZebras are striped.\n", "Projects/z/PROJECT.md": "# Z\n\nzebra project\n"}
    )
    # A busy machine must not make a layer late, because only the hits are tested here.
    with (home.root / "agent.toml").open("a", encoding="utf-8") as manifest:
        manifest.write("[assembler]\nselective_ms = 60000\nsessions_ms = 60000\nknowledge_ms = 60000\n")
    home = Home(home.root)
    sync(home, RecallSettings(), Letters())
    return home


def test_a_prompt_finds_conversations_and_knowledge_and_embeds_its_message_once(
    home_with_talks: Home, now: datetime
) -> None:
    letters = Letters()
    searcher = HomeSearcher(home_with_talks, letters)
    receipt = assemble(home_with_talks, Request(now=now, message="zebra budget?", session="mine"), searcher)
    assert "the zebra budget is frozen" in receipt.text
    assert "Zebras are striped." in receipt.text
    assert "zebra asked again" not in receipt.text
    assert receipt.degraded == ()
    assert letters.questions == ["zebra budget?"]
    assert receipt.load_ms > 0


def test_a_found_turn_is_shown_whole_with_its_neighbours(home_with_talks: Home, now: datetime) -> None:
    texts = [
        "How is the yacht?",
        "The yacht has a leak. " + "It rained a lot. " * 90 + "End.",
        "Call the yard.",
        "Bye.",
    ]
    rows = [
        {
            "session": "boat",
            "id": str(n),
            "ts": f"2026-10-02T10:0{n}:00",
            "role": "user",
            "name": "Ana",
            "content": text,
        }
        for n, text in enumerate(texts, 1)
    ]
    path = home_with_talks.root / "sessions/2026/10/boat.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    sync(home_with_talks, RecallSettings(), Letters())
    found = HomeSearcher(home_with_talks, Letters()).search(
        "has the yacht a leak?", layers=["sessions"], k=1, audience="owner", now=now, deadline_ms=60000, exclude=[]
    )
    assert [hit.source for hit in found.hits] == ["boat#2"]
    assert found.hits[0].text != texts[1]
    assert list(found.turns) == ["boat#1", "boat#2", "boat#3"]
    receipt = assemble(
        home_with_talks, Request(now=now, message="has the yacht a leak?"), HomeSearcher(home_with_talks, Letters())
    )
    flat = " ".join(receipt.text.split())
    assert " ".join(texts[1].split()) in flat
    assert '- [#1] user "Ana": How is the yacht? - [#2] user "Ana": The yacht has a leak.' in flat
    again = assemble(
        home_with_talks, Request(now=now, message="has the yacht a leak?"), HomeSearcher(home_with_talks, Letters())
    )
    assert again.text == receipt.text


def test_a_text_in_two_layers_is_recalled_once(home_with_talks: Home, now: datetime) -> None:
    text = "zebra stripes are painted every spring by the same three painters"
    (home_with_talks.root / "Knowledge/stripes.md").write_text(f"{text}\n", "utf-8")
    (home_with_talks.root / "Archive/MEMORY-2026-01.md").parent.mkdir(exist_ok=True)
    archived = f"# Archive\n\n## Lessons Learned\n\n- **[LL-0001] 2026-01-02 Zebra stripes** - {text[14:]}\n"
    (home_with_talks.root / "Archive/MEMORY-2026-01.md").write_text(archived, "utf-8")
    sync(home_with_talks, RecallSettings(), Letters())
    receipt = assemble(
        home_with_talks, Request(now=now, message="zebra stripes painted"), HomeSearcher(home_with_talks, Letters())
    )
    assert receipt.text.count("are painted every spring") == 1
    lines = {line.id: (line.action, line.reason) for line in receipt.entries}
    assert lines["Knowledge/stripes.md#L1"][0] == "kept"
    assert lines["Archive/MEMORY-2026-01.md#LL-0001"] == ("dropped", "says the same as Knowledge/stripes.md#L1")


def test_a_group_finds_only_what_it_may_read(home_with_talks: Home, now: datetime) -> None:
    receipt = assemble(
        home_with_talks, Request(now=now, message="zebra", audience="group"), HomeSearcher(home_with_talks, Letters())
    )
    assert [line.id.partition("#")[0] for line in receipt.entries] == ["Knowledge/zebra.md"]
    assert "frozen" not in json.dumps(receipt.as_dict())


def test_with_a_failing_model_words_are_searched(home_with_talks: Home, now: datetime) -> None:
    letters = Letters()
    letters.error = RuntimeError("out of\nmemory")
    searcher = HomeSearcher(home_with_talks, letters)
    receipt = assemble(home_with_talks, Request(now=now, message="zebra"), searcher)
    assert "the zebra budget is frozen" in receipt.text
    assert any("the question has no vector: out of memory" in problem for problem in receipt.degraded)


@pytest.mark.parametrize("changed", [True, False])
def test_a_locked_index_costs_a_prompt_no_second(home_with_talks: Home, now: datetime, *, changed: bool) -> None:
    sync(home_with_talks, RecallSettings(), None)
    (home_with_talks.root / "SOUL.md").write_text("Kind.\n")
    with closing(schema.connect(home_with_talks.index)) as holder:
        if not changed:  # nobody else may even read
            holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        else:
            (home_with_talks.root / "Knowledge" / "zebra.md").write_text("# Zebra\n\nA zebra sleeps.\n")
        holder.execute("BEGIN IMMEDIATE")
        holder.execute("CREATE TABLE theirs(x)")
        started = time.monotonic()
        searcher = HomeSearcher(home_with_talks, Letters())
        receipt = assemble(home_with_talks, Request(now=now, message="zebra"), searcher)
        assert time.monotonic() - started < 5  # it was more than a minute, and a busy machine takes its time
        holder.execute("ROLLBACK")
    assert "Kind." in receipt.text
    assert ("the zebra budget is frozen" in receipt.text) == changed
    assert any("locked" in problem for problem in receipt.degraded)
    again = assemble(home_with_talks, Request(now=now, message="zebra"), searcher)
    assert "the zebra budget is frozen" in again.text
    assert not list(home_with_talks.index.parent.glob("*corrupt*"))


@pytest.mark.parametrize("damage", ["no index", "a folder", "no index file", "no machine folder"])
def test_an_unusable_index_disables_only_recall(home_with_talks: Home, now: datetime, damage: str) -> None:
    if damage == "no index":
        home_with_talks.index.write_bytes(b"this is no database" * 500)
    elif damage == "a folder":
        home_with_talks.index.unlink(missing_ok=True)
        (home_with_talks.index / "theirs").mkdir(parents=True)
    else:
        shutil.rmtree(home_with_talks.machine)
    if damage == "no machine folder":
        Path(home_with_talks.machine).write_text("a file")
    (home_with_talks.root / "SOUL.md").write_text("Kind.\n")
    searcher = HomeSearcher(home_with_talks, Letters())
    receipt = assemble(home_with_talks, Request(now=now, message="zebra"), searcher)
    assert "Kind." in receipt.text
    if damage == "no machine folder":
        assert receipt.degraded
    else:
        assert "the zebra budget is frozen" in receipt.text


@pytest.mark.parametrize("table", ["[recall]\nvectorweight = 1\n", "[embedding]\nmodel = 3\n"])
def test_unreadable_settings_disable_recall_and_not_the_prompt(
    home_with_talks: Home, now: datetime, table: str
) -> None:
    with (home_with_talks.root / "agent.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(table)
    home = agree(home_with_talks)
    before = home.index.read_bytes()
    searcher = HomeSearcher(home)
    receipt = assemble(home, Request(message="zebra", now=now), searcher)
    assert receipt.text.startswith("<agent-home>")
    assert any(line.startswith("L3, L4: nothing is recalled") and table[:8] in line for line in receipt.degraded)
    assert home.index.read_bytes() == before
