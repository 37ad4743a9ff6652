"""A person decides about large losses of entries: to remove the entries, or to keep them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import datetime

import pytest

from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import MEMORY, Home
from agent_home.screening.review_ledger import APPROVED
from agent_home.store import losses
from agent_home.store.gateway import transaction
from distill.entries.notes import remember
from distill.errors import NotPlaceable
from distill.review import entry_losses
from distill.review.queue import accept, edit, find, plan, reject, undecided, waiting

Lose = Callable[[], None]


class Killed(BaseException):
    """The end of a killed process."""


def killed(*_: object) -> None:
    raise Killed


@pytest.fixture
def lose(home: Home, now: datetime) -> Lose:
    """Return a function that empties a MEMORY.md of six entries."""
    with transaction(home, actor="test", message="m", now=now) as edits:
        entries = [Entry(id=f"KD-{n:04d}", date="2026-11-01", title=f"Fact {n}") for n in range(6)]
        edits.write(MEMORY, edits.read(MEMORY).with_entries([("Key Decisions", entry) for entry in entries]))

    def emptied() -> None:
        (home.root / MEMORY).write_text("")

    return emptied


def facts(home: Home) -> list[str]:
    return sorted(e.title for e in parse((home.root / MEMORY).read_text()).entries() if e.title.startswith("Fact"))


def commits(home: Home) -> int:
    return int(subprocess.check_output(["git", "-C", str(home.root), "rev-list", "--count", "HEAD"]))


def test_review_brings_the_entries_back_and_asks(home: Home, now: datetime, lose: Lose) -> None:
    lose()
    (item,) = waiting(home, now)
    assert (item.kind, item.path, item.risk) == ("loss", MEMORY, "high")
    assert "6 of its 6 entries were gone" in item.reason
    assert item.text.count("- **[KD-") == 6
    assert len(facts(home)) == 6
    assert waiting(home, now) == [item]


def test_an_accepted_loss_removes_the_entries_in_one_commit(home: Home, now: datetime, lose: Lose) -> None:
    lose()
    remember(home, "We paint the hull green.", now=now)
    (item,) = waiting(home, now)
    before = commits(home)
    assert sum(line.startswith("-- **[KD-") for line in plan(home, item).diff) == 6
    done = accept(home, item, person="Ada", now=now)
    assert (facts(home), commits(home)) == ([], before + 1)
    assert done.commit
    assert "green" in (home.root / MEMORY).read_text()
    assert waiting(home, now) == []
    assert list((home.machine / "recovered").iterdir()) == []


def test_a_rejected_loss_keeps_the_entries_and_is_decided(home: Home, now: datetime, lose: Lose) -> None:
    lose()
    (item,) = waiting(home, now)
    reject(home, item, person="Ada", now=now)
    assert (len(facts(home)), waiting(home, now)) == (6, [])
    items, done = undecided(home, [item.id], now, "rejected")
    assert (items, [row.by for row in done]) == ([], ["Ada"])
    lose()
    (again,) = waiting(home, now)
    assert again.id != item.id


def test_a_greater_loss_takes_the_place_of_a_smaller_one(home: Home, now: datetime, lose: Lose) -> None:
    lose()
    remember(home, "We paint the hull green.", now=now)
    lose()
    (item,) = waiting(home, now)
    assert "7 of its 7 entries" in item.reason


def test_an_entry_that_changed_since_stays(home: Home, now: datetime, lose: Lose) -> None:
    lose()
    (item,) = waiting(home, now)
    with transaction(home, actor="test", message="m", now=now) as edits:
        memory = edits.read(MEMORY)
        older = memory.entry("KD-0003")
        assert older is not None
        edits.write(MEMORY, memory.with_entry_changed(older.changed(title="Fact 3, corrected")))
    accept(home, item, person="Ada", now=now)
    assert facts(home) == ["Fact 3, corrected"]


def test_a_decision_killed_before_its_record_goes_is_finished(
    home: Home, now: datetime, lose: Lose, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose()
    (item,) = waiting(home, now)
    with monkeypatch.context() as patch:
        patch.setattr(entry_losses, "_discard", killed)
        with pytest.raises(Killed):
            accept(home, item, person="Ada", now=now)
    assert len(losses.waiting(home)) == 1
    assert waiting(home, now) == []
    assert losses.waiting(home) == []
    rows = [json.loads(line) for line in (home.root / APPROVED).read_text().splitlines()]
    assert [(row["kind"], row["id"], row["by"]) for row in rows] == [("loss", item.id, "Ada")]


def test_a_loss_that_the_person_commits_later_is_not_asked_about(home: Home, now: datetime, lose: Lose) -> None:
    lose()
    assert waiting(home, now)
    (home.root / MEMORY).write_text("# Memory\n")
    git = ["git", "-C", str(home.root), "-c", "user.name=p", "-c", "user.email=p@example.org"]
    subprocess.run([*git, "commit", "-qam", "start afresh"], check=True)
    assert waiting(home, now) == []
    assert losses.waiting(home) == []


def test_a_loss_cannot_be_edited(home: Home, now: datetime, lose: Lose) -> None:
    lose()
    (item,) = waiting(home, now)
    with pytest.raises(NotPlaceable, match="only a proposal"):
        edit(home, find(home, item.id, now), "text", person="Ada", now=now)
