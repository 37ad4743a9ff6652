"""Test ``memory watch`` as its own process, beside editors, git and searches."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agent_home.home import Home
from interfaces.cli import cli
from tests.doomed import ForkServer

MEMORY = "from interfaces.cli import main; main()"
#: Nobody waits so long; a busy machine may.
PATIENCE_S = 60.0
#: Longer than two rounds of a watcher that notices a change.
SILENCE_S = 1.5


def forward(lines: Iterable[str], to: Callable[[str], None]) -> None:
    for line in lines:
        to(line)


class Watch:
    """A running ``memory watch --json``: its lines as they come."""

    def __init__(self, forks: ForkServer, home: Home, *options: str) -> None:
        command = ["watch", "--json", "--words-only", "--quiet-ms", "100", "--home", str(home.root)]
        self.process = forks.start(MEMORY, *command, *options)
        self.syncs: queue.Queue[dict[str, Any]] = queue.Queue()
        self.problems: queue.Queue[str] = queue.Queue()
        out, err = self.process.stdout, self.process.stderr
        self.readers = [
            threading.Thread(target=forward, args=(out, lambda line: self.syncs.put(json.loads(line)))),
            threading.Thread(target=forward, args=(err, self.problems.put)),
        ]
        for reader in self.readers:
            reader.start()

    def next(self) -> dict[str, Any]:
        """Return the next sync."""
        return self.syncs.get(timeout=PATIENCE_S)

    def until(self, enough: Callable[[dict[str, int]], bool]) -> dict[str, int]:
        """Return the sum of the next syncs, as soon as it is *enough*."""
        total = dict.fromkeys(("added", "changed", "removed"), 0)
        while not enough(total):
            done = self.next()
            total = {key: count + done[key] for key, count in total.items()}
        return total

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send signal *number* and return the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        for reader in self.readers:
            reader.join(PATIENCE_S)
        self.process.close()
        return code


@pytest.fixture
def start(home: Home, forks: ForkServer) -> Iterator[Callable[..., Watch]]:
    """Return a function that starts a watch with options and waits for its first sync."""
    running: list[Watch] = []

    def begin(*options: str) -> Watch:
        running.append(Watch(forks, home, *options))
        running[-1].next()
        return running[-1]

    yield begin
    for watch in running:
        watch.end()


def note(home: Home, name: str, text: str) -> Path:
    path = home.root / "Knowledge" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def found(home: Home, query: str) -> list[str]:
    """Return the files that the index finds now. The command would index changed files first."""
    from recall.search.hybrid import search
    from recall.settings import RecallSettings

    result = search(home, query, settings=RecallSettings(), embedder=None, mode="lexical")
    return [hit.source.split("#")[0] for hit in result.hits]


@pytest.mark.parametrize("options", [(), ("--poll",)])
def test_added_changed_and_removed_files_are_synced(
    home: Home, start: Callable[..., Watch], options: tuple[str, ...]
) -> None:
    watch = start(*options)
    path = note(home, "new/deep/falcon.md", "# Falcon\n\nIt nests in the tower.\n")
    assert watch.until(lambda total: total["added"] >= 1)["added"] == 1
    assert found(home, "falcon") == ["Knowledge/new/deep/falcon.md"]
    note(home, "new/deep/falcon.md", "# Falcon\n\nIt nests in the quarry.\n")
    watch.until(lambda total: total["changed"] + total["added"] >= 1)
    assert found(home, "quarry") == ["Knowledge/new/deep/falcon.md"]
    path.unlink()
    watch.until(lambda total: total["removed"] >= 1)
    assert found(home, "falcon") == []


def test_an_editor_that_saves_by_renaming_is_noticed(home: Home, start: Callable[..., Watch]) -> None:
    path = note(home, "a.md", "the first version\n")
    watch = start()
    for number, temporary in enumerate((".a.md.swp", "a.md~", "4913.tmp"), 2):
        beside = path.with_name(temporary)
        beside.write_text(f"now version{number} of the text\n", "utf-8")
        beside.replace(path)
        watch.until(lambda total: total["changed"] + total["added"] >= 1)
        assert found(home, f"version{number}") == ["Knowledge/a.md"]


def test_a_recreated_folder_is_watched(home: Home, start: Callable[..., Watch]) -> None:
    """Watch a new folder that has the inode number of the old one."""
    path = note(home, "a.md", "falcon\n")
    watch = start()
    for turn in range(3):
        for inside in sorted(path.parent.rglob("*"), reverse=True):
            inside.unlink()
        path.parent.rmdir()
        watch.until(lambda total: total["removed"] >= 1)
        note(home, "a.md", f"falcon again{turn}\n")
        watch.until(lambda total: total["added"] >= 1)
        note(home, "a.md", f"otter later{turn}\n")
        watch.until(lambda total: total["added"] + total["changed"] >= 1)
        assert found(home, f"later{turn}") == ["Knowledge/a.md"]


def test_a_checkout_of_a_hundred_files_needs_few_syncs(home: Home, start: Callable[..., Watch]) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        subprocess.run(["git", "-C", str(home.root), *who, *arguments], check=True, capture_output=True)

    git("checkout", "-q", "-b", "hundred")
    for number in range(100):
        note(home, f"{number % 7}/n{number}.md", f"note{number} of a hundred\n")
    git("add", "Knowledge")
    git("commit", "-q", "-m", "A hundred notes")
    git("checkout", "-q", "-")
    watch = start()
    for _turn in range(2):
        git("checkout", "-q", "hundred")
        assert watch.until(lambda total: total["added"] >= 100)["added"] == 100
        git("checkout", "-q", "-")
        assert watch.until(lambda total: total["removed"] >= 100)["removed"] == 100
    assert found(home, "hundred") == []


def test_its_own_output_and_hidden_files_start_no_sync(home: Home, start: Callable[..., Watch]) -> None:
    note(home, "a.md", "falcon\n")
    watch = start()
    for hidden in (".memory/x.md", ".git/x.md", "Knowledge/.obsidian/x.md", "Knowledge/.b.md"):
        path = home.root / hidden
        path.parent.mkdir(exist_ok=True)
        path.write_text("secret walrus\n", "utf-8")
    note(home, "a.md", "otter\n")
    watch.until(lambda total: total["added"] + total["changed"] >= 1)
    with pytest.raises(queue.Empty):
        watch.syncs.get(timeout=SILENCE_S)
    assert found(home, "walrus") == []


def test_searches_work_during_a_watch(home: Home, start: Callable[..., Watch]) -> None:
    watch = start()
    for number in range(10):
        note(home, f"{number}.md", f"falcon number{number}\n")
        result = CliRunner().invoke(
            cli, ["search", f"number{number}", "--mode", "lexical", "--json", "--home", str(home.root)]
        )
        assert result.exit_code == 0, result.output
    end = time.monotonic() + PATIENCE_S
    while len(found(home, "falcon")) < 10 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(found(home, "falcon")) == 10
    assert watch.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_watch_with_0(home: Home, start: Callable[..., Watch], number: int) -> None:
    watch = start()
    assert watch.end(number) == 0
    lines = list(watch.problems.queue)
    assert lines == [f"memory: watching 2 files in {home.root}\n"]


def test_a_failed_sync_is_reported_and_retried(home: Home, start: Callable[..., Watch]) -> None:
    watch = start()
    assert "watching" in watch.problems.get(timeout=PATIENCE_S)
    manifest = home.root / "agent.toml"
    good = manifest.read_text("utf-8")
    manifest.write_text(good + "\n[recall]\npassage_tokens = 0\n", "utf-8")
    assert "passage_tokens" in watch.problems.get(timeout=PATIENCE_S)
    note(home, "a.md", "falcon\n")
    manifest.write_text(good, "utf-8")
    watch.until(lambda total: total["added"] >= 1)
    assert watch.end() == 0


def test_a_home_that_is_absent_for_a_while_is_not_recreated(home: Home, start: Callable[..., Watch]) -> None:
    watch = start()
    assert "watching" in watch.problems.get(timeout=PATIENCE_S)
    away = home.root.with_name("away")
    home.root.rename(away)
    (away / "Knowledge").mkdir(exist_ok=True)
    (away / "Knowledge/a.md").write_text("falcon\n", "utf-8")
    (home.root.parent / "elsewhere").mkdir()
    assert "no agent.toml" in watch.problems.get(timeout=PATIENCE_S)
    assert not home.root.exists()
    away.rename(home.root)
    watch.until(lambda total: total["added"] >= 1)
    note(home, "b.md", "otter\n")
    watch.until(lambda total: total["added"] >= 1)


def test_once_syncs_and_stops(home: Home) -> None:
    note(home, "a.md", "falcon\n")
    command = ["watch", "--once", "--words-only", "--home", str(home.root)]
    result = CliRunner().invoke(cli, [*command, "--json"])
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["phase"], line["added"]) for line in lines] == [("words", 1)]
    assert {"added", "changed", "removed", "embedded", "pending", "seconds"} <= set(lines[0])
    assert "1 passage: 0 added" in CliRunner().invoke(cli, command).stdout


def test_once_ends_with_the_error_of_its_last_sync(home: Home) -> None:
    manifest = home.root / "agent.toml"
    manifest.write_text(manifest.read_text("utf-8") + "\n[recall]\npassage_tokens = 0\n", "utf-8")
    result = CliRunner().invoke(cli, ["watch", "--once", "--words-only", "--home", str(home.root)])
    assert result.exit_code == 7
    assert "passage_tokens" in result.stderr


def test_a_closed_output_ends_the_watch(home: Home) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", MEMORY, "watch", "--words-only"]
    with os.fdopen(write, "w") as nobody:
        done = subprocess.run(
            [*command, "--home", str(home.root)], stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
