"""A closing keeps what the session's commits confirm, however the assistant words it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_home.home import Home
from agent_home.store import transcript
from distill.close import close
from distill.closing_result import Closed
from distill.evidence.commit_reader import INSTRUCTIONS
from distill.evidence.status import READ
from distill.evidence.verification import verify
from distill.language_model.endpoint import Completion, Endpoint, EndpointSettings
from distill.summary.composition import Models

if TYPE_CHECKING:
    from ..conftest import Repo, Talk

EARLIER, DURING = "2026-11-01T09:00:00+00:00", "2026-11-20T14:05:00+00:00"
LATER = "2026-11-20T20:00:00+00:00"
PAGER = "def open_pager(text):\n    name = tempfile.mktemp()\n    show(name, text)\n"
TOLD = "The pager uses mkstemp instead of mktemp."
FREE = "Nobody else on the machine gets at the text in between any more, mkstemp sees to that."


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Endpoint):
    """A model that reads no session, and confirms the first report about commits."""

    def complete(self, instructions: str, prompt: str) -> Completion:
        if instructions != INSTRUCTIONS:
            return Completion(text=json.dumps({"operations": [self._report(prompt)]}), tokens=50)
        parts = [
            {"says": says.strip(), "side": "after", "lines": [{"line": "a6", "quote": "tempfile.mkstemp()"}]}
            for says in prompt.rpartition("<report 1>\n")[2].partition("\n")[0].removesuffix(".").split(",")
        ]
        answer = {"report": 1, "verdict": "yes", "commit": "a", "parts": parts}
        return Completion(text=json.dumps({"reports": [answer]}), tokens=70)

    def _report(self, prompt: str) -> dict[str, object]:
        return {"op": "add", "type": "report", "text": FREE, "cites": [{"turn": "m2", "quote": FREE}]}


@pytest.fixture
def repo(make_repo: Callable[[str], Repo]) -> Repo:
    repo = make_repo("work")
    repo.commit("Add a pager", {"src/pager.py": PAGER}, EARLIER)
    repo.commit("Use mkstemp in the pager", {"src/pager.py": PAGER.replace("mktemp", "mkstemp")}, DURING)
    return repo


@pytest.fixture
def closed(home: Home, repo: Repo, talk: Talk, now: datetime) -> Callable[..., Closed]:
    """Close a session in which the assistant said a text."""

    def make(text: str, models: Models | None = None, cwd: Path = repo.root) -> Closed:
        rows = [("user", "Please look at the open ticket."), ("assistant", text)]
        transcript.append(home, "fc-1", talk(*rows, cwd=str(cwd)), actor="test", now=now)
        return close(home, "fc-1", now=now, models=models or Models())

    return make


def test_a_sentence_that_a_commit_confirms_becomes_an_entry(closed: Callable[..., Closed]) -> None:
    outcome = closed(f"{TOLD} That was the whole trick.")
    (entry,) = outcome.entries
    assert TOLD in entry.text
    assert entry.evidence == "verified"


def test_prose_that_no_commit_confirms_is_forgotten(closed: Callable[..., Closed]) -> None:
    assert not closed("The editor uses mkstemp instead of mktemp.").entries


def test_a_sentence_is_not_looked_for_outside_of_a_repository(closed: Callable[..., Closed], tmp_path: Path) -> None:
    assert not closed(TOLD, cwd=tmp_path).entries


def test_a_model_confirms_what_words_do_not_show(
    closed: Callable[..., Closed], home: Home, repo: Repo, now: datetime
) -> None:
    model = Model(settings=EndpointSettings(kind="command"), command="model")
    outcome = closed(FREE, Models(endpoint=model))
    (entry,) = outcome.entries
    assert (entry.evidence, entry.commit) == ("verified", repo.git("rev-parse", "--short", "HEAD").strip())
    assert READ in (home.root / "MEMORY.md").read_text("utf-8")
    assert outcome.use is not None
    assert (outcome.use.requests, outcome.use.tokens, outcome.use.confirmed) == (2, 120, 1)
    assert not verify(home, now=now).changed
    repo.git("revert", "--no-edit", "HEAD")
    (changed,) = verify(home, now=now).changed
    assert changed.now == "stale"


def test_one_commit_confirms_a_few_sentences_at_most(closed: Callable[..., Closed]) -> None:
    starts = ("Now", "So now", "And now", "By now", "Here", "In short")
    texts = [f"{start} the pager uses mkstemp instead of mktemp." for start in starts]
    assert len(closed(" ".join(texts)).claims) == 3
