"""A resume lists findings before actions, has the last turns, and leaves out quarantined text."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_home.documents import daily_log
from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from distill.close import close
from distill.errors import EmptySession, NoSuchSession
from distill.reading.classifier import SentenceReader, SentenceReading
from distill.resume import Resume, ResumeLine, render, resume

if TYPE_CHECKING:
    from .conftest import Repo, Talk

Row = tuple[str, str]
ResumeOf = Callable[..., Resume]
WORK: tuple[Row, ...] = (
    ("user", "Hi! Can you find out why the nightly export fails?"),
    ("assistant", "I am looking at `jobs/export.py` and the log."),
    ("assistant", "Root cause: the lock file of the night before was never removed."),
    ("user", "Decision: keep the lock, but let it expire after six hours."),
    ("tool", "Edit jobs/lock.py\n[main 3f9c2e1] Let locks expire"),
    ("assistant", "Conclusion: the export runs again in 4 minutes."),
    ("user", "Should we tell the finance team about the gap?"),
    (
        "assistant",
        "Open question: which two nights are missing in the report?\nNext step: rerun the two nights.",
    ),
    ("user", "Please rerun them then."),
    ("assistant", "The first night is done, the second one is running."),
)


@pytest.fixture
def resume_of(home: Home, now: datetime) -> ResumeOf:
    """Return a function that imports a session of rows, a minute apart, and returns its resume."""

    def said(*rows: Row, session: str = "work") -> Resume:
        messages = [
            Message(session=session, id=f"m{n}", ts=f"2026-11-20T10:{n % 60:02d}:00", role=role, content=content)
            for n, (role, content) in enumerate(rows, 1)
        ]
        transcript.append(home, session, messages, actor="import", now=now)
        return resume(home, session)

    return said


def texts(lines: tuple[ResumeLine, ...]) -> list[str]:
    return [line.text for line in lines]


def test_a_resume_has_requests_findings_decisions_open_threads_and_files(resume_of: ResumeOf) -> None:
    found = resume_of(*WORK)
    assert texts(found.asked) == [
        "Can you find out why the nightly export fails?",
        "Should we tell the finance team about the gap?",
        "Please rerun them then.",
    ]
    assert "the lock file of the night before was never removed." in texts(found.found)
    assert "the export runs again in 4 minutes." in texts(found.found)
    assert texts(found.decided) == ["keep the lock, but let it expire after six hours."]
    assert texts(found.left_open) == ["which two nights are missing in the report?", "rerun the two nights."]
    assert found.files == ("jobs/export.py", "jobs/lock.py")
    assert found.commits == ("3f9c2e1",)
    assert (found.messages, found.began, found.ended) == (10, "2026-11-20T10:01:00", "2026-11-20T10:10:00")


def test_a_turn_that_was_appended_late_does_not_change_the_times(
    home: Home, resume_of: ResumeOf, now: datetime
) -> None:
    resume_of(*WORK)
    late = Message(session="work", id="m3+q", ts="2026-11-20T10:03:00", content="Never mind - it was in a mail, funny?")
    transcript.append(home, "work", [late], actor="review", now=now)
    found = resume(home, "work")
    assert (found.began, found.ended) == ("2026-11-20T10:01:00", "2026-11-20T10:10:00")


def test_statements_and_preferences_are_not_called_requests_or_decisions(resume_of: ResumeOf) -> None:
    found = resume_of(
        ("user", "- was that in a mail I got, funny?"),
        ("user", "Preference: no meat in recipes."),
        ("user", "Show me the diff of the last commit."),
    )
    assert texts(found.asked) == ["was that in a mail I got, funny?", "Show me the diff of the last commit."]
    assert "Decisions and preferences:\n- no meat in recipes." in render(found, 600)


def test_a_sentence_that_the_reader_takes_for_a_fact_is_no_request(
    resume_of: ResumeOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reader(SentenceReader):
        def read(self, text: str, previous: str, role: str) -> SentenceReading:
            reading = super().read(text, previous, role)
            return replace(reading, act="fact", enters=False) if "reports to" in text else reading

    monkeypatch.setattr(importlib.import_module("distill.resume"), "SentenceReader", Reader)
    rows = (("user", "Jitka now reports to Honza."), ("user", "Show me the diff of the last commit."))
    assert texts(resume_of(*rows).asked) == ["Show me the diff of the last commit."]


def test_the_last_turns_include_the_assistants_last_message(resume_of: ResumeOf) -> None:
    found = resume_of(*WORK)
    assert [(line.role, line.source) for line in found.last] == [
        ("user", "work#m7"), ("assistant", "work#m8"), ("user", "work#m9"), ("assistant", "work#m10"),
    ]  # fmt: skip
    text = render(found, 600)
    assert text.endswith("- assistant: The first night is done, the second one is running.\n")


def test_every_line_is_in_the_turn_of_its_source(resume_of: ResumeOf) -> None:
    found = resume_of(*WORK)
    content = {f"work#m{n}": " ".join(row[1].split()) for n, row in enumerate(WORK, 1)}
    for line in (*found.asked, *found.found, *found.decided, *found.left_open, *found.last):
        assert line.text.rstrip("…") in content[line.source]


def test_a_resume_as_text(resume_of: ResumeOf) -> None:
    text = render(resume_of(*WORK), 600)
    assert text.startswith("Session work, 2026-11-20 10:01 to 2026-11-20 10:10, 10 messages.\n\nFrom the user:\n- Can")
    assert "Decisions and preferences:\n- keep the lock, but let it expire after six hours. (#m4)\n" in text
    assert "Touched: `jobs/export.py`, `jobs/lock.py`, commit 3f9c2e1\n" in text
    assert count_tokens(text) <= 600


def test_the_same_transcript_gives_the_same_text(home: Home, resume_of: ResumeOf) -> None:
    assert render(resume_of(*WORK), 600) == render(resume(home, "work"), 600)


def test_a_corrected_statement_is_not_a_finding(resume_of: ResumeOf) -> None:
    found = resume_of(
        ("assistant", "Conclusion: MEAGS is at -8 %."), ("user", "No, it should be -12 %, not -8 %."),
    )  # fmt: skip
    assert "MEAGS is at -8 %." not in texts(found.found)
    assert "No, it should be -12 %, not -8 %." in texts(found.found)


def test_a_line_that_git_contradicts_is_marked_after_closing(
    home: Home, talk: Talk, now: datetime, make_repo: Callable[[str], Repo]
) -> None:
    repo = make_repo("work")
    fix = repo.commit("Fix the rounding of rates", {"src/rates.py": "x = 2\n"}, "2026-11-20T14:01:30+00:00")
    true, false = f"Fixed the rounding in src/rates.py, commit {fix}.", "I also added tests/test_rates.py and all pass."
    rows = (("assistant", true), ("assistant", false), ("user", "Thank you."))
    transcript.append(home, "fc-1", talk(*rows, cwd=str(repo.root)), actor="test", now=now)
    before = resume(home, "fc-1")
    assert {true, false} <= set(texts(before.found))
    assert "git contradicts" not in render(before, 600)
    close(home, "fc-1", now=now)
    after = resume(home, "fc-1")
    assert {line.text: line.contradicted for line in after.found} == {true: False, false: True}
    text = render(after, 600)
    assert f"- {false} (git contradicts it) (#m2)\n" in text
    assert text.count("git contradicts") == 1


def test_a_line_corrected_in_the_daily_log_is_left_out_for_its_session(home: Home, resume_of: ResumeOf) -> None:
    wrong = "the lock file of the night before was never removed."
    assert wrong in texts(resume_of(*WORK).found)
    body = f"### Root causes\n\n- {wrong} (work#m3)\n  State: corrected later in this session\n"
    for session, told in (("other", True), ("work", False)):
        closing = daily_log.Closing(
            session=session, date="2026-11-20", time="10:10", title="Export", first=1, last=10, start=0, end=900
        )
        path = home.root / closing.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# 2026-11-20\n\n{daily_log.render_closing(closing, body)}", encoding="utf-8")
        assert (wrong in texts(resume(home, "work").found)) is told


def test_a_session_without_cues_has_findings(resume_of: ResumeOf) -> None:
    rows = [
        ("user", f"I went to the lake of Annecy with Maria on day {n}, and we rented two blue kayaks there.")
        for n in range(8)
    ]
    assert resume_of(*rows).found != ()


def test_a_long_session_keeps_its_first_request_in_the_text_and_its_latest_findings(resume_of: ResumeOf) -> None:
    rows: list[Row] = [("user", "Can you bring the old ledger over to the new system?")]
    for n in range(60):
        rows.append(("user", f"And what about account number {n} of the ledger?"))
        rows.append(("assistant", f"Conclusion: account number {n} moved over without a difference of any kind."))
    found = resume_of(*rows)
    text = render(found, 300)
    assert count_tokens(text) <= 300
    assert "Can you bring the old ledger over" in text
    assert "account number 59 moved over" in text
    assert "account number 3 moved over" not in text


def test_only_the_end_of_a_very_long_session_is_read(resume_of: ResumeOf) -> None:
    rows = [("assistant", f"Conclusion: part {n} is done.") for n in range(450)]
    found = resume_of(*rows)
    assert (found.messages, found.unread) == (450, 50)
    assert ", 450 messages, the first 50 not read." in render(found, 600)


def test_text_that_the_guard_now_stops_is_left_out(home: Home) -> None:
    secret = "AKIA" + "Q7RSTUVW2XYZ" + "ABCD"
    rows = [
        {"session": "old", "id": "m1", "role": "user", "content": "Why does the upload to the store fail?"},
        {"session": "old", "id": "m2", "role": "assistant", "content": f"Conclusion: the key is {secret} and is old."},
    ]
    folder = home.sessions / "2026/11"
    folder.mkdir(parents=True)
    (folder / "old.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = resume(home, "old")
    assert secret not in json.dumps(found.as_dict())
    assert "[REDACTED:" in render(found, 600)


def test_long_message_ids_are_only_in_json(home: Home, now: datetime) -> None:
    message = Message(session="s", id="0f8fad5b-d9cb-469f-a165-70867728950e", content="Decision: ship on Monday.")
    transcript.append(home, "s", [message], actor="import", now=now)
    found = resume(home, "s")
    assert found.decided[0].source.endswith("70867728950e")
    assert "0f8fad5b" not in render(found, 600)


def test_what_memory_has_ended_is_marked_or_left_out(home: Home, now: datetime, resume_of: ResumeOf) -> None:
    sofa, desk, lamp = "We go with the green sofa.", "We go with the oak desk.", "We go with the copper lamp."
    resume_of(("user", sofa), ("assistant", "Fine."), ("user", desk), ("assistant", "Fine."), ("user", lamp))
    ends: tuple[dict[str, str], ...] = ({"Superseded-By": "KD-0009"}, {}, {"State": "retracted 2026-11-21"})
    entries = [
        Entry(id=f"KD-000{n}", title=f"Ana: {text}", fields={"Sources": f"work#m{2 * n - 1}", **end})
        for n, (text, end) in enumerate(zip((sofa, desk, lamp), ends, strict=True), 1)
    ]
    newer = Entry(id="KD-0009", date="2026-11-21", title="Ana: We go with the blue sofa.")
    with transaction(home, actor="close", message="m", now=now) as edits:
        placed = [("Key Decisions", entry) for entry in (*entries, newer)]
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entries(placed))
    found = resume(home, "work")
    ended = "superseded by KD-0009 (2026-11-21)"
    assert [(line.text, line.ended) for line in found.decided] == [(sofa, ended), (desk, "")]
    assert f"- {sofa} [{ended}] (#m1)\n" in render(found, 600)


def test_missing_and_empty_sessions_are_errors(home: Home) -> None:
    with pytest.raises(NoSuchSession):
        resume(home, "nowhere")
    folder = home.sessions / "2026/11"
    folder.mkdir(parents=True)
    (folder / "empty.jsonl").write_text("")
    with pytest.raises(EmptySession):
        resume(home, "empty")


lines = st.lists(
    st.builds(ResumeLine, text=st.text(min_size=1, max_size=200), source=st.just("s#m1"), role=st.just("user")),
    max_size=6,
).map(tuple)
resumes = st.builds(
    Resume, session=st.text(min_size=1, max_size=20), title=st.just("t"), began=st.just("2026-11-20T10:00:00"),
    ended=st.just(""), messages=st.integers(1, 9), asked=lines, found=lines, decided=lines, left_open=lines, last=lines,
    files=st.lists(st.text(min_size=1, max_size=30), max_size=4).map(tuple), commits=st.just(()),
)  # fmt: skip


@given(found=resumes, tokens=st.integers(0, 400))
@settings(max_examples=60, deadline=None)
def test_a_rendered_resume_never_exceeds_its_tokens(found: Resume, tokens: int) -> None:
    assert count_tokens(render(found, tokens)) <= tokens
