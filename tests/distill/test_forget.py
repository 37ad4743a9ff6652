"""What is forgotten stands nowhere any more, stays away, and takes nothing else with it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents import daily_log
from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.errors import DocumentInvalid, NoSuchEntry, SettingsInvalid
from agent_home.forgetting.tombstones import LEDGER, scrubbed, tombstones
from agent_home.home import Home
from agent_home.store import closings, transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message
from distill.close import close
from distill.forget import ForgetResult, StructuralWord, TextTooShort, forget, places, redaction_target
from recall.index.sync import sync
from recall.index.verify import verify
from recall.settings import RecallSettings

Talk = Callable[..., list[Message]]
ROWS = (
    ("user", 'Decision: the launch code word is "Blue Heron" for the Kestrel project.'),
    ("assistant", "Lesson: always check the Kestrel budget before Friday."),
    ("user", "From now on always answer in English."),
)


def git(home: Home, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=home.root, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def told(home: Home, talk: Talk, now: datetime) -> Home:
    """A home in which the code word stands in every kind of place."""
    transcript.append(home, "fc-1", talk(*ROWS), actor="test", now=now)
    close(home, "fc-1", now=now)
    with transaction(home, actor="test", message="Note the blue heron", now=now) as edits:
        edits.write("Knowledge/k.md", "# Birds\n\nThe BLUE\nheron is the word; a grey one is not.\n")
        edits.write(
            "Archive/MEMORY-2026-10.md",
            "# Archive\n\n## Recent Context\n\n- **[RC-2M0Q] 2026-10-01 Old** - blue  heron, again.\n",
        )
        edits.append("ledger/notes.jsonl", [{"ts": "t", "note": "Blue Heron"}])
    files = {
        "outputs/run.txt": "log\nBlue Heron\n",
        "outputs/run.json": json.dumps({"said": "Blue\u00a0Heron", "n": 1}),
        ".memory/quarantine/q-0123456789.json": json.dumps({"id": "q-0123456789", "text": "Blue Heron"}, indent=1),
        ".memory/recovered/1-0-MEMORY.md": "- Blue Heron\n",
        ".memory/staging/7.tmp": "Blue Heron\n",
        "Projects/p/draft.md~": "Blue Heron\n",
    }
    for path, text in files.items():
        (home.root / path).parent.mkdir(parents=True, exist_ok=True)
        (home.root / path).write_text(text, encoding="utf-8")
    sync(home, RecallSettings(), None)
    return home


def raw(home: Home) -> Mapping[str, bytes]:
    """Every file of the home, git's objects unpacked."""
    listing = ["git", "cat-file", "--batch-all-objects", "--batch"]
    found = {"objects": subprocess.run(listing, cwd=home.root, check=True, capture_output=True).stdout}
    for path in home.root.rglob("*"):
        if path.is_file():
            found[home.relative(path)] = path.read_bytes()
    return found


def saying(home: Home, word: bytes = b"heron") -> list[str]:
    return sorted(name for name, data in raw(home).items() if word in data.lower())


def test_the_places_are_found_and_nothing_is_changed(told: Home) -> None:
    before = raw(told)
    found = places(told, redaction_target(told, "blue heron"))
    assert {place.kind for place in found} == {
        "memory", "transcript", "output", "quarantine", "machine", "index", "history",
    }  # fmt: skip
    paths = {place.path for place in found}
    assert {"MEMORY.md", "Knowledge/k.md", "Archive/MEMORY-2026-10.md", "ledger/notes.jsonl", "outputs/run.json",
            ".memory/audit.jsonl", ".memory/staging/7.tmp", "Projects/p/draft.md~"} <= paths  # fmt: skip
    assert ("Knowledge/k.md", 3) in {(place.path, place.line) for place in found}
    assert any(place.commit == git(told, "rev-parse", "HEAD").strip() for place in found)
    assert raw(told) == before


def test_without_a_purge_history_alone_holds_it(told: Home, now: datetime) -> None:
    done = forget(told, "BLUE  heron", now=now)
    assert done.commit == git(told, "rev-parse", "HEAD").strip()
    assert {place.kind for place in done.remaining} == {"history"} == {place.kind for place in done.in_history}
    assert [name for name in saying(told) if not name.startswith(".git/")] == ["objects"]
    assert git(told, "status", "--porcelain") == ""
    assert problems(told) == []
    assert git(told, "log", "-1", "--format=%B").splitlines()[0] == f"Forget {done.name}"
    assert "heron" not in git(told, "log", "-1", "--format=%B").lower()


def test_after_a_purge_no_byte_says_it(told: Home, now: datetime) -> None:
    done = forget(told, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    assert saying(told) == []
    assert git(told, "fsck", "--full", "--strict") == ""
    assert done.commit == git(told, "rev-parse", "HEAD").strip()
    assert problems(told) == []
    assert verify(told, RecallSettings()).ok
    assert "a grey one is not" in (told.root / "Knowledge/k.md").read_text()
    assert "always check the Kestrel budget" in (told.root / "MEMORY.md").read_text()
    assert (told.root / "outputs/run.txt").read_text() == f"log\n[forgotten {done.name}]\n"


def test_closings_reach_as_far_as_before(told: Home, talk: Talk, now: datetime) -> None:
    turns = [(turn.start, turn.end) for turn in transcript.read(transcript.session_path(told, "fc-1") or Path())]
    forget(told, "blue heron", now=now, history_too=True)
    path = transcript.session_path(told, "fc-1")
    assert path is not None
    assert [(turn.start, turn.end) for turn in transcript.read(path)] == turns
    assert close(told, "fc-1", now=now).commit is None
    (record,) = [json.loads(line) for line in (told.machine / "closings.jsonl").read_text().splitlines()]
    assert git(told, "cat-file", "-t", record["commit"]).strip() == "commit"
    transcript.append(told, "fc-1", talk(("user", "Decision: ship on Monday."), first=9), actor="test", now=now)
    closed = close(told, "fc-1", now=now)
    assert [entry.text for entry in closed.entries] == ["ship on Monday."]
    last = daily_log.watermark(told, "fc-1")
    assert last is not None
    assert last.end == path.stat().st_size == closings.recorded_end(told, "fc-1")


def test_the_same_chat_does_not_bring_it_back(told: Home, talk: Talk, now: datetime) -> None:
    done = forget(told, "blue heron", now=now, history_too=True)
    transcript.append(told, "fc-1", talk(*ROWS), actor="import", now=now)
    transcript.append(told, "fc-2", talk(*ROWS, session="fc-2"), actor="import", now=now)
    close(told, "fc-2", now=now)
    close(told, "fc-1", now=now, again=True)
    with transaction(told, actor="test", message="Write it again", now=now) as edits:
        edits.write("Knowledge/again.md", "# The \uff22LUE heron\n\nblue heron\n")
    assert saying(told) == []
    assert done.name in (told.root / "Knowledge/again.md").read_text()
    assert scrubbed(told, "a greyblue heron") == "a greyblue heron"  # begins inside a word: another text


def test_ledgers_name_the_new_commits(told: Home, now: datetime) -> None:
    old = git(told, "rev-parse", "HEAD").strip()
    with transaction(told, actor="test", message="Name a commit", now=now) as edits:
        edits.append("ledger/notes.jsonl", [{"ts": "t", "commit": old}])
    done = forget(told, "blue heron", now=now, history_too=True)
    assert done.purged is not None
    assert (
        json.loads((told.root / "ledger/notes.jsonl").read_text().splitlines()[-1])["commit"]
        == done.purged.commits[old]
    )
    assert git(told, "status", "--porcelain") == ""
    assert not (told.machine / "rewritten.json").exists()


def test_a_purge_of_what_stands_nowhere_costs_nothing(told: Home, now: datetime) -> None:
    log, refs = git(told, "reflog"), git(told, "for-each-ref")
    done = forget(told, "grey goose", now=now, history_too=True)
    assert (done.before, done.purged, done.commit) == ((), None, None)
    assert (git(told, "reflog"), git(told, "for-each-ref")) == (log, refs)
    assert not (told.root / LEDGER).exists()


def test_a_tombstone_tells_that_and_not_what(told: Home, now: datetime) -> None:
    done = forget(told, "blue heron", now=now, actor="Ada")
    (grave,) = tombstones(told)
    assert (grave.name, grave.chars, grave.actor, grave.id) == (done.name, 10, "Ada", "")
    assert grave.places == len(done.before)
    assert git(told, "status", "--porcelain", LEDGER) == ""
    forget(told, "Blue Heron", now=now)
    assert len(tombstones(told)) == 1


def test_an_entry_goes_with_what_it_says_and_ever_said(told: Home, now: datetime) -> None:
    (entry,) = (e for e in parse((told.root / "MEMORY.md").read_text()).entries() if e.id.startswith("KD"))
    with transaction(told, actor="test", message="Change", now=now) as edits:
        changed = entry.changed(title="The code is Grey Goose", body="and Grey Goose is not to be told", fields={})
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry_changed(changed))
    done = forget(told, entry.id.lower(), now=now, history_too=True)
    assert done.remaining == ()
    assert saying(told, b"goose") == []
    assert saying(told, b"launch code word is") == []
    text = (told.root / "MEMORY.md").read_text()
    assert f"[{entry.id}]" not in text
    assert "Kestrel budget" in text
    assert {grave.id for grave in tombstones(told)} == {entry.id}
    assert problems(told) == []
    assert forget(told, entry.id, now=now).remaining == ()  # known by its tombstone alone


def test_a_name_of_a_file_or_session_goes_as_well(home: Home, talk: Talk, now: datetime) -> None:
    transcript.append(home, "blue heron", talk(*ROWS, session="blue heron"), actor="test", now=now)
    close(home, "blue heron", now=now)
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("Knowledge/blue heron.md", "# Bird\n")
    done = forget(home, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    assert saying(home) == []
    assert not [path for path in home.root.rglob("*") if "heron" in path.name.lower()]
    (session,) = transcript.sessions(home)
    assert session.session == f"[forgotten {done.name}]"
    assert close(home, session.session, now=now).commit is None


def test_what_a_person_typed_and_did_not_commit_never_gets_into_history(home: Home, now: datetime) -> None:
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("# Memory\n", "# Memory\n\nThe blue heron.\n"))
    done = forget(home, "blue heron", now=now)
    assert done.remaining == ()
    assert saying(home) == []


def test_another_failing_edit_keeps_nothing_on_the_disk_and_gets_into_no_commit(home: Home, now: datetime) -> None:
    key = "AKIA" + "Z7QX3VJ5LMN2KP4R"
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("# Memory\n", f"# Memory\n\nThe blue heron.\n\nThe key is {key}\n"))
    done = forget(home, "blue heron", now=now)
    assert done.remaining == ()
    assert "heron" not in path.read_text()
    assert [text for text in done.warnings if "MEMORY.md was changed and not committed" in text and key not in text]
    assert "MEMORY.md" in git(home, "status", "--porcelain")
    assert key not in git(home, "log", "-p", "--all")
    assert forget(home, key, now=now).remaining == ()
    assert git(home, "status", "--porcelain") == ""


def test_files_that_are_no_text_are_named_and_stop_a_purge(home: Home, now: datetime) -> None:
    (home.root / "outputs/x.bin").write_bytes(b"\xff blue heron")
    done = forget(home, "blue heron", now=now)
    (place,) = [place for place in done.remaining if place.kind == "output"]
    assert (place.path, "yourself" in place.note) == ("outputs/x.bin", True)
    git(home, "add", "-f", "outputs/x.bin")
    git(home, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "m")
    with pytest.raises(DocumentInvalid, match=r"outputs/x.bin.*yourself"):
        forget(home, "blue heron", now=now, history_too=True)


def test_whatever_git_knows_is_committed(told: Home, now: datetime) -> None:
    path = told.root / "sessions/2026/11/blue heron.jsonl"
    path.write_text((told.root / "sessions/2026/11/fc-1.jsonl").read_text().replace("fc-1", "blue heron"))
    (told.root / "Knowledge/table.csv").write_text("a,b\n" * 30_000 + "Blue Heron,1\n")
    git(told, "add", "-f", "sessions", "Knowledge")
    git(told, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Keep transcripts")
    done = forget(told, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    assert git(told, "status", "--porcelain") == ""
    assert saying(told) == []


def test_an_index_set_aside_and_its_log_do_not_hold_it(told: Home, now: datetime) -> None:
    told.index.with_name("index.db.corrupt-1").write_bytes(b"Blue Heron")
    done = forget(told, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    assert [path.name for path in told.machine.glob("index.db*") if b"eron" in path.read_bytes()] == []
    assert not told.index.with_name("index.db.corrupt-1").exists()


@pytest.mark.parametrize("text", ["abc", " a b ", "\u200b\u200b\u200b\u200b", ""])
def test_a_text_in_too_many_words_is_refused(home: Home, text: str) -> None:
    with pytest.raises(TextTooShort):
        redaction_target(home, text)


@pytest.mark.parametrize(
    "text",
    ["session", "Session", "2026", "2026/11", "knowledge", "Key Decisions", "decisions", "MEMORY.md", "Evidence"],
)
def test_a_name_that_the_home_is_made_of_is_refused(told: Home, now: datetime, text: str) -> None:
    before = raw(told)
    with pytest.raises(StructuralWord):
        forget(told, text, now=now)
    assert {**raw(told), ".memory/salt": b""} == {**before, ".memory/salt": b""}


def test_names_that_people_gave_are_not_the_homes_own(told: Home) -> None:
    for text in ("blue heron", "fc-1.jsonl", "run.txt", "draft.md", "the launch session"):
        assert redaction_target(told, text).phrases


@pytest.mark.parametrize(("title", "body"), [("SQLite", ""), ("Standing Preferences", ""), ("Open Threads", "Kestrel")])
def test_a_word_of_an_entry_stays_in_other_texts(told: Home, now: datetime, title: str, body: str) -> None:
    memory = told.root / "MEMORY.md"
    entry = f"- **[KD-AAAA] 2026-11-20 {title}**{f' - {body}' if body else ''}\n"
    other = "- **[KD-BBBB] 2026-11-20 Use SQLite, and SQLiteStudio for the Kestrel project** - see Open Threads\n"
    memory.write_text(memory.read_text().replace("## Key Decisions\n\n", f"## Key Decisions\n\n{entry}{other}"))
    wanted = memory.read_text().replace(entry, "")
    done = forget(told, "KD-AAAA", now=now)
    assert done.remaining == ()
    assert memory.read_text() == wanted
    assert scrubbed(told, other) == other
    assert problems(told) == []


def test_an_identifier_is_taken_alone(home: Home, now: datetime) -> None:
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("Knowledge/k.md", "# K\n\nX9 and X91 and aX9.\n")
    done: ForgetResult = forget(home, "X9", now=now, exact=True, history_too=True)
    assert done.remaining == ()
    assert (home.root / "Knowledge/k.md").read_text() == f"# K\n\n[forgotten {done.name}] and X91 and aX9.\n"


def test_an_id_that_no_entry_ever_had_is_an_error(home: Home) -> None:
    with pytest.raises(NoSuchEntry):
        redaction_target(home, "KD-0000")


def test_a_manifest_that_would_not_be_one_is_left(home: Home, now: datetime) -> None:
    head = git(home, "rev-parse", "HEAD")
    with pytest.raises(SettingsInvalid, match=r"agent\.toml"):
        forget(home, "version", now=now)
    assert git(home, "rev-parse", "HEAD") == head
