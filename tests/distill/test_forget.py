"""A forgotten text is gone from every place, does not come back, and nothing else is removed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_home.documents import daily_log
from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.errors import DocumentInvalid, NoSuchEntry, SettingsInvalid
from agent_home.forgetting.tombstones import LEDGER, scrubbed, tombstones
from agent_home.git import commits
from agent_home.home import Home
from agent_home.store import closings, transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message
from distill.close import close
from distill.forget import ForgetResult, StructuralWord, TextTooShort, forget, places, removal_plan
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


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The place of the home that the first test with :func:`word_home` makes, for the others to copy."""
    return tmp_path_factory.mktemp("pattern") / "home"


@pytest.fixture
def word_home(pattern: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Home:
    """A home with the code word in every kind of place."""
    if not pattern.exists():
        made = write_everywhere(*map(request.getfixturevalue, ("home", "talk", "now")))
        shutil.copytree(made.root, pattern, symlinks=True)
        return made
    home = Home(Path(shutil.copytree(pattern, tmp_path / "home", symlinks=True)))
    git(home, "update-index", "-q", "--refresh")
    return home


def write_everywhere(home: Home, talk: Talk, now: datetime) -> Home:
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
        ".git/agent-home/quarantine/q-0123456789.json": json.dumps(
            {"id": "q-0123456789", "text": "Blue Heron"}, indent=1
        ),
        ".git/agent-home/recovered/1-0-MEMORY.md": "- Blue Heron\n",
        ".git/agent-home/staging/7.tmp": "Blue Heron\n",
        "Projects/p/draft.md~": "Blue Heron\n",
    }
    for path, text in files.items():
        (home.root / path).parent.mkdir(parents=True, exist_ok=True)
        (home.root / path).write_text(text, encoding="utf-8")
    sync(home, RecallSettings(), None)
    return home


def raw(home: Home) -> Mapping[str, bytes]:
    """Read every file of the home, with git's objects unpacked."""
    listing = ["git", "cat-file", "--batch-all-objects", "--batch"]
    found = {"objects": subprocess.run(listing, cwd=home.root, check=True, capture_output=True).stdout}
    for path in home.root.rglob("*"):
        if path.is_file():
            found[home.relative(path)] = path.read_bytes()
    return found


def paths_with(home: Home, word: bytes = b"heron") -> list[str]:
    return sorted(name for name, data in raw(home).items() if word in data.lower())


def test_searching_for_places_changes_nothing(word_home: Home) -> None:
    before = raw(word_home)
    found = places(word_home, removal_plan(word_home, "blue heron").target)
    assert {place.kind for place in found} == {
        "memory", "transcript", "output", "quarantine", "machine", "index", "history",
    }  # fmt: skip
    paths = {place.path for place in found}
    assert {"MEMORY.md", "Knowledge/k.md", "Archive/MEMORY-2026-10.md", "ledger/notes.jsonl", "outputs/run.json",
            ".git/agent-home/audit.jsonl", ".git/agent-home/staging/7.tmp",
            "Projects/p/draft.md~"} <= paths  # fmt: skip
    assert ("Knowledge/k.md", 3) in {(place.path, place.line) for place in found}
    assert any(place.commit == git(word_home, "rev-parse", "HEAD").strip() for place in found)
    assert raw(word_home) == before


def test_without_a_purge_only_history_has_the_text(word_home: Home, now: datetime) -> None:
    done = forget(word_home, "BLUE  heron", now=now)
    assert done.commit == git(word_home, "rev-parse", "HEAD").strip()
    assert {place.kind for place in done.remaining} == {"history"} == {place.kind for place in done.in_history}
    assert [name for name in paths_with(word_home) if not name.startswith(".git/")] == ["objects"]
    assert git(word_home, "status", "--porcelain") == ""
    assert problems(word_home) == []
    assert git(word_home, "log", "-1", "--format=%B").splitlines()[0] == f"Forget {done.name}"
    assert "heron" not in git(word_home, "log", "-1", "--format=%B").lower()


def test_after_a_purge_no_file_has_the_text(word_home: Home, now: datetime) -> None:
    done = forget(word_home, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    assert paths_with(word_home) == []
    assert git(word_home, "fsck", "--full", "--strict") == ""
    assert done.commit == git(word_home, "rev-parse", "HEAD").strip()
    assert problems(word_home) == []
    assert verify(word_home, RecallSettings()).ok
    assert "a grey one is not" in (word_home.root / "Knowledge/k.md").read_text()
    assert "always check the Kestrel budget" in (word_home.root / "MEMORY.md").read_text()
    assert (word_home.root / "outputs/run.txt").read_text() == f"log\n[forgotten {done.name}]\n"


def test_watermarks_stay_the_same(word_home: Home, talk: Talk, now: datetime) -> None:
    turns = [(turn.start, turn.end) for turn in transcript.read(transcript.session_path(word_home, "fc-1") or Path())]
    forget(word_home, "blue heron", now=now, history_too=True)
    path = transcript.session_path(word_home, "fc-1")
    assert path is not None
    assert [(turn.start, turn.end) for turn in transcript.read(path)] == turns
    assert close(word_home, "fc-1", now=now).commit is None
    (record,) = [json.loads(line) for line in (word_home.machine / "closings.jsonl").read_text().splitlines()]
    assert git(word_home, "cat-file", "-t", record["commit"]).strip() == "commit"
    transcript.append(word_home, "fc-1", talk(("user", "Decision: ship on Monday."), first=9), actor="test", now=now)
    closed = close(word_home, "fc-1", now=now)
    assert [entry.text for entry in closed.entries] == ["ship on Monday (2026-11-23)."]
    last = daily_log.watermark(word_home, "fc-1")
    assert last is not None
    assert last.end == path.stat().st_size == closings.closed_parts(word_home).end_of("fc-1")


def test_importing_the_same_chat_does_not_bring_the_text_back(word_home: Home, talk: Talk, now: datetime) -> None:
    done = forget(word_home, "blue heron", now=now, history_too=True)
    transcript.append(word_home, "fc-1", talk(*ROWS), actor="import", now=now)
    transcript.append(word_home, "fc-2", talk(*ROWS, session="fc-2"), actor="import", now=now)
    close(word_home, "fc-2", now=now)
    close(word_home, "fc-1", now=now, again=True)
    with transaction(word_home, actor="test", message="Write it again", now=now) as edits:
        edits.write("Knowledge/again.md", "# The \uff22LUE heron\n\nblue heron\n")
    assert paths_with(word_home) == []
    assert done.name in (word_home.root / "Knowledge/again.md").read_text()
    assert scrubbed(word_home, "a greyblue heron") == "a greyblue heron"  # begins inside a word: another text


def test_ledgers_name_the_rewritten_commits(word_home: Home, now: datetime) -> None:
    old = git(word_home, "rev-parse", "HEAD").strip()
    with transaction(word_home, actor="test", message="Name a commit", now=now) as edits:
        edits.append("ledger/notes.jsonl", [{"ts": "t", "commit": old}])
    done = forget(word_home, "blue heron", now=now, history_too=True)
    assert done.purged is not None
    assert (
        json.loads((word_home.root / "ledger/notes.jsonl").read_text().splitlines()[-1])["commit"]
        == done.purged.commits[old]
    )
    assert git(word_home, "status", "--porcelain") == ""
    assert not (word_home.machine / "rewritten.json").exists()


def test_a_purge_of_an_unknown_text_changes_nothing(word_home: Home, now: datetime) -> None:
    log, refs = git(word_home, "reflog"), git(word_home, "for-each-ref")
    done = forget(word_home, "grey goose", now=now, history_too=True)
    assert (done.before, done.purged, done.commit) == ((), None, None)
    assert (git(word_home, "reflog"), git(word_home, "for-each-ref")) == (log, refs)
    assert not (word_home.root / LEDGER).exists()


def test_a_tombstone_does_not_reveal_the_text(word_home: Home, now: datetime) -> None:
    done = forget(word_home, "blue heron", now=now, actor="Ada")
    graves = tombstones(word_home)
    assert {(grave.name, grave.actor, grave.id) for grave in graves} == {(done.name, "Ada", "")}
    assert graves[0].chars == 10
    assert {grave.places for grave in graves} == {len(done.before)}
    assert "heron" not in (word_home.root / LEDGER).read_text("utf-8").casefold()
    assert git(word_home, "status", "--porcelain", LEDGER) == ""
    forget(word_home, "Blue Heron", now=now)
    assert tombstones(word_home) == graves


def test_forgetting_an_entry_removes_all_its_versions(word_home: Home, now: datetime) -> None:
    (entry,) = (e for e in parse((word_home.root / "MEMORY.md").read_text()).entries() if e.id.startswith("KD"))
    with transaction(word_home, actor="test", message="Change", now=now) as edits:
        changed = entry.changed(title="The code is Grey Goose", body="and Grey Goose is not to be told", fields={})
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry_changed(changed))
    done = forget(word_home, entry.id.lower(), now=now, history_too=True)
    assert done.remaining == ()
    assert paths_with(word_home, b"goose") == []
    assert paths_with(word_home, b"launch code word is") == []
    text = (word_home.root / "MEMORY.md").read_text()
    assert f"[{entry.id}]" not in text
    assert "Kestrel budget" in text
    assert {grave.id for grave in tombstones(word_home)} == {entry.id}
    assert problems(word_home) == []
    assert forget(word_home, entry.id, now=now).remaining == ()  # known by its tombstone alone


def test_names_of_files_and_sessions_are_redacted_too(home: Home, talk: Talk, now: datetime) -> None:
    transcript.append(home, "blue heron", talk(*ROWS, session="blue heron"), actor="test", now=now)
    close(home, "blue heron", now=now)
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("Knowledge/blue heron.md", "# Bird\n")
    done = forget(home, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    assert paths_with(home) == []
    assert not [path for path in home.root.rglob("*") if "heron" in path.name.lower()]
    (session,) = transcript.sessions(home)
    assert session.session == f"[forgotten {done.name}]"
    assert close(home, session.session, now=now).commit is None


def test_an_uncommitted_edit_never_gets_into_history(home: Home, now: datetime) -> None:
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("# Memory\n", "# Memory\n\nThe blue heron.\n"))
    done = forget(home, "blue heron", now=now)
    assert done.remaining == ()
    assert paths_with(home) == []


def test_another_uncommitted_secret_is_not_committed(home: Home, now: datetime) -> None:
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


def test_binary_files_are_reported_and_stop_a_purge(home: Home, now: datetime) -> None:
    (home.root / "outputs/x.bin").write_bytes(b"\xff blue heron")
    done = forget(home, "blue heron", now=now)
    (place,) = [place for place in done.remaining if place.kind == "output"]
    assert (place.path, "yourself" in place.note) == ("outputs/x.bin", True)
    git(home, "add", "-f", "outputs/x.bin")
    git(home, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "m")
    with pytest.raises(DocumentInvalid, match=r"outputs/x.bin.*yourself"):
        forget(home, "blue heron", now=now, history_too=True)


def test_all_changed_files_in_git_are_committed(
    word_home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, marked = commits.commit_files, list[bool]()

    def noted(*arguments: Any, **named: Any) -> str:
        marked.append((word_home.machine / "committing").exists())
        return real(*arguments, **named)

    monkeypatch.setattr(commits, "commit_files", noted)
    path = word_home.root / "sessions/2026/11/blue heron.jsonl"
    path.write_text((word_home.root / "sessions/2026/11/fc-1.jsonl").read_text().replace("fc-1", "blue heron"))
    (word_home.root / "Knowledge/table.csv").write_text("a,b\n" * 30_000 + "Blue Heron,1\n")
    git(word_home, "add", "-f", "sessions", "Knowledge")
    git(word_home, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Keep transcripts")
    done = forget(word_home, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    assert git(word_home, "status", "--porcelain") == ""
    assert marked == [True]  # so that the lock of a killed git is known as ours
    assert paths_with(word_home) == []


def test_a_damaged_index_set_aside_is_erased_too(word_home: Home, now: datetime) -> None:
    word_home.index.with_name("index.db.corrupt-1").write_bytes(b"Blue Heron")
    done = forget(word_home, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    assert [path.name for path in word_home.index.parent.glob("index.db*") if b"eron" in path.read_bytes()] == []
    assert not word_home.index.with_name("index.db.corrupt-1").exists()


CHINESE = (
    ("user", "决定:以后由林晓雯负责预算,林晓雯的邮箱不变。"),
    ("user", "工单归林晓雯X9,請與林晓雯聯絡。"),
)


@pytest.mark.parametrize(("said", "exact"), [("晓雯", False), ("林晓雯", True)])
def test_a_chinese_name_is_forgotten_everywhere_and_stays_forgotten(
    home: Home, talk: Talk, now: datetime, said: str, exact: bool
) -> None:
    transcript.append(home, "zh-1", talk(*CHINESE, session="zh-1"), actor="test", now=now)
    close(home, "zh-1", now=now)
    with transaction(home, actor="test", message="记下林晓雯", now=now) as edits:
        edits.write("Knowledge/k.md", "# 同事\n\n- **[KD-AAAA]** 2026-11-20 林晓雯\n\n我和林晓雯說過。\n")
        edits.append("ledger/notes.jsonl", [{"ts": "t", "note": "找林晓雯"}])
    (home.root / "outputs/run.json").write_text(json.dumps({"said": "同事林晓雯來了"}), encoding="utf-8")
    sync(home, RecallSettings(), None)
    plain, escaped = said.encode(), json.dumps(said).strip('"').encode()
    assert {"MEMORY.md", "objects", "sessions/2026/11/zh-1.jsonl"} <= {*paths_with(home, plain)}
    assert "outputs/run.json" in paths_with(home, escaped)
    done = forget(home, said, now=now, exact=exact, history_too=True)
    assert done.remaining == ()
    assert paths_with(home, plain) == paths_with(home, escaped) == []
    assert problems(home) == []
    transcript.append(home, "zh-2", talk(*CHINESE, session="zh-2"), actor="import", now=now)
    close(home, "zh-2", now=now)
    close(home, "zh-1", now=now, again=True)
    sync(home, RecallSettings(), None)
    assert paths_with(home, plain) == []
    assert places(home, removal_plan(home, said, exact=exact).target) == []


@pytest.mark.parametrize("text", ["林晓", "佐藤", "김민", "林a晓"])
def test_two_letters_without_word_borders_are_enough(home: Home, text: str) -> None:
    assert removal_plan(home, text).target.phrases
    assert removal_plan(home, text, exact=True).target.phrases


@pytest.mark.parametrize("text", ["林", "값", "。。。", "林a"])
def test_one_chinese_letter_is_refused(home: Home, text: str) -> None:
    with pytest.raises(TextTooShort, match="2 in Chinese"):
        removal_plan(home, text)


def test_one_chinese_letter_is_no_identifier(home: Home) -> None:
    for exact in (False, True):
        with pytest.raises(TextTooShort) as raised:
            removal_plan(home, "林", exact=exact)
        assert "--exact-id" not in str(raised.value)


def test_entries_that_an_earlier_erasure_left_empty_go(word_home: Home, now: datetime) -> None:
    husk = "- **[CR-Y9HE]** 2026-11-20 [forgotten f-18fa4594]\n  Wrong: on Tuesdays\n  Sources: fc-1#m1\n"
    with transaction(word_home, actor="test", message="m", now=now) as edits:
        edits.write("EVOLUTION.md", f"# Evolution\n\n## Corrections\n\n{husk}")
    forget(word_home, "blue heron", now=now)
    assert "CR-Y9HE" not in (word_home.root / "EVOLUTION.md").read_text()


@pytest.mark.parametrize("text", ["abc", " a b ", "\u200b\u200b\u200b\u200b", ""])
def test_a_short_text_is_refused(home: Home, text: str) -> None:
    with pytest.raises(TextTooShort):
        removal_plan(home, text)


@pytest.mark.parametrize(
    "text",
    ["session", "Session", "2026", "2026/11", "knowledge", "Key Decisions", "decisions", "MEMORY.md", "Evidence"],
)
def test_a_name_in_the_structure_of_the_home_is_refused(word_home: Home, now: datetime, text: str) -> None:
    before = raw(word_home)
    with pytest.raises(StructuralWord):
        forget(word_home, text, now=now)
    assert {**raw(word_home), ".git/agent-home/salt": b""} == {**before, ".git/agent-home/salt": b""}


def test_names_given_by_people_can_be_forgotten(word_home: Home) -> None:
    for text in ("blue heron", "fc-1.jsonl", "run.txt", "draft.md", "the launch session"):
        assert removal_plan(word_home, text).target.phrases


@pytest.mark.parametrize(("title", "body"), [("SQLite", ""), ("Standing Preferences", ""), ("Open Threads", "Kestrel")])
def test_a_short_part_of_an_entry_stays_in_other_texts(word_home: Home, now: datetime, title: str, body: str) -> None:
    memory = word_home.root / "MEMORY.md"
    entry = f"- **[KD-AAAA] 2026-11-20 {title}**{f' - {body}' if body else ''}\n"
    other = "- **[KD-BBBB] 2026-11-20 Use SQLite, and SQLiteStudio for the Kestrel project** - see Open Threads\n"
    memory.write_text(memory.read_text().replace("## Key Decisions\n\n", f"## Key Decisions\n\n{entry}{other}"))
    wanted = memory.read_text().replace(entry, "")
    done = forget(word_home, "KD-AAAA", now=now)
    assert done.remaining == ()
    assert memory.read_text() == wanted
    assert scrubbed(word_home, other) == other
    assert problems(word_home) == []


def test_an_exact_id_matches_only_when_it_stands_alone(home: Home, now: datetime) -> None:
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("Knowledge/k.md", "# K\n\nX9 and X91 and aX9.\n")
    done: ForgetResult = forget(home, "X9", now=now, exact=True, history_too=True)
    assert done.remaining == ()
    assert (home.root / "Knowledge/k.md").read_text() == f"# K\n\n[forgotten {done.name}] and X91 and aX9.\n"


def test_an_unknown_id_is_an_error(home: Home) -> None:
    with pytest.raises(NoSuchEntry):
        removal_plan(home, "KD-0000")


def test_a_manifest_that_would_become_invalid_is_not_changed(home: Home, now: datetime) -> None:
    head = git(home, "rev-parse", "HEAD")
    with pytest.raises(SettingsInvalid, match=r"agent\.toml"):
        forget(home, "version", now=now)
    assert git(home, "rev-parse", "HEAD") == head


DRESSED = (
    ("user", "Hello! By the way, my sister Clara is moving to Lisbon next Friday. What is the weather like?"),
    ("assistant", "Sunny. Any food you must not eat?"),
    ("user", "My son has a severe peanut allergy. I like green tea too."),
)
REWORDED = """- **[RC-AAAA]** 2026-11-20 User: my sister Clara is moving to Lisbon next Friday (2026-11-27).
  Sources: fc-1#m1
- **[RC-BBBB]** 2026-11-20 User (asked: "Any food you must not eat?"): My son's peanut allergy is severe.
  Sources: fc-1#m3, fc-1#m2
- **[RC-CCCC]** 2026-11-20 Her brother will relocate abroad soon.
  Sources: fc-1#m1
"""


@pytest.fixture
def dressed_home(home: Home, talk: Talk, now: datetime) -> Home:
    """A home with entries that add something to their turns, or say them in other words."""
    transcript.append(home, "fc-1", talk(*DRESSED), actor="test", now=now)
    with transaction(home, actor="test", message="m", now=now) as edits:
        text = edits.text("MEMORY.md")
        edits.write("MEMORY.md", text.replace("## Recent Context\n", f"## Recent Context\n\n{REWORDED}"))
        edits.write("DailyActivity/2026-11-20.md", "# 2026-11-20\n\n- Clara leaves for Lisbon. (fc-1#m1)\n")
    sync(home, RecallSettings(), None)
    return home


@pytest.mark.parametrize("at_once", [True, False])
def test_an_entry_is_forgotten_in_the_words_of_its_turn(
    dressed_home: Home, talk: Talk, now: datetime, at_once: bool
) -> None:
    if not at_once:
        forget(dressed_home, "RC-AAAA", now=now)
    done = forget(dressed_home, "RC-AAAA", now=now, history_too=True)
    assert done.remaining == ()
    assert paths_with(dressed_home, b"clara") == paths_with(dressed_home, b"lisbon") == []
    transcript.append(dressed_home, "fc-1", talk(*DRESSED), actor="import", now=now)
    transcript.append(dressed_home, "fc-2", talk(*DRESSED, session="fc-2"), actor="import", now=now)
    close(dressed_home, "fc-2", now=now)
    assert paths_with(dressed_home, b"clara") == []
    assert "What is the weather like?" in str(raw(dressed_home)["sessions/2026/11/fc-1.jsonl"])


def test_the_question_that_an_entry_quotes_is_forgotten_with_it(dressed_home: Home, now: datetime) -> None:
    assert forget(dressed_home, "RC-BBBB", now=now, history_too=True).remaining == ()
    assert paths_with(dressed_home, b"peanut") == paths_with(dressed_home, b"must not eat") == []
    said = str(raw(dressed_home)["sessions/2026/11/fc-1.jsonl"])
    assert "Sunny." in said
    assert "I like green tea too." in said


def test_a_quoted_sentence_that_another_entry_states_is_kept(dressed_home: Home, now: datetime) -> None:
    memory = dressed_home.root / "MEMORY.md"
    asked = (
        '- **[RC-DDDD]** 2026-11-20 User (on "my sister Clara is moving to Lisbon next Friday"): I like green tea too.'
    )
    with transaction(dressed_home, actor="test", message="m", now=now) as edits:
        edits.write("MEMORY.md", f"{memory.read_text()}{asked}\n  Sources: fc-1#m3, fc-1#m1\n")
    done = forget(dressed_home, "RC-DDDD", now=now, history_too=True)
    assert done.remaining == ()
    assert paths_with(dressed_home, b"green tea") == []
    assert "RC-AAAA" in memory.read_text()
    assert "Clara is moving to Lisbon" in str(raw(dressed_home)["sessions/2026/11/fc-1.jsonl"])


def test_a_later_purge_finds_the_question_in_transcripts_kept_in_git(dressed_home: Home, now: datetime) -> None:
    git(dressed_home, "add", "--force", "sessions")
    git(dressed_home, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--no-verify", "-m", "m")
    assert {place.kind for place in forget(dressed_home, "RC-BBBB", now=now).remaining} == {"history"}
    assert forget(dressed_home, "RC-BBBB", now=now, history_too=True).remaining == ()
    assert paths_with(dressed_home, b"must not eat") == paths_with(dressed_home, b"peanut") == []


def test_turns_that_say_an_entry_in_other_words_are_left_and_named(dressed_home: Home, now: datetime) -> None:
    before = raw(dressed_home)["sessions/2026/11/fc-1.jsonl"]
    for _ in range(2):
        done = forget(dressed_home, "RC-CCCC", now=now, history_too=True)
        assert [place.line for place in done.remaining if place.kind == "transcript"] == [1]
        assert done.purged is None
        assert raw(dressed_home)["sessions/2026/11/fc-1.jsonl"] == before
    done = forget(dressed_home, "RC-CCCC", now=now, history_too=True, turns="whole")
    assert done.remaining == ()
    assert b"weather" not in raw(dressed_home)["sessions/2026/11/fc-1.jsonl"]
    assert paths_with(dressed_home, b"relocate") == []


def test_a_daily_log_that_is_not_utf8_stops_no_forgetting(dressed_home: Home, now: datetime) -> None:
    (dressed_home.root / "DailyActivity/2026-11-19.md").write_bytes(b"# 2026-11-19\n\n- caf\xe9 (fc-1#m1)\n")
    done = forget(dressed_home, "RC-AAAA", now=now)
    assert {place.kind for place in done.remaining} == {"history"}
    assert "Lisbon" not in (dressed_home.root / "DailyActivity/2026-11-20.md").read_text()
    assert "Lisbon" not in str(raw(dressed_home)["sessions/2026/11/fc-1.jsonl"])


def test_turns_can_be_kept(dressed_home: Home, now: datetime) -> None:
    before = raw(dressed_home)["sessions/2026/11/fc-1.jsonl"]
    assert forget(dressed_home, "RC-CCCC", now=now, history_too=True, turns="keep").remaining == ()
    assert raw(dressed_home)["sessions/2026/11/fc-1.jsonl"] == before


def test_other_spellings_of_a_name_are_forgotten_everywhere(home: Home, talk: Talk, now: datetime) -> None:
    """Hole: identifiers, base64, hexadecimal digits and topics told the forgotten name."""
    import base64

    name, stranger = "Project Blaufuchs Zyx", "Blaufuchs is a fox"
    lower = name.lower()
    spellings = [
        name.replace(" ", "_"), name.replace(" ", "-"), name.replace(" ", ""), lower.replace(" ", "_").upper(),
        "Zyx, Project Blaufuchs", base64.b64encode(name.encode()).decode(), f"say {name} now".encode().hex(),
        base64.b64encode(f"x{name}.".encode()).decode(), name.replace(" ", "%20"), name.replace(" ", "&#32;"),
        name.replace("B", "\\u0042"), name.replace("B", "\\x42"), "P&#114;oject Blaufuchs Zyx",
    ]  # fmt: skip
    said = [
        ("user", f"Decision: we use {spelling} for the harvest of {at} plums.") for at, spelling in enumerate(spellings)
    ]
    transcript.append(home, "fc-1", talk(*said, ("user", stranger)), actor="import", now=now)
    day = f"# 2026-11-20\n\n## 10:00 Plums (s-1)\n\n### Topics\n\nProject, plums, Blaufuchs, Zyx\n\n{stranger}.\n"
    with transaction(home, actor="test", message="Write", now=now) as edits:
        edits.write("Knowledge/a.md", "# A\n\n" + "\n\n".join(spellings) + "\n")
        edits.write("DailyActivity/2026-11-20.md", day)
    close(home, "fc-1", now=now)
    sync(home, RecallSettings(), None)
    done = forget(home, name, now=now, history_too=True)
    assert done.remaining == ()
    texts = {
        path: path.read_text("utf-8", "replace")
        for path in home.root.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }
    left = {(spelling, str(path)) for path, text in texts.items() for spelling in spellings if spelling in text}
    assert left == set()
    assert "### Topics\n\nplums\n" in texts[home.root / "DailyActivity/2026-11-20.md"]
    assert stranger in texts[home.root / "DailyActivity/2026-11-20.md"]
    transcript.append(home, "fc-2", talk(*said, session="fc-2"), actor="import", now=now)
    again = "\n".join(
        turn.message.content for turn in transcript.read(transcript.session_path(home, "fc-2") or home.root)
    )
    assert [spelling for spelling in spellings[:5] if spelling in again] == []
