"""Closings that a service has promised: written down before they are done, and gone afterwards."""

from __future__ import annotations

import pytest

from agent_home.errors import HistoryError, Locked
from agent_home.home import Home
from distill.closing_result import Closed
from distill.errors import NoSuchSession
from interfaces.api import AgentHome
from interfaces.kept_promises import keep_promise
from interfaces.promised_closings import left_closings, promise


def test_promises_come_back_in_order_and_go_when_they_are_kept(home: Home) -> None:
    for session in ("b", "a"):
        AgentHome(home).append(session, [{"role": "user", "content": f"Decision: {session} ships on Monday."}])
    made = [promise(home, session, caller="laptop", audience="owner") for session in ("b", "a")]
    assert left_closings(home) == made
    assert keep_promise(home, made[0])["session"] == "b"
    assert left_closings(home) == made[1:]
    assert keep_promise(home, made[1])["session"] == "a"
    assert left_closings(home) == []


def test_a_session_that_is_gone_is_promised_once(home: Home) -> None:
    made = promise(home, "none", caller="laptop", audience="owner")
    with pytest.raises(NoSuchSession):
        keep_promise(home, made)
    assert left_closings(home) == []


def test_a_locked_home_is_tried_again_by_the_next_service(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(_home: AgentHome, _session: str) -> None:
        raise Locked(home.lock, 1.0)

    monkeypatch.setattr(AgentHome, "close", locked)
    made = promise(home, "talk", caller="laptop", audience="owner")
    with pytest.raises(Locked):
        keep_promise(home, made)
    assert left_closings(home) == [made]


def test_a_home_that_is_locked_for_a_while_is_tried_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []
    close = AgentHome.close

    def locked_at_first(agent: AgentHome, session: str) -> Closed:
        tries.append(session)
        if len(tries) < 3:
            raise Locked(home.lock, 1.0)
        return close(agent, session)

    AgentHome(home).append("talk", [{"role": "user", "content": "Decision: the talk ships on Monday."}])
    made = promise(home, "talk", caller="laptop", audience="owner")
    monkeypatch.setattr(AgentHome, "close", locked_at_first)
    assert keep_promise(home, made)["session"] == "talk"
    assert (len(tries), left_closings(home)) == (3, [])


def test_what_is_no_promise_is_left_out(home: Home) -> None:
    made = promise(home, "talk", caller="laptop", audience="owner")
    folder = next(home.machine.glob("promised-closings"))
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"id": "c"}'), ("d", "[" * 100_000)):
        (folder / f"{name}.json").write_text(text)
    (folder / "e.json").symlink_to(folder / f"{made.id}.json")
    assert left_closings(home) == [made]


def test_the_files_are_their_owners_alone(home: Home) -> None:
    promise(home, "talk", caller="laptop", audience="owner")
    (folder,) = home.machine.glob("promised-closings")
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), HistoryError("a branch is checked out"), RuntimeError("a defect")]
)
def test_a_closing_that_fails_stays_promised(home: Home, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def failing(_home: AgentHome, _session: str) -> None:
        raise error

    AgentHome(home).append("talk", [{"role": "user", "content": "Decision: the talk ships on Monday."}])
    made = promise(home, "talk", caller="laptop", audience="owner")
    with monkeypatch.context() as patched:
        patched.setattr(AgentHome, "close", failing)
        with pytest.raises(type(error)):
            keep_promise(home, made)
    assert left_closings(home) == [made]
    assert keep_promise(home, made)["session"] == "talk"
    assert left_closings(home) == []


def test_a_closing_that_failed_for_a_month_is_given_up(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    made = promise(home, "talk", caller="laptop", audience="owner")
    monkeypatch.setattr("interfaces.promised_closings.time.time", lambda: made.at + 31 * 86_400)
    assert left_closings(home) == []


def test_a_full_disk_leaves_no_half_promise(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("interfaces.promised_closings.storage.replace", full)
    with pytest.raises(OSError, match="No space"):
        promise(home, "talk", caller="laptop", audience="owner")
    assert not list((home.machine / "promised-closings").iterdir())
