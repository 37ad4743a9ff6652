"""`memory hook` as a process: the host's JSON out, nothing when something is wrong, and always exit code 0."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_home.home import Home
from agent_home.lock import hold
from agent_home.store.machine_state import hold_home
from interfaces.api import AgentHome
from interfaces.hosts import hook as hook_module
from interfaces.hosts import queue
from interfaces.hosts.captured import read_open
from interfaces.hosts.event import EVENTS, HOSTS, HostEvent
from interfaces.hosts.hook import MOST_CHARS, _without_known_message

END = re.compile(r'\n</agent-home mark="[0-9a-f]{32}">\Z')
HOOK = "from interfaces.entry import main; main()"
EVENT = {"session_id": "s1", "transcript_path": "", "cwd": "/"}


@pytest.fixture(autouse=True)
def _no_worker_outlives_its_test(tmp_path: Path) -> Iterator[None]:
    """Wait for the workers that hooks started, which would write into a folder that is removed."""
    yield
    while _at_work(tmp_path):
        time.sleep(0.05)


def _at_work(folder: Path) -> bool:
    name = os.fsencode(folder)
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if name in place.read_bytes():
                return True
    return False


def hook(home: Path, kind: str, given: str | bytes, *more: str, host: str = "claude-code", **variables: str) -> str:
    """Run the hook, require exit code 0 and an empty standard error, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", HOOK, "hook", kind, "--host", host, "--home", str(home), *more],
        input=given if isinstance(given, bytes) else given.encode("utf-8", "surrogatepass"), capture_output=True,
        env={**os.environ, "AGENT_HOME_SERVICE": "0", **variables}, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def context(printed: str) -> str:
    found: Any = json.loads(printed)
    return str(found["hookSpecificOutput"]["additionalContext"])


@pytest.mark.parametrize("host", MOST_CHARS)
def test_a_session_starts_with_a_brief_between_tags(home: Home, host: str) -> None:
    AgentHome(home).remember("The staging server is called heron", origin="user")
    text = context(hook(home.root, "session-start", json.dumps(EVENT), host=host))
    assert "heron" in text
    assert text.startswith("<agent-home>")
    assert END.search(text)
    assert len(text) <= MOST_CHARS[host]


def test_the_first_prompt_alone_adds_what_is_known(home: Home) -> None:
    AgentHome(home).append("old", [{"role": "user", "content": "Our invoices database is PostgreSQL 16."}])
    asked = json.dumps({**EVENT, "prompt": "Which database do we use for invoices?"})
    assert "PostgreSQL 16" in context(hook(home.root, "user-prompt", asked))
    assert hook(home.root, "user-prompt", asked) == ""
    hook(home.root, "session-start", json.dumps({**EVENT, "source": "clear"}))
    assert "PostgreSQL 16" in context(hook(home.root, "user-prompt", asked))


@pytest.mark.parametrize("kind", ["stop", "session-end", "pre-compact"])
def test_the_other_events_are_queued_and_print_nothing(home: Home, kind: str) -> None:
    queue.folder(home.root).mkdir(parents=True)
    with subprocess.Popen(["true"]):  # a worker of this event may take it at once
        assert hook(home.root, kind, json.dumps(EVENT)) == ""
    known = (queue.folder(home.root) / "queue.jsonl").exists() or (queue.folder(home.root) / "open.json").exists()
    assert known


@pytest.mark.parametrize(
    "given",
    [
        "",
        "{",
        "[]",
        '{"session_id": 5}',
        "[" * 200_000,
        '{"session_id": "\x00"}',
        b"\xff\xfe\x00",
        '{"session_id": ""}',
    ],
    ids=range(8),
)
def test_bad_input_prints_nothing(home: Home, given: str | bytes) -> None:
    assert hook(home.root, "stop", given) == ""


def test_a_huge_input_is_read_to_a_limit(home: Home) -> None:
    assert hook(home.root, "stop", json.dumps({**EVENT, "prompt": "x" * (6 << 20)})) == ""
    assert "JSONDecodeError" in (queue.folder(home.root) / queue.ERRORS).read_text()


@pytest.mark.parametrize(("kind", "host"), [("no-event", "codex"), ("stop", "no-host")])
def test_an_unknown_event_or_host_prints_nothing(home: Home, kind: str, host: str) -> None:
    assert hook(home.root, kind, json.dumps(EVENT), host=host) == ""


def test_a_folder_without_a_home_prints_nothing_and_is_not_touched(tmp_path: Path) -> None:
    assert hook(tmp_path, "session-start", json.dumps(EVENT)) == ""
    assert list(tmp_path.iterdir()) == []


def test_a_broken_manifest_stops_no_host(home: Home) -> None:
    (home.root / "agent.toml").write_text("[[[")
    assert "<agent-home>" in context(hook(home.root, "session-start", json.dumps(EVENT)))


def test_the_switch_keeps_a_hook_from_doing_anything(home: Home) -> None:
    assert hook(home.root, "session-start", json.dumps(EVENT), AGENT_HOME_HOOKS="0") == ""
    assert not queue.folder(home.root).exists()


def test_the_end_of_a_session_loads_nothing_slow(home: Home) -> None:
    code = (
        "import sys, io; sys.argv = ['memory', 'hook', 'stop', '--host', 'codex', '--home', sys.argv[1]]; "
        "from interfaces.entry import main; main(); "
        "slow = {'click', 'numpy', 'apsw', 'onnxruntime', 'agent_home.settings'} & set(sys.modules); "
        "sys.exit(1 if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(home.root)], input=json.dumps(EVENT).encode(), check=False)
    assert done.returncode == 0
    assert len(queue.take(home.root)) == 1


def test_a_home_in_the_folder_of_a_stranger_is_not_used(home: Home) -> None:
    command = [sys.executable, "-c", HOOK, "hook", "session-start", "--host", "claude-code"]
    environment = {name: value for name, value in os.environ.items() if name != "AGENT_HOME"}
    inside = home.root / "Knowledge"
    given = json.dumps(EVENT).encode()
    done = subprocess.run(command, input=given, cwd=inside, env=environment, capture_output=True, check=True)
    assert done.stdout == b""
    done = subprocess.run(
        command, input=given, cwd=inside, env={**environment, "AGENT_HOME": str(home.root)}, capture_output=True,
        check=True,
    )  # fmt: skip
    assert b"agent-home" in done.stdout


@pytest.mark.parametrize("host", HOSTS)
def test_the_answer_is_the_json_of_the_host_and_nothing_more(home: Home, host: str) -> None:
    AgentHome(home).append("old", [{"role": "user", "content": "Our invoices database is PostgreSQL 16."}])
    asked = {**EVENT, "prompt": "Which database do we use for invoices?"}
    printed = json.loads(hook(home.root, "user-prompt", json.dumps(asked), host=host))
    text = printed["hookSpecificOutput"]["additionalContext"]
    name = HOSTS[host]["user-prompt"]
    assert printed == {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
    assert text.startswith("<agent-home>\n")
    assert END.search(text)


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_the_first_prompt_after_each_start_adds_what_is_known(home: Home, source: str) -> None:
    queue.is_first_prompt(home.root, EVENT["session_id"])
    hook(home.root, "session-start", json.dumps({**EVENT, "source": source}))
    assert queue.is_first_prompt(home.root, EVENT["session_id"])


def test_a_session_that_ended_leaves_no_mark_of_its_prompt(home: Home) -> None:
    hook(home.root, "user-prompt", json.dumps({**EVENT, "prompt": "Which database?"}))
    assert list(queue.folder(home.root).glob("prompted-*")) != []
    hook(home.root, "session-end", json.dumps(EVENT))
    assert list(queue.folder(home.root).glob("prompted-*")) == []


def test_another_session_does_not_take_the_first_prompt_of_this_one(home: Home) -> None:
    AgentHome(home).append("old", [{"role": "user", "content": "Our invoices database is PostgreSQL 16."}])
    asked = {**EVENT, "prompt": "Which database do we use for invoices?"}
    for session in ("s1", "s2"):
        assert "PostgreSQL 16" in context(hook(home.root, "user-prompt", json.dumps({**asked, "session_id": session})))


def test_a_limit_that_is_given_counts(home: Home) -> None:
    text = context(hook(home.root, "session-start", json.dumps(EVENT), "--max-chars", "2000", host="codex"))
    assert len(text) <= 2_000
    assert END.search(text)


@pytest.mark.parametrize("limit", ["-5", "many", "999"])
def test_a_limit_that_is_none_prints_nothing(home: Home, limit: str) -> None:
    assert hook(home.root, "session-start", json.dumps(EVENT), "--max-chars", limit) == ""


@pytest.mark.parametrize("kind", ["session-start", "user-prompt"])
@pytest.mark.parametrize("given", ["{", "[" * 200_000, '{"prompt": "x"}', b"\xff\xfe\x00"], ids=range(4))
def test_bad_input_prints_nothing_where_context_is_asked_for(home: Home, kind: str, given: str | bytes) -> None:
    assert hook(home.root, kind, given) == ""


@pytest.mark.parametrize("kind", EVENTS)
def test_odd_characters_stop_no_event(home: Home, kind: str) -> None:
    odd = "lone \ud800 and \0 and \u2028"
    told = dict.fromkeys(("session_id", "transcript_path", "cwd", "prompt", "last_assistant_message"), odd)
    printed = hook(home.root, kind, json.dumps({**told, "source": 7}))
    assert not printed or context(printed).startswith("<agent-home>")
    assert bool(printed) == (kind == "session-start")


def test_a_prompt_of_megabytes_is_asked_with_its_beginning(home: Home) -> None:
    AgentHome(home).append("old", [{"role": "user", "content": "Our invoices database is PostgreSQL 16."}])
    asked = {**EVENT, "prompt": f"Which database do we use for invoices? {'x ' * 1_500_000}"}
    assert "PostgreSQL 16" in context(hook(home.root, "user-prompt", json.dumps(asked)))


@pytest.mark.parametrize("kind", ["session-start", "session-end"])
def test_five_megabytes_print_nothing(home: Home, kind: str) -> None:
    assert hook(home.root, kind, json.dumps({**EVENT, "prompt": "x" * (5 << 20)})) == ""


@pytest.mark.parametrize("kind", EVENTS)
def test_a_folder_that_cannot_be_written_prints_nothing(home: Home, kind: str) -> None:
    queue.folder(home.root).parent.mkdir(parents=True, exist_ok=True)
    queue.folder(home.root).write_text("a file lies here")
    assert hook(home.root, kind, json.dumps({**EVENT, "prompt": "Which database?"})) == ""
    assert queue.folder(home.root).read_text() == "a file lies here"


def test_a_home_that_is_a_file_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    assert hook(tmp_path / "home", "session-start", json.dumps(EVENT)) == ""


def test_a_manifest_that_was_never_good_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text("[[[")
    assert hook(tmp_path, "session-start", json.dumps(EVENT)) == ""


@pytest.mark.parametrize("kind", EVENTS)
def test_a_held_write_lock_keeps_no_event_waiting(home: Home, kind: str) -> None:
    with hold_home(home):
        printed = hook(home.root, kind, json.dumps({**EVENT, "transcript_path": "/none", "last_assistant_message": ""}))
    assert bool(printed) == (kind == "session-start")


def test_a_held_queue_ends_the_hook_within_its_time(home: Home) -> None:
    queue.folder(home.root).mkdir(parents=True)
    with (queue.folder(home.root) / "queue.jsonl").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert hook(home.root, "session-end", json.dumps(EVENT)) == ""
    assert queue.take(home.root) == []


@pytest.mark.parametrize("switch", ["1", "", "yes"])
def test_only_a_zero_switches_a_hook_off(home: Home, switch: str) -> None:
    hook(home.root, "stop", json.dumps(EVENT), AGENT_HOME_HOOKS=switch)
    assert len(queue.take(home.root)) == 1


def test_a_working_folder_that_is_gone_loses_no_event(home: Home, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        f"import os, sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r}); os.rmdir({str(gone)!r}); "
        f"sys.argv = ['memory', 'hook', 'stop', '--host', 'codex', '--home', {str(home.root)!r}]; {HOOK}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=gone, input=json.dumps(EVENT).encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(queue.take(home.root)) == 1


def test_an_error_is_noted_without_the_words_of_anybody(home: Home) -> None:
    hook(home.root, "stop", '{"session_id": "s", "prompt": "my password is hunter2"')
    log = (queue.folder(home.root) / queue.ERRORS).read_text()
    assert "JSONDecodeError" in log
    assert "hunter2" not in log
    assert len(log.splitlines()) == 1


SECRET = "ghp_" + "x9Kq2Lm7Vt4Rw8Yz1Bn6Pd3Sf5Gh0JcA2eUq"


def machine_state(home: Home) -> str:
    files = (each for each in home.machine.rglob("*") if each.is_file() and not each.is_symlink())
    return "".join(each.read_bytes().decode("utf-8", "replace") for each in files)


@pytest.mark.parametrize("kind", ["stop", "pre-compact", "session-end"])
def test_a_last_message_that_the_file_has_is_not_queued(home: Home, tmp_path: Path, kind: str) -> None:
    last = f'The token is "{SECRET}".\nThe report is sent.'
    file = tmp_path / "s1.jsonl"
    row = {"type": "assistant", "sessionId": "s1", "message": {"content": [{"type": "text", "text": last}]}}
    file.write_text(json.dumps(row, ensure_ascii=False) + "\n")
    queue.folder(home.root).mkdir(parents=True)
    with hold(queue.folder(home.root) / "worker.lock", 0):  # the worker of this event cannot take it
        hook(home.root, kind, json.dumps({**EVENT, "transcript_path": str(file), "last_assistant_message": last}))
    assert SECRET not in machine_state(home)
    assert [row["last_message"] for row in queue.take(home.root)] == [""]


def test_a_last_message_that_a_host_writes_a_moment_later_is_not_queued(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "s1.jsonl"
    file.touch()
    writer = threading.Timer(0.2, lambda: file.write_text('{"text": "Done."}\n'))
    event = HostEvent("codex", "stop", "s1", transcript=str(file), last_message="Done.")
    writer.start()
    assert _without_known_message(event).last_message == ""
    writer.join()


def test_a_last_message_that_the_file_lacks_is_screened_soon(home: Home) -> None:
    last = f"The token is {SECRET}. The report is sent."
    hook(home.root, "stop", json.dumps({**EVENT, "last_assistant_message": last}))
    end = time.monotonic() + 60
    while not read_open(home.root) and time.monotonic() < end:
        time.sleep(0.05)
    (item,) = read_open(home.root).values()
    assert "The report is sent" in item.last_message
    while SECRET in machine_state(home) and time.monotonic() < end:  # the events go right behind the record
        time.sleep(0.05)
    assert SECRET not in machine_state(home)


SLOW = {"apsw", "click", "fastembed", "markdown_it", "numpy", "onnxruntime", "re2", "sqlite_vec", "tokenizers"}


@pytest.mark.parametrize("kind", ["stop", "pre-compact", "session-end"])
def test_events_that_are_queued_load_nothing_slow(home: Home, kind: str) -> None:
    code = (
        f"import json, sys; sys.argv = ['memory', 'hook', {kind!r}, '--host', 'codex', '--home', {str(home.root)!r}]; "
        f"{HOOK}; print(json.dumps(sorted(sys.modules)))"
    )
    given = json.dumps(EVENT)
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert "interfaces.hosts.queue" in loaded
    assert SLOW & {name.partition(".")[0] for name in loaded} == set()


def test_a_host_that_is_gone_does_not_make_the_hook_fail(home: Home) -> None:
    command = [sys.executable, "-c", HOOK, "hook", "session-start", "--host", "codex", "--home", str(home.root)]
    environment = {**os.environ, "AGENT_HOME_SERVICE": "0"}
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command, input=json.dumps(EVENT).encode(), stdout=writing, stderr=subprocess.PIPE, env=environment, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "BrokenPipeError hook.py" in (queue.folder(home.root) / queue.ERRORS).read_text()


def test_a_module_that_a_pull_put_into_the_home_is_not_run(home: Home, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w').close()\n"
    (home.root / "interfaces").mkdir()
    for name in ("interfaces/__init__.py", "json.py", "hashlib.py"):
        (home.root / name).write_text(code)
    ended = json.dumps({**EVENT, "last_assistant_message": "The report is sent."})
    for kind in ("session-start", "pre-compact", "session-end"):
        hook(home.root, kind, ended)
    until = time.monotonic() + 60
    while list(home.root.glob("sessions/**/*.jsonl")) == [] and time.monotonic() < until:
        time.sleep(0.1)
    assert list(home.root.glob("sessions/**/*.jsonl")), "the worker did its work"
    assert not mark.exists()


@pytest.mark.parametrize("kind", EVENTS)
@pytest.mark.parametrize("left", ["nothing", "state"])
def test_a_home_that_was_moved_or_deleted_is_silent_and_not_made_again(
    home: Home, tmp_path: Path, kind: str, left: str
) -> None:
    home.root.rename(tmp_path / "moved")
    if left == "state":
        (home.root / ".git" / "agent-home").mkdir(parents=True)
    before = sorted(home.root.rglob("*"))
    assert hook(home.root, kind, json.dumps({**EVENT, "prompt": "Which database?"})) == ""
    assert sorted(home.root.rglob("*")) == before
    assert home.root.exists() == (left == "state")


def test_the_brief_is_asked_for_the_folder_of_the_session(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def command(_root: Path, arguments: list[str]) -> str:
        asked.append(arguments)
        return ""

    monkeypatch.setattr(hook_module, "_command", command)
    monkeypatch.setattr(hook_module, "_start_worker", lambda _root: None)
    hook_module._answer(home.root, HostEvent(host="codex", kind="session-start", session="s", cwd="/code/api"), 9_500)
    assert asked[0][-2:] == ["--cwd", "/code/api"]
