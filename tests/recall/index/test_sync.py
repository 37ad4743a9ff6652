"""Tests of the sync: added, changed, moved and removed files, and the cost of each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_home.errors import Locked
from agent_home.home import Home
from agent_home.outputs.store import store_output
from recall.errors import IndexStale
from recall.index import embedding_queue, file_scan, ingest
from recall.index import sync as index_sync
from recall.index.sqlite import own_index, schema
from recall.index.sync import SyncReport, ensure_fresh, reindex, sync, sync_lock
from recall.index.verify import verify
from recall.search.hybrid import SearchResult
from recall.settings import RecallSettings

if TYPE_CHECKING:
    from tests.recall.hashing_embedder import HashingEmbedder

Update = Callable[[], SyncReport]
Say = Callable[..., Path]
Write = Callable[[str, str], Path]
Sources = Callable[..., list[str]]


def counts(report: SyncReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.removed, report.embedded


def test_a_second_sync_does_nothing(update: Update, say: Say) -> None:
    say("s1", "one", "two")
    assert counts(update()) == (2, 0, 0, 2)
    assert counts(update()) == (0, 0, 0, 0)


def test_an_appended_turn_is_the_only_one_embedded(
    update: Update, say: Say, embedder: HashingEmbedder, home: Home, settings: RecallSettings
) -> None:
    say("s1", *(f"turn {n}" for n in range(10)))
    update()
    embedder.count = 0
    say("s1", "one more")
    assert counts(update()) == (1, 0, 0, 1)
    assert embedder.count == 1
    assert verify(home, settings).differences == ()


def test_a_changed_paragraph_is_the_only_one_embedded(update: Update, write: Write, embedder: HashingEmbedder) -> None:
    sections = [f"## Part {n}\n\nText of part {n}.\n\n" for n in range(8)]
    write("Knowledge/a.md", "".join(sections))
    update()
    embedder.count = 0
    sections[3] = "## Part 3\n\nText that is new.\n\n"
    write("Knowledge/a.md", "".join(sections))
    assert counts(update()) == (0, 1, 0, 1)
    assert embedder.count == 1


def test_the_parts_of_a_long_line_are_counted(update: Update, write: Write) -> None:
    write("Knowledge/a.md", "".join(f"Sentence {n} of several words. " for n in range(200)))
    report = update()
    assert report.added == report.passages > 2


def test_moved_lines_keep_their_vectors_under_new_addresses(
    update: Update, write: Write, sources: Sources, embedder: HashingEmbedder
) -> None:
    write("Knowledge/a.md", "## Falcons\n\nThey nest in towers.\n")
    update()
    embedder.count = 0
    write("Knowledge/a.md", "## New\n\nInserted above.\n\n## Falcons\n\nThey nest in towers.\n")
    update()
    assert embedder.count == 1
    assert sources("falcons nest")[0] == "Knowledge/a.md#L7"


def test_a_removed_file_leaves_no_row_in_any_table(
    update: Update, say: Say, write: Write, home: Home, settings: RecallSettings, sources: Sources
) -> None:
    say("s1", "falcon", "otter")
    path = write("Knowledge/a.md", "# Badger\n\nbadger\n")
    update()
    path.unlink()
    assert counts(update()) == (0, 0, 1, 0)
    assert sources("badger", mode="lexical") == []
    assert all(source.startswith("s1#") for source in sources("badger", mode="vector"))
    assert verify(home, settings).ok


def test_replaced_text_leaves_no_stale_posting(
    update: Update, write: Write, sources: Sources, home: Home, settings: RecallSettings
) -> None:
    for word in ("falcon", "otter", "badger"):
        write("Knowledge/a.md", f"# Note\n\nabout the {word} and how it lives\n")
        update()
    assert sources("falcon otter", mode="lexical") == []
    assert sources("badger", mode="lexical") == ["Knowledge/a.md#L3"]
    assert verify(home, settings).differences == ()


def test_a_touched_file_is_not_indexed_again(update: Update, say: Say, home: Home) -> None:
    path = say("s1", "one")
    update()
    os.utime(path, (1, 1))
    assert counts(update()) == (0, 0, 0, 0)
    assert ensure_fresh(home, RecallSettings(), None).degraded == ()


def test_the_home_itself_is_not_touched(update: Update, say: Say, home: Home) -> None:
    say("s1", "one")
    before = {p: p.read_bytes() for p in home.root.rglob("*") if p.is_file() and ".memory" not in p.parts}
    update()
    assert {p: p.read_bytes() for p in home.root.rglob("*") if p.is_file() and ".memory" not in p.parts} == before


@pytest.mark.parametrize("folder", ["Knowledge", "Projects", "sessions", "outputs", "DailyActivity", "Archive"])
def test_a_folder_that_is_a_link_is_not_indexed(update: Update, home: Home, tmp_path: Path, folder: str) -> None:
    (tmp_path / "outside").mkdir()
    for name in ("2026-11-20.md", "MEMORY-2026-10.md", "run.txt"):
        (tmp_path / "outside" / name).write_text("badger")
    shutil.rmtree(home.root / folder, ignore_errors=True)
    (home.root / folder).symlink_to(tmp_path / "outside")
    assert update().added == 0


def test_hidden_files_and_links_are_not_indexed(update: Update, write: Write, home: Home, tmp_path: Path) -> None:
    write("Knowledge/.draft.md", "badger")
    write(".memory/quarantine/held.md", "badger")
    (tmp_path / "outside.md").write_text("badger")
    (home.root / "Knowledge/link.md").symlink_to(tmp_path / "outside.md")
    (home.root / "Knowledge/loop").symlink_to(home.root / "Knowledge")
    assert update().added == 0


def test_unreadable_files_are_reported_and_the_rest_is_indexed(
    update: Update, write: Write, home: Home, sources: Sources
) -> None:
    write("Knowledge/good.md", "the badger digs")
    (home.root / "Knowledge/bad.md").write_bytes(b"\xff\xfe broken")
    first, second = update(), update()
    assert "Knowledge/bad.md:1 is not UTF-8" in first.skipped[0]
    assert second.skipped == first.skipped
    assert sources("badger") == ["Knowledge/good.md#L1"]
    (home.root / "Knowledge/bad.md").write_text("now it is fine")
    assert update().skipped == ()


def test_a_failed_embedding_is_retried(update: Update, say: Say, embedder: HashingEmbedder) -> None:
    say("s1", "good one", "poison two", "good three")
    embedder.refused.append("poison")
    report = update()
    assert (report.embedded, report.pending) == (2, 1)
    assert any("1 passages could not be embedded" in note for note in report.degraded)
    assert update().embedded == 0
    embedder.refused.clear()
    assert (report := update()).embedded == 1
    assert (report.pending, report.degraded) == (0, ())


def test_a_model_that_fails_on_everything_is_not_tried_on_every_batch(
    home: Home, say: Say, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("s1", *(f"poison {n}" for n in range(40)))
    embedder.refused.append("poison")
    monkeypatch.setattr(embedding_queue, "EMBEDDING_BATCH", 10)
    sync(home, RecallSettings(), embedder)
    assert embedder.count == 20  # the first batch, then each of its texts alone


def test_a_vector_that_is_no_number_is_not_stored(update: Update, say: Say, embedder: HashingEmbedder) -> None:
    say("s1", "one", "two")
    whole = embedder.embed
    embedder.embed = lambda texts: whole(texts) * float("nan")  # type: ignore[method-assign]
    report = update()
    assert (report.embedded, report.pending) == (0, 2)
    assert "no finite vector" in report.degraded[0]


def test_words_are_searchable_before_vectors_exist(
    home: Home, settings: RecallSettings, say: Say, sources: Sources
) -> None:
    say("s1", "the falcon nests")
    report = sync(home, settings, None)
    assert (report.added, report.pending) == (1, 1)
    assert sources("falcon") == ["s1#m1"]


def test_memory_is_embedded_first_and_then_the_newest_session(
    home: Home, settings: RecallSettings, say: Say, write: Write, embedder: HashingEmbedder
) -> None:
    say("a-old", "old")
    say("b-new", "new")
    write("Knowledge/k.md", "knowledge")
    write("MEMORY.md", "## Key Decisions\n\n- **[KD-7F3A] 2026-11-20 Decide** - now.\n")
    wanted = ["MEMORY.md#KD-7F3A", "b-new#m1", "a-old#m1", "Knowledge/k.md#L1"]
    for count in range(1, 5):
        assert sync(home, settings, embedder, embed_limit=1).embedded == 1
        conn = schema.open_reader(home.index)
        assert conn is not None
        done = {row[0] for row in schema.rows(conn, "SELECT source FROM passages WHERE embedded = 1")}
        assert done == set(wanted[:count])


def test_another_model_is_an_error_that_names_the_remedy(
    home: Home,
    settings: RecallSettings,
    say: Say,
    update: Update,
    ask: Callable[..., SearchResult],
    embedder: HashingEmbedder,
) -> None:
    say("s1", "the falcon nests")
    update()
    other = type(embedder)("other", 32)
    say("s1", "the otter swims")
    with pytest.raises(IndexStale, match=r"hashing \(64 dimensions, cosine\).*other \(32 dimensions.*memory reindex"):
        sync(home, settings, other)
    result = ask("otter", embedder=other)
    assert result.hits[0].source == "s1#m2"  # the words were indexed nevertheless
    assert "Run `memory reindex`" in result.degraded[0]
    report = reindex(home, settings, other)
    assert (report.passages, report.embedded, report.degraded) == (2, 2, ())
    assert ask("otter", embedder=other).degraded == ()


def test_reindexing_reuses_the_vectors_of_unchanged_texts(
    home: Home, settings: RecallSettings, say: Say, update: Update, embedder: HashingEmbedder
) -> None:
    say("s1", "one", "two", "three")
    update()
    embedder.count = 0
    say("s1", "four")
    report = reindex(home, settings, embedder)
    assert (report.passages, report.embedded, embedder.count) == (4, 1, 1)
    assert verify(home, settings).ok


def test_reindexing_without_a_model_keeps_the_vectors(
    home: Home, settings: RecallSettings, say: Say, update: Update
) -> None:
    say("s1", "one", "two")
    update()
    assert reindex(home, settings, None).pending == 0


def test_a_deleted_index_comes_back_with_the_same_answers(
    home: Home, settings: RecallSettings, say: Say, write: Write, update: Update, ask: Callable[..., SearchResult],
    embedder: HashingEmbedder, many_turns: Callable[[int], list[str]],
) -> None:  # fmt: skip
    for number in range(5):
        say(f"s{number}", *many_turns(12))
        update()
    write("Knowledge/a.md", "# Subject3\n\nmatter2 explained\n")
    update()
    say("s2", "an afterthought about subject3")
    (home.root / "sessions/2026/11/s4.jsonl").unlink()
    update()
    questions = ["subject3 and matter2", "turn 7 speaks", "afterthought", "words5"]
    before = [ask(question, k=50).hits for question in questions]
    for suffix in ("", "-wal", "-shm"):
        home.index.with_name(home.index.name + suffix).unlink(missing_ok=True)
    reindex(home, settings, embedder)
    assert [ask(question, k=50).hits for question in questions] == before


def test_another_passage_size_rebuilds_the_index(
    home: Home, settings: RecallSettings, say: Say, update: Update, embedder: HashingEmbedder
) -> None:
    say("s1", "word " * 300)
    update()
    smaller = replace(settings, passage_tokens=50)
    assert not verify(home, smaller).ok
    report = sync(home, smaller, embedder)
    assert report.passages > 5
    assert verify(home, smaller).differences == ()


def test_a_corrupt_index_is_set_aside_and_rebuilt(
    home: Home, say: Say, update: Update, sources: Sources, settings: RecallSettings
) -> None:
    say("s1", "the falcon nests")
    update()
    data = bytearray(home.index.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    home.index.write_bytes(bytes(data))
    report = update()
    assert any("corrupt-1" in note for note in report.degraded)
    assert sources("falcon") == ["s1#m1"]
    assert verify(home, settings).ok


def test_a_second_sync_waits_and_then_raises(home: Home, say: Say, settings: RecallSettings) -> None:
    say("s1", "one")
    with sync_lock(home, 1.0), pytest.raises(Locked):
        sync(home, replace(settings, sync_timeout_s=0.05), None)


def test_freshness_never_waits_for_another_sync(home: Home, say: Say, settings: RecallSettings) -> None:
    say("s1", "one")
    with sync_lock(home, 1.0):
        assert "another sync is running" in ensure_fresh(home, settings, None).degraded[0]


def test_freshness_indexes_words_at_once_and_a_few_vectors(
    home: Home, say: Say, settings: RecallSettings, embedder: HashingEmbedder, update: Update
) -> None:
    say("s1", "one")
    update()
    say("s1", "two", "three")
    report = ensure_fresh(home, settings, embedder)
    assert (report.added, report.embedded, report.pending, report.degraded) == (2, 2, 0, ())
    say("s1", *(f"turn {n}" for n in range(settings.fresh_embeddings + 1)))
    report = ensure_fresh(home, settings, embedder)
    assert (report.added, report.embedded) == (settings.fresh_embeddings + 1, 0)
    assert report.degraded == (f"{settings.fresh_embeddings + 1} passages wait for vectors. Run `memory sync`",)


def test_freshness_reports_another_model_instead_of_failing(
    home: Home, say: Say, settings: RecallSettings, update: Update, embedder: HashingEmbedder
) -> None:
    say("s1", "one")
    update()
    say("s1", "two")
    assert "memory reindex" in ensure_fresh(home, settings, type(embedder)("other")).degraded[0]


def test_freshness_creates_the_first_index(home: Home, say: Say, settings: RecallSettings, sources: Sources) -> None:
    say("s1", "the falcon nests")
    ensure_fresh(home, settings, None)
    assert sources("falcon", mode="lexical") == ["s1#m1"]


def test_progress_counts_to_the_end(
    home: Home, say: Say, settings: RecallSettings, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("s1", *(f"turn {n}" for n in range(5)))
    seen: list[tuple[str, int, int]] = []
    monkeypatch.setattr(embedding_queue, "EMBEDDING_BATCH", 2)
    sync(home, settings, embedder, progress=lambda *step: seen.append(step))
    assert [step for step in seen if step[0] == "vectors"] == [("vectors", 2, 5), ("vectors", 4, 5), ("vectors", 5, 5)]
    assert seen[0][0] == "files"


def test_an_index_of_the_first_version_is_rebuilt_and_reported(
    home: Home, settings: RecallSettings, say: Say, update: Update, sources: Sources, embedder: HashingEmbedder
) -> None:
    """Build an index whose rows lack context windows and whose vectors have another encoding."""
    say("s1", "the falcon nests", "in the old tower")
    home.machine.mkdir(exist_ok=True)
    old = schema.connect(home.index)
    old.execute("PRAGMA journal_mode = WAL")
    old.execute(schema.MIGRATIONS[0])
    old.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}; PRAGMA user_version = 1")
    with schema.transaction(old):
        schema.set_meta(old, {"terms": "1", "cut": "1:180:2:400", own_index.MARK: own_index.new_token(home)})
        schema.describe_vectors(old, embedder.name, embedder.fingerprint, embedder.dimension)
        old.execute("INSERT INTO files VALUES(1, 'sessions/2026/11/s1.jsonl', 'sessions', 's1', x'', 0, 0, '')")
        columns = "id, file, layer, ordinal, part, source, session, message, role, name, ts, heading, text, context"
        for table in ("vectors", "windows"):
            old.execute(
                f"CREATE VIRTUAL TABLE {table} USING vec0("
                f"passage INTEGER PRIMARY KEY, layer INTEGER, embedding float[{embedder.dimension}])"
            )
        for passage, vector in enumerate(embedder.embed(["the falcon nests", "in the old tower"]), 1):
            old.execute(
                f"INSERT INTO passages({columns}, meaning, content_digest, meaning_digest, embedded) "
                "VALUES(?, 1, 1, ?, 0, '', '', '', '', '', '', '', '', '', '', x'', x'', 1)",
                (passage, passage),
            )
            old.execute("INSERT INTO vectors VALUES(?, 1, ?)", (passage, vector.tobytes()))
    old.close()
    report = update()
    assert report.degraded == ("the index was made by another version or with other settings, and was rebuilt",)
    assert report.embedded == 2
    assert verify(home, settings).ok
    assert sources("where do falcons nest")[0] == "s1#m1"
    assert update().degraded == ()


def test_a_search_after_a_change_looks_at_each_file_once(
    update: Update, say: Say, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("s1", "one")
    update()
    scans: list[int] = []

    def counted(where: Home) -> dict[str, tuple[int, int]]:
        scans.append(1)
        return file_scan.scan(where)

    for module in (index_sync, ingest):
        monkeypatch.setattr(module, "scan", counted)
    say("s2", "two")
    assert counts(ensure_fresh(home, RecallSettings(), None)) == (1, 0, 0, 0)
    assert len(scans) == 1


def test_a_file_that_another_sync_indexed_meanwhile_stays(
    update: Update, say: Say, home: Home, settings: RecallSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("s1", "one")
    update()
    real = file_scan.scan

    def overtaken(where: Home) -> dict[str, tuple[int, int]]:
        found = real(where)
        monkeypatch.setattr(index_sync, "scan", real)
        say("s2", "two")
        update()  # another process indexes a file that this scan does not know
        say("s3", "three")
        return found

    monkeypatch.setattr(index_sync, "scan", overtaken)
    say("s1", "more")
    assert ensure_fresh(home, settings, None).removed == 0
    update()
    assert verify(home, settings).differences == ()


def test_chunks_of_an_output_want_no_vector_and_its_summary_does(
    update: Update, home: Home, settings: RecallSettings
) -> None:
    lines = "".join(f"step {number} of the harbour build took {number} ms\n" for number in range(3_000))
    store_output(home, [lines.encode()], now=datetime(2026, 11, 28, tzinfo=UTC), tool="make")
    assert update().pending == 0
    with closing(schema.connect(home.index)) as conn:
        rows = dict(conn.execute("SELECT embedded, count(*) FROM passages GROUP BY embedded"))
    assert verify(home, settings).ok
    assert 0 not in rows
    assert rows[1] >= 1
    assert rows[2] > 10
