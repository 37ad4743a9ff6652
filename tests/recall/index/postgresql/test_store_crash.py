"""A writer that dies anywhere leaves an index that the next sync completes, and one writer at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.home import Home
from recall.index.postgresql.store import NamespaceBusy, PostgresqlStore
from recall.index.store_choice import choose_namespace
from recall.index.sync import ensure_fresh, reindex, sync
from recall.index.verify import verify
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings
from tests.recall.hashing_embedder import HashingEmbedder
from tests.source_tree import ROOT

Say = Callable[..., Path]
SETTINGS = RecallSettings()
#: Runs a sync that is killed at one of its statements.
_DYING = """
import os, sys
from pathlib import Path
from agent_home.home import Home
from recall.index.postgresql.writer import PostgresqlWriter
from recall.index.sync import reindex, sync
from recall.settings import RecallSettings
from tests.recall.hashing_embedder import HashingEmbedder

left, run, rows = [int(sys.argv[2])], PostgresqlWriter._run, PostgresqlWriter._rows
def dies(method):
    def counted(self, *arguments, **values):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), 9)
        return method(self, *arguments, **values)
    return counted
PostgresqlWriter._run, PostgresqlWriter._rows = dies(run), dies(rows)
{"sync": sync, "reindex": reindex}[sys.argv[3]](Home(Path(sys.argv[1])), RecallSettings(), HashingEmbedder())
"""


@pytest.fixture
def store(home: Home, say: Say, database_url: str, monkeypatch: pytest.MonkeyPatch) -> PostgresqlStore:
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    home.machine.mkdir(parents=True, exist_ok=True)
    store = PostgresqlStore(uuid.uuid4().hex)
    choose_namespace(home, store.namespace)
    say("s1", *(f"turn {n} of the falcon tower" for n in range(40)))
    return store


@pytest.mark.slow
@pytest.mark.parametrize(("command", "at"), [("sync", 9), ("sync", 24), ("sync", 33), ("reindex", 20), ("reindex", 45)])
def test_a_killed_writer_loses_nothing(home: Home, store: PostgresqlStore, say: Say, command: str, at: int) -> None:
    if command == "reindex":
        sync(home, SETTINGS, HashingEmbedder())
    say("s2", "where is the falcon?", "in the tower")
    died = subprocess.run(
        [sys.executable, "-c", _DYING, str(home.root), str(at), command],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False,
    )  # fmt: skip
    assert died.returncode == -9, died.stderr
    assert ensure_fresh(home, SETTINGS, None).degraded == ()
    sync(home, SETTINGS, HashingEmbedder())
    assert verify(home, SETTINGS).differences == ()
    with store.writing(5.0) as conn:
        ((generations,),) = conn.execute(
            "SELECT count(*) FROM index_generations WHERE namespace = %s", (store.namespace,)
        ).fetchall()
    assert generations == 1


def test_one_process_at_a_time_writes_a_namespace(home: Home, store: PostgresqlStore) -> None:
    sync(home, SETTINGS, HashingEmbedder())
    with store.writing(1.0):
        with pytest.raises(NamespaceBusy, match="Try again"), store.writing(0.1):
            pass
        (home.root / "Knowledge").mkdir(exist_ok=True)
        (home.root / "Knowledge/a.md").write_text("# Birds\n\nkestrel\n", "utf-8")
        assert "another sync is running" in ensure_fresh(home, SETTINGS, None).degraded[0]
    assert ensure_fresh(home, SETTINGS, None).degraded == ()


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("UPDATE index_passages SET text = 'forged' WHERE index_id = %s AND id = 1", "other passages"),
        ("DELETE FROM index_words WHERE index_id = %s AND id = 2", "words"),
        ("UPDATE index_vocabulary SET in_text = 99 WHERE index_id = %s AND term = 'falcon'", "falcon"),
        ("DELETE FROM index_vectors WHERE index_id = %s AND passage = 3", "vectors"),
        ("UPDATE index_windows SET words = '' WHERE index_id = %s", "context windows"),
        ("UPDATE index_vectors SET turn_window = vector WHERE index_id = %s AND passage = 5", "window"),
        ("UPDATE index_files SET text_words = 1 WHERE index_id = %s", "sums"),
        ("DELETE FROM index_descriptions WHERE index_id = %s AND key = 'cut'", "cut"),
    ],
)
def test_a_verification_finds_damage_and_a_rebuild_mends_it(
    home: Home, store: PostgresqlStore, damage: str, found: str
) -> None:
    from typing import Any

    from recall.index.postgresql.store import live_generation

    sync(home, SETTINGS, HashingEmbedder())
    with store.writing(1.0) as conn:
        live = live_generation(conn, store.namespace)
        assert live is not None
        statement: Any = damage
        conn.execute(statement, (live.id,))
        conn.commit()
    differences = verify(home, SETTINGS).differences
    assert any(found in line for line in differences), differences
    reindex(home, SETTINGS, HashingEmbedder())
    sync(home, SETTINGS, HashingEmbedder())
    assert verify(home, SETTINGS).differences == ()
