"""A language model may confirm a report, and code looks up what it cites."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from agent_home.home import Home
from distill.evidence.commit_reader import CommitReading, OpenReport, read_commits
from distill.evidence.status import READ, Window
from distill.language_model.endpoint import Completion, Endpoint, EndpointSettings

if TYPE_CHECKING:
    from ..conftest import Repo

EARLIER, DURING = "2026-01-10T09:00:00+00:00", "2026-03-02T10:30:00+00:00"
WINDOW = Window(since=1772442000.0 - 7200, until=1772442000.0 + 7200)
OLD = "RETRIES = 3\nTIMEOUT_S = 5\n\ndef send(data):\n    return post(data, RETRIES)\n"
NEW = "RETRIES = 5\nTIMEOUT_S = 5\n\ndef send(data):\n    return post(data, RETRIES)\n"
REPORT = "A parcel that gets stuck is sent up to 5 times before anybody hears of it, 3 times was too few."


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Endpoint):
    """A model that gives *answer*, and keeps the prompts that it read."""

    answer: str = ""
    prompts: list[str]

    def complete(self, instructions: str, prompt: str) -> Completion:
        self.prompts.append(prompt)
        return Completion(text=self.answer, tokens=0)


@pytest.fixture(scope="module")
def repo(new_repo: Callable[..., Repo], tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = new_repo(tmp_path_factory.mktemp("reader") / "work")
    repo.commit("Start", {"src/client.py": OLD}, EARLIER)
    repo.commit("Try harder", {"src/client.py": NEW}, DURING)
    return repo


def part(says: str, side: str, line: str, quote: str) -> dict[str, Any]:
    return {"says": says, "side": side, "lines": [{"line": line, "quote": quote}]}


AFTER = part("A parcel that gets stuck is sent up to 5 times", "after", "a5", "RETRIES = 5")
HEARD = part("before anybody hears of it", "same", "a1", "Try harder")
BEFORE = part("3 times was too few", "before", "a4", "RETRIES = 3")


def yes(*parts: Mapping[str, Any]) -> str:
    return json.dumps({"reports": [{"report": 1, "verdict": "yes", "commit": "a", "parts": parts}]})


def read(home: Home, repo: Repo, now: datetime, answer: str, text: str = REPORT, **limits: int) -> CommitReading:
    settings = replace(EndpointSettings(kind="command"), **limits)  # type: ignore[arg-type]
    model = Model(settings=settings, command="model", answer=answer, prompts=[])
    report = OpenReport(text=text, repositories=[repo.root])
    return read_commits(home, [report], WINDOW, model, now, timeout_s=20)


def test_a_report_is_verified_when_its_lines_are_there(home: Home, repo: Repo, now: datetime) -> None:
    reading = read(home, repo, now, yes(AFTER, HEARD, BEFORE))
    assert (reading.evidence[0].state, reading.evidence[0].detail) == ("verified", READ)
    assert reading.requests == 1
    assert reading.tokens > 0


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((AFTER, HEARD, {**BEFORE, "lines": [{"line": "a4", "quote": "RETRIES = 4"}]}), "does not say"),
        ((AFTER, HEARD, {**BEFORE, "lines": [{"line": "a99", "quote": "RETRIES = 3"}]}), "there is no line"),
        ((AFTER, HEARD, {**BEFORE, "side": "after"}), "on the other side"),
        ((AFTER, HEARD, {**BEFORE, "lines": [{"line": "a1", "quote": "Try harder"}]}), "no cited line has 3"),
        ((AFTER, HEARD), "no line is cited for 3"),
        ((AFTER, HEARD, {**BEFORE, "says": "4 times was too few"}), "the report does not say"),
        ((AFTER, HEARD, {**BEFORE, "lines": []}), "no line is cited"),
    ],
)
def test_what_code_cannot_look_up_verifies_nothing(
    home: Home, repo: Repo, now: datetime, parts: tuple[dict[str, Any], ...], reason: str
) -> None:
    reading = read(home, repo, now, yes(*parts))
    assert not reading.evidence
    assert reason in reading.refused[0]


def test_a_name_must_stand_in_a_cited_line(home: Home, repo: Repo, now: datetime) -> None:
    text = "`TIMEOUT_S` and `RETRIES` are higher."
    answer = yes(part("`TIMEOUT_S` and `RETRIES` are higher", "after", "a5", "RETRIES = 5"))
    assert "no cited line has TIMEOUT_S" in read(home, repo, now, answer, text).refused[0]


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps({"reports": [{"report": 1, "verdict": "no", "why": "It is 6."}]}),
        json.dumps({"reports": [{"report": 2, "verdict": "yes", "commit": "a", "parts": [AFTER]}]}),
        json.dumps({"reports": [{"report": 1, "verdict": "yes", "commit": "z", "parts": [AFTER]}]}),
        json.dumps({"reports": "all of them"}),
    ],
)
def test_any_other_answer_verifies_nothing(home: Home, repo: Repo, now: datetime, answer: str) -> None:
    reading = read(home, repo, now, answer)
    assert not reading.evidence
    assert not reading.problem


def test_an_answer_that_is_no_json_is_told(home: Home, repo: Repo, now: datetime) -> None:
    assert "not the requested JSON" in read(home, repo, now, "Yes, all true!").problem


def test_a_spent_budget_is_told_and_nothing_is_sent(home: Home, repo: Repo, now: datetime) -> None:
    reading = read(home, repo, now, yes(AFTER), session_tokens=100)
    assert "tokens of a session are spent" in reading.problem
    assert reading.requests == 0


def test_reports_of_one_commit_share_a_prompt(home: Home, repo: Repo, now: datetime) -> None:
    model = Model(settings=EndpointSettings(kind="command"), command="model", answer='{"reports": []}', prompts=[])
    reports = [OpenReport(text=text, repositories=[repo.root]) for text in (REPORT, "RETRIES is 5 now.", "Thanks!")]
    read_commits(home, reports, WINDOW, model, now, timeout_s=20)
    (prompt,) = model.prompts
    assert "<report 2>\nRETRIES is 5 now.\n</report>" in prompt
    assert prompt.count("<commit a>") == 1
    assert "Thanks!" not in prompt


def test_secrets_of_a_commit_are_not_sent(
    home: Home, new_repo: Callable[..., Repo], now: datetime, tmp_path: Any
) -> None:
    repo = new_repo(tmp_path / "secret")
    token = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    repo.commit("Use a token", {"client.py": f'RETRIES = 5\nTOKEN = "{token}"\n'}, DURING)
    model = Model(settings=EndpointSettings(kind="command"), command="model", answer='{"reports": []}', prompts=[])
    report = OpenReport(text="RETRIES is 5 now.", repositories=[repo.root])
    read_commits(home, [report], WINDOW, model, now, timeout_s=20)
    assert "RETRIES = 5" in model.prompts[0]
    assert token not in model.prompts[0]
